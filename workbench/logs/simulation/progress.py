"""How far simulated runs came: the best so far by evaluations, over the seeds, beside chance and the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from workbench.analysis.figures.style import axis, colours, log_ticks
from workbench.analysis.figures.subplot import Part, trace
from workbench.arguments import is_a
from workbench.errors import UsageError
from workbench.logs.analysis.charts import CURVES, above, drawn, figure, hue, legend, measured_in, name
from workbench.logs.analysis.selection import Source, noted
from workbench.logs.cells import readable, shown
from workbench.logs.simulation.configurations import Configurations
from workbench.logs.simulation.scoring import best_so_far, random_baseline, runs_of, score_of

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

Runs: TypeAlias = "pandas.DataFrame | Mapping[str, pandas.DataFrame]"
"""What `simulate` returned, or several of them by the name of the strategy."""


def simulation_curves(runs: Runs, log: Source, task: str | None = None) -> pandas.DataFrame:
    """Return the best so far of simulated runs: its median and quartiles over the seeds.

    Parameters
    ----------
    runs : DataFrame or mapping of str to DataFrame
        What `simulate` returned; several by a name.
    log : TuningLog or DataFrame
        What the runs were simulated on.
    task : str, optional
        Task of the log.

    Returns
    -------
    DataFrame
        One row per strategy and evaluation: ``strategy evaluation median low high random optimum score unit``. `median`
        and the quartiles (`low` is the better one) are in `unit`, as are `random`, the best that so many draws at
        random are expected to give, and `optimum`; `score` is that of `wb.logs.score` over all evaluations. A failure
        counts as the worst value that was measured.

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task``, ``usage.no_space``; ``usage.runs`` where there are none.
    """
    import pandas

    table = Configurations.of(log, task)
    told = {str(runs.attrs.get("strategy", "runs")): runs} if isinstance(runs, pandas.DataFrame) else dict(
        is_a("runs", runs, Mapping, "what `simulate` returned, or several by name")
    )  # fmt: skip
    parts = [_curve(strategy, table, runs_of(run, table)) for strategy, run in told.items()]
    if not parts:
        raise UsageError("usage.runs", "There are no runs", ("runs",), "pass what `wb.logs.simulate` returned")
    frame = pandas.concat(parts, ignore_index=True)
    ends = frame.groupby("strategy", sort=False)[["median", "score"]].last()
    unit = table.group.unit
    found = "; ".join(f"{s} {shown(row['median'], unit)} (score {row['score']:.2f})" for s, row in ends.iterrows())
    best = shown(float(frame["optimum"].iloc[0]), unit)
    return noted(frame, f"Median of the best after the last evaluation: {found}. The optimum is {best}.")


def _curve(strategy: str, table: Configurations, runs: Mapping[int, Any]) -> pandas.DataFrame:
    import pandas

    random = random_baseline(table.costs, max(map(len, runs.values())))
    ok = table.costs[np.isfinite(table.costs)]
    best = [best_so_far(run, ok.max(), len(random)) for run in runs.values()]
    low, median, high = np.quantile(best, (0.25, 0.5, 0.75), axis=0)
    score = np.mean([score_of(run, table.costs, random) for run in runs.values()])
    said = table.said
    return pandas.DataFrame(
        {
            "strategy": strategy, "evaluation": np.arange(1, len(random) + 1), "median": said(median), "low": said(low),
            "high": said(high), "random": said(random), "optimum": said(ok.min()), "score": score,
            "unit": table.group.unit,
        }
    )  # fmt: skip


def simulation_figure(runs: Runs, log: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `simulation_curves`: medians as lines, quartiles as bands, chance dotted and the optimum dashed."""
    frame = simulation_curves(runs, log, task)
    group = Configurations.of(log, task).group
    c = colours(theme)
    factor, unit = readable(float(frame["optimum"].iloc[0]), group.unit)
    strategies = list(frame["strategy"].unique())
    traces: list[dict[str, Any]] = []
    for k, strategy in enumerate(strategies[:CURVES]):
        traces += _traces(frame[frame["strategy"] == strategy], factor, name(strategy), hue(k))
    longest = frame[frame["strategy"] == frame["strategy"].iloc[frame["evaluation"].argmax()]]
    for column, text, dash in (("random", "drawn at random (expected)", "dot"), ("optimum", "optimum", "dash")):
        line = {"width": 1.5, "color": c.faint, "dash": dash}
        traces.append(
            trace(text, longest["evaluation"].to_numpy(), factor * longest[column].to_numpy(), mode="lines", line=line)
        )
    values = factor * frame[["low", "high", "optimum"]].to_numpy().ravel()
    scale = {"type": "log", **log_ticks(values.min(), values.max())} if (values > 0).all() else {}
    aside = above("median and quartiles of the seeds", drawn(min(CURVES, len(strategies)), len(strategies), "searches"))
    y = axis(c, measured_in(group, unit), **scale)
    part = Part(traces, axis(c, "evaluations", rangemode="tozero"), y, title="Simulated searches", aside=aside)
    return figure(part, frame, theme, **legend(c))


def _traces(curve: pandas.DataFrame, factor: float, label: str, colour: str) -> list[dict[str, Any]]:
    x = curve["evaluation"].to_numpy()
    low, median, high = (factor * curve[column].to_numpy() for column in ("low", "median", "high"))
    around = np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]])
    band = trace(
        label, *around, mode="lines", line={"width": 0}, fill="toself", fillcolor=colour, opacity=0.15,
        showlegend=False, hoverinfo="skip",
    )  # fmt: skip
    line = {"width": 2, "color": colour}
    hover = "%{x} · %{y:.4g}<extra>%{fullData.name}</extra>"
    return [band, trace(label, x, median, mode="lines", line=line, hovertemplate=hover)]
