"""Templates, AutoTVM's way: a function that schedules a computation and leaves numbers open.

::

    @workbench.template("my_matmul", matches="matmul")
    def my_matmul(cfg, s):
        cfg.define_split("tile_j", cfg.match.j, num_outputs=2, max_factor=64)
        outer, inner = cfg["tile_j"].apply(s)
        s.reorder(cfg.match.i, outer, cfg.match.k, inner)
        s.vectorize(inner)

Knobs have AutoTVM's names; behind them are holes, so a template's space is searched, logged, replayed and shown like
any other. The templates of this package stand in a file each in `kernels`; a template is found by being there.
"""

from __future__ import annotations

import workbench.space.template.kernels  # noqa: F401  (declares them)
from workbench.space.template.config import Config
from workbench.space.template.knob_table import Knobs
from workbench.space.template.patterns import Found, Mismatch
from workbench.space.template.registry import TEMPLATES, Template, template, templates_for

__all__ = [
    "TEMPLATES",
    "Config",
    "Found",
    "Knobs",
    "Mismatch",
    "Template",
    "template",
    "templates_for",
]
