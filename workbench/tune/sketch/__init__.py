"""Sketch rules: how a space of schedules comes from a computation alone."""

from __future__ import annotations

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
from workbench.tune.sketch.custom import Trouble
from workbench.tune.sketch.following import sketches
from workbench.tune.sketch.structure import Structure

__all__ = ["RULES", "Draft", "Note", "Rule", "Structure", "Trouble", "sketch_rule", "sketches"]
