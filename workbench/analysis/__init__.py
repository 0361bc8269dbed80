"""What a person wants to know about a nest, a network or a tuning log, as data that a front end or a notebook can show.

Nothing here schedules or measures anything.
"""

from __future__ import annotations

from workbench.analysis.figures import (
    Spot,
    best_so_far_figure,
    prediction_figure,
    roofline_figure,
    timeline_figure,
    tuning_figure,
)
from workbench.analysis.graph_drawing.frames import Drawing
from workbench.analysis.graph_drawing.layered import Box, Layout, layout
from workbench.analysis.graph_drawing.networks import network, pass_network, stage_graph
from workbench.analysis.graph_drawing.repeats import Repeat, repeats
from workbench.analysis.graph_drawing.tree import lay_out_tree
from workbench.analysis.loop_nest.accesses import AccessRow, accesses
from workbench.analysis.loop_nest.compare import Difference, DiffRow, difference
from workbench.analysis.loop_nest.estimate import Estimate, estimate
from workbench.analysis.loop_nest.listing import Line, Listing, listing
from workbench.analysis.loop_nest.rows import NestRow, NestView, nest_rows
from workbench.analysis.trials.curve import Curve, best_so_far, failures
from workbench.analysis.trials.rounds import Turn, turns

__all__ = [
    "AccessRow",
    "Box",
    "Curve",
    "DiffRow",
    "Difference",
    "Drawing",
    "Estimate",
    "Layout",
    "Line",
    "Listing",
    "NestRow",
    "NestView",
    "Repeat",
    "Spot",
    "Turn",
    "accesses",
    "best_so_far",
    "best_so_far_figure",
    "difference",
    "estimate",
    "failures",
    "lay_out_tree",
    "layout",
    "listing",
    "nest_rows",
    "network",
    "pass_network",
    "prediction_figure",
    "repeats",
    "roofline_figure",
    "stage_graph",
    "timeline_figure",
    "tuning_figure",
    "turns",
]
