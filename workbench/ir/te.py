"""Tensor expressions: say what to compute, get a loop nest.

>>> from workbench import te
>>> a, b = te.placeholder((64, 32), name="A"), te.placeholder((32, 16), name="B")
>>> k = te.reduce_axis(32, "k")
>>> c = te.compute((64, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
>>> print(te.func(c))  # doctest: +SKIP

Indices are affine in the axes, with ``//`` and ``%`` by constants on single axes. Every `compute` becomes one block; its loops
are called after the parameters of the function where that name is still free, else ``stage_axis``.
"""

from __future__ import annotations

import builtins
import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ..errors import ExpressionError
from .affine import Affine, Digit
from .expr import Binary, Bound, Cast, Const, Expr, Index, Load, Select, Unary, Where
from .func import Buffer, Func
from .stmt import Block, For, Iter, Stmt

Shape: TypeAlias = Sequence[int]


@dataclass(frozen=True, slots=True)
class Axis:
    """An index expression: affine in iteration axes. Supports ``+ - *`` with ints and ``// %`` by positive ints."""

    form: Affine
    extents: tuple[tuple[str, int], ...]
    reduce: tuple[str, ...] = ()

    def __add__(self, o: Axis | int) -> Axis:
        return _axis_add(self, o, 1)

    __radd__ = __add__

    def __sub__(self, o: Axis | int) -> Axis:
        return _axis_add(self, o, -1)

    def __rsub__(self, o: int) -> Axis:
        return Axis(self.form * -1 + o, self.extents, self.reduce)

    def __mul__(self, o: int) -> Axis:
        if not isinstance(o, int | np.integer):
            raise ExpressionError("te.affine", f"An index can be multiplied by an int, not by {type(o).__name__}.")
        return Axis(self.form * int(o), self.extents, self.reduce)

    __rmul__ = __mul__

    def __floordiv__(self, o: int) -> Axis:
        return Axis(_floordiv(self.form, int(o), dict(self.extents)), self.extents, self.reduce)

    def __mod__(self, o: int) -> Axis:
        return Axis(_mod(self.form, int(o), dict(self.extents)), self.extents, self.reduce)

    def __ge__(self, o: int) -> Cond:
        return Cond((Bound(self.form, int(o), _BIG),))

    def __gt__(self, o: int) -> Cond:
        return self >= int(o) + 1

    def __lt__(self, o: int) -> Cond:
        return Cond((Bound(self.form, -_BIG, int(o)),))

    def __le__(self, o: int) -> Cond:
        return self < int(o) + 1

    def equal(self, o: int) -> Cond:
        """Condition ``self == o`` (``==`` itself keeps its Python meaning)."""
        return Cond((Bound(self.form, int(o), int(o) + 1),))


_BIG = 2**40


