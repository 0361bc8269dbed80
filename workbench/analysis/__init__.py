"""What a person wants to know about a nest, a network or a tuning log, as data that a front end or a notebook can show.

Nothing here schedules or measures anything.
"""

from __future__ import annotations

from workbench.analysis.curve import Curve, best_so_far, failures
from workbench.analysis.figure import best_so_far_figure
from workbench.analysis.layered import Box, Layout, layout
from workbench.analysis.nest import NestRow, NestView, nest_rows
from workbench.analysis.networks import model_graph, stage_graph

__all__ = [
    "Box",
    "Curve",
    "Layout",
    "NestRow",
    "NestView",
    "best_so_far",
    "best_so_far_figure",
    "failures",
    "layout",
    "model_graph",
    "nest_rows",
    "stage_graph",
]
