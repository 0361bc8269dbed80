"""What two iterations of a reduction make of one element: after each other, and at the same time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from workbench.ir import Binary, Block, Cast, Const, Expr, Func, Load, Select, blocks
from workbench.schedule.legality.affine_queries import evaluate_form, hold
from workbench.schedule.refusal import Point

DEEPEST = 6
"""Element-wise blocks behind each other that a value is followed through; chosen. Deeper conflicts show no values."""

_OPS: dict[str, Callable[[float, float], float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "max": max, "min": min,
}  # fmt: skip


class _Unknown(Exception):
    """A value that is not made of inputs by plain arithmetic."""


def effect_of(
    func: Func, block: Block, first: Point, second: Point, known: dict[Point, float] | None = None
) -> tuple[float, tuple[float, ...]] | None:
    """Work out what a reduction takes in at two points: both terms, or one of them where the other one is lost.

    The inputs are made up, from a few quarters, so that the sums are exact. None where the order would not be seen:
    another operator, terms that are no plain arithmetic, or a term that changes nothing. Who asks about many pairs of
    the same block lends a table for the terms that are `known`.
    """
    if not block.is_reduction:
        return None
    op, term = block.update()
    if op not in ("add", "max", "min"):
        return None
    terms = {} if known is None else known
    zero = {lp.name: 0 for lp in func.block(block.name)[1]}
    try:
        for point in (first, second):
            if point not in terms:
                terms[point] = _at(func, block, term, zero | dict(point))
    except _Unknown:
        return None
    a, b = terms[first], terms[second]
    both, alone = _OPS[op](a, b), tuple(dict.fromkeys((a, b)))
    lost = tuple(x for x in alone if x != both)
    return (both, lost) if lost and (op != "add" or len(lost) == len(alone)) else None


def _at(func: Func, block: Block, e: Expr, values: Mapping[str, int]) -> float:
    axes = {name: evaluate_form(x, values) for name, x in block.env.items()}
    return _value(func, e, axes, 0)


def _value(func: Func, e: Expr, axes: Mapping[str, int], deep: int) -> float:
    match e:
        case Const(value):
            return float(value)
        case Binary(op, a, b) if op in _OPS:
            return _OPS[op](_value(func, a, axes, deep), _value(func, b, axes, deep))
        case Select(conds, a, b):
            return _value(func, a if hold(conds, axes, {}) else b, axes, deep)
        case Cast(dtype, a) if dtype.startswith("float"):
            return _value(func, a, axes, deep)
        case Load(buffer, index, ()):
            return _element(func, buffer, [evaluate_form(x, axes) for x in index], deep)
    raise _Unknown


def _element(func: Func, buffer: str, at: Sequence[int], deep: int) -> float:
    if func.buffer(buffer).role in ("input", "const"):
        return ((7 * sum(at)) % 19 - 9) / 4
    made = [b for b, _ in blocks(func.body) if b.buffer == buffer]
    if len(made) != 1 or made[0].is_reduction or deep == DEEPEST:
        raise _Unknown
    axes = dict.fromkeys((it.name for it in made[0].iters), 0)
    for form, value in zip(made[0].index, at, strict=True):
        axis = form.single_var()
        if axis is None and not form.is_const:
            raise _Unknown
        if axis is not None:
            axes[axis] = value
    if not hold(made[0].guard, axes, {}):
        raise _Unknown
    return _value(func, made[0].value, axes, deep + 1)
