"""A schedule for a task without a record, adapted from the nearest record that there is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.log import Database
from workbench.machine_model.features import INDEX
from workbench.search.seeds import adapt, features_of
from workbench.space.default_schedule import favourite
from workbench.space.space import make_space

if TYPE_CHECKING:
    from workbench.graph.group import Group
    from workbench.schedule import Schedule
    from workbench.target import Target


#: So much slower than the default schedule an adapted one may look by the estimate, which knows less of it than the
#: trial that it comes from; of a task more doublings of extents away, by so much the less. Chosen: schedules for two
#: tokens of a transformer, adapted to 500, took 1.4 times as long as the default ones.
MOST_BEHIND, NEAR = 1.25, 2.0


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
    """Return a schedule from the nearest record; None where there is none of the kind, or none that can be adapted to
    something that is about as fast as the default schedule.

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
    usual = space.variants[0]
    if (own := favourite(usual)) is not None:
        behind = features_of(own, usual.machine)[INDEX["speed"]] - seed.x[INDEX["speed"]]
        if behind > math.log2(MOST_BEHIND) * NEAR / max(NEAR, found.distance):
            return None
    schedule = space.schedule(seed) if seed.schedule is None else seed.schedule
    return Borrowed(schedule, f"{found.how}: {seed.note}")
