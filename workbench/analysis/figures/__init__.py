"""What was computed as plotly figures, one module each; all of them can be read on a light and on a dark page."""

from workbench.analysis.figures.best_so_far import best_so_far_figure
from workbench.analysis.figures.cache_misses import cache_view_figure
from workbench.analysis.figures.pipeline import pipeline, pipeline_figure
from workbench.analysis.figures.predicted_vs_measured import prediction_figure
from workbench.analysis.figures.roofline import Spot, roofline_figure
from workbench.analysis.figures.timeline import timeline_figure
from workbench.analysis.figures.tuning_overview import tuning_figure

__all__ = [
    "Spot",
    "best_so_far_figure",
    "cache_view_figure",
    "pipeline",
    "pipeline_figure",
    "prediction_figure",
    "roofline_figure",
    "timeline_figure",
    "tuning_figure",
]
