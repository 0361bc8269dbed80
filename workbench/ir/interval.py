"""What values an index form takes: limits that use known bounds, and whether it takes one twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.ir.affine import Affine, Digit, digit_extent
from workbench.ir.expr import Bound
from workbench.ir.poly import Dim, Relation, divide, equal, nonneg, normal


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
        Bounds on forms; one helps where its form is a part of this one, or limits a digit of it.
    relations : sequence of Relation
    """
    known = tuple(known)
    lows: list[Dim] = []
    highs: list[Dim] = []
    if form.vars <= extents.keys():
        for given in ((), known):
            limits = _summed(form, lambda d, g=given: _digit_limits(d, extents, g, relations), relations)  # type: ignore[misc]
            if limits is not None:
                lows.append(limits[0])
                highs.append(limits[1])
    for bound in known:
        rest = form - bound.form
        if len(rest.terms) != len(form.terms) - len(bound.form.terms) or not rest.vars <= extents.keys():
            continue  # what is bounded is no part of the form
        limits = _summed(rest, lambda d: _digit_limits(d, extents, known, relations), relations)
        if limits is not None:
            lows.append(bound.lo + limits[0])
            highs.append(bound.hi - 1 + limits[1])
    return Interval(tuple(lows), tuple(highs))


def _summed(
    form: Affine, of: Callable[[Digit], tuple[Dim, Dim]], relations: Sequence[Relation]
) -> tuple[Dim, Dim] | None:
    """Limits of a form from those of its digits; None where the sign of a step is not decided."""
    lo = hi = form.const
    for d, c in form.terms:
        first, last = of(d)
        if nonneg(c, relations):
            lo, hi = lo + c * first, hi + c * last
        elif nonneg(c * -1, relations):
            lo, hi = lo + c * last, hi + c * first
        else:
            return None
    return lo, hi


def _digit_limits(
    d: Digit, extents: Mapping[str, Dim], known: tuple[Bound, ...], relations: Sequence[Relation]
) -> tuple[Dim, Dim]:
    first: Dim = 0
    last = digit_extent(d, extents) - 1
    for bound in known:
        lo, hi = _solved(d, bound, extents, relations)
        if lo is not None and nonneg(lo - first, relations):
            first = lo
        if hi is not None and nonneg(last - hi, relations):
            last = hi
    if d.plain or d.free or not known:
        return first, last
    return _within_digit(d, first, last, _digit_limits(Digit(d.var), extents, known, relations))


def _within_digit(d: Digit, first: Dim, last: Dim, whole: tuple[Dim, Dim]) -> tuple[Dim, Dim]:
    """Limits of a digit, given those of its variable: ``i // 2`` is below 3 where ``i`` is below 6."""
    lo, hi = whole
    if not (isinstance(d.lower, int) and isinstance(first, int) and isinstance(last, int)):
        return first, last
    if not (isinstance(lo, int) and isinstance(hi, int) and isinstance(d.extent, int | None)):
        return first, last
    low, high = lo // d.lower, hi // d.lower
    if d.extent is not None:
        if low // d.extent != high // d.extent:
            return first, last  # it wraps
        low, high = low % d.extent, high % d.extent
    return max(first, low), min(last, high)


def _solved(
    d: Digit, bound: Bound, extents: Mapping[str, Dim], relations: Sequence[Relation]
) -> tuple[Dim | None, Dim | None]:
    """Limits of one digit that follow from a bound on a sum in which it has a positive step."""
    step = next((c for other, c in bound.form.terms if other == d), 0)
    if not nonneg(step - 1, relations):
        return None, None
    others = Affine(tuple((o, c) for o, c in bound.form.terms if o != d), bound.form.const)
    limits = _summed(others, lambda o: (0, digit_extent(o, extents) - 1), relations)
    if limits is None:
        return None, None
    least, most = limits
    above = _divided_up(bound.hi - least, step, relations)
    return _divided_up(bound.lo - most, step, relations), None if above is None else above - 1


def _divided_up(dim: Dim, by: Dim, relations: Sequence[Relation]) -> Dim | None:
    """Quotient, rounded up where both are numbers; None where it is not exact otherwise."""
    return -(-dim // by) if isinstance(dim, int) and isinstance(by, int) else divide(dim, by, relations)


def within(iv: Interval, extent: Dim, relations: Sequence[Relation]) -> bool:
    """Whether the limits are proved to lie in ``[0, extent)``."""
    low = any(nonneg(x, relations) for x in iv.lows)
    return low and any(nonneg(extent - 1 - x, relations) for x in iv.highs)


def implies(known: Bound, bound: Bound, relations: Sequence[Relation] = ()) -> bool:
    """Whether it is proved that the second bound holds where the first one does."""
    return within(interval(bound.form - bound.lo, {}, (known,), relations), bound.hi - bound.lo, relations)


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
