"""What the steps of a schedule are worth, drawn."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.figures.style import SIZE, TITLE, axis, colours, log_ticks
from workbench.analysis.figures.subplot import FOOT, Domain, Part, compose, escaped, note
from workbench.logs.analysis.charts import LINE, hue, name
from workbench.logs.replays.explaining.worth import label
from workbench.safe_text import legible_line

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

_LEFT, _ROW = 300, 20
"""Pixels for the names of steps and for a row. Chosen by eye."""

_HALVES: tuple[Domain, Domain] = (((0.0, 0.47), (0.0, 1.0)), ((0.53, 1.0), (0.0, 1.0)))


def explain_figure(frame: pandas.DataFrame, theme: str = "auto") -> go.Figure:
    """Plot what `explain` has measured.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `explain`.
    theme : {"auto", "light", "dark"}

    Returns
    -------
    plotly.graph_objects.Figure
        The steps from top to bottom: at the left the speed with all steps down to this one, at the right the time
        without this one over the time with all, with its interval.
    """
    c = colours(theme)
    prefixes, left_out = (frame[frame["kind"] == kind] for kind in ("prefix", "without"))
    places = [-int(k) for k in prefixes["unit"]]
    labels = [name(label(row), 44) for _, row in prefixes.iterrows()]
    speed = {
        "type": "bar", "orientation": "h", "x": prefixes["share"].to_numpy(), "y": places, "marker": {"color": hue(0)},
        "customdata": prefixes["ms"].to_numpy(), "hovertemplate": "%{x:.1%}, %{customdata:.4g} ms<extra></extra>",
    }  # fmt: skip
    measured = left_out[left_out["status"] == "ok"]
    half = {
        "type": "data", "symmetric": False, "color": c.faint,
        "array": (measured["worth_high"] - measured["worth"]).to_numpy(),
        "arrayminus": (measured["worth"] - measured["worth_low"]).to_numpy(),
    }  # fmt: skip
    worth = {
        "type": "scatter", "mode": "markers", "x": measured["worth"].to_numpy(), "error_x": half,
        "y": [-int(k) for k in measured["unit"]], "marker": {"color": hue(1)},
        "customdata": [name(also or "no other", 90) for also in measured["also"]],
        "hovertemplate": "%{x:.3f} times as long; goes with it: %{customdata}<extra></extra>",
    }  # fmt: skip
    rows: dict[str, Any] = {"tickvals": places, "showgrid": False, "range": [min(places) - 0.6, 1.6]}
    ends = [*measured["worth_low"], *measured["worth_high"], 1.0]
    low, high = (min(ends), max(ends)) if np.isfinite(ends).all() else (0.5, 2.0)
    parts = [
        Part([speed], axis(c, "speed, share of all steps'", tickformat=".0%", rangemode="tozero"),
             axis(c, "", ticktext=labels, **rows), title="With the steps down to this one"),
        Part([worth], axis(c, "time without it, over the time with all", type="log", **log_ticks(low, high)),
             axis(c, "", showticklabels=False, **rows)),
    ]  # fmt: skip
    lines = [escaped(line) for line in textwrap.wrap(legible_line(frame.attrs.get("finding", "")), LINE)]
    parts[0].notes.append(
        note(0.0, 1.0, "<br>".join(lines), "bottom left", c.ink, SIZE, align="left", xref="paper", yref="y domain",
             yshift=30, xshift=16 - _LEFT)
    )  # fmt: skip
    # A heading begins at the left margin, which only the left plot has beside it.
    parts[1].notes.append(
        note(0.0, 1.0, "<b>Without this one</b>", "bottom left", c.ink, TITLE, align="left", xref="x domain",
             yref="y domain", yshift=10)
    )  # fmt: skip
    height = 110 + _ROW * len(places) + 16 * len(lines)
    margin = {"l": _LEFT, "r": 20, "t": 42 + 16 * len(lines), "b": FOOT}
    return compose(parts, _HALVES, c, height, margin)
