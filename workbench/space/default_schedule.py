"""The schedule that a task gets without any tuning: the analytic favourite of a small sample of its first sketch."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.ir import Func
from workbench.machine_model.features import INDEX
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.sketch import RULES, sketches
from workbench.space.variant import Variant

#: Rows of the first sketch of which the estimate's favourite is taken: more take longer to estimate. Chosen, not
#: measured; `bench_space` times it.
SAMPLE = 512


def default_schedule(task: Any, target: Any = None) -> Schedule:
    """Return a legal concrete schedule: the same one for the same task, target and measured paces (`Machine.of`).

    Rules of a user have no part in it: logs know it as the one of its task, whatever was declared when it was timed.

    Parameters
    ----------
    task : Task or Func
    target : Target, optional
        The host when left out.
    """
    func = task if isinstance(task, Func) else task.func
    machine = Machine.of(target)
    usual = tuple(r for r in RULES if not r.custom)
    draft = sketches(Schedule(func, target), machine, first_only=True, rules=usual)[0]
    variant = Variant(0, draft.schedule, machine, draft.notes, draft.skips, draft.limits, draft.wishes)
    return favourite(variant) or Schedule(func, target)


def favourite(variant: Variant) -> Schedule | None:
    """Fill the open numbers of a variant as the estimate likes best, of a sample; None where no row is legal."""
    if not variant.schedule.func.holes:
        return variant.schedule
    picks = variant.sampler.draw(SAMPLE, np.random.default_rng(0))
    if not len(picks):
        return None
    speed = variant.features(picks)[:, INDEX["speed"]]
    return variant.schedule.fill(variant.sampler.row(picks[int(np.argmax(speed))]))