@dataclass(frozen=True, slots=True)
class Cond:
    """Conjunction of index bounds, for `select`."""

    bounds: tuple[Bound, ...]

    def __and__(self, o: Cond) -> Cond:
        merged = {b.form: b for b in self.bounds}
        for b in o.bounds:
            old = merged.get(b.form)
            lo = b.lo if old is None else builtins.max(_int(old.lo), _int(b.lo))
            hi = b.hi if old is None else builtins.min(_int(old.hi), _int(b.hi))
            merged[b.form] = Bound(b.form, lo, hi)
        return Cond(tuple(merged.values()))


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A scalar expression under construction; arithmetic and comparisons build larger ones."""

    expr: Expr
    dtype: str
    reads: tuple[Tensor, ...] = ()
    extents: tuple[tuple[str, int], ...] = ()
    reduce: tuple[str, ...] = ()

    def __add__(self, o: Scalar) -> Value:
        return _binary("add", self, o)

    def __radd__(self, o: Scalar) -> Value:
        return _binary("add", o, self)

    def __sub__(self, o: Scalar) -> Value:
        return _binary("sub", self, o)

    def __rsub__(self, o: Scalar) -> Value:
        return _binary("sub", o, self)

    def __mul__(self, o: Scalar) -> Value:
        return _binary("mul", self, o)

    def __rmul__(self, o: Scalar) -> Value:
        return _binary("mul", o, self)

    def __truediv__(self, o: Scalar) -> Value:
        return _binary("div", self, o)

    def __rtruediv__(self, o: Scalar) -> Value:
        return _binary("div", o, self)

    def __mod__(self, o: Scalar) -> Value:
        return _binary("mod", self, o)

    def __pow__(self, o: Scalar) -> Value:
        return _binary("pow", self, o)

    def __neg__(self) -> Value:
        return _unary("neg", self)

    def __lt__(self, o: Scalar) -> Value:
        return _binary("lt", self, o)

    def __le__(self, o: Scalar) -> Value:
        return _binary("le", self, o)

    def __gt__(self, o: Scalar) -> Value:
        return _binary("gt", self, o)

    def __ge__(self, o: Scalar) -> Value:
        return _binary("ge", self, o)


Scalar: TypeAlias = Value | Axis | float | int | bool


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """Result of `sum`, `max`, `min` or `prod`: must be all that a `compute` returns."""

    op: str
    term: Value
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class _Stage:
    """One block to be: axes, where it writes, what it writes."""

    name: str
    spatial: tuple[tuple[str, int], ...]
    reduce: tuple[tuple[str, int], ...]
    index: tuple[Affine, ...]
    value: Expr
    init: Expr | None
    reads: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A named n-dimensional value: a placeholder, or the result of `compute`. Index it inside a compute function."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    constant: bool = False
    stages: tuple[_Stage, ...] = field(default=(), repr=False)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __getitem__(self, index: Axis | int | tuple[Axis | int, ...]) -> Value:
        idx = index if isinstance(index, tuple) else (index,)
        if len(idx) != self.ndim:
            raise ExpressionError("te.rank", f"{self.name!r} has {self.ndim} dimensions but is indexed with {len(idx)}.",
                                  (self.name,))
        axes = [x if isinstance(x, Axis) else Axis(Affine((), int(x)), ()) for x in idx]
        return Value(Load(self.name, tuple(x.form for x in axes)), self.dtype, (self,),
                     _merge_extents(*(x.extents for x in axes)), _merge_names(*(x.reduce for x in axes)))


_counter = itertools.count()


def placeholder(shape: Shape, dtype: str = "float32", name: str | None = None, constant: bool = False) -> Tensor:
    """Declare an input of the computation.

    Parameters
    ----------
    shape : sequence of int
    dtype : str
        NumPy dtype name.
    name : str, optional
    constant : bool
        Whether the values are known ahead of time (weights), so that they may be packed at compile time.
    """
    return Tensor(name or f"p{next(_counter)}", _shape(shape), np.dtype(dtype).name, constant)


def reduce_axis(extent: int, name: str = "k") -> Axis:
    """Axis to reduce over, from 0 to `extent`."""
    return Axis(Affine.var(name), ((name, int(extent)),), (name,))


def compute(shape: Shape, fcompute: Callable[..., Scalar | Reduction], name: str | None = None) -> Tensor:
    """Define a tensor by the value of each of its elements.

    Parameters
    ----------
    shape : sequence of int
    fcompute : callable
        Receives one `Axis` per dimension and returns a value, or a reduction such as ``te.sum(..., axis=k)``.
    name : str, optional

    Raises
    ------
    ExpressionError
        When an index is not affine, ranks differ, or a reduction is used inside a larger expression.
    """
    dims = _shape(shape)
    stage_name = name or f"t{next(_counter)}"
    names = _axis_names(fcompute, len(dims))
    axes = [Axis(Affine.var(n), ((n, e),)) for n, e in zip(names, dims, strict=True)]
    result = fcompute(*axes)
    index = tuple(a.form for a in axes)
    spatial = tuple(zip(names, dims, strict=True))
    if isinstance(result, Reduction):
        own: Expr = Load(stage_name, index)
        term, dtype = result.term, result.term.dtype
        reduce = tuple(a.extents[0] for a in result.axes)
        clash = {n for n, _ in reduce} & set(names)
        if clash:
            raise ExpressionError("te.axis_name", f"The reduction axis {builtins.min(clash)!r} has the name of an output axis.", (stage_name,))
        stray = set(term.reduce) - {n for n, _ in reduce}
        stage = _Stage(stage_name, spatial, reduce, index, Binary(result.op, own, term.expr), _neutral(result.op, dtype), term.reads)
    else:
        value = _value(result)
        stray, dtype = set(value.reduce), value.dtype
        stage = _Stage(stage_name, spatial, (), index, value.expr, None, value.reads)
    if stray:
        raise ExpressionError("te.reduce_axis", f"{stage_name!r} uses the reduction axis {builtins.min(stray)!r} outside of a reduction.",
                              (stage_name,), "wrap the expression in te.sum(..., axis=...)")
    return Tensor(stage_name, dims, dtype, stages=(stage,))


def concat(tensors: Sequence[Tensor], axis: int = -1, name: str | None = None) -> Tensor:
    """Join tensors along `axis`: one block per part, all writing one buffer."""
    out, axis = name or f"t{next(_counter)}", axis % tensors[0].ndim
    stages, offset = [], 0
    for k, t in enumerate(tensors):
        names = [f"a{d}" for d in range(t.ndim)]
        read = tuple(Affine.var(n) for n in names)
        write = tuple(x + offset if d == axis else x for d, x in enumerate(read))
        stages.append(_Stage(f"{out}_{k}", tuple(zip(names, t.shape, strict=True)), (), write, Load(t.name, read), None, (t,)))
        offset += t.shape[axis]
    shape = (*tensors[0].shape[:axis], offset, *tensors[0].shape[axis + 1 :])
    return Tensor(out, shape, tensors[0].dtype, stages=tuple(stages))


def sum(value: Scalar, axis: Axis | Sequence[Axis]) -> Reduction:
    """Sum of `value` over one or more reduction axes."""
    return _reduction("add", value, axis)


def prod(value: Scalar, axis: Axis | Sequence[Axis]) -> Reduction:
    """Product of `value` over one or more reduction axes."""
    return _reduction("mul", value, axis)


def max(value: Scalar, other: Scalar | None = None, axis: Axis | Sequence[Axis] | None = None) -> Reduction | Value:  # type: ignore[no-redef]
    """Maximum over reduction axes, or of two values (`maximum`) when `other` is given."""
    return _reduction("max", value, axis) if axis is not None else maximum(value, _given(other, "max"))


def min(value: Scalar, other: Scalar | None = None, axis: Axis | Sequence[Axis] | None = None) -> Reduction | Value:  # type: ignore[no-redef]
    """Minimum over reduction axes, or of two values (`minimum`) when `other` is given."""
    return _reduction("min", value, axis) if axis is not None else minimum(value, _given(other, "min"))


def maximum(a: Scalar, b: Scalar) -> Value:
    """Larger of two values."""
    return _binary("max", a, b)


def minimum(a: Scalar, b: Scalar) -> Value:
    """Smaller of two values."""
    return _binary("min", a, b)


def power(a: Scalar, b: Scalar) -> Value:
    """``a ** b``."""
    return _binary("pow", a, b)


def select(cond: Cond | Value, a: Scalar, b: Scalar) -> Value:
    """`a` where `cond` holds, else `b`; an index condition guards the loads of `a`."""
    if isinstance(cond, Cond):
        va, vb = _coerce(a, b)
        return _join(Select(cond.bounds, va.expr, vb.expr), va.dtype, va, vb)
    va, vb = _coerce(a, b)
    return _join(Where(cond.expr, va.expr, vb.expr), va.dtype, cond, va, vb)


def cast(a: Scalar, dtype: str) -> Value:
    """Convert to `dtype`."""
    v = _value(a)
    return _join(Cast(np.dtype(dtype).name, v.expr), np.dtype(dtype).name, v)


def const(value: float | int | bool, dtype: str = "float32") -> Value:
    """A literal of the given dtype."""
    return Value(Const(value, np.dtype(dtype).name), np.dtype(dtype).name)


def exp(a: Scalar) -> Value:
    """Exponential."""
    return _unary("exp", a)


def log(a: Scalar) -> Value:
    """Natural logarithm."""
    return _unary("log", a)


def sqrt(a: Scalar) -> Value:
    """Square root."""
    return _unary("sqrt", a)


def rsqrt(a: Scalar) -> Value:
    """Reciprocal square root."""
    return _unary("rsqrt", a)


def tanh(a: Scalar) -> Value:
    """Hyperbolic tangent."""
    return _unary("tanh", a)


def sigmoid(a: Scalar) -> Value:
    """Logistic function."""
    return _unary("sigmoid", a)


def erf(a: Scalar) -> Value:
    """Error function."""
    return _unary("erf", a)


def abs(a: Scalar) -> Value:
    """Absolute value."""
    return _unary("abs", a)


def floor(a: Scalar) -> Value:
    """Largest integer not above."""
    return _unary("floor", a)


def ceil(a: Scalar) -> Value:
    """Smallest integer not below."""
    return _unary("ceil", a)


def func(outputs: Tensor | Sequence[Tensor], name: str | None = None) -> Func:
    """Collect everything that `outputs` depend on into a function with one nest per stage, in dependence order."""
    outs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    order: list[Tensor] = []
    seen: dict[int, bool] = {}
    for t in outs:
        _visit(t, order, seen)
    by_name: dict[str, Tensor] = {}
    for t in order:
        if by_name.setdefault(t.name, t) is not t:
            raise ExpressionError("te.name", f"Two tensors are called {t.name!r}.", (t.name,), "give each a name of its own")
    inputs = [Buffer(t.name, t.shape, t.dtype, "const" if t.constant else "input") for t in order if not t.stages]
    made = [Buffer(t.name, t.shape, t.dtype, "output" if t in outs else "temp") for t in order if t.stages]
    made.sort(key=lambda b: b.role == "temp")
    stages = [(t, s) for t in order for s in t.stages]
    names = _loop_names([s for _, s in stages], {t.name for t in order})
    body = tuple(_nest(s, t.name, names) for t, s in stages)
    return Func(name or outs[0].name, tuple(inputs + made), body)


def _nest(s: _Stage, buffer: str, names: dict[tuple[str, str], str]) -> Stmt:
    axes = [(n, e, "S") for n, e in s.spatial] + [(n, e, "R") for n, e in s.reduce]
    iters = tuple(Iter(n, e, "S" if k == "S" else "R") for n, e, k in axes)
    binds = tuple(Affine.var(names[s.name, n]) for n, _, _ in axes)
    nest: Stmt = Block(s.name, iters, binds, buffer, s.index, s.value, s.init)
    for n, e, _ in reversed(axes):
        nest = For(names[s.name, n], e, (nest,))
    return nest


def _loop_names(stages: list[_Stage], taken: set[str]) -> dict[tuple[str, str], str]:
    """Reductions first: the stage that a person schedules most keeps the short names."""
    used, out = set(taken) | {s.name for s in stages}, {}
    for s in sorted(stages, key=lambda s: not s.reduce):
        for n, _ in s.spatial + s.reduce:
            name, k = n, 0
            while name in used:
                name = f"{s.name}_{n}" + (f"_{k}" if k else "")
                k += 1
            used.add(name)
            out[s.name, n] = name
    return out


def _visit(t: Tensor, order: list[Tensor], state: dict[int, bool]) -> None:
    if id(t) in state:
        return
    state[id(t)] = True
    for s in t.stages:
        for r in s.reads:
            _visit(r, order, state)
    order.append(t)


def _axis_names(fn: Callable[..., object], rank: int) -> list[str]:
    params = list(inspect.signature(fn).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        return [f"a{d}" for d in range(rank)]
    required = [p for p in params if p.default is p.empty]
    if not len(required) <= rank <= len(params):
        raise ExpressionError("te.rank", f"The compute function takes {len(params)} indices, but the shape has {rank} dimensions.")
    return [p.name for p in params[:rank]]


def _shape(shape: Shape) -> tuple[int, ...]:
    dims = tuple(int(d) for d in shape)
    bad = [d for d in dims if d < 1]
    if bad:
        raise ExpressionError("te.shape", f"A dimension of {bad[0]} is not possible; every extent is at least 1.")
    return dims


def _given(value: Scalar | None, what: str) -> Scalar:
    if value is None:
        raise ExpressionError("te.reduce_axis", f"te.{what} needs an axis to reduce over, or a second value.")
    return value


def _reduction(op: str, value: Scalar, axis: Axis | Sequence[Axis] | None) -> Reduction:
    axes = (axis,) if isinstance(axis, Axis) else tuple(axis or ())
    if not axes or any(not a.reduce or a.form.single_var() is None for a in axes):
        raise ExpressionError("te.reduce_axis", "A reduction needs axes made by te.reduce_axis.")
    return Reduction(op, _value(value), axes)


def _neutral(op: str, dtype: str) -> Const:
    if op in ("add", "mul"):
        return Const(0.0 if op == "add" else 1.0, dtype) if dtype.startswith("float") else Const(int(op == "mul"), dtype)
    if dtype.startswith("float"):
        limit = float(np.finfo(dtype).max)
        return Const(-limit if op == "max" else limit, dtype)
    info = np.iinfo(dtype)
    return Const(int(info.min if op == "max" else info.max), dtype)


def _value(x: Scalar | Reduction) -> Value:
    match x:
        case Value():
            return x
        case Axis(form, extents, reduce):
            return Value(Index(form), "int64", (), extents, reduce)
        case bool() | int() | float() | np.number() | np.bool_():
            v = x.item() if isinstance(x, np.generic) else x
            return Value(Const(v, "bool" if isinstance(v, bool) else "int64" if isinstance(v, int) else "float32"), "weak")
        case Reduction():
            raise ExpressionError("te.reduce_inside", "A reduction must be the whole result of a compute.", (),
                                  "give the reduction a stage of its own and read that")
        case Tensor(name):
            raise ExpressionError("te.rank", f"{name!r} is used as a scalar.", (name,), f"index it: {name}[i, j]")
    raise ExpressionError("te.value", f"{type(x).__name__} cannot be part of a tensor expression.")


def _coerce(a: Scalar, b: Scalar) -> tuple[Value, Value]:
    """Give literals the other side's dtype; widen mixed dtypes as NumPy does."""
    va, vb = _value(a), _value(b)
    if va.dtype == "weak" and vb.dtype == "weak":
        floats = any(isinstance(v.expr, Const) and isinstance(v.expr.value, float) for v in (va, vb))
        dtype = "float32" if floats else "int64"
        return _literal(va, dtype), _literal(vb, dtype)
    if va.dtype == "weak":
        return _literal(va, vb.dtype), vb
    if vb.dtype == "weak":
        return va, _literal(vb, va.dtype)
    if va.dtype == vb.dtype:
        return va, vb
    dtype = np.result_type(va.dtype, vb.dtype).name
    return _cast_to(va, dtype), _cast_to(vb, dtype)


