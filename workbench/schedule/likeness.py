"""What decides whether steps are legal that differ in little: one of them then speaks for all (`Primitive.alike`).

Most of it needs a plain nest, of which no earlier step was promised anything: what was promised of marked loops and
units has to be asked of every step anew.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ..ir.func import Func
from ..ir.remembered import Remembered
from ..ir.stmt import For, blocks, cut_axes
from . import legality, limits
from .holes import Hole
from .outline import Outline


def plain(func: Func, loop: str, deeper: int = 0) -> bool:
    """Whether the nest of a loop has unmarked loops and no units, and as many more loops may lie inside each other."""
    lp, path = func.loop(loop)
    outline = Outline.of_nest(path[0] if path else lp)
    return outline.plain and outline.depth[0] + deeper <= limits.DEEPEST


def all_plain(func: Func) -> bool:
    """Whether nothing was promised of any nest or buffer."""
    return Outline.of(func.body).plain and all(b.scope in ("auto", "global") for b in func.buffers)


def used_whole(func: Func, loop: str) -> bool:
    """Whether no block uses digits of a loop, or of an axis that it drives."""
    lp, _ = func.loop(loop)
    return _WHOLE.about(lp, _used_whole)


_WHOLE: Remembered[bool] = Remembered(1024)


def _used_whole(loop: For) -> bool:
    for b, _ in blocks(loop.body):
        for it, bind in zip(b.iters, b.binds, strict=True):
            digits = [d for d, _ in bind.terms if d.var == loop.name]
            if not all(d.plain for d in digits) or (digits and it.name in cut_axes(b)):
                return False
    return True


def just_cut(func: Func, loop: str, factors: tuple[Any, ...]) -> Hashable | None:
    """What splits into two by whatever divides have in common: all of a plain nest, else those of one loop.

    How many iterations stay outside decides nothing: their number and order are the same, and so is every index. Only
    where a block uses digits of the loop may a factor cut through one.
    """
    lp, _ = func.loop(loop)
    free = plain(func, loop, 1)
    match factors:
        case (None, int(f)) if isinstance(lp.extent, int) and f > 0 and lp.extent % f == 0:
            fits = True
        case (None, Hole(None, None)) if isinstance(lp.extent, int):
            fits = free  # what was promised might be proved for numbers only
        case _:
            return None
    return (() if free else loop) if fits and used_whole(func, loop) else None


def one_kind(func: Func, outer: str, inner: str) -> Hashable | None:
    """What two loops of a plain nest directly inside each other have in common with others that no reduction tells
    apart: the reductions inside. In which order such loops run does not matter to these.
    """
    lp, _ = func.loop(outer)
    child = lp.body[0]
    if len(lp.body) != 1 or not isinstance(child, For) or child.name != inner or not plain(func, outer, 2):
        return None
    return _KINDS.of((lp,), lambda: _reductions(lp, child))


_KINDS: Remembered[frozenset[str] | None] = Remembered(1024)


def _reductions(outer: For, inner: For) -> frozenset[str] | None:
    """Names of the reductions inside two loops; None where one tells them apart."""
    found = [b for b, _ in blocks(inner.body) if b.is_reduction]
    for block in found:
        red, spa = legality.reduction_loops(block), legality.spatial_loops(block)
        if (outer.name in red) != (inner.name in red) or (spa & red & {outer.name, inner.name}):
            return None
    return frozenset(b.name for b in found)
