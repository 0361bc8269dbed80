"""Sketch rules: how a space of schedules comes from a computation alone."""

from __future__ import annotations

from workbench.space.sketch import factoring, operands, rows, stages, tensor, tiling, winograd  # noqa: F401 (registers)
from workbench.space.sketch.base import RULES, Draft, Note, Rule, sketch_rule
from workbench.space.sketch.custom import Trouble
from workbench.space.sketch.following import sketches
from workbench.space.sketch.structure import Structure

__all__ = ["RULES", "Draft", "Note", "Rule", "Structure", "Trouble", "sketch_rule", "sketches"]
