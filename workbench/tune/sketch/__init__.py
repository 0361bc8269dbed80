"""Sketch rules: how a space of schedules comes from a computation alone."""

from __future__ import annotations

from itertools import islice

from workbench.schedule import Schedule
from workbench.tune.machine import Machine
from workbench.tune.sketch import (  # noqa: F401 (registers)
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
from workbench.tune.sketch.base import RULES, Draft, Note, Rule

__all__ = ["RULES", "Draft", "Note", "Rule", "sketches"]

#: Rules in the order in which they are applied.
ORDER = (
    "inline",
    "tensorize",
    "winograd",
    "rows",
    "lengthen",
    "tile",
    "pack",
    "copy",
    "fuse",
    "pad",
    "transpose",
    "pointwise",
    "mark",
    "fetch",
)


def sketches(schedule: Schedule, machine: Machine, first_only: bool = False) -> list[Draft]:
    """Apply all rules; `first_only` follows only the first draft of each rule."""
    drafts = [Draft(schedule)]
    for r in sorted(RULES, key=lambda r: ORDER.index(r.name)):
        # Sliced before they are made: a rule that yields its drafts makes no more of them than are wanted.
        made = [[d] if d.closed else islice(r.apply(d, machine), 1 if first_only else None) for d in drafts]
        drafts = [new for news in made for new in news]
    return drafts
