"""The steps of a schedule taken again without some of them."""

from __future__ import annotations

from collections.abc import Collection

from workbench.schedule import Schedule
from workbench.schedule.primitive import Primitive

MARKS = ("vectorize", "unroll", "parallel")
"""Steps that say how loops run; a loop that has been told is in the way of steps that would change it."""


def marking(schedule: Schedule, loops: Collection[str]) -> tuple[int, ...]:
    """Return the places in the trace of the steps that said how loops run: as vectors, unrolled, on several cores."""
    marked = {name for name in loops if any(lp.name == name and lp.kind != "serial" for lp in schedule.loops)}
    named = [_names(step) if step.name in MARKS else set() for step in schedule.trace]
    return tuple(k for k, names in enumerate(named) if names & marked)


def _names(step: Primitive) -> set[str]:
    found = step.args.get("loop") or step.args.get("loops") or ()
    return {found} if isinstance(found, str) else set(found)


def replayed(schedule: Schedule, without: Collection[int]) -> Schedule:
    """Return a schedule with all steps but some; raises what the first step does that is not legal without them."""
    after = schedule.prefix(min(without, default=len(schedule.trace)))
    for k, step in enumerate(schedule.trace):
        if k >= len(after.trace) and k not in without:
            after.apply(step)
    return after
