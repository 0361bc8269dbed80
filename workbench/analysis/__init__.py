"""What a person wants to know about a nest, a network or a tuning log, as data that a front end or a notebook can show.

Nothing here schedules or measures anything.
"""

from __future__ import annotations

from workbench.analysis.accesses import AccessRow, accesses
from workbench.analysis.compare import Difference, DiffRow, difference
from workbench.analysis.cures import Cure
from workbench.analysis.curve import Curve, best_so_far, failures
from workbench.analysis.estimate import Estimate, estimate
from workbench.analysis.figures import (
    Spot,
    best_so_far_figure,
    prediction_figure,
    roofline_figure,
    timeline_figure,
    tuning_figure,
)
from workbench.analysis.frames import Drawing
from workbench.analysis.layered import Box, Layout, layout
from workbench.analysis.listing import Line, Listing, listing
from workbench.analysis.nest import NestRow, NestView, nest_rows
from workbench.analysis.networks import network, pass_network, stage_graph
from workbench.analysis.repeats import Repeat, repeats
from workbench.analysis.rounds import Turn, turns
from workbench.analysis.tree import lay_out_tree
from workbench.analysis.why import Reason, Why, why

__all__ = [
    "AccessRow",
    "Box",
    "Cure",
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
    "Reason",
    "Repeat",
    "Spot",
    "Turn",
    "Why",
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
    "why",
]
