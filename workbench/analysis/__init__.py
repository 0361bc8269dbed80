"""What a person wants to know about a nest, a network or a tuning log, as data that a front end or a notebook can show.

Nothing here schedules or measures anything. Figures, nests and trials are loaded when they are first used: who draws a
model does without what tunes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import workbench.analysis.cache.table  # noqa: F401 (it says how a cache view is shown)
from workbench.analysis.cache.levels import Cache, levels_of
from workbench.analysis.cache.view import CacheCounts, cache_view
from workbench.analysis.graph_drawing.network_drawing import network, pass_network, stage_graph
from workbench.analysis.graph_drawing.tree_layout import lay_out_tree
from workbench.analysis.throughput.report import Throughput, throughput
from workbench.first_use import loaded_on_first_use
from workbench.former_modules import former_attribute
from workbench.graph_layout.drawing import Drawing
from workbench.graph_layout.layered_layout import Box, Layout, layout
from workbench.graph_layout.repeated_blocks import Repeat, repeats

if TYPE_CHECKING:
    from workbench.analysis.figures import (
        Spot,
        best_so_far_figure,
        cache_view_figure,
        prediction_figure,
        roofline_figure,
        timeline_figure,
        tuning_figure,
    )
    from workbench.analysis.figures.pipeline import pipeline, pipeline_figure
    from workbench.analysis.loop_nest.code_diff import Difference, DiffRow, difference
    from workbench.analysis.loop_nest.code_listing import Line, Listing, listing
    from workbench.analysis.loop_nest.memory_accesses import AccessRow, accesses
    from workbench.analysis.loop_nest.nest_rows import NestRow, NestView, nest_rows
    from workbench.analysis.loop_nest.schedule_estimate import Estimate, estimate
    from workbench.analysis.trials.latency_curve import Curve, best_so_far, failures
    from workbench.analysis.trials.task_rounds import Turn, turns

_LATE = {
    "figures": "Spot best_so_far_figure cache_view_figure prediction_figure roofline_figure timeline_figure "
    "tuning_figure",
    "figures.pipeline": "pipeline pipeline_figure",
    "loop_nest.code_diff": "DiffRow Difference difference",
    "loop_nest.code_listing": "Line Listing listing",
    "loop_nest.memory_accesses": "AccessRow accesses",
    "loop_nest.nest_rows": "NestRow NestView nest_rows",
    "loop_nest.schedule_estimate": "Estimate estimate",
    "trials.latency_curve": "Curve best_so_far failures",
    "trials.task_rounds": "Turn turns",
}

__all__ = [
    "AccessRow",
    "Box",
    "Cache",
    "CacheCounts",
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
    "Throughput",
    "Turn",
    "accesses",
    "best_so_far",
    "best_so_far_figure",
    "cache_view",
    "cache_view_figure",
    "difference",
    "estimate",
    "failures",
    "lay_out_tree",
    "layout",
    "levels_of",
    "listing",
    "nest_rows",
    "network",
    "pass_network",
    "pipeline",
    "pipeline_figure",
    "prediction_figure",
    "repeats",
    "roofline_figure",
    "stage_graph",
    "throughput",
    "timeline_figure",
    "tuning_figure",
    "turns",
]

_late = loaded_on_first_use(
    __name__,
    {name: f"{module}:{name}" for module, names in _LATE.items() for name in names.split()}
    | {room: f"{room}:" for room in ("figures", "loop_nest", "trials")},
)


def __getattr__(name: str) -> object:
    try:
        return _late(name)
    except AttributeError:
        return former_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
