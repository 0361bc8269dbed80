"""Scalar values and tensors while an expression is being written; literals take the dtype of what they meet."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from workbench.arguments import shown
from workbench.errors import ExpressionError
from workbench.ir import Affine, Binary, Cast, Const, Expr, Index, Load, Pick, Unary
from workbench.ir.dtypes import element_type, is_float
from workbench.ir.expr import free_digit, tidy
from workbench.te.index import Axis, merge_extents, merge_names


def _operator(op: str) -> Callable[[Value, Scalar], Value]:
    return lambda self, o: binary(op, self, o)


def _reflected(op: str) -> Callable[[Value, Scalar], Value]:
    return lambda self, o: binary(op, o, self)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A scalar expression under construction; arithmetic and comparisons build larger ones."""

    expr: Expr
    dtype: str
    reads: tuple[Tensor, ...] = ()
    extents: tuple[tuple[str, int], ...] = ()
    reduce: tuple[str, ...] = ()

    __add__ = _operator("add")
    __radd__ = _reflected("add")
    __sub__ = _operator("sub")
    __rsub__ = _reflected("sub")
    __mul__ = _operator("mul")
    __rmul__ = _reflected("mul")
    __truediv__ = _operator("div")
    __rtruediv__ = _reflected("div")
    __mod__ = _operator("mod")
    __pow__ = _operator("pow")
    __lt__ = _operator("lt")
    __le__ = _operator("le")
    __gt__ = _operator("gt")
    __ge__ = _operator("ge")

    def __neg__(self) -> Value:
        return unary("neg", self)

    def astype(self, dtype: str) -> Value:
        """Convert to another type, as `te.cast` does."""
        return _cast_to(self, dtype_name(dtype))


Scalar: TypeAlias = Value | Axis | float | int | bool


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """Result of `sum`, `max`, `min` or `prod`: must be all that a `compute` returns."""

    op: str
    term: Value
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Stage:
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
    """A named n-dimensional value: a placeholder, or the result of `compute`. Index it inside a compute function.

    An index is an axis, a whole number, or a value of an integer type, which is read at run time:
    ``table[ids[i], j]``. Such an index is the nearest one that exists: negative ones do not count from the end.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    constant: bool = False
    stages: tuple[Stage, ...] = field(default=(), repr=False)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def op(self) -> Tensor:
        """The tensor itself, which stands for the operation that makes it."""
        return self

    @property
    def axis(self) -> tuple[str, ...]:
        """Names of the axes of what makes it."""
        return tuple(n for s in self.stages[-1:] for n, _ in s.spatial)

    @property
    def reduce_axis(self) -> tuple[str, ...]:
        """Names of the axes that it reduces over."""
        return tuple(n for s in self.stages[-1:] for n, _ in s.reduce)

    def __call__(self, *index: Axis | Value | int) -> Value:
        """An element, as ``A[i, j]``."""
        return self[index]

    def __getitem__(self, index: Axis | Value | int | tuple[Axis | Value | int, ...]) -> Value:
        idx = index if isinstance(index, tuple) else (index,)
        if len(idx) != self.ndim:
            raise ExpressionError(
                "te.rank", f"{self.name!r} has {self.ndim} dimensions but is indexed with {len(idx)}.", (self.name,)
            )
        forms: list[Affine] = []
        picks: list[Pick] = []
        reads: dict[int, Tensor] = {id(self): self}
        for x, size in zip(idx, self.shape, strict=True):
            if not isinstance(x, Value):
                forms.append(x.form if isinstance(x, Axis) else Affine((), self._fixed(x)))
                continue
            if is_float(x.dtype) or x.dtype in ("bool", "weak"):
                text = f"{self.name!r} is indexed with a value of type {x.dtype}, which is no whole number."
                raise ExpressionError("te.index", text, (self.name,), "te.cast(x, 'int64')")
            forms.append(Affine(((free_digit(len(picks), size), 1),)))
            picks.append(Pick(x.expr, size))
            reads |= {id(t): t for t in x.reads}
        known = [x for x in idx if isinstance(x, Axis | Value)]
        return Value(
            tidy(Load(self.name, tuple(forms), tuple(picks))),
            self.dtype,
            tuple(reads.values()),
            merge_extents(*(x.extents for x in known)),
            merge_names(*(x.reduce for x in known)),
        )

    def _fixed(self, x: object) -> int:
        try:
            return operator.index(x)  # type: ignore[arg-type]
        except TypeError:
            text = f"{self.name!r} is indexed with {shown(x)}, which is neither an axis nor a whole number."
            raise ExpressionError("te.index", text, (self.name,), "for example A[i, 0]") from None


def value_of(x: object) -> Value:
    """Take whatever may stand in an expression as a `Value`; literals get the dtype "weak"."""
    match x:
        case Value():
            return x
        case Axis(form, extents, reduce):
            return Value(Index(form), "int64", (), extents, reduce)
        case bool() | int() | float() | np.number() | np.bool_():
            v = x.item() if isinstance(x, np.generic) else x
            return Value(
                Const(v, "bool" if isinstance(v, bool) else "int64" if isinstance(v, int) else "float32"), "weak"
            )
        case Reduction():
            raise ExpressionError(
                "te.reduce_inside",
                "A reduction must be the whole result of a compute.",
                (),
                "give the reduction a stage of its own and read that",
            )
        case Tensor(name):
            raise ExpressionError("te.rank", f"{name!r} is used as a scalar.", (name,), f"index it: {name}[i, j]")
    raise ExpressionError("te.value", f"{type(x).__name__} cannot be part of a tensor expression.")


def strong(x: object) -> Value:
    """Like `value_of`, with literals in a dtype of their own: float32, int64 or bool."""
    v = value_of(x)
    return Value(v.expr, v.expr.dtype) if v.dtype == "weak" and isinstance(v.expr, Const) else v


def truth(x: object) -> Value:
    """Take a value as a condition: numbers hold where they are not 0."""
    v = strong(x)
    return v if v.dtype == "bool" else binary("ne", v, 0)


def coerce(a: Scalar, b: Scalar) -> tuple[Value, Value]:
    """Give literals the other side's dtype; widen mixed dtypes as NumPy does."""
    va, vb = value_of(a), value_of(b)
    if va.dtype == "weak" and vb.dtype == "weak":
        floats = any(isinstance(v.expr, Const) and isinstance(v.expr.value, float) for v in (va, vb))
        dtype = "float32" if floats else "int64"
        return literal(va, dtype), literal(vb, dtype)
    if va.dtype == "weak":
        return literal(va, vb.dtype), vb
    if vb.dtype == "weak":
        return va, literal(vb, va.dtype)
    if va.dtype == vb.dtype:
        return va, vb
    dtype = np.result_type(va.dtype, vb.dtype).name
    return _cast_to(va, dtype), _cast_to(vb, dtype)


