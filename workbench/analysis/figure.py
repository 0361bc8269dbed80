"""The curve of `best_so_far` as a plotly figure that can be read on a light and on a dark page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workbench.analysis.curve import Curve, best_so_far

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.analysis.curve import Source

BEST, POINT, FAILED, INK, GRID = "#3f7fe8", "#8b95a5", "#d0453a", "#7a828e", "rgba(128,136,148,0.28)"
#: Height of the crosses, as a share of the plot.
TOP = 0.97


def best_so_far_figure(source: Source, task: Any = None, tasks: Iterable[str] | None = None) -> go.Figure:
    """Plot the best latency so far against trials.

    Parameters
    ----------
    source : DataFrame, path, TuningSession or iterable of Record and Comparison
    task : Task or str, optional
        A task, its key or its name; all tasks together when left out.
    tasks : iterable of str, optional
        As in `best_so_far`.

    Returns
    -------
    plotly.graph_objects.Figure
        Always the same four traces, so that a live figure can be updated in place: measured trials, best so far, its
        end, failed trials.
    """
    import plotly.graph_objects as go

    curve = best_so_far(source, getattr(task, "key", task), tasks)
    return go.Figure(data=_traces(curve), layout=_layout(curve))


def _traces(curve: Curve) -> list[Any]:
    import plotly.graph_objects as go

    n = len(curve.latency_ms)
    x, best = curve.nth.tolist(), curve.best_ms.tolist()
    measured = go.Scatter(
        x=x[:n], y=curve.latency_ms.tolist(), mode="markers", name="measured",
        customdata=[[t, "ok"] for t in curve.trials[:n].tolist()],
        marker={"size": 5, "color": POINT, "opacity": 0.65},
        hovertemplate="trial %{customdata[0]} · %{customdata[1]}<br>%{y:.4g} ms<extra></extra>",
    )  # fmt: skip
    line = go.Scatter(
        x=[*x, curve.count] if x else [], y=[*best, best[-1]] if x else [], mode="lines", name="best so far",
        line={"shape": "hv", "width": 2, "color": BEST},
        hovertemplate="best after %{x} trials<br>%{y:.4g} ms<extra></extra>",
    )  # fmt: skip
    end = go.Scatter(
        x=[curve.count] if x else [], y=best[-1:], mode="markers", name="best", marker={"size": 8, "color": BEST},
        hoverinfo="skip",
    )  # fmt: skip
    failed = go.Scatter(
        x=curve.failed_nth.tolist(), y=[TOP] * len(curve.failed_nth), mode="markers", name="failed", yaxis="y2",
        customdata=[
            [t, s.replace("_", " ")] for t, s in zip(curve.failed_trials.tolist(), curve.failed_status, strict=True)
        ],
        marker={"size": 7, "symbol": "x-thin", "line": {"width": 2, "color": FAILED}},
        hovertemplate="trial %{customdata[0]} · %{customdata[1]}<extra></extra>",
    )  # fmt: skip
    return [measured, line, end, failed]


def _layout(curve: Curve) -> dict[str, Any]:
    axis = {"gridcolor": GRID, "linecolor": GRID, "zeroline": False}
    return {
        "title": {"text": curve.name, "x": 0, "xref": "paper", "xanchor": "left", "font": {"size": 13}},
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "font": {"color": INK, "size": 12},
        "margin": {"l": 56, "r": 20, "t": 36, "b": 44}, "height": 320, "showlegend": False, "hovermode": "closest",
        "xaxis": {**axis, "title": {"text": "trials"}, "rangemode": "tozero", "showgrid": False},
        "yaxis": {**axis, "title": {"text": "ms"}, "type": "log", "minexponent": 4, "nticks": 7},
        "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        "annotations": _notes(curve),
    }  # fmt: skip


def _notes(curve: Curve) -> list[dict[str, Any]]:
    """The value at the end of the line, or why there is none."""
    if len(curve.best_ms):
        best = float(curve.best_ms[-1])
        text = f"<b>{best:.3g} ms</b>"
        return [{"x": curve.count, "y": math.log10(best), "text": text, "showarrow": False, "xanchor": "right",
                 "yanchor": "top", "yshift": -5, "font": {"color": BEST, "size": 13}}]  # fmt: skip
    text = "No valid trial yet"
    if curve.name == "end to end" and curve.missing:
        few = "1 task has" if curve.missing == 1 else f"{curve.missing} tasks have"
        text = f"No total yet: {few} no valid trial"
    return [{"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "text": text, "showarrow": False}]