def _literal(v: Value, dtype: str) -> Value:
    assert isinstance(v.expr, Const)
    x = v.expr.value
    if dtype.startswith("float"):
        return Value(Const(float(x), dtype), dtype)
    if isinstance(x, float) and not x.is_integer():
        raise ExpressionError("te.dtype", f"The literal {x} does not fit {dtype}.", (), "cast the tensor first: te.cast(x, 'float32')")
    return Value(Const(bool(x) if dtype == "bool" else int(x), dtype), dtype)


def _cast_to(v: Value, dtype: str) -> Value:
    return v if v.dtype == dtype else _join(Cast(dtype, v.expr), dtype, v)


def _join(expr: Expr, dtype: str, *parts: Value) -> Value:
    reads = tuple({id(t): t for p in parts for t in p.reads}.values())
    return Value(expr, dtype, reads, _merge_extents(*(p.extents for p in parts)), _merge_names(*(p.reduce for p in parts)))


def _binary(op: str, a: Scalar, b: Scalar) -> Value:
    va, vb = _coerce(a, b)
    return _join(Binary(op, va.expr, vb.expr), "bool" if op in ("lt", "le", "gt", "ge", "eq", "ne") else va.dtype, va, vb)


def _unary(op: str, a: Scalar) -> Value:
    v = _value(a)
    v = _literal(v, "float32") if v.dtype == "weak" else v
    if op not in ("neg", "abs", "not") and not v.dtype.startswith("float"):
        v = _cast_to(v, "float32")
    return _join(Unary(op, v.expr), v.dtype, v)