def literal(v: Value, dtype: str) -> Value:
    """Give a literal its dtype, where it fits."""
    assert isinstance(v.expr, Const)
    x = v.expr.value
    if is_float(dtype):
        try:
            return Value(Const(float(x), dtype), dtype)
        except OverflowError:
            text = f"The literal {shown(x)} does not fit {dtype}."
            raise ExpressionError("te.dtype", text, (), "write it as a float") from None
    if isinstance(x, float) and not x.is_integer():
        raise ExpressionError(
            "te.dtype", f"The literal {x} does not fit {dtype}.", (), "cast the tensor first: te.cast(x, 'float32')"
        )
    if dtype != "bool" and not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
        raise ExpressionError("te.dtype", f"The literal {shown(x)} does not fit {dtype}.", (), "cast the tensor first")
    return Value(Const(bool(x) if dtype == "bool" else int(x), dtype), dtype)


def dtype_name(dtype: str) -> str:
    """Full name of an element type; what is none is refused."""
    full_name = element_type(dtype)
    if full_name is None:
        raise ExpressionError(
            "te.dtype", f"There is no element type {shown(dtype)}.", (), "for example 'float32' or 'int64'"
        )
    return full_name


def _cast_to(v: Value, dtype: str) -> Value:
    return v if v.dtype == dtype else join(Cast(dtype, v.expr), dtype, v)


def join(expr: Expr, dtype: str, *parts: Value) -> Value:
    """Build a value from an expression and what went into it."""
    reads = tuple({id(t): t for p in parts for t in p.reads}.values())
    return Value(
        expr, dtype, reads, merge_extents(*(p.extents for p in parts)), merge_names(*(p.reduce for p in parts))
    )


def binary(op: str, a: Scalar, b: Scalar) -> Value:
    """Apply a binary operator after bringing both sides to one dtype."""
    va, vb = coerce(a, b)
    if va.dtype == "bool" and op in ("sub", "div", "mod"):
        raise _of_truth()
    if op == "pow" and not is_float(va.dtype):
        return _integer_power(va, vb)
    return join(
        Binary(op, va.expr, vb.expr), "bool" if op in ("lt", "le", "gt", "ge", "eq", "ne") else va.dtype, va, vb
    )


def _integer_power(a: Value, b: Value) -> Value:
    """Power of integers: a square is exact, anything else goes through float64."""
    if isinstance(b.expr, Const) and b.expr.value == 2:
        return binary("mul", a, a)
    return _cast_to(binary("pow", _cast_to(a, "float64"), _cast_to(b, "float64")), a.dtype)


def _of_truth() -> ExpressionError:
    return ExpressionError(
        "te.dtype", "Truth values have no difference, quotient or negative.", (), "cast them first: te.cast(x, 'int32')"
    )


def unary(op: str, a: Scalar) -> Value:
    """Apply a unary operator; integers become float32 where the function asks for floats."""
    v = value_of(a)
    v = literal(v, "float32") if v.dtype == "weak" else v
    if v.dtype == "bool" and op == "neg":
        raise _of_truth()
    if op not in ("neg", "abs", "not") and not is_float(v.dtype):
        v = _cast_to(v, "float32")
    return join(Unary(op, v.expr), v.dtype, v)
