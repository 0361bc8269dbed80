"""A schedule with some of its steps left out: what the others become, and which cannot be taken then."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import ScheduleError, UsageError
from workbench.ir import Func
from workbench.schedule.primitive import Primitive
from workbench.schedule.schedule import Schedule
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Variation:
    """A schedule of some steps of another one.

    Attributes
    ----------
    schedule : Schedule
    gone : dict of int to str
        Steps that could not be taken, with the reason; the steps that were left out on purpose are not among them.
    changed : tuple of int
        Steps that name other loops or sizes than before.
    """

    schedule: Schedule
    gone: Mapping[int, str]
    changed: tuple[int, ...]


def without(base: Func, trace: Sequence[Primitive], left_out: Collection[int], target: Target) -> Variation:
    """Take the steps of a schedule but some.

    Where a step that is left out made loops, later steps mean what it made them of: the loop that was not split stands
    for its outer part, the loops that were not fused for the fused one, the loops of a block that was not placed for
    those in the new place. A step that names a part that is not there goes, too; one that names several loops goes on
    with the others.

    Parameters
    ----------
    base : Func
    trace : sequence of Primitive
    left_out : collection of int
        Places in the trace.
    target : Target
    """
    made = _names_made(base, trace, target)
    taking = _Taking(Schedule(base, target))
    gone: dict[int, str] = {}
    changed = []
    for k, step in enumerate(trace):
        if k in left_out:
            taking.leave_out(step, made[k])
            continue
        try:
            if taking.take(step, made[k]):
                changed.append(k)
        except (ScheduleError, UsageError) as error:
            gone[k] = error.message
            taking.leave_out(step, made[k])
    return Variation(taking.schedule, gone, tuple(changed))


def _names_made(base: Func, trace: Sequence[Primitive], target: Target) -> list[tuple[str, ...]]:
    schedule = Schedule(base, target)
    return [schedule.apply(step) for step in trace]


class _Taking:
    """A schedule, and what the names of the whole one mean in it."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._means: dict[str, tuple[str, ...]] = {}

    def take(self, step: Primitive, made: tuple[str, ...]) -> bool:
        """Take a step; returns whether it is another one now.

        Raises
        ------
        ScheduleError, UsageError
            Where it cannot be taken.
        """
        here = self._translated(step)
        try:
            names = self.schedule.apply(here)
        except ScheduleError as error:
            if here.name != "split" or error.code != "split.divides":
                raise
            # The loop is a longer or shorter one: its outer part takes the rest.
            here = dataclasses.replace(here, factors=(None, *getattr(here, "factors", ())[1:]))  # type: ignore[call-arg]
            names = self.schedule.apply(here)
        for old, new in zip(made, names, strict=False):
            self._means[old] = (new,)
        return here != step

    def leave_out(self, step: Primitive, made: tuple[str, ...]) -> None:
        """Say what the names that a step would make mean without it."""
        meant: Sequence[tuple[str, ...]] = [()] * len(made)
        if step.name == "split":
            meant = [self._meaning(str(getattr(step, "loop", ""))), *[()] * (len(made) - 1)]
        elif step.name == "fuse":
            meant = [tuple(n for loop in getattr(step, "loops", ()) for n in self._meaning(loop))]
        elif step.name in ("compute_at", "reverse_compute_at"):
            meant = self._own_loops(str(getattr(step, "block", "")), len(made))
        self._means.update(zip(made, meant, strict=True))

    def _own_loops(self, block: str, count: int) -> list[tuple[str, ...]]:
        """Loops of a block that stays where it is, by its axes."""
        found = [b for b in self.schedule.blocks if (b.name,) == self._meaning(block)]
        if not found or len(found[0].binds) != count:
            return [()] * count
        loops = [bind.single_var() for bind in found[0].binds]
        return [() if name is None else (name,) for name in loops]

    def _meaning(self, name: str) -> tuple[str, ...]:
        return self._means.get(name, (name,))

    def _translated(self, step: Primitive) -> Primitive:
        new: dict[str, Any] = {}
        for f in step.fields():
            value = getattr(step, f.name)
            if f.kind.names not in ("loop", "block", "buffer", "nest"):
                continue
            if isinstance(value, tuple):
                new[f.name] = tuple(dict.fromkeys(n for v in value for n in self._meaning(v)))
            elif isinstance(value, str):
                found = self._meaning(value)
                if not found:
                    raise UsageError("explain.gone", f"{value} is not there", (value,), "")
                new[f.name] = found[-1]
        return dataclasses.replace(step, **new) if new else step
