"""Search spaces: a few schedules with holes, from sketch rules or from a schedule that a person has left open."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import is_a
from workbench.errors import ScheduleError, TuneError
from workbench.ir.compact import compact
from workbench.ir.flops import count_flops
from workbench.ir.func import Constraint, Func
from workbench.tune import features as feature_columns
from workbench.tune import nestplan
from workbench.tune.machine import Machine
from workbench.tune.sample import Keys, Picks, Sampler, structure_keys
from workbench.tune.sketch import Draft, Note, sketches

if TYPE_CHECKING:
    from workbench.schedule import Schedule


@dataclass(slots=True)
class Variant:
    """One schedule with holes and everything that is derived from it, made when first needed.

    Attributes
    ----------
    schedule : Schedule
        With open holes.
    notes : tuple of Note
        The rules that led here, with reasons.
    limits : tuple of Constraint
        Numeric limits beyond those of the schedule itself.
    """

    index: int
    schedule: Schedule
    machine: Machine
    notes: tuple[Note, ...] = ()
    limits: tuple[Constraint, ...] = ()
    wishes: tuple[Constraint, ...] = ()
    _sampler: Sampler | None = field(default=None, repr=False)
    _plan: nestplan.NestPlan | None = field(default=None, repr=False)
    _nest: Func | None = field(default=None, repr=False)

    @property
    def label(self) -> str:
        """Short name: the reasons of the rules that make the difference."""
        return " · ".join(n.reason for n in self.notes if n.rule in ("tile", "pad", "winograd")) or "schedule"

    @property
    def sampler(self) -> Sampler:
        """Draws rows; wishes that cannot be met are dropped."""
        if self._sampler is None:
            func, wishes = self.schedule.func, self.wishes
            while True:
                limited = replace(func, constraints=(*func.constraints, *self.limits, *wishes))
                sampler = Sampler.of(limited)
                if not wishes or len(sampler.draw(4, np.random.default_rng(0))):
                    break
                wishes = wishes[:-1]
            self._sampler = sampler
        return self._sampler

    @property
    def work(self) -> int:
        """Operations of the computation, whatever algorithm the schedule has."""
        return count_flops(self.schedule.base)

    @property
    def plan(self) -> nestplan.NestPlan:
        """What the features evaluate."""
        if self._plan is None:
            self._plan = nestplan.plan(self.schedule.func, self.work)
        return self._plan

    def features(self, picks: Picks) -> NDArray[np.float32]:
        """Features ``[N, F]`` of rows ``[N, groups]``."""
        return feature_columns.features(self.plan, self.sampler.columns(picks), len(picks), self.machine)

    def keys(self, picks: Picks) -> Keys:
        """Structural keys ``[N]`` of rows ``[N, groups]``."""
        if self._nest is None:
            self._nest = compact(self.schedule.func)
        return structure_keys(self._nest, self.sampler.columns(picks), len(picks))


@dataclass(frozen=True, slots=True)
class Space:
    """All schedules that a search may propose for one computation.

    Attributes
    ----------
    id : str
        Names the space: equal ids have equal variants, so that rows of a log can be used again.
    variants : tuple of Variant
    """

    id: str
    variants: tuple[Variant, ...]

    @property
    def size(self) -> int:
        """Number of rows over all variants, limits not applied."""
        return sum(v.sampler.size for v in self.variants)

    def schedule(self, candidate: Any) -> Schedule:
        """Concrete schedule of a candidate (`variant` and `row`)."""
        if not 0 <= candidate.variant < len(self.variants):
            raise TuneError("tune.variant", f"The space has no variant {candidate.variant}.", (self.id,))
        filled: Schedule = self.variants[candidate.variant].schedule.fill(dict(candidate.row))
        return filled

    def explain(self) -> str:
        """Which rules made each variant, and why."""
        lines = [f"space {self.id}: {len(self.variants)} variants, {self.size:,} rows"]
        for v in self.variants:
            lines.append(f"  variant {v.index} ({v.sampler.size:,} rows)")
            lines += [f"    {n.rule:<10} {n.reason}" for n in v.notes]
            lines += [f"    {'limit':<10} {c.label}: {c.expr} >= 0" for c in v.sampler.domain.constraints]
        return "\n".join(lines)


def make_space(task: Any, target: Any = None) -> Space:
    """Space of a task (or of a bare `Func`) from the sketch rules.

    Parameters
    ----------
    task : Task or Func
    target : Target, optional
        The host when left out.

    Raises
    ------
    UsageError
        "usage.type" for anything else.
    """
    from workbench.graph.tasks import Task
    from workbench.schedule import Schedule

    hint = "or a Func; space_from_schedule takes a schedule with holes"
    func = task if isinstance(task, Func) else is_a("task", task, Task, hint).func
    machine = Machine.of(target)
    drafts = sketches(Schedule(func, target), machine)
    return _space(func.name, tuple(_variant(k, d, machine) for k, d in enumerate(drafts)))


def space_from_schedule(schedule: Schedule) -> Space:
    """Space of the rows of one schedule with holes; structural choices become variants."""
    machine = Machine.of(getattr(schedule, "target", None))
    found = list(schedule.variants()) if hasattr(schedule, "variants") else [schedule]
    note = (Note("schedule", "holes that were left open by hand"),)
    variants = tuple(Variant(k, s, machine, note) for k, s in enumerate(found))
    if not variants:
        raise ScheduleError("hole.empty", "The schedule has no variant that is legal.", ())
    return _space(schedule.func.name, variants)


def _variant(index: int, d: Draft, machine: Machine) -> Variant:
    return Variant(index, d.schedule, machine, d.notes, d.limits, d.wishes)


def _space(name: str, variants: tuple[Variant, ...]) -> Space:
    text = json.dumps([v.schedule.to_json() for v in variants], sort_keys=True, default=str)
    return Space(f"{name}-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}", variants)
