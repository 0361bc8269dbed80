"""Stages of a tensor expression, and the loop nest that is made of them."""

from __future__ import annotations

import builtins
import inspect
import itertools
import operator
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeAlias
from typing import cast as cast_to

from workbench.arguments import is_a, shown
from workbench.errors import ExpressionError
from workbench.ir import Affine, Binary, Block, Buffer, Expr, For, Func, Iter, Load, Select, Stmt, Where
from workbench.ir.expr import measure
from workbench.ir.expr_dtypes import neutral
from workbench.ir.size_limits import DEEPEST_EXPRESSION, EXTENT_LIMIT, MOST_DIMENSIONS, MOST_NODES
from workbench.te.index import Axis, Cond
from workbench.te.math import maximum, minimum
from workbench.te.value import (
    Reduction,
    Scalar,
    Stage,
    Tensor,
    Value,
    coerce,
    dtype_name,
    join,
    literal,
    strong,
    truth,
    value_of,
)

Shape: TypeAlias = Sequence[int]
Axes: TypeAlias = Axis | Sequence[Axis]


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
    return Tensor(_name(name, "p"), _shape(shape), dtype_name(dtype), constant)


def reduce_axis(extent: int | Sequence[int], name: str = "k") -> Axis:
    """Axis to reduce over, from 0 to `extent`, which may be written as ``(0, extent)``."""
    if isinstance(extent, tuple | list) and len(extent) == 2 and extent[0] == 0:
        extent = extent[1]
    (size,) = _shape((cast_to("int", extent),))
    return Axis(Affine.var(name), ((name, size),), (name,))


def compute(
    shape: Shape,
    fcompute: Callable[..., Scalar | Reduction | tuple[Scalar | Reduction, ...]],
    name: str | None = None,
    tag: str = "",
    attrs: object = None,
) -> Tensor:
    """Define a tensor by the value of each of its elements.

    Parameters
    ----------
    shape : sequence of int
    fcompute : callable
        Receives one `Axis` per dimension and returns a value, or a reduction such as ``te.sum(..., axis=k)``. Of a
        tuple of them each makes a tensor ``name.v0``, ``name.v1``, …, and a list of these comes back.
    name : str, optional
    tag, attrs : str, object
        Of TVM; they mean nothing here.

    Raises
    ------
    ExpressionError
        When an index is not affine, ranks differ, or a reduction is used inside a larger expression.
    """
    dims = _shape(shape)
    stage_name = _name(name, "t")
    names = _axis_names(fcompute, len(dims))
    axes = [Axis(Affine.var(n), ((n, e),)) for n, e in zip(names, dims, strict=True)]
    result = fcompute(*axes)
    if isinstance(result, tuple):
        several = cast_to(Callable[..., tuple[Scalar | Reduction, ...]], fcompute)
        parts = [wraps(fcompute)(lambda *at, k=k: several(*at)[k]) for k in range(len(result))]
        return cast_to("Tensor", [compute(dims, part, f"{stage_name}.v{k}") for k, part in enumerate(parts)])
    index = tuple(a.form for a in axes)
    spatial = tuple(zip(names, dims, strict=True))
    if isinstance(result, Reduction):
        own: Expr = Load(stage_name, index)
        term, dtype = result.term, result.term.dtype
        reduce = tuple(a.extents[0] for a in result.axes)
        clash = {n for n, _ in reduce} & set(names) or {n for n, _ in reduce if [m for m, _ in reduce].count(n) > 1}
        if clash:
            raise ExpressionError(
                "te.axis_name",
                f"The reduction axis {builtins.min(clash)!r} has the name of another axis.",
                (stage_name,),
            )
        stray = set(term.reduce) - {n for n, _ in reduce}
        stage = Stage(
            stage_name,
            spatial,
            reduce,
            index,
            Binary(result.op, own, term.expr),
            neutral(result.op, dtype),
            term.reads,
        )
    else:
        value = strong(result)
        stray, dtype = set(value.reduce), value.dtype
        stage = Stage(stage_name, spatial, (), index, value.expr, None, value.reads)
    if stray:
        raise ExpressionError(
            "te.reduce_axis",
            f"{stage_name!r} uses the reduction axis {builtins.min(stray)!r} outside of a reduction.",
            (stage_name,),
            "wrap the expression in te.sum(..., axis=...)",
        )
    nodes, depth = measure(stage.value)
    if nodes > MOST_NODES or depth > DEEPEST_EXPRESSION:
        raise ExpressionError(
            "te.size",
            f"The expression of {stage_name!r} has {shown(nodes)} parts, {depth} inside each other at most; the limits "
            f"are {MOST_NODES} and {DEEPEST_EXPRESSION}.",
            (stage_name,),
            "give a part of it a stage of its own: te.compute",
        )
    return Tensor(stage_name, dims, dtype, stages=(stage,))


