"""A schedule for a task without a record, adapted from the nearest record that there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.log import Database
from workbench.machine_model.features import INDEX
from workbench.search.seeds import adapt
from workbench.space.space import make_space

if TYPE_CHECKING:
    from workbench.graph.group import Group
    from workbench.schedule import Schedule
    from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a lookup needs to know of a task."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A schedule that was made from another task's or machine's record.

    Attributes
    ----------
    schedule : Schedule
    how : str
        Where it comes from, and what was adapted.
    """

    schedule: Schedule
    how: str


def borrow(group: Group, database: Database, target: Target) -> Borrowed | None:
    """Return a schedule from the nearest record; None where there is none of the kind, or none that can be adapted.

    Of several that can be adapted, the one is taken that the analytic cost model expects to be fastest.
    """
    assert group.func is not None
    found = database.lookup(Wanted(group.key, group.description), target)
    if not found.records:
        return None
    # The forms of the fast algorithm take half the time of a space; a schedule without it is near to none of them.
    plain = not any(step["primitive"] == "winograd" for record in found.records for step in record.trace)
    space = make_space(group.func, target, rules=["-winograd"] if plain else None)
    seeds = adapt(found.records, group.func, space)
    if not seeds:
        return None
    seed = max(seeds, key=lambda s: float(s.x[INDEX["speed"]]))
    schedule = space.schedule(seed) if seed.schedule is None else seed.schedule
    return Borrowed(schedule, f"{found.how}: {seed.note}")
