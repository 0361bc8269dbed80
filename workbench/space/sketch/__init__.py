"""Sketch rules: how a space of schedules comes from a computation alone.

`rule_table` declares and orders rules, `rules` has them, `apply_rules` makes the sketches of a schedule; a `draft` is a
schedule while rules are applied. `user_rules` keeps what goes wrong with a rule of a user to the sketch it is about.
`rule_report` says which rule did what. Start at `rule_table`.
"""

from __future__ import annotations

import workbench.space.sketch.rules  # noqa: F401  (declares them)
from workbench.space.sketch.apply_rules import sketches
from workbench.space.sketch.rule_table import RULES, Draft, Note, Rule, sketch_rule
from workbench.space.sketch.tile_structure import Structure
from workbench.space.sketch.user_rules import Trouble

__all__ = ["RULES", "Draft", "Note", "Rule", "Structure", "Trouble", "sketch_rule", "sketches"]
