"""Sketch rules: how a space of schedules comes from a computation alone."""

from __future__ import annotations

from workbench.space.sketch import operands, pointwise_stages, rfactor, row_reductions, tensorize, tiling, winograd  # noqa: F401 (registers)
from workbench.space.sketch.apply_rules import sketches
from workbench.space.sketch.rule_table import RULES, Draft, Note, Rule, sketch_rule
from workbench.space.sketch.tile_structure import Structure
from workbench.space.sketch.user_rules import Trouble

__all__ = ["RULES", "Draft", "Note", "Rule", "Structure", "Trouble", "sketch_rule", "sketches"]
