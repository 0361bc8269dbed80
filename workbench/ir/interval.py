"""What values an index form takes: limits that use known bounds, and whether it hits each value once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .affine import Affine, Digit, digit_extent
from .expr import Bound
from .poly import Dim, Relation, equal, nonneg, normal


@dataclass(frozen=True, slots=True)
class Interval:
    """Inclusive limits of a form. Each side offers several: one may be provable where another is not."""

    lows: tuple[Dim, ...]
    highs: tuple[Dim, ...]


def interval(
    form: Affine, extents: Mapping[str, Dim], known: Iterable[Bound], relations: Sequence[Relation]
) -> Interval:
    """Limits of a form, given the extents of its variables and bounds that are known to hold.

    Parameters
    ----------
    form : Affine
    extents : mapping of str to Dim
        A variable runs from 0 to below its extent; a form with a variable that is not here has only the `known` limits.
    known : iterable of Bound
        Bounds on forms; one helps where it is on the same form up to a constant, or on a single digit of it.
    relations : sequence of Relation
    """
    known = tuple(known)
    lows: list[Dim] = []
    highs: list[Dim] = []
    if form.vars <= extents.keys():
        for given in ((), known):
            lo = hi = form.const
            for d, c in form.terms:
                first, last = _digit_limits(d, extents, given)
                up = nonneg(c, relations)
                lo, hi = (lo + c * first, hi + c * last) if up else (lo + c * last, hi + c * first)
            lows.append(lo)
            highs.append(hi)
    for bound in known:
        shift = form - bound.form
        if shift.is_const:
            lows.append(bound.lo + shift.const)
            highs.append(bound.hi - 1 + shift.const)
    return Interval(tuple(lows), tuple(highs))


def _digit_limits(d: Digit, extents: Mapping[str, Dim], known: tuple[Bound, ...]) -> tuple[Dim, Dim]:
    first: Dim = 0
    last = digit_extent(d, extents) - 1
    for bound in known:
        if bound.form.terms == ((d, 1),):
            lo, hi = bound.lo - bound.form.const, bound.hi - 1 - bound.form.const
            first = lo if nonneg(lo - first) else first
            last = hi if nonneg(last - hi) else last
    return first, last


def within(iv: Interval, extent: Dim, relations: Sequence[Relation]) -> bool:
    """Whether the limits are proved to lie in ``[0, extent)``."""
    low = any(nonneg(x, relations) for x in iv.lows)
    return low and any(nonneg(extent - 1 - x, relations) for x in iv.highs)


def injective(form: Affine, extents: Mapping[str, Dim], relations: Sequence[Relation]) -> Dim | None:
    """Size of ``[0, n)`` that the form (its constant aside) takes exactly once, or None: the mixed-radix test."""
    todo = [(c, digit_extent(d, extents)) for d, c in form.terms]
    weight: Dim = 1
    while todo:
        unit = next((x for x in todo if equal(x[1], 1, relations)), None)
        hit = unit or next((x for x in todo if equal(x[0], weight, relations)), None)
        if hit is None:
            return None
        todo.remove(hit)
        weight = weight if unit else normal(weight * hit[1], relations)
    return weight


def overlaps(form: Affine, extents: Mapping[str, Dim], relations: Sequence[Relation]) -> bool:
    """Whether the form provably takes a value twice: one step is smaller than the reach of the terms below it."""
    todo = [(c, digit_extent(d, extents)) for d, c in form.terms]
    todo = [x for x in todo if not equal(x[1], 1, relations)]
    reach: Dim = 1
    while todo:
        hit = next((x for x in todo if all(nonneg(y[0] - x[0], relations) for y in todo)), None)
        if hit is None:
            return False
        todo.remove(hit)
        if nonneg(hit[0] - reach, relations) is False:
            return True
        reach = normal(reach + hit[0] * (hit[1] - 1), relations)
    return False
