"""Everything about a tuning run in one figure: the curve, where the trials went, how good the predictions were."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from workbench.analysis.figures.best_so_far import best_part
from workbench.analysis.figures.predicted_vs_measured import clock, prediction_part
from workbench.analysis.figures.style import Theme, colours
from workbench.analysis.figures.subplot import Domain, compose
from workbench.analysis.figures.timeline import TURNS, timeline_part
from workbench.analysis.trials.latency_curve import best_so_far
from workbench.analysis.trials.trial_reader import read
from workbench.ir.product_type import PLAIN
from workbench.runtime.machine.measured_roofline import all_threads
from workbench.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import plotly.graph_objects as go

    from workbench.analysis.trials.trial_reader import Source

#: Share of the width that lies left of the curve and of the predictions, where there is room for two columns. Chosen by
#: eye.
LEFT = 0.66

#: Pixels: heights of the two rows side by side, and of those below each other; the last one is that of the whole
#: network. Chosen by eye.
WIDE_ROWS, TALL_ROWS = (340, 320), (300, 340, 300, 300)
_HEAD, _FOOT = 36, 46


def _tall(rows: Sequence[int]) -> tuple[Domain, ...]:
    """Places below each other."""
    tops, whole = list(accumulate(rows, initial=0)), sum(rows)
    return tuple(
        # The names of tasks need room.
        ((0.26 if k == 1 else 0.0, 1.0), (1 - (tops[k + 1] - _FOOT) / whole, 1 - (tops[k] + _HEAD) / whole))
        for k in range(len(rows))
    )


_SPLIT = WIDE_ROWS[1] / sum(WIDE_ROWS)
_UPPER = (_SPLIT + _FOOT / sum(WIDE_ROWS), 1 - _HEAD / sum(WIDE_ROWS))
_LOWER = (_FOOT / sum(WIDE_ROWS), _SPLIT - _HEAD / sum(WIDE_ROWS))


def _wide(parts: int) -> tuple[Domain, ...]:
    """Places around the free one, upper left: the plot of the whole network takes its width from that of the rounds."""
    right = LEFT + 0.042, 1.0
    middle = (0.385, LEFT - 0.02), _LOWER
    rounds = (0.11, LEFT - 0.02 if parts < len(TALL_ROWS) else 0.335), _LOWER
    return ((right, _UPPER), rounds, (right, _LOWER), middle)[:parts]


def tuning_height(tasks: int, wide: bool) -> int:
    """Return the height of the figure of one of so many tasks, in pixels."""
    return sum(WIDE_ROWS if wide else TALL_ROWS if tasks > 1 else TALL_ROWS[:-1])


def tuning_figure(
    source: Source,
    task: Any = None,
    tasks: Iterable[str] | None = None,
    *,
    by_hand: tuple[str, float] | None = None,
    peak_gflops: float | None = None,
    target: Target | None = None,
    most: int | None = None,
    wide: bool = False,
    theme: Theme = "auto",
    product: str = PLAIN,
) -> go.Figure:
    """Plot a tuning run: best so far, where the trials went, predicted against measured.

    Parameters
    ----------
    source : DataFrame, path, TuningSession or iterable of Record, Comparison and Round
    task : Task or str, optional
        The task of the curve and of the predictions, its key or its name; all together when left out.
    tasks : iterable of str, optional
        Keys of the tasks that make up the whole.
    by_hand : (str, float), optional
        Name and latency in ms of what was found by hand.
    peak_gflops : float, optional
        Multiply-add rate of one core; what was measured before when left out.
    target : Target, optional
        The machine of the measurements, by default this one.
    most : int, optional
        Most points of each plot; the figure says what is left out.
    wide : bool
        Whether the plots stand around a free place, upper left, that somebody fills with the task table.
    theme : {"auto", "light", "dark"}
    product : str
        Element type of the numbers that the task multiplies: the time at the peak is by their instruction.

    Returns
    -------
    plotly.graph_objects.Figure
        The traces of `best_so_far_figure`, `timeline_figure` and `prediction_figure`, in this order; where the task is
        one of several, then those of `best_so_far_figure` of all together.
    """
    lines, c = read(source), colours(theme)
    target = target if target is not None else Target.host()
    key = getattr(task, "key", task)
    curve = best_so_far(lines, key, tasks)
    peak = peak_gflops if peak_gflops is not None else target.stored_peak()
    flops = next((t.flops for t in lines.trials if key in (t.key, t.name)), 0)
    most_gflops = all_threads(target, product)[0] or (peak if product == PLAIN and peak else 0.0) * target.threads
    peak_ms = flops / (most_gflops * 1e6) if most_gflops and flops else None
    parts = [
        best_part(curve, c, by_hand, peak_ms, most),
        timeline_part(lines, c, tasks, TURNS if most is None else most // 6, key),
        prediction_part(lines, c, key, clock(target, peak), most),
    ]
    keys = list(lines.keys if tasks is None else tasks)
    if key is not None and len(keys) > 1:
        whole = best_so_far(lines, None, keys)
        parts.append(best_part(whole, c, most=most, title="Whole network" if whole.network else "Sum of kernels"))
    rows = WIDE_ROWS if wide else TALL_ROWS[: len(parts)]
    margin = {"l": 16 if wide else 56, "r": 16, "t": 0, "b": 0}
    places = _wide(len(parts)) if wide else _tall(rows)
    return compose(parts, places, c, sum(rows), margin, barmode="overlay", bargap=0)