def concat(tensors: Sequence[Tensor], axis: int = -1, name: str | None = None) -> Tensor:
    """Join tensors along `axis`: one block per part, all writing one buffer."""
    if not isinstance(tensors, list | tuple) or not tensors or not all(isinstance(t, Tensor) for t in tensors):
        raise ExpressionError("te.concat", "What is joined are one or more tensors.", (), "te.concat([A, B], axis=0)")
    if not -tensors[0].ndim <= axis < tensors[0].ndim:
        text = f"{tensors[0].name!r} has {tensors[0].ndim} dimensions, so there is none with the number {shown(axis)}."
        raise ExpressionError("te.concat", text, (tensors[0].name,), f"one of 0 to {tensors[0].ndim - 1}")
    out, axis = _name(name, "t"), axis % tensors[0].ndim
    first = [e for d, e in enumerate(tensors[0].shape) if d != axis]
    for t in tensors:
        if t.dtype != tensors[0].dtype or [e for d, e in enumerate(t.shape) if d != axis] != first:
            raise ExpressionError(
                "te.concat", f"{t.name!r} cannot be joined to {tensors[0].name!r} along {axis}.", (t.name,),
                "parts have one dtype, and one shape but for the joined axis",
            )  # fmt: skip
    stages, offset = [], 0
    for k, t in enumerate(tensors):
        names = [f"a{d}" for d in range(t.ndim)]
        read = tuple(Affine.var(n) for n in names)
        write = tuple(x + offset if d == axis else x for d, x in enumerate(read))
        stages.append(
            Stage(f"{out}_{k}", tuple(zip(names, t.shape, strict=True)), (), write, Load(t.name, read), None, (t,))
        )
        offset += t.shape[axis]
    shape = (*tensors[0].shape[:axis], offset, *tensors[0].shape[axis + 1 :])
    return Tensor(out, shape, tensors[0].dtype, stages=tuple(stages))


def sum(value: Scalar, axis: Axes) -> Reduction:
    """Sum of `value` over one or more reduction axes."""
    return reduction("add", value, axis)


def prod(value: Scalar, axis: Axes) -> Reduction:
    """Product of `value` over one or more reduction axes."""
    return reduction("mul", value, axis)


def max(value: Scalar, other: Scalar | None = None, axis: Axes | None = None) -> Reduction | Value:
    """Maximum over reduction axes, or of two values (`maximum`) when `other` is given."""
    return reduction("max", value, axis) if axis is not None else maximum(value, _given(other, "max"))


def min(value: Scalar, other: Scalar | None = None, axis: Axes | None = None) -> Reduction | Value:
    """Minimum over reduction axes, or of two values (`minimum`) when `other` is given."""
    return reduction("min", value, axis) if axis is not None else minimum(value, _given(other, "min"))


def select(cond: Cond | Value, a: Scalar, b: Scalar) -> Value:
    """`a` where `cond` holds, else `b`; an index condition guards the loads of `a`."""
    if isinstance(cond, Cond):
        va, vb = coerce(a, b)
        return join(Select(cond.bounds, va.expr, vb.expr), va.dtype, va, vb)
    va, vb = coerce(a, b)
    holds = truth(cond)
    return join(Where(holds.expr, va.expr, vb.expr), va.dtype, holds, va, vb)


def cast(a: Scalar, dtype: str) -> Value:
    """Convert to `dtype`; floats are cut towards zero and to the range of an integer type, NaN becomes 0."""
    return value_of(a).astype(dtype)


def const(value: float | int | bool, dtype: str = "float32") -> Value:
    """A literal of the given dtype."""
    weak = value_of(value)
    if weak.dtype != "weak":
        raise ExpressionError("te.value", f"A literal is a number, not {shown(value)}.", (), "te.const(1.0)")
    return literal(weak, dtype_name(dtype))


