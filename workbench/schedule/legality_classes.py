"""What decides whether steps are legal that differ in little: one of them then speaks for all (`Primitive.alike`).

Whatever was promised of loops has to be asked of every step anew, unless the step leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from workbench.ir import For, Func, blocks
from workbench.ir.stmt import cut_axes
from workbench.memoize import remembered
from workbench.schedule import legality, size_limits, split_tails
from workbench.schedule.holes import Hole
from workbench.schedule.nest_properties import NestProperties


def properties_around(func: Func, loop: str) -> NestProperties:
    """NestProperties of the nest that a loop is in."""
    lp, path = func.loop(loop)
    return NestProperties.of_nest(path[0] if path else lp)


def all_plain(func: Func) -> bool:
    """Whether nothing was promised of any nest or buffer."""
    return NestProperties.of(func.body).plain and all(b.scope in ("auto", "global") for b in func.buffers)


def used_whole(func: Func, loop: str) -> bool:
    """Whether no block uses digits of a loop, or of an axis that it drives."""
    return _used_whole(func.loop(loop)[0])


@remembered(1024)
def _used_whole(loop: For) -> bool:
    for b, _ in blocks(loop.body):
        for it, bind in zip(b.iters, b.binds, strict=True):
            digits = [d for d, _ in bind.terms if d.var == loop.name]
            if not all(d.plain for d in digits) or (digits and it.name in cut_axes(b)):
                return False
    return True


def just_cut(func: Func, loop: str, factors: tuple[Any, ...]) -> Hashable | None:
    """What splits into two by whatever divides have in common: as a rule all of them, else those of one loop.

    How many iterations stay outside decides nothing: their number and order are the same, and so is every index. Only
    where a block uses digits of the loop may a factor cut through one, and a hole may leave undecided what is asked of
    marked loops.
    """
    lp, _ = func.loop(loop)
    properties = properties_around(func, loop)
    match factors:
        case (None, int(f)) if isinstance(lp.extent, int) and f > 0 and lp.extent % f == 0:
            free = properties.plain or not (properties.units or func.relations or lp.kind != "serial")
        case (None, Hole(None, None)) if isinstance(lp.extent, int) and properties.plain:
            free = True
        case _:
            return None
    if not used_whole(func, loop):
        return None
    return () if free and properties.depth[0] + 2 <= size_limits.DEEPEST_NEST else loop


def cut_off(func: Func, loop: str, factors: tuple[Any, ...]) -> bool:
    """Whether a loop is the outermost part of an axis of the one block in it: then it may have a tail of any length."""
    lp, path = func.loop(loop)
    inside = list(blocks(lp.body))
    match factors:
        case (None, int(f)) if isinstance(lp.extent, int) and 0 < f < lp.extent and lp.extent % f and len(inside) == 1:
            if (
                not all_plain(func)
                or NestProperties.of(func.body).depth[0] >= size_limits.DEEPEST_NEST
                or not used_whole(func, loop)
            ):
                return False
            (block, rest), *_ = inside
            return split_tails.part_of(func, block, (*path, lp, *rest), loop) is not None
    return False


def one_kind(func: Func, outer: str, inner: str) -> Hashable | None:
    """What two unmarked loops directly inside each other have in common with others that no reduction tells apart: the
    reductions inside. In which order such loops run does not matter to these, nor to marks of other loops.
    """
    lp, _ = func.loop(outer)
    child = lp.body[0]
    if len(lp.body) != 1 or not isinstance(child, For) or child.name != inner or properties_around(func, outer).units:
        return None
    return _reductions(lp)


@remembered(1024)
def _reductions(outer: For) -> frozenset[str] | None:
    """Names of the reductions inside a loop and the one in it; None where one tells them apart, or a loop is marked."""
    inner = outer.body[0]
    assert isinstance(inner, For)
    if {outer.kind, inner.kind} - {"serial", "unroll"}:
        return None
    reductions = [b for b, _ in blocks(inner.body) if b.is_reduction]
    for block in reductions:
        red, spa = legality.reduction_loops(block), legality.spatial_loops(block)
        if (outer.name in red) != (inner.name in red) or (spa & red & {outer.name, inner.name}):
            return None
    return frozenset(b.name for b in reductions)
