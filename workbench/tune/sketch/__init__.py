"""Sketch rules: how a space of schedules comes from a computation alone."""

from __future__ import annotations

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
        made = [[d] if d.closed else r.apply(d, machine) for d in drafts]
        drafts = [new for news in made for new in news[: 1 if first_only else None]]
    return drafts