def func(outputs: Tensor | Sequence[Tensor], name: str | None = None) -> Func:
    """Collect everything that `outputs` depend on into a function with one nest per stage, in dependence order."""
    outs = [outputs] if isinstance(outputs, Tensor) else list(outputs) if isinstance(outputs, list | tuple) else []
    if not outs or not all(isinstance(t, Tensor) for t in outs):
        raise ExpressionError(
            "te.outputs", "A function needs at least one tensor as its result.", (), "func(C) or func([C, D])"
        )
    order: list[Tensor] = []
    seen: dict[int, bool] = {}
    for t in outs:
        _visit(t, order, seen)
    by_name: dict[str, Tensor] = {}
    for t in order:
        if by_name.setdefault(t.name, t) is not t:
            raise ExpressionError(
                "te.name", f"Two tensors are called {t.name!r}.", (t.name,), "give each a name of its own"
            )
    inputs = [Buffer(t.name, t.shape, t.dtype, "const" if t.constant else "input") for t in order if not t.stages]
    made = [Buffer(t.name, t.shape, t.dtype, "output" if t in outs else "temp") for t in order if t.stages]
    made.sort(key=lambda b: b.role == "temp")
    stages = [(t, s) for t in order for s in t.stages]
    names = _loop_names([s for _, s in stages], {t.name for t in order})
    body = tuple(_nest(s, t.name, names) for t, s in stages)
    return Func(_name(name, outs[0].name, ""), tuple(inputs + made), body)


def _nest(s: Stage, buffer: str, names: dict[tuple[str, str], str]) -> Stmt:
    axes = [(n, e, "S") for n, e in s.spatial] + [(n, e, "R") for n, e in s.reduce]
    iters = tuple(Iter(n, e, "S" if k == "S" else "R") for n, e, k in axes)
    binds = tuple(Affine.var(names[s.name, n]) for n, _, _ in axes)
    nest: Stmt = Block(s.name, iters, binds, buffer, s.index, s.value, s.init)
    for n, e, _ in reversed(axes):
        nest = For(names[s.name, n], e, (nest,))
    return nest


def _loop_names(stages: list[Stage], taken: set[str]) -> dict[tuple[str, str], str]:
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
    """Append everything that a tensor depends on, and the tensor, without recursion: networks are deep."""
    todo = [(t, False)]
    while todo:
        top, done = todo.pop()
        if done:
            order.append(top)
        elif id(top) not in state:
            state[id(top)] = True
            todo.append((top, True))
            todo += [(r, False) for s in reversed(top.stages) for r in reversed(s.reads)]


def _name(name: str | None, prefix: str, number: int | str | None = None) -> str:
    """The name that was given, or a new one."""
    if name is not None:
        is_a("name", name, str)
    return name or f"{prefix}{next(_counter) if number is None else number}"


def _axis_names(fn: object, rank: int) -> list[str]:
    if not callable(fn):
        text = f"What is computed has to be a function of the indices, not {type(fn).__name__}."
        raise ExpressionError("te.compute", text, (), "compute((n, m), lambda i, j: A[i, j] + 1)")
    params = list(inspect.signature(fn).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        return [f"a{d}" for d in range(rank)]
    required = [p for p in params if p.default is p.empty]
    if not len(required) <= rank <= len(params):
        raise ExpressionError(
            "te.rank", f"The compute function takes {len(params)} indices, but the shape has {rank} dimensions."
        )
    return [p.name for p in params[:rank]]


def _length(given: object) -> int:
    """A length; 64 / 16 is one, too."""
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return operator.index(cast_to(int, given))


def _shape(shape: Shape) -> tuple[int, ...]:
    try:
        dims = tuple(map(_length, shape))
    except TypeError:
        text = f"A shape is a sequence of whole numbers, not {shown(shape)}."
        raise ExpressionError("te.shape", text, (), "for example (64, 64)") from None
    if len(dims) > MOST_DIMENSIONS:
        raise ExpressionError("te.rank", f"A tensor has at most {MOST_DIMENSIONS} dimensions, not {len(dims)}.")
    bad = [d for d in dims if not 1 <= d < EXTENT_LIMIT]
    if bad:
        text = f"A dimension of {shown(bad[0])} is not possible; every extent is from 1 to below 2**40."
        raise ExpressionError("te.shape", text, (), "for example (64, 64)")
    return dims


def _given(value: Scalar | None, what: str) -> Scalar:
    if value is None:
        raise ExpressionError("te.reduce_axis", f"te.{what} needs an axis to reduce over, or a second value.")
    return value


def reduction(op: str, value: Scalar, axis: Axes | None) -> Reduction:
    """Fold `value` over axes by a binary operation."""
    axes = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    good = all(isinstance(a, Axis) and a.reduce and a.form.single_var() is not None for a in axes)
    if not good or not 0 < len(axes) <= MOST_DIMENSIONS:
        raise ExpressionError("te.reduce_axis", f"A reduction needs 1 to {MOST_DIMENSIONS} axes of te.reduce_axis.")
    return Reduction(op, strong(value), cast_to(tuple[Axis, ...], axes))
