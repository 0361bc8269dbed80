"""What failed: kinds, and values of parameters with which it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.figures.style import axis, colours
from workbench.analysis.figures.subplot import Part, trace
from workbench.logs.analysis.charts import above, drawn, failure_hue, figure, keys, name, nothing, percent
from workbench.logs.analysis.parameters import ABSENT, Features, Parameters, said
from workbench.logs.analysis.selection import Source, noted, records_of, sample
from workbench.logs.evaluation import STATUSES

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

BARS = 25
"""Values of parameters that the figure shows. Chosen by eye."""

SAMPLE = 100_000
"""Records whose parameters are looked at; of more, an even sample is taken. Chosen: about half a second."""


def failures(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return how often each value of each parameter failed, and how.

    Returns
    -------
    DataFrame
        One row per parameter (of a list, per element), value and status:
        ``parameter value status records of share lift``. `status` is a kind of failure, or "any" for all of them;
        `of` counts the records with the value, failed or not; `share` is records ÷ of, `lift` that share ÷ the share of
        all records. The first rows have the parameter "" (all records). ``attrs["sampled"]`` is the number of records
        that were looked at, where that is not all.

    Raises
    ------
    UsageError
        ``usage.task``
    """
    import pandas

    records = records_of(source, task)
    status = records["status"].astype(str).to_numpy()
    kinds = [kind for kind in STATUSES if kind != "ok" and (status == kind).any()]
    rows = [["", "", "any", int((status != "ok").sum()), len(status)]]
    rows += [["", "", kind, int((status == kind).sum()), len(status)] for kind in kinds]
    chosen = sample(len(records), SAMPLE)
    if kinds:
        features = Parameters.of(list(records["params"].iloc[chosen])).features
        rows += [row for k in range(len(features.names)) for row in _of_parameter(features, k, status[chosen], kinds)]
    frame = pandas.DataFrame(rows, columns=["parameter", "value", "status", "records", "of"])
    frame["share"] = frame["records"] / frame["of"].where(frame["of"] > 0)
    whole = frame[frame["parameter"] == ""].set_index("status")["share"]
    frame["lift"] = frame["share"] / frame["status"].map(whole)
    more = {"sampled": len(chosen)} if len(chosen) < len(records) else {}
    return noted(frame, _finding(frame, kinds), **more)


def _of_parameter(features: Features, k: int, status: Any, kinds: list[str]) -> list[list[Any]]:
    codes, levels = features.codes[:, k] + 1, features.levels[k]
    of = np.bincount(codes, minlength=len(levels) + 1)
    counts = {kind: np.bincount(codes[status == kind], minlength=len(of)) for kind in kinds}
    counts = {"any": np.sum(list(counts.values()), axis=0), **counts}
    rows = []
    for code in np.flatnonzero(of):
        value = said(levels[code - 1]) if code else ABSENT
        for kind, count in counts.items():
            rows.append([features.names[k], value, kind, int(count[code]), int(of[code])])
    return rows


def _finding(frame: pandas.DataFrame, kinds: list[str]) -> str:
    failed, of = int(frame["records"].iloc[0]), int(frame["of"].iloc[0])
    if not failed:
        return f"None of {of:,} configurations failed."
    counts = zip(frame["records"].iloc[1 : 1 + len(kinds)], kinds, strict=True)
    words = ", ".join(f"{count:,} {STATUSES[kind]}" for count, kind in sorted(counts, reverse=True))
    text = f"{failed:,} of {of:,} configurations failed ({percent(failed / of)}): {words}"
    values = frame[(frame["parameter"] != "") & (frame["status"] == "any")]
    sure = at_least(values["records"].to_numpy(), values["of"].to_numpy())
    if len(values) and sure.max() > 1.2 * failed / of:
        worst = values.iloc[int(sure.argmax())]
        text += (
            f"; with {worst['parameter']} = {worst['value']} it is {percent(worst['share'])} of {int(worst['of']):,}"
        )
    return text + "."


def at_least(hits: Any, of: Any) -> Any:
    """Return a share that the true one exceeds in 97.5 % of cases (Wilson's interval): few records count for little."""
    z2 = 1.96**2
    share = hits / of
    return (share + z2 / (2 * of) - 1.96 * np.sqrt(share * (1 - share) / of + z2 / (4 * of**2))) / (1 + z2 / of)


def failures_figure(source: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `failures`: for the values of parameters that fail most, the share of each kind of failure."""
    frame = failures(source, task)
    c = colours(theme)
    values = frame[(frame["parameter"] != "") & (frame["status"] == "any") & (frame["records"] > 0)]
    if values.empty:
        text = "All values failed alike" if frame["records"].iloc[0] else "Nothing failed"
        return nothing("Failures", text, frame, theme)
    sure = at_least(values["records"].to_numpy(), values["of"].to_numpy())
    top = values.iloc[np.argsort(-sure, kind="stable")[:BARS][::-1]]
    labels = [name(f"{p} = {v}", 34) for p, v in zip(top["parameter"], top["value"], strict=True)]
    places = list(range(len(top)))
    traces = []
    kinds = [kind for kind in frame["status"].unique() if kind != "any"]
    keyed = frame.set_index(["parameter", "value", "status"])
    for number, kind in enumerate(kinds):
        part = keyed.loc[[(p, v, kind) for p, v in zip(top["parameter"], top["value"], strict=True)]]
        traces.append(
            {"type": "bar", "orientation": "h", "name": STATUSES[kind], "x": part["share"].to_numpy(), "y": places,
             "customdata": np.stack([part["records"], part["of"]], axis=1), "marker": {"color": failure_hue(number)},
             "hovertemplate": "%{customdata[0]:,} of %{customdata[1]:,}<extra>%{fullData.name}</extra>"}
        )  # fmt: skip
    usual = float(frame["share"].iloc[0])
    dashed = {"color": c.faint, "dash": "dash", "width": 1}
    ends = [-0.5, len(top) - 0.5]
    traces.append(trace("share of all records", [usual, usual], ends, mode="lines", line=dashed))
    y = axis(c, "", tickvals=places, ticktext=labels, showgrid=False)
    some = drawn(len(top), len(values), "values")
    aside = above(keys((failure_hue(k), STATUSES[kind]) for k, kind in enumerate(kinds)), some)
    words = "share of the records with the value; surest at the top"
    part_ = Part(traces, axis(c, words, tickformat=".0%", rangemode="tozero"), y,
                 title="Failures by value", aside=aside)  # fmt: skip
    return figure(part_, frame, theme, 120 + 18 * len(top), left=210, barmode="stack")
