"""How much of a space was tried."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from workbench.analysis.figures.style import axis, colours
from workbench.analysis.figures.subplot import Part
from workbench.logs.analysis.charts import figure, name, nothing, percent
from workbench.logs.analysis.parameters import Parameters, said
from workbench.logs.analysis.selection import Source, known_space, noted, one_group

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

MOST = 5_000_000
"""Combinations of a space that are looked at to count the allowed ones. Chosen: seconds."""

COLUMNS = ["parameter", "values", "tried", "never", "least", "least_records", "most", "most_records"]


def coverage(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return which values of each parameter were tried, and how often.

    Returns
    -------
    DataFrame
        One row per parameter: ``parameter values tried never least least_records most most_records``. `values` counts
        those of the space where the log says it (else those that occur), `never` lists values without a record, `least`
        and `most` are the values with the fewest and the most records. ``attrs`` has `records`, `configurations`
        (different ones), `combinations` (product of the values) and `allowed` (configurations that the restrictions
        allow, where a space is known, else None).

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task``
    """
    import pandas

    group = one_group(source, task)
    parameters = Parameters.of(group.params())
    space = known_space(source)
    declared = space.parameters if space is not None else {}
    allowed = (
        len(space) if space is not None and space.restrictions is not None and space.combinations <= MOST else None
    )
    rows = []
    for k, (label, levels) in enumerate(zip(parameters.names, parameters.levels, strict=True)):
        counts = np.bincount(parameters.codes[:, k] + 1, minlength=len(levels) + 1)[1:]
        if not len(counts):
            continue
        have = set(map(said, levels))
        values = [said(v) for v in declared.get(label, levels)]
        never = [v for v in values if v not in have]
        low, high = int(counts.argmin()), int(counts.argmax())
        rows.append([label, len(have | set(values)), len(levels), never, said(levels[low]), int(counts[low]),
                     said(levels[high]), int(counts[high])])  # fmt: skip
    frame = pandas.DataFrame(rows, columns=COLUMNS)
    distinct = len(np.unique(parameters.configuration))
    combinations = math.prod(frame["values"].tolist()) if len(frame) else 0
    text = _finding(frame, len(group.records), distinct, combinations, allowed)
    return noted(frame, text, records=len(group.records), configurations=distinct, combinations=combinations,
                 allowed=allowed)  # fmt: skip


def _finding(frame: pandas.DataFrame, records: int, distinct: int, combinations: int, allowed: int | None) -> str:
    if frame.empty:
        return "There are no records with parameters."
    whole, of = (allowed, "allowed configurations") if allowed else (combinations, "combinations of values")
    text = f"{distinct:,} of {whole:,} {of} were tried ({percent(distinct / whole)})"
    again = records - distinct
    text += f", {again:,} records repeat one" if again else ", none twice"
    never = frame[frame["never"].map(len) > 0]
    if len(never):
        count = int(never["never"].map(len).sum())
        text += f"; {count:,} values of {len(never)} parameters were never tried, e.g. {never['parameter'].iloc[0]} = "
        text += str(never["never"].iloc[0][0])
    return f"{text}."


def coverage_figure(source: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `coverage`: the share of the values of each parameter that has a record."""
    frame = coverage(source, task)
    c = colours(theme)
    if frame.empty:
        return nothing("Coverage", "No parameters", frame, theme)
    shown = frame[::-1]
    bars = {
        "type": "bar", "orientation": "h", "x": (shown["tried"] / shown["values"]).to_numpy(),
        "y": list(range(len(shown))), "marker": {"color": c.accent},
        "customdata": np.stack([shown["tried"], shown["values"]], axis=1),
        "hovertemplate": "%{customdata[0]} of %{customdata[1]} values<extra></extra>",
    }  # fmt: skip
    y = axis(c, "", tickvals=list(range(len(shown))), ticktext=list(map(name, shown["parameter"])), showgrid=False)
    part = Part([bars], axis(c, "share of the values that was tried", tickformat=".0%", range=[0, 1.02]), y,
                title="Coverage")  # fmt: skip
    return figure(part, frame, theme, 120 + 20 * len(shown), left=170)
