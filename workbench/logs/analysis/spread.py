"""How the values of a space are distributed, and what tuning is worth in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.figures.style import axis, colours, log_ticks
from workbench.analysis.figures.subplot import Part, trace
from workbench.logs.analysis.charts import (
    CURVES,
    above,
    beside,
    drawn,
    figure,
    measured_in,
    names,
    nothing,
    percent,
    stroke,
    thinned,
)
from workbench.logs.analysis.selection import Floats, Group, Source, groups, noted
from workbench.logs.cells import readable, shown

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

WITHIN = (0.05, 0.10, 0.20)
"""Distances from the best for which the share of configurations is told."""

BARS = 60
"""Bars of a histogram. Chosen by eye."""


def distribution(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return how the values are distributed, and what tuning buys: how much better the best is than the median.

    Returns
    -------
    DataFrame
        One row per group: ``task device run objective unit records ok best p25 median p75 worst gain within_5 within_10
        within_20``. Values are in `unit`, quartiles from the good end; `gain` is median ÷ best (best ÷ median where
        large values are good); ``within_5`` is the share of the ok records at most 5 % worse than the best.

    Raises
    ------
    UsageError
        ``usage.task``
    """
    import pandas

    found = groups(source, task)
    frame = pandas.DataFrame([_row(group) for group in found], columns=_COLUMNS)
    return noted(frame, _finding(found, frame))


_COLUMNS = [
    "task", "device", "run", "objective", "unit", "records", "ok", "best", "p25", "median", "p75", "worst", "gain",
    *(f"within_{round(100 * near)}" for near in WITHIN),
]  # fmt: skip


def _row(group: Group) -> list[Any]:
    key = [group.key[column] for column in ("task", "device", "run", "objective", "unit")]
    cost = np.sort(group.cost[group.ok])
    if not len(cost):
        return [*key, len(group.records), 0, *[np.nan] * (len(_COLUMNS) - 7)]
    sign = 1.0 if group.smaller_is_better else -1.0
    best, *_ = values = sign * np.quantile(cost, [0, 0.25, 0.5, 0.75, 1])
    return [*key, len(group.records), len(cost), *values, 1 / float(group.share(values[2], best)),
            *(float(_near(group, sign * cost, best, near).mean()) for near in WITHIN)]  # fmt: skip


def _near(group: Group, value: Floats, best: float, near: float) -> Any:
    """Which values are at most so much worse than the best."""
    return value <= best + near * abs(best) if group.smaller_is_better else value >= best - near * abs(best)


def _finding(found: list[Group], frame: pandas.DataFrame) -> str:
    rows = frame[frame["ok"] > 0]
    if rows.empty:
        return "No record has a value."
    if len(rows) == 1:
        row = rows.iloc[0]
        return (
            f"The best, {shown(row['best'], row['unit'])}, is {row['gain']:.2f} times better than the median, "
            f"{shown(row['median'], row['unit'])}; of {row['ok']:,} configurations {percent(row['within_5'])} are "
            f"within 5 % of it, {percent(row['within_20'])} within 20 %."
        )
    low, high = rows["gain"].min(), rows["gain"].max()
    return (
        f"In {len(rows)} groups the best is {low:.2f} to {high:.2f} times better than the median; "
        f"{percent(rows['within_5'].median())} of the configurations are within 5 % of the best in the median group."
    )


def distribution_figure(source: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `distribution`: of one group a histogram and the share of configurations that are as good, of several these
    shares against the distance from the best of each.
    """
    found = [group for group in groups(source, task) if group.ok.any()]
    frame = distribution(source, task)
    if not found:
        return nothing("Distribution", "No value yet", frame, theme)
    part = _histogram(found[0], frame, theme) if len(found) == 1 else _shares(found, theme)
    return figure(part, frame, theme, **(beside(colours(theme)) if len(found) > 1 else {}))


def _histogram(group: Group, frame: pandas.DataFrame, theme: str) -> Part:
    c = colours(theme)
    factor, unit = readable(float(frame["best"].iloc[0]), group.unit)
    value = factor * np.sort(group.value[group.ok])
    logarithmic = bool(value[0] > 0)
    edges = np.geomspace(value[0], value[-1], BARS + 1) if logarithmic else np.linspace(value[0], value[-1], BARS + 1)
    if value[0] == value[-1]:  # one bar around it
        edges = value[0] * np.array([0.95, 1.05]) if value[0] else np.array([-0.5, 0.5])
    counts, edges = np.histogram(value, np.unique(edges))
    middle = np.sqrt(edges[1:] * edges[:-1]) if logarithmic else (edges[1:] + edges[:-1]) / 2
    bars = {
        "type": "bar", "name": "configurations", "x": middle, "y": counts, "width": np.diff(edges),
        "marker": {"color": c.point}, "hovertemplate": "%{y:,} around %{x:.4g}<extra></extra>",
    }  # fmt: skip
    kept = thinned(len(value), most=500)
    order = value if group.smaller_is_better else value[::-1]
    edf = trace(
        "share that is as good", order[kept], (kept + 1) / len(value), yaxis="y2", mode="lines",
        line={"color": c.accent, "width": 2}, hovertemplate="%{y:.1%} are %{x:.4g} or better<extra></extra>",
    )  # fmt: skip
    median = factor * float(frame["median"].iloc[0])
    line = trace("median", [median, median], [0, 1], yaxis="y2", mode="lines",
                 line={"color": c.faint, "dash": "dash", "width": 1})  # fmt: skip
    scale = {"type": "log", **log_ticks(value[0], value[-1])} if logarithmic else {}
    ticks = {"tickvals": [0, 0.5, 1], "tickformat": ".0%", "automargin": True}
    over = axis(c, "", range=[0, 1.02], side="right", showgrid=False, **ticks)
    return Part([bars, edf, line], axis(c, measured_in(group, unit), showgrid=False, **scale),
                axis(c, "configurations", rangemode="tozero"), y2=over, title="Distribution",
                aside="bars: count · line: share that is as good · dashed: median")  # fmt: skip


def _shares(found: list[Group], theme: str) -> Part:
    c = colours(theme)
    kept = sorted(sorted(range(len(found)), key=lambda k: -int(found[k].ok.sum()))[:CURVES])
    labels = names([group.label for group in found])
    traces = []
    for number, k in enumerate(kept):
        group = found[k]
        cost = np.sort(group.cost[group.ok])
        share = group.share(cost if group.smaller_is_better else -cost, float(abs(cost[0])))
        rows = thinned(len(cost), most=400)
        hover = "%{y:.1%} reach %{x:.1%} of the best<extra>%{fullData.name}</extra>"
        traces.append(trace(labels[k], share[rows], (rows + 1) / len(cost), mode="lines", hovertemplate=hover,
                            line=stroke(number)))  # fmt: skip
    x = axis(c, "share of the best value", range=[0, 1.01], tickformat=".0%")
    y = axis(c, "configurations", range=[0, 1.02], tickformat=".0%")
    return Part(traces, x, y, title="Distribution", aside=above(drawn(len(kept), len(found), "groups")))
