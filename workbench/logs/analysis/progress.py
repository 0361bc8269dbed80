"""The best value so far, by evaluations and by time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.figures.style import axis, colours, log_ticks
from workbench.analysis.figures.subplot import Part, trace
from workbench.arguments import real
from workbench.logs.analysis.charts import (
    CURVES,
    above,
    drawn,
    figure,
    hue,
    legend,
    measured_in,
    name,
    names,
    nothing,
    thinned,
)
from workbench.logs.analysis.selection import Floats, Group, Source, groups, noted
from workbench.logs.cells import readable, shown

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

COLUMNS = ("task", "device", "run", "evaluation", "record", "elapsed_s", "value", "best", "share", "unit", "clock")


def best_so_far(source: Source, task: str | None = None, optimum: float | None = None) -> pandas.DataFrame:
    """Return the best value after each evaluation.

    Parameters
    ----------
    source : TuningLog or DataFrame
    task : str, optional
        This task only.
    optimum : float, optional
        The best value that is possible, in the unit of the log; else the best that occurs, which is the optimum where
        the log is complete.

    Returns
    -------
    DataFrame
        One row per record: ``task device run evaluation record elapsed_s value best share unit clock``. `evaluation`
        counts from 1 in each group, failures included; `value` and `best` are in `unit`; `share` is how much of the
        optimum is reached (1 is all of it); `elapsed_s` is the tuning time, and `clock` where it comes from: told,
        timestamps, sum (of what each evaluation took, as if one after the other), or nothing.

    Raises
    ------
    UsageError
        ``usage.task``
    """
    import pandas

    optimum = None if optimum is None else real("optimum", optimum)
    found = groups(source, task)
    parts = [_curve(group, optimum) for group in found]
    if not parts:
        return noted(pandas.DataFrame(columns=COLUMNS), "There are no records.")
    return noted(pandas.concat(parts, ignore_index=True), _finding(found, parts), groups=[g.label for g in found])


def elapsed(group: Group) -> tuple[Floats, str]:
    """Return the tuning time at each record ``[N]`` in seconds, and where it comes from."""
    records, n = group.records, len(group.records)

    def told(column: str) -> Floats:
        return records[column].to_numpy(np.float64, na_value=np.nan)

    time = told("elapsed_s")
    if np.isfinite(time).all() and n:
        return time, "told"
    stamps = told("timestamp")
    if np.isfinite(stamps).all() and n and np.ptp(stamps) > 0:
        return stamps - stamps.min(), "timestamps"
    parts = np.stack([told(c) for c in ("compile_s", "run_s", "verify_s", "search_s")], axis=1)
    spent = np.where(np.isfinite(told("spent_s")), told("spent_s"), np.nansum(parts, axis=1))
    if spent.any():
        return np.cumsum(spent), "sum"
    return np.full(n, np.nan), ""


def _curve(group: Group, optimum: float | None) -> pandas.DataFrame:
    import pandas

    cost = np.fmin.accumulate(group.cost)
    best = cost if group.smaller_is_better else -cost
    goal = optimum if optimum is not None else best[-1]
    time, clock = elapsed(group)
    columns: dict[str, Any] = {key: group.key[key] for key in ("task", "device", "run")}
    return pandas.DataFrame(
        {
            **columns, "evaluation": np.arange(1, len(best) + 1), "record": group.records["record"].to_numpy(),
            "elapsed_s": time, "value": group.value, "best": best, "share": group.share(best, goal),
            "unit": group.unit, "clock": clock,
        }
    )  # fmt: skip


def reached(curve: pandas.DataFrame, share: float) -> int | None:
    """Return how many evaluations it took to reach a share of the optimum; None where none did."""
    there = np.flatnonzero(curve["share"].to_numpy() >= share)
    return int(there[0]) + 1 if len(there) else None


def _finding(found: list[Group], parts: list[pandas.DataFrame]) -> str:
    good = [(g, p) for g, p in zip(found, parts, strict=True) if g.ok.any()]
    if not good:
        return f"None of {sum(map(len, parts)):,} evaluations has a value."
    if len(good) == 1:
        group, curve = good[0]
        last, near = reached(curve, 1.0), reached(curve, 0.95)
        best = shown(curve["best"].iloc[-1], group.unit)
        goal = f"the best, {best}, came with evaluation {last:,}" if last else f"the best is {best}"
        soon = f"; 95 % of it was reached after {near:,}" if near and near != last else ""
        return f"Of {len(curve):,} evaluations {goal}{soon}."
    counts = [n for _, curve in good if (n := reached(curve, 0.95)) is not None]
    if not counts:
        return f"None of {len(good)} searches reached 95 % of the optimum."
    middle = np.median(counts)
    text = f"{len(counts)} of {len(good)} searches reached 95 % of their optimum"
    return f"{text}, after {middle:,.0f} evaluations in the median."


def best_so_far_figure(
    source: Source, task: str | None = None, optimum: float | None = None, by: str = "evaluation", theme: str = "auto"
) -> go.Figure:
    """Plot `best_so_far`, against evaluations or (``by="time"``) tuning time; of several groups their shares."""
    frame = best_so_far(source, task, optimum)
    found = groups(source, task)
    c = colours(theme)
    column = "elapsed_s" if by == "time" else "evaluation"
    if not frame["best"].notna().any() or not frame[column].notna().any():
        text = "No value yet" if column == "evaluation" else "The log says no times of evaluations"
        return nothing("Best so far", text, frame, theme)
    alone = len(found) == 1
    counts = [len(group.records) for group in found]
    ends = np.cumsum(counts)
    kept = sorted(range(len(found)), key=lambda k: -counts[k])[:CURVES]
    labels = names([group.label for group in found])
    factor, unit = readable(float(frame["best"].iloc[-1]), found[0].unit) if alone else (1.0, "")
    if alone:
        frame = frame.assign(best=factor * frame["best"], value=factor * frame["value"])
    traces: list[dict[str, Any]] = []
    texts = [drawn(len(kept), len(found), "groups")]
    for number, k in enumerate(sorted(kept)):
        curve = frame.iloc[ends[k] - counts[k] : ends[k]]
        if alone:
            points, text = _points(curve, column, unit, c.point)
            traces.append(points)
            texts.append(text)
        traces.append(_line(curve, column, found[k], c.accent if alone else hue(number), "" if alone else labels[k]))
    y = measured_in(found[0], unit) if alone else "share of the optimum"
    value = frame["value"].dropna()
    log = alone and bool((value > 0).all())
    scale = {"type": "log", **log_ticks(value.min(), value.max())} if log else {}
    x = "tuning time, s" if by == "time" else "evaluations"
    part = Part(traces, axis(c, x, rangemode="tozero"), axis(c, y, **scale), title="Best so far", aside=above(*texts))
    return figure(part, frame, theme, **({} if alone else _below(c)))


def _below(c: Any) -> dict[str, Any]:
    shape = legend(c)
    shape["legend"] |= {"y": 0.02, "yanchor": "bottom"}
    return shape


def _line(curve: pandas.DataFrame, column: str, group: Group, colour: str, label: str) -> dict[str, Any]:
    if column == "elapsed_s":  # records are not always written in the order of their times
        curve = curve.sort_values(column, kind="stable")
        value = curve["value"].to_numpy()
        best = np.fmin.accumulate(value) if group.smaller_is_better else np.fmax.accumulate(value)
        curve = curve.assign(best=best, share=group.share(best, best[-1]) * curve["share"].max())
    y = curve["share" if label else "best"].to_numpy()
    corner = np.flatnonzero(np.diff(curve["best"].to_numpy(), prepend=np.nan) != 0)
    corner = np.unique(np.append(corner[np.isfinite(y[corner])], len(y) - 1))
    corner = corner[thinned(len(corner))]
    hover = "%{x:,} · %{y:.4g}<extra>%{fullData.name}</extra>"
    return trace(
        label or "best so far", curve[column].to_numpy()[corner], y[corner], mode="lines",
        line={"shape": "hv", "width": 2, "color": colour}, hovertemplate=hover, showlegend=bool(label),
    )  # fmt: skip


def _points(curve: pandas.DataFrame, column: str, unit: str, colour: str) -> tuple[dict[str, Any], str]:
    rows = np.flatnonzero(np.isfinite(curve["value"].to_numpy()))
    kept = rows[thinned(len(rows))]
    at = curve.iloc[kept]
    points = trace(
        "evaluations", at[column].to_numpy(), at["value"].to_numpy(), mode="markers",
        customdata=at["record"].to_numpy(), marker={"size": 4, "color": colour, "opacity": 0.5}, showlegend=False,
        hovertemplate="record %{customdata}<br>%{y:.4g} " + name(unit) + "<extra></extra>",
    )  # fmt: skip
    return points, drawn(len(kept), len(rows))
