"""Best configurations of one device on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.figures.style import axis, colours, shade
from workbench.analysis.figures.subplot import Part
from workbench.arguments import is_a, whole
from workbench.errors import UsageError
from workbench.logs.analysis.alignment import Alignment, with_tasks
from workbench.logs.analysis.charts import figure, name, nothing, percent
from workbench.logs.analysis.parameters import said
from workbench.logs.analysis.selection import Floats, Group, Source, groups, noted, records_of

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

COLUMNS = ["best_of", "on", "share", "status", "record", "value", "best", "unit"]
DEVICES = 16
"""Devices that the figure shows. Chosen by eye."""


def portability(
    source: Source | Sequence[Source], task: str | None = None, tasks: Mapping[str, str] | None = None
) -> pandas.DataFrame:
    """Return what the best configuration of each device is worth on each other.

    Parameters
    ----------
    source : TuningLog or DataFrame, or several of them
        Records of one task on several devices (or in several runs, where the devices have no or the same name).
    task : str, optional
        This task only.
    tasks : mapping, optional
        Names of tasks, and what to call them: two tuners often name the same kernel differently.

    Returns
    -------
    DataFrame
        One row per ordered pair: ``best_of on share status record value best unit``. `share` is how much of the optimum
        of the device `on` the configuration reaches there: 0 where it fails, missing where it was not tried. `record`
        is that of the log of `on`, `value` and `best` are in `unit`. ``attrs["portable"]`` has the configuration with
        the highest harmonic mean of its shares over all devices (Pennycook's metric), and ``attrs["mean"]`` that mean.

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task`` where there are several tasks, ``usage.units``, ``usage.parameters``.
    """
    import pandas

    both, labels = _aligned(source, task, tasks)
    shares = both.shares()
    rows = [row for k in range(len(labels)) for row in _rows(both, shares, labels, k)]
    frame = pandas.DataFrame(rows, columns=COLUMNS)
    means = harmonic(shares)
    top = int(np.nanargmax(means)) if np.isfinite(means).any() else None
    portable = both.params[top] if top is not None else {}
    mean = float(means[top]) if top is not None else None
    what = "devices" if len({group.key["device"] for group in both.groups}) == len(labels) else "runs"
    return noted(frame, _finding(frame, portable, mean, f"{len(labels)} {what}"), portable=portable, mean=mean)


def most_portable(
    source: Source | Sequence[Source], task: str | None = None, n: int = 10, tasks: Mapping[str, str] | None = None
) -> pandas.DataFrame:
    """Return the configurations with the highest harmonic mean of their shares of the optimum over all devices.

    Returns
    -------
    DataFrame
        Up to `n` rows, the best first: `params`, `mean`, `worst`, and a column per device with the share there.
        Configurations that were not tried everywhere are left out; one that fails anywhere has the mean 0.

    Raises
    ------
    UsageError
        As `portability` does.
    """
    import pandas

    n = whole("n", n)
    both, labels = _aligned(source, task, tasks)
    shares = both.shares()
    means = harmonic(shares)
    order = np.argsort(-np.nan_to_num(means, nan=-1.0), kind="stable")[:n]
    order = order[np.isfinite(means[order])]
    columns: dict[str, Any] = {"params": [both.params[c] for c in order], "mean": means[order]}
    columns["worst"] = shares[order].min(axis=1)
    columns |= {label: shares[order, k] for k, label in enumerate(labels)}
    frame = pandas.DataFrame(columns)
    if frame.empty:
        return noted(frame, "No configuration was tried on all devices.")
    return noted(frame, f"{_written(frame['params'].iloc[0])} has the harmonic mean {frame['mean'].iloc[0]:.3f}.")


def harmonic(shares: Floats) -> Floats:
    """Return the harmonic mean of shares ``[C, G] -> [C]``: 0 where one is 0, NaN where one is missing."""
    with np.errstate(divide="ignore"):
        return np.asarray(shares.shape[1] / (1 / shares).sum(axis=1), np.float64)


def _aligned(
    source: Source | Sequence[Source], task: str | None, renamed: Mapping[str, str] | None
) -> tuple[Alignment, list[str]]:
    several: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    found: list[Group] = [g for one in several for g in groups(with_tasks(one, _there(one, renamed)), task)]
    if not several:
        raise UsageError("usage.records", "There are no records", ("source",), "pass a log, or a list of logs")
    tasks = list(dict.fromkeys(group.key["task"] for group in found))
    if len(tasks) > 1 and task is None:
        some = ", ".join(map(repr, tasks[:5]))
        raise UsageError(
            "usage.one_task", f"The records are of {len(tasks)} tasks", ("source",), f"say `task=`: {some}"
        )
    return Alignment.of(found), _labels(found)


def _there(source: Source, renamed: Mapping[str, str] | None) -> dict[str, str]:
    """Return the new names of those tasks that a log has."""
    new = is_a("tasks", {} if renamed is None else renamed, Mapping)
    names = set(records_of(source)["task"])
    return {old: new[old] for old in new if old in names}


def _labels(found: list[Group]) -> list[str]:
    """Names of the devices; of runs where these are the same, and numbers where all is."""
    for columns in (("device",), ("run",), ("device", "run"), ("device", "target", "run", "objective")):
        labels = [" · ".join(filter(None, (group.key[c] for c in columns))) for group in found]
        if all(labels) and len(set(labels)) == len(labels):
            return labels
    return [f"{k + 1}: {label}" for k, label in enumerate(labels)]


def _rows(both: Alignment, shares: Floats, labels: list[str], k: int) -> list[list[Any]]:
    best = both.best(k)
    if best is None:
        return []
    rows = []
    for j, label in enumerate(labels):
        row = int(both.rows[best, j])
        status = str(both.groups[j].records["status"].iloc[row]) if row >= 0 else ""
        there = both.best(j)
        optimum = float(both.value[there, j]) if there is not None else np.nan
        rows.append([labels[k], label, float(shares[best, j]), status, both.record(best, j),
                     float(both.value[best, j]), optimum, both.unit])  # fmt: skip
    return rows


def _written(params: Any) -> str:
    return ", ".join(f"{key} {said(value)}" for key, value in params.items())


def _finding(frame: pandas.DataFrame, portable: Any, mean: float | None, of: str) -> str:
    others = frame[(frame["best_of"] != frame["on"]) & frame["share"].notna()]
    if others.empty:
        return "There is no second device on which a best configuration was tried."
    worst = others.iloc[int(others["share"].to_numpy().argmin())]
    share = percent(worst["share"])
    text = f"The best configuration of {worst['best_of']} reaches {share} of the optimum of {worst['on']}"
    text += f", the least of {len(others)} pairs" if len(others) > 2 else ""
    if len(others) == 2:
        other = others.iloc[1 - int(others["share"].to_numpy().argmin())]
        text += f", the other way round {percent(other['share'])}"
    if mean is None:
        return f"{text}."
    return f"{text}; the most portable one has a harmonic mean of {mean:.3f} over {of}: {_written(portable)}."


def portability_figure(
    source: Source | Sequence[Source],
    task: str | None = None,
    theme: str = "auto",
    tasks: Mapping[str, str] | None = None,
) -> go.Figure:
    """Plot `portability` as a matrix: the best configuration of the row's device on the column's."""
    frame = portability(source, task, tasks)
    c = colours(theme)
    labels = list(dict.fromkeys(frame["best_of"]))[:DEVICES]
    if not labels:
        return nothing("Portability", "No value yet", frame, theme)
    table = frame.pivot_table(index="best_of", columns="on", values="share", dropna=False, observed=True)
    matrix = table.reindex(index=labels[::-1], columns=labels).to_numpy(np.float64)
    places = list(range(len(labels)))
    ticks = [name(label, 22) for label in labels]
    cells = {
        "type": "heatmap", "z": matrix, "x": places, "y": places, "zmin": 0, "zmax": 1, "showscale": False,
        "texttemplate": "%{z:.1%}", "colorscale": [[k / 5, shade(c, k / 5)] for k in range(6)],
        "customdata": [[f"best of {a} on {b}" for b in ticks] for a in ticks[::-1]],
        "hovertemplate": "%{customdata}: %{z:.1%}<extra></extra>", "hoverongaps": False,
    }  # fmt: skip
    part = Part([cells], axis(c, "on", tickvals=places, ticktext=ticks, showgrid=False),
                axis(c, "", tickvals=places, ticktext=ticks[::-1], showgrid=False), title="Portability",
                aside="best configuration of the row's device: share of the optimum")  # fmt: skip
    return figure(part, frame, theme, 150 + 44 * len(labels), left=170)
