"""How well a tuner's own predictions have ranked what it then measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.analysis.figures.style import axis, colours
from workbench.analysis.figures.subplot import Part, trace
from workbench.cost_model.prediction_quality import spearman
from workbench.logs.analysis.charts import CURVES, drawn, figure, hue, legend, names, nothing
from workbench.logs.analysis.selection import Source, groups, noted

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

COLUMNS = ["task", "device", "run", "generation", "records", "rank_correlation"]


def predictions(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return how predictions and measurements are correlated, by generation.

    Returns
    -------
    DataFrame
        One row per group and generation with at least two predictions: ``task device run generation records
        rank_correlation``. It is Spearman's, of the prediction with how good the value is: 1 is a score that ranks
        perfectly, -1 a predicted cost that does. Missing where one of them is the same for all. `generation` is missing
        where the log does not say it.

    Raises
    ------
    UsageError
        ``usage.task``
    """
    import pandas

    rows = []
    for group in groups(source, task):
        predicted = group.records["predicted"].to_numpy(np.float64, na_value=np.nan)
        number = group.records["generation"].to_numpy(np.float64, na_value=np.nan)
        known = group.ok & np.isfinite(predicted)
        for generation in np.unique(number[known]):
            mine = known & ((number == generation) | (np.isnan(number) & np.isnan(generation)))
            if mine.sum() > 1:
                found = spearman(predicted[mine], -group.cost[mine])
                key = [group.key[column] for column in ("task", "device", "run")]
                rows.append([*key, generation, int(mine.sum()), np.nan if found is None else found])
    frame = pandas.DataFrame(rows, columns=COLUMNS)
    frame["generation"] = frame["generation"].astype("Int64")
    if frame.empty:
        return noted(frame, "The log has no predictions.")
    weight = frame["records"].where(frame["rank_correlation"].notna())
    mean = float((frame["rank_correlation"] * weight).sum() / weight.sum()) if weight.notna().any() else np.nan
    return noted(frame, f"Over {len(frame)} generations predictions have the rank correlation {mean:.2f} with how good "
                        f"the measured value was, weighted by their records.")  # fmt: skip


def predictions_figure(source: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `predictions` by generation, a line per group."""
    frame = predictions(source, task)
    c = colours(theme)
    if frame.empty:
        return nothing("Predictions", "No predictions", frame, theme)
    parts = list(frame.groupby(["task", "device", "run"], sort=False))
    labels = names([" ".join(filter(None, map(str, key))) for key, _ in parts])
    traces = [
        trace(label, part["generation"].to_numpy(np.float64, na_value=0.0), part["rank_correlation"].to_numpy(),
              mode="lines+markers", line={"color": hue(k)}, customdata=part["records"].to_numpy(),
              hovertemplate="generation %{x}: %{y:.2f} of %{customdata} records<extra>%{fullData.name}</extra>")
        for k, (label, (_, part)) in enumerate(zip(labels, parts, strict=True)) if k < CURVES
    ]  # fmt: skip
    plot = Part(traces, axis(c, "generation"), axis(c, "rank correlation", range=[-1.05, 1.05]), title="Predictions",
                aside=drawn(len(traces), len(parts), "groups"))  # fmt: skip
    return figure(plot, frame, theme, **(legend(c) if len(traces) > 1 else {}))
