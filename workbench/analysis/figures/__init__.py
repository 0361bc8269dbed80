"""What was computed as plotly figures, one module each; all of them can be read on a light and on a dark page.

They are loaded when they are first used: who needs a colour does without what tunes. `pipeline` has its functions in
the module of that name.
"""

from typing import TYPE_CHECKING

from workbench.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from workbench.analysis.figures.best_so_far import best_so_far_figure
    from workbench.analysis.figures.cache_misses import cache_view_figure
    from workbench.analysis.figures.predicted_vs_measured import prediction_figure
    from workbench.analysis.figures.roofline import Spot, roofline_figure
    from workbench.analysis.figures.timeline import timeline_figure
    from workbench.analysis.figures.tuning_overview import tuning_figure

__all__ = [
    "Spot",
    "best_so_far_figure",
    "cache_view_figure",
    "prediction_figure",
    "roofline_figure",
    "timeline_figure",
    "tuning_figure",
]

__getattr__ = loaded_on_first_use(
    __name__,
    {
        "Spot": "roofline:Spot",
        "best_so_far_figure": "best_so_far:best_so_far_figure",
        "cache_view_figure": "cache_misses:cache_view_figure",
        "prediction_figure": "predicted_vs_measured:prediction_figure",
        "roofline_figure": "roofline:roofline_figure",
        "timeline_figure": "timeline:timeline_figure",
        "tuning_figure": "tuning_overview:tuning_figure",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
