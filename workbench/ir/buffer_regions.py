"""Regions: which part of a buffer a piece of the nest touches while the loops outside of it stand still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.errors import ScheduleError
from workbench.ir.affine import Affine, split_base, width
from workbench.ir.func import Func
from workbench.ir.poly import Dim, Relation, nonneg, normal
from workbench.ir.stmt import Stmt, accesses, blocks


@dataclass(frozen=True, slots=True)
class Span:
    """Interval ``[base, base + width)`` of one dimension; `base` is a form over the loops that stand still."""

    base: Affine
    width: Dim

    def __str__(self) -> str:
        return f"[{self.base}, {self.base} + {self.width})"


def region(func: Func, body: tuple[Stmt, ...], buffer: str, *, writes: bool | None = None) -> tuple[Span, ...] | None:
    """Hull of all accesses to `buffer` by the blocks in `body`.

    Parameters
    ----------
    func : Func
        Gives the relations between holes.
    body : tuple of Stmt
        Statements to look at; loops inside of it run.
    buffer : str
    writes : bool, optional
        Only writes (True), only reads (False), or both (None).

    Returns
    -------
    tuple of Span or None
        One span per dimension; None when there is no such access.

    Raises
    ------
    ScheduleError
        "region.union" when two accesses cannot be ordered for every filling of the holes.
    """
    hull: tuple[Span, ...] | None = None
    for block, path in blocks(body):
        inner = {lp.name: lp.extent for lp in path}
        for acc in accesses(block):
            if acc.buffer != buffer or (writes is not None and acc.is_write != writes):
                continue
            spans = spans_of(acc.index, inner, func.relations)
            hull = spans if hull is None else union(hull, spans, func.relations)
    return hull


def spans_of(index: tuple[Affine, ...], inner: Mapping[str, Dim], relations: Sequence[Relation]) -> tuple[Span, ...]:
    """Part that one access touches while the loops `inner` (name: extent) run."""
    return tuple(Span(split_base(x, inner).normal(relations), normal(width(x, inner), relations)) for x in index)


def union(a: tuple[Span, ...], b: tuple[Span, ...], relations: Sequence[Relation]) -> tuple[Span, ...]:
    """Hull of two regions whose bases differ by a known distance."""
    return tuple(_union(x, y, relations) for x, y in zip(a, b, strict=True))


def _union(a: Span, b: Span, relations: Sequence[Relation]) -> Span:
    if a == b:
        return a
    shift = (b.base - a.base).normal(relations)
    if not shift.is_const or not isinstance(shift.const, int):
        raise ScheduleError(
            "region.union", f"Two accesses start {shift} apart, which differs from one iteration to another."
        )
    offset = shift.const
    end_a, end_b = a.width, b.width + offset
    if nonneg(end_a - end_b, relations):
        end = end_a
    elif nonneg(end_b - end_a, relations):
        end = end_b
    else:
        raise ScheduleError(
            "region.union", f"It is not decided which of {end_a} and {end_b} is larger for every value of the holes."
        )
    low = min(0, offset)
    return Span(a.base + low, normal(end - low, relations))
