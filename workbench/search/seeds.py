"""Where a search may start from: schedules by hand and records of this task, of similar tasks and of other machines.

`adapt` finds for each of them the variant of the space whose trace is most alike, reads off its trace what the variant
leaves open, and moves every number to the nearest one that is legal here, vector widths first.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UsageError, WorkbenchError
from workbench.ir.flops import count_flops
from workbench.ir.poly import evaluate
from workbench.log import Record
from workbench.machine_model import features as feature_columns
from workbench.machine_model import nest_summary
from workbench.machine_model.features import INDEX
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.hole_domain import Group
from workbench.space.program_keys import program_key
from workbench.space.sampling import Picks, Sampler
from workbench.space.trace_alignment import Step, Trace, alike, wanted

if TYPE_CHECKING:
    from workbench.ir import Func
    from workbench.space.space import Space
    from workbench.space.variant import Variant


class Nearness:
    """When a row of a space is near to a schedule. Chosen, not measured; `test_seeds` shows what comes of it."""

    #: Share of steps that traces have in common: less alike ones say nothing about a variant, unless they give numbers
    #: for half of its groups of holes.
    LEAST_ALIKE = 0.4
    #: Combinations of nearby factorisations that are looked at when the nearest ones break a limit: some milliseconds.
    COMBINATIONS = 20_000
    #: What a doubling of a vector width, of an inner factor and of the outermost factor counts as a distance.
    VECTOR, INNER, OUTERMOST = 16.0, 1.0, 0.25


@dataclass(frozen=True, slots=True)
class Seed:
    """A program to try before all others.

    Attributes
    ----------
    variant : int
        -1 when it is no row of the space; then `schedule` is set.
    row : mapping of hole to number
    key : str
        Structural key of the program.
    x : array [F]
        Its features.
    note : str
        One sentence: where it came from, and what was adapted.
    parent : str or None
        Key of the program that it was adapted from.
    schedule : Schedule or None
    """

    variant: int
    row: Mapping[str, int]
    key: str
    x: NDArray[np.float32]
    note: str
    parent: str | None = None
    schedule: Schedule | None = None


def adapt(source: Schedule | Record | Iterable[Schedule | Record], task: Any, space: Space) -> list[Seed]:
    """Make seeds of schedules and records for one task.

    Parameters
    ----------
    source : Schedule, Record or iterable of them
        Concrete schedules by hand, and records of this task or of similar ones, from this machine or another.
    task : Task or Func
    space : Space
        Of that task.

    Returns
    -------
    list of Seed
        Each program once. A schedule that is no row of the space gives itself and the row that is nearest to it;
        nothing comes of one that neither applies to the task nor is like any variant, or of a trial that failed.

    Raises
    ------
    UsageError
        "seed.holes" for a schedule with open holes, "seed.source" for anything else.
    """
    sources = [source] if isinstance(source, Schedule | Record) else list(source)
    out: dict[str, Seed] = {}
    for one in sources:
        if not isinstance(one, Schedule | Record):
            kind = type(one).__name__
            raise UsageError("seed.source", f"A search starts from schedules and records, not from {kind}.", (kind,))
        if isinstance(one, Record) and not one.ok:
            continue
        for seed in _adapt(one, getattr(task, "func", task), space):
            out.setdefault(seed.key, seed)
    return list(out.values())


def _adapt(source: Schedule | Record, func: Func, space: Space) -> list[Seed]:
    if not isinstance(source, Record) and source.func.holes:
        names = [h.name for h in source.func.holes]
        hint = "fill it, or tune it as a space of its own"
        raise UsageError("seed.holes", "A schedule that a search starts from has no open holes.", names, hint)
    origin, parent = _origin(source), source.key or None if isinstance(source, Record) else None
    steps: Sequence[Step] = tuple(source.trace) if isinstance(source, Record) else source.to_json()
    given = dict(source.row) if isinstance(source, Record) and source.space == space.id else None
    exact = None if given is None or not isinstance(source, Record) else _exact(source.variant, given, space)
    if exact is not None:
        v, picks = exact
        return [_row_seed(v, picks, f"{origin}: as it was", parent)]
    concrete = _concrete(steps, func, space, origin, parent)
    near = _nearest(steps, space, origin, parent)
    if concrete is None:
        return [near] if near is not None else []
    if near is not None and near.key == concrete.key:
        return [near]
    return [concrete, near] if near is not None else [concrete]


def _origin(source: Schedule | Record) -> str:
    if not isinstance(source, Record):
        return "from a schedule by hand"
    here = f"{platform.node()} {platform.machine()}"
    elsewhere = " on another machine" if source.host and source.host != here else ""
    return f"from {source.task} trial {source.trial}{elsewhere}"


def _exact(index: int, row: Mapping[str, int], space: Space) -> tuple[Variant, Picks] | None:
    """Variant and row of a record of this space, where the limits of this machine allow it."""
    if not 0 <= index < len(space.variants):
        return None
    variant = space.variants[index]
    picks = variant.sampler.find(row)
    return (variant, picks) if picks is not None and variant.sampler.mask(picks[None])[0] else None


def _row_seed(variant: Variant, picks: Picks, note: str, parent: str | None) -> Seed:
    key = f"{int(variant.keys(picks[None])[0]):016x}"
    row = variant.sampler.row(picks)
    return Seed(variant.index, row, key, variant.features(picks[None])[0], note, parent if parent != key else None)


def _concrete(steps: Sequence[Step], func: Func, space: Space, origin: str, parent: str | None) -> Seed | None:
    """The schedule itself, where its steps apply to the task."""
    s = applied(steps, func, space)
    if s is None:
        return None
    key = program_key(s.func)
    x = features_of(s, space.variants[0].machine)
    return Seed(-1, {}, key, x, f"{origin}: as it was", parent if parent != key else None, s)


def applied(steps: Sequence[Step], func: Func, space: Space) -> Schedule | None:
    """Concrete schedule that a trace makes; None where it does not apply, or leaves holes open."""
    try:
        s = Schedule.from_json(func, list(steps), space.variants[0].schedule.target)
    except WorkbenchError:
        return None
    return None if s.func.holes else s


def features_of(schedule: Schedule, machine: Machine) -> NDArray[np.float32]:
    """Features ``[F]`` of a concrete schedule."""
    plan = nest_summary.plan(schedule.func, count_flops(schedule.base))
    x: NDArray[np.float32] = feature_columns.features(plan, {}, 1, machine)[0]
    return x


# ------------------------------------------------------------------------------------------------------ nearest rows


@dataclass(frozen=True, slots=True)
class _Found:
    """A row near to a schedule: how alike the traces are, how far the numbers had to move."""

    alike: float
    distance: float
    variant: Variant
    picks: Picks
    wishes: Mapping[str, int]


def _nearest(steps: Sequence[Step], space: Space, origin: str, parent: str | None) -> Seed | None:
    trace = Trace(steps)
    ranked = sorted(((alike(trace, v.trace), -v.index, v) for v in space.variants), reverse=True)
    best: _Found | None = None
    for likeness, _, variant in ranked:
        if best is not None and likeness < best.alike:
            break
        wishes = wanted(trace, variant.trace)
        groups = variant.sampler.domain.groups
        told = sum(bool(set(g.holes) & wishes.keys()) for g in groups)
        if likeness < Nearness.LEAST_ALIKE and (not told or 2 * told < len(groups)):
            continue
        found = _nearest_row(variant.sampler, wishes)
        if found is not None and (best is None or found[1] < best.distance):
            best = _Found(likeness, found[1], variant, _free(variant, found[0], wishes), wishes)
    if best is None:
        return None
    form = "" if best.alike == 1.0 else f" in the form of variant {best.variant.index}"
    what = _changes(best) or ("with the same numbers" if form else "as it was")
    return _row_seed(best.variant, best.picks, f"{origin}{form}: {what}", parent)


def _nearest_row(sampler: Sampler, wishes: Mapping[str, int]) -> tuple[Picks, float] | None:
    """The legal row whose numbers are nearest to the wishes, and how far away it is."""
    groups = sampler.domain.groups
    if not groups:
        return np.zeros(0, np.int64), 0.0
    if any(not len(g) for g in groups):
        return None
    costs = [_cost(g, wishes) for g in groups]
    orders = [np.argsort(c, kind="stable") for c in costs]
    width = max(1, int(Nearness.COMBINATIONS ** (1.0 / len(groups))))
    near = [o[:width] for o in orders]
    rows = np.stack([m.ravel() for m in np.meshgrid(*near, indexing="ij")], axis=1)
    if not (ok := sampler.mask(rows)).any():
        rows = sampler.draw(4096, np.random.default_rng(0))
        ok = np.ones(len(rows), np.bool_)
        if not len(rows):
            return None
    rows = rows[ok]
    total = np.sum([c[rows[:, g]] for g, c in enumerate(costs)], axis=0)
    at = int(np.argmin(total))
    return rows[at], float(total[at])


def _cost(group: Group, wishes: Mapping[str, int]) -> NDArray[np.float64]:
    """Distance of every row of a table from the wishes: differences of logarithms, weighted."""
    out = np.zeros(len(group))
    last = len(group.holes) - 1
    for k, hole in enumerate(group.holes):
        if hole in wishes:
            inner = group.extent is None or 0 < k < last
            weight = Nearness.INNER if inner else Nearness.VECTOR if k == last else Nearness.OUTERMOST
            out += weight * np.abs(np.log2(np.maximum(1, group.table[:, k])) - np.log2(max(1, wishes[hole])))
    return out


def _free(variant: Variant, picks: Picks, wishes: Mapping[str, int]) -> Picks:
    """Choose the groups that the source says nothing about as the estimate likes them."""
    sampler = variant.sampler
    silent = [g for g, group in enumerate(sampler.domain.groups) if not set(group.holes) & wishes.keys()]
    if not silent:
        return picks
    rng = np.random.default_rng(0)
    tries = np.repeat(picks[None], 256, axis=0)
    for g in silent:
        tries[1:, g] = rng.integers(0, len(sampler.domain.groups[g]), 255)
    tries = tries[sampler.mask(tries)]
    best: Picks = tries[int(np.argmax(variant.features(tries)[:, INDEX["speed"]]))]
    return best


# --------------------------------------------------------------------------------------------------------- sentences


def _changes(found: _Found) -> str:
    """What was adapted and why, as the rest of a sentence."""
    sampler = found.variant.sampler
    row = sampler.row(found.picks)
    parts = []
    for group in sampler.domain.groups:
        moved = [h for h in group.holes if h in found.wishes and found.wishes[h] != row[h]]
        parts += [f"{h} {found.wishes[h]} → {row[h]} {_why(h, group, found)}" for h in reversed(moved)]
        if not set(group.holes) & found.wishes.keys():
            parts.append(f"{', '.join(f'{h} = {row[h]}' for h in group.holes)} by the estimate")
    return "; ".join(parts)


def _why(hole: str, group: Group, found: _Found) -> str:
    value, column = found.wishes[hole], group.table[:, group.holes.index(hole)]
    if group.extent is not None and group.extent % max(1, value):
        return f"because {value} does not divide {group.extent}"
    if value not in column:
        shown = ", ".join(str(int(v)) for v in np.unique(column)[:8])
        return f"because it may only be {shown}"
    together = [found.wishes.get(h, 0) for h in group.holes]
    if group.extent is not None and not (group.table == together).all(axis=1).any():
        return f"so that {', '.join(group.holes)} make {group.extent}"
    broken = _broken_limit(found)
    return f"because of the limit '{broken}'" if broken else "because of the limits together"


def _broken_limit(found: _Found) -> str | None:
    """Label of the first limit that the numbers as they were would break."""
    sampler = found.variant.sampler
    row = sampler.row(found.picks)
    columns = {h: np.array([found.wishes.get(h, x)]) for h, x in row.items()}
    for c in sampler.domain.constraints:
        if int(np.asarray(evaluate(c.expr, columns, {})).ravel()[0]) < 0:
            return c.label
    return None
