"""The schedule that a task gets without any tuning: the analytic favourite of a small sample of its first sketch, or of
that which does without copies of padding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.ir import Func
from workbench.machine_model.features import INDEX
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.shared_steps.block_queries import is_padding, main_block, points, producers
from workbench.space.sketch import RULES, sketches
from workbench.space.sketch.rule_table import Rule, RuleFunction
from workbench.space.variant import Variant

#: Rows of the first sketch of which the estimate's favourite is taken: more take longer to estimate. Chosen, not
#: measured; `bench_space` times it.
SAMPLE = 512


#: Terms of sums for each element that padding copies, up to which it is looked whether a condition where it is read is
#: better. Chosen: depthwise convolutions have 2 to 49, a first layer 72, 3x3 of 24 channels and more over 200.
FEW_TERMS = 128

#: How many times as fast that has to be by the estimate. Chosen, not measured: it is off by about as much.
BETTER = 1.1


def default_schedule(task: Any, target: Any = None) -> Schedule:
    """Return a legal concrete schedule: the same one for the same task, target and measured paces (`Machine.of`).

    Where few terms of a sum use what padding copies, padding is a condition where it is read, if the estimate says so.
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
    found, speed = _favourite(_first(func, target, machine, usual))
    if machine.kind == "cpu" and math.isfinite(speed) and _few_terms(func):
        rules = tuple(replace(r, function=_last_form(r)) if r.name == "pad" else r for r in usual)
        other, faster = _favourite(_first(func, target, machine, rules))
        found = other if other is not None and faster >= speed + math.log2(BETTER) else found
    return found or Schedule(func, target)


def _first(func: Func, target: Any, machine: Machine, rules: Sequence[Rule]) -> Variant:
    """The first sketch of some rules."""
    draft = sketches(Schedule(func, target), machine, first_only=True, rules=rules)[0]
    return Variant(0, draft.schedule, machine, draft.notes, draft.skips, draft.limits, draft.wishes)


def _last_form(rule: Rule) -> RuleFunction:
    """What a rule makes, its last form first: of padding that is a condition."""
    return lambda draft, machine: list(rule(draft, machine))[::-1]


def _few_terms(func: Func) -> bool:
    """Whether a sum adds up few terms for each element that padding copies."""
    main = main_block(func)
    if main is None or not main.is_reduction:
        return False
    pads = [points(b) for b in producers(func, main) if is_padding(b)]
    return bool(pads) and all(0 < points(main) <= FEW_TERMS * n for n in pads)


def favourite(variant: Variant) -> Schedule | None:
    """Fill the open numbers of a variant as the estimate likes best, of a sample; None where no row is legal."""
    return _favourite(variant)[0]


def _favourite(variant: Variant) -> tuple[Schedule | None, float]:
    """That, and its speed by the estimate (as the feature); NaN where nothing is open."""
    if not variant.schedule.func.holes:
        return variant.schedule, math.nan
    picks = variant.sampler.draw(SAMPLE, np.random.default_rng(0))
    if not len(picks):
        return None, math.nan
    speed = variant.features(picks)[:, INDEX["speed"]]
    best = int(np.argmax(speed))
    return variant.schedule.fill(variant.sampler.row(picks[best])), float(speed[best])
