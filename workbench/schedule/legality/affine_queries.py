"""Affine forms over loops: their signs and ranges, and whether a value tells the loops apart.

Every answer is for all fillings of the holes; one that stays undecided counts as no.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.ir import Affine, Bound, Digit, Dim, Func, Relation, accesses
from workbench.ir.affine import digit_extent
from workbench.ir.poly import concrete, equal, negative, normal
from workbench.ir.poly import nonneg as _nonneg
from workbench.memoize import remembered, remembered_by_value
from workbench.schedule.nest_properties import NestProperties

#: Answers that are kept for the same relations; a long session asks about ever new sizes.
_MOST_ANSWERS = 1 << 14


@remembered(1024)
@remembered_by_value(256)
def _answers(relations: tuple[Relation, ...]) -> dict[Dim, bool | None]:
    """Questions about the same relations, with their answers; which are the same, their identity mostly tells."""
    return {}


def nonneg(dim: Dim, relations: Sequence[Relation]) -> bool | None:
    """``dim >= 0`` for every filling, remembered: one nest asks the same questions at every step."""
    if isinstance(dim, int):
        return dim >= 0
    if not isinstance(relations, tuple):
        return _nonneg(dim, relations)
    known = _answers(relations)
    if dim not in known:
        if len(known) >= _MOST_ANSWERS:
            known.clear()
        known[dim] = _nonneg(dim, relations)
    return known[dim]


def form_range(form: Affine, extents: Mapping[str, Dim], relations: Sequence[Relation]) -> tuple[Dim, Dim]:
    """Least and greatest value of a form over the loops in `extents` (a sign that is undecided counts as positive)."""
    lo = hi = form.const
    for digit, c in form.terms:
        reach = c * (digit_extent(digit, extents) - 1)
        if negative(c):
            lo = lo + reach
        else:
            hi = hi + reach
    return normal(lo, relations), normal(hi, relations)


def determines(form: Affine, varying: Mapping[str, Dim], relations: Sequence[Relation]) -> bool:
    """Whether the value of the form determines every varying digit in it: each step outreaches all smaller steps
    together.
    """
    todo: list[tuple[Dim, Dim]] = []
    for digit, c in form.terms:
        if digit.var in varying and not equal(size := digit_extent(digit, varying), 1, relations):
            todo.append((-c if negative(c) else c, size))
    if _are_digits(todo, relations):
        return True
    reach: Dim = 1
    while todo:
        hit = next((x for x in todo if all(nonneg(y[0] - x[0], relations) for y in todo if y is not x)), None)
        if hit is None or not nonneg(hit[0] - reach, relations):
            return False
        todo.remove(hit)
        reach = normal(reach + hit[0] * (hit[1] - 1), relations)
    return True


def _are_digits(steps: Sequence[tuple[Dim, Dim]], relations: Sequence[Relation]) -> bool:
    """Whether each step is the product of all smaller sizes: most forms are, and that is soon seen."""
    rest = [(normal(c, relations), size) for c, size in steps]
    at: Dim = 1
    while rest:
        hit = next((x for x in rest if x[0] == at), None)
        if hit is None:
            return False
        rest.remove(hit)
        at = normal(at * hit[1], relations)
    return True


def tiles(digits: Iterable[Digit], extent: Dim, relations: Sequence[Relation], once: bool = False) -> bool:
    """Whether the digits of one loop together determine it; with `once` also that none occurs twice."""
    if equal(extent, 1, relations):
        return True
    todo = list(digits)
    at: Dim = 1
    while not equal(at, extent, relations):
        hit = next((d for d in todo if equal(d.lower, at, relations)), None)
        if hit is None:
            return False
        todo.remove(hit)
        at = extent if hit.extent is None else normal(at * hit.extent, relations)
    return not (once and [d for d in todo if d.extent is None or not equal(d.extent, 1, relations)])


def evaluate_form(form: Affine, values: Mapping[str, Any]) -> Any:
    """Value of a concrete form at a point, or at many: `values` are whole numbers, or columns of them."""
    total: Any = concrete(form.const)
    for d, c in form.terms:
        v = values[d.var] // concrete(d.lower)
        total = total + concrete(c) * (v if d.extent is None else v % concrete(d.extent))
    return total


def hold(conds: Iterable[Bound], values: Mapping[str, Any], env: Mapping[str, Affine]) -> Any:
    """Whether all conditions hold at a point, or at each of many; `env` has the axes that they are written in."""
    out: Any = True
    for c in conds:
        at = evaluate_form(c.form.subst(env), values)
        out = out & (at >= concrete(c.lo)) & (at < concrete(c.hi))
    return out


def check_affine(func: Func) -> None:
    """Refuse ("index.affine") when some index, written in loops, is not affine: where an axis is used in parts."""
    for block in NestProperties.of(func.body).cut:
        accesses(block)