def _merge_extents(*parts: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    return tuple({n: (n, e) for p in parts for n, e in p}.values())


def _merge_names(*parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n for p in parts for n in p))


def _axis_add(a: Axis, o: Axis | int, sign: int) -> Axis:
    if isinstance(o, Axis):
        return Axis(a.form + o.form * sign, _merge_extents(a.extents, o.extents), _merge_names(a.reduce, o.reduce))
    return Axis(a.form + sign * int(o), a.extents, a.reduce)


def _int(d: object) -> int:
    assert isinstance(d, int)
    return d


def _floordiv(form: Affine, by: int, extents: dict[str, int]) -> Affine:
    """``form // by``: terms that `by` divides leave; the rest must stay below `by`, or be one bare axis."""
    if by == 1:
        return form
    q, rest = _divmod_terms(form, by)
    if not rest.terms and rest.const == 0:
        return q
    if _within(rest, by, extents):
        return q
    digit = _bare(rest, by)
    if digit is None:
        raise ExpressionError("te.affine", f"({form}) // {by} is not affine.", (), "only sums of whole multiples and one axis can be divided")
    return q + Affine(((Digit(digit.var, _int(digit.lower) * by, _div_extent(digit, by)), 1),))


def _mod(form: Affine, by: int, extents: dict[str, int]) -> Affine:
    if by == 1:
        return Affine()
    _, rest = _divmod_terms(form, by)
    if _within(rest, by, extents):
        return rest
    digit = _bare(rest, by)
    if digit is None:
        raise ExpressionError("te.affine", f"({form}) % {by} is not affine.", (), "only sums of whole multiples and one axis can be divided")
    return Affine(((Digit(digit.var, digit.lower, by), 1),))


def _divmod_terms(form: Affine, by: int) -> tuple[Affine, Affine]:
    q = [(d, _int(c) // by) for d, c in form.terms if _int(c) % by == 0]
    r = [(d, c) for d, c in form.terms if _int(c) % by]
    const = _int(form.const)
    if r:
        return Affine.make(q, const // by), Affine.make(r, const % by)
    return Affine.make(q, const // by), Affine((), const % by)


def _within(rest: Affine, by: int, extents: dict[str, int]) -> bool:
    hi = _int(rest.const)
    for d, c in rest.terms:
        size = _int(d.extent) if d.extent is not None else -(-extents[d.var] // _int(d.lower))
        if _int(c) < 0:
            return False
        hi += _int(c) * (size - 1)
    return hi < by


def _bare(rest: Affine, by: int) -> Digit | None:
    """The digit of ``1 * digit + 0`` when dividing by `by` leaves a digit."""
    if len(rest.terms) != 1 or rest.const != 0 or rest.terms[0][1] != 1:
        return None
    digit = rest.terms[0][0]
    return digit if digit.extent is None or _int(digit.extent) % by == 0 else None


def _div_extent(digit: Digit, by: int) -> int | None:
    return None if digit.extent is None else -(-_int(digit.extent) // by)
