"""Sketch rules: how a space of schedules comes from a computation alone."""

from __future__ import annotations

from workbench.schedule import Schedule
from workbench.tune.machine import Machine
from workbench.tune.sketch import fusing, packing, padding, pointwise, tiling
from workbench.tune.sketch.base import RULES, Draft, Note, Rule

__all__ = ["RULES", "Draft", "Note", "Rule", "fusing", "packing", "padding", "pointwise", "sketches", "tiling"]

#: Rules in the order in which they are applied.
ORDER = ("inline", "tile", "pack", "copy", "fuse", "pad", "pointwise", "mark")


def sketches(schedule: Schedule, machine: Machine, first_only: bool = False) -> list[Draft]:
    """Apply all rules; `first_only` follows only the first draft of each rule."""
    drafts = [Draft(schedule)]
    for r in sorted(RULES, key=lambda r: ORDER.index(r.name)):
        drafts = [new for d in drafts for new in r.apply(d, machine)[: 1 if first_only else None]]
    return drafts
