"""Which thread of a block touches an element: temporaries whose elements belong to one thread each.

An index tells the thread where a digit of a loop over threads is a digit of the index too: in ``C[ty * 4 + i, tx]`` the
thread is ``(first // 4, second)``, whatever the other loops do. Where all accesses of a temporary tell it in the same
way, an element is touched by one thread only, also from nests that stand one after the other. Such a temporary may be
"local", and no barrier is needed between these accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from workbench.ir.affine import Affine, Digit, digit_extent, injective
from workbench.ir.func import Func
from workbench.ir.poly import Dim, Relation, divide, equal, nonneg, normal
from workbench.ir.stmt import THREAD_KINDS, For, accesses, blocks, touched


@dataclass(frozen=True, slots=True)
class Place:
    """``(index[dim] // unit) % extent`` is ``(thread // lower) % extent``."""

    dim: int
    unit: Dim
    lower: Dim
    extent: Dim


#: Kind of a loop over threads -> the places that tell its thread. A kind that is missing has no loop around the access.
Owner: TypeAlias = Mapping[str, frozenset[Place]]


def owner(index: Sequence[Affine], path: Iterable[For], relations: Sequence[Relation] = ()) -> Owner | None:
    """Say how an index tells the thread, None where it does not.

    Parameters
    ----------
    index : sequence of Affine
        Over the loops.
    path : iterable of For
        Loops around the access. All of them may run, those that are not over threads any number of times.
    relations : sequence of Relation
    """
    path = tuple(path)
    extents = {lp.name: lp.extent for lp in path}
    out: dict[str, frozenset[Place]] = {}
    for lp in path:
        if lp.kind not in THREAD_KINDS or equal(lp.extent, 1, relations):
            continue
        told: dict[Digit, Place] = {}
        for dim, form in enumerate(index):
            for d, unit in form.terms:
                if d.var == lp.name and d not in told and _stands_apart(form, d, unit, extents, relations):
                    size = normal(digit_extent(d, extents), relations)
                    told[d] = Place(dim, normal(unit, relations), normal(d.lower, relations), size)
        whole = injective(Affine.make((d, p.lower) for d, p in told.items()), extents, relations)
        if whole is None or not equal(whole, lp.extent, relations):
            return None
        out[lp.kind] = frozenset(told.values())
    return out


def _stands_apart(
    form: Affine, digit: Digit, unit: Dim, extents: Mapping[str, Dim], relations: Sequence[Relation]
) -> bool:
    """Whether the other terms lie below the step of a digit, or are multiples of where it ends."""
    try:
        sizes = {d: digit_extent(d, extents) for d, _ in form.terms}
    except ValueError:
        return False
    if not nonneg(unit - 1, relations):
        return False
    end = normal(unit * sizes[digit], relations)
    low = _rest(form.const, end, relations)
    if low is None:
        return False
    for d, c in form.terms:
        if d == digit or divide(c, end, relations) is not None:
            continue
        if not nonneg(c, relations):
            return False
        low = low + c * (sizes[d] - 1)
    return bool(nonneg(unit - 1 - low, relations))


def _rest(const: Dim, end: Dim, relations: Sequence[Relation]) -> Dim | None:
    """Part of a constant that is no multiple of `end`; None where it may be negative."""
    if isinstance(const, int) and isinstance(end, int):
        return const % end
    if divide(const, end, relations) is not None:
        return 0
    return const if nonneg(const, relations) else None


def owner_of(func: Func, buffer: str, home: Sequence[For]) -> Owner | None:
    """Say how all accesses of a temporary tell the thread; None where they do not, or each in its own way.

    `home` are the loops that all of them share: what lives inside of those over threads is each thread's own anyway.
    """
    inside = {lp.name for lp in home}
    found: Owner | None = None
    for block, path in blocks(func.body):
        if buffer not in touched(block):
            continue
        around = [lp if lp.name not in inside else For(lp.name, lp.extent, lp.body) for lp in path]
        for acc in accesses(block):
            if acc.buffer == buffer:
                now = owner(acc.index, around, func.relations)
                if now is None or (found is not None and now != found):
                    return None
                found = now
    return found
