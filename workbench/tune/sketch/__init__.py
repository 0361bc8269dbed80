"""Sketch rules: how a space of schedules comes from a computation alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from workbench.schedule import Schedule
from workbench.tune.machine import Machine
from workbench.tune.sketch import (  # noqa: F401 (registers)
    factoring,
    fetching,
    fusing,
    lengthening,
    packing,
    padding,
    pointwise,
    rows,
    tensor,
    tiling,
    transposing,
    winograd,
)
from workbench.tune.sketch.base import RULES, Draft, Note, Rule, sketch_rule
from workbench.tune.sketch.structure import Structure

__all__ = ["RULES", "Draft", "Note", "Rule", "Structure", "sketch_rule", "sketches"]


def sketches(
    schedule: Schedule,
    machine: Machine,
    first_only: bool = False,
    structure: Structure | None = None,
    rules: Sequence[Rule] | None = None,
) -> list[Draft]:
    """Apply all rules (or those that are given); `first_only` follows only the first draft of each rule."""
    drafts = [Draft(schedule, structure=structure)]
    for r in RULES if rules is None else rules:
        # Sliced before they are made: a rule that yields its drafts makes no more of them than are wanted.
        made = [[d] if d.closed else islice(r(d, machine), 1 if first_only else None) for d in drafts]
        drafts = [new for news in made for new in news]
    return [d.settled() for d in drafts]
