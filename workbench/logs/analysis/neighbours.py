"""What one change does: the configurations around a record that were tried, and those that were not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.figures.style import axis, colours, log_ticks
from workbench.analysis.figures.subplot import Part, trace
from workbench.arguments import whole
from workbench.errors import UsageError
from workbench.logs.analysis.charts import above, figure, keys, measured_in, name, nothing
from workbench.logs.analysis.parameters import ABSENT, Parameters, said
from workbench.logs.analysis.selection import Group, Source, groups, known_space, noted, one_group
from workbench.logs.cells import readable, shown
from workbench.markup import plural

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

    from workbench.logs.space import SearchSpace

COLUMNS = ["parameter", "before", "after", "steps", "record", "status", "value", "unit", "gain"]

MOST = 200_000
"""Records among which neighbours are looked for: the record's own group; of more, the best ones. Chosen: seconds."""


def neighbours(source: Source, task: str | None = None, record: int | None = None) -> pandas.DataFrame:
    """Return the configurations that differ from a record in one parameter, and what the change does.

    Parameters
    ----------
    source : TuningLog or DataFrame
    task : str, optional
        This task only.
    record : int, optional
        Number of a record; the best one of the task when left out.

    Returns
    -------
    DataFrame
        One row per configuration that was tried, the best first: ``parameter before after steps record status value
        unit gain``. `steps` is how many values further it is among those that occur (0 for text), `gain` how many times
        better than the record (more than 1 is better; missing where one has no value). Of a configuration that was
        tried more than once, the best record. ``attrs["nearest"]`` is the row of the faster one with the fewest steps,
        else None; ``attrs["record"]`` the record.

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task``, ``usage.record``.
    """
    import pandas

    group, centre = _centre(source, task, record)
    if centre is None:
        return noted(pandas.DataFrame(columns=COLUMNS), "No record has a value.", nearest=None, record=None)
    rows = _looked_at(group, centre)
    parameters = Parameters.of(group.params(rows))
    at = int(np.flatnonzero(rows == centre)[0])
    differs = parameters.codes != parameters.codes[at]
    found = np.flatnonzero(differs.sum(axis=1) == 1)
    cost = np.where(group.ok, group.cost, np.inf)[rows]
    found = found[np.lexsort((found, cost[found]))]
    _, first = np.unique(parameters.configuration[found], return_index=True)
    which = differs.argmax(axis=1)  # the parameter that differs
    table = [_row(group, parameters, rows, at, int(k), int(which[k])) for k in found[np.sort(first)]]
    frame = pandas.DataFrame(table, columns=COLUMNS)
    faster = frame[frame["gain"] > 1]
    if not group.ok[centre]:
        faster = frame[frame["value"].notna()]
    near = faster.iloc[int(faster["steps"].abs().to_numpy().argmin())].to_dict() if len(faster) else None
    number = int(group.records["record"].iloc[centre])
    text = _finding(frame, faster, near, number, record is None, bool(group.ok[centre]))
    return noted(frame, text, nearest=near, record=number)


def _centre(source: Source, task: str | None, record: int | None) -> tuple[Group, int | None]:
    """The group and the row of a record; of the best one without a number."""
    if record is None:
        group = one_group(source, task)
        return group, group.best if group.ok.any() else None
    for group in groups(source, task):
        at = np.flatnonzero(group.records["record"].to_numpy() == whole("record", record, least=0))
        if len(at):
            return group, int(at[0])
    raise UsageError("usage.record", f"There is no record {record}", ("record",), "its number is in `log.records`")


def _looked_at(group: Group, centre: int) -> NDArray[np.intp]:
    n = len(group.records)
    if n <= MOST:
        return np.arange(n)
    best = np.argsort(np.where(group.ok, group.cost, np.inf), kind="stable")[:MOST]
    return np.unique(np.append(best, centre))


def _row(group: Group, parameters: Parameters, rows: NDArray[np.intp], at: int, k: int, p: int) -> list[Any]:
    before, after = int(parameters.codes[at, p]), int(parameters.codes[k, p])
    levels = parameters.levels[p]
    words = [said(levels[code]) if code >= 0 else ABSENT for code in (before, after)]
    ordered = min(before, after) >= 0 and not isinstance(levels[0], str)
    value, mine = float(group.value[rows[k]]), float(group.value[rows[at]])
    record, status = group.records["record"].iloc[rows[k]], str(group.records["status"].iloc[rows[k]])
    return [parameters.names[p], *words, after - before if ordered else 0, int(record), status, value, group.unit,
            float(group.share(value, mine))]  # fmt: skip


def _finding(
    frame: pandas.DataFrame, faster: pandas.DataFrame, near: Mapping[Any, Any] | None, record: int, best: bool, ok: bool
) -> str:
    which = f"Record {record:,}{', the best,' if best else ''}"
    if frame.empty:
        return f"{which} has no neighbour that was tried: no other configuration differs in one parameter only."
    if near is None:
        failed = int(frame["value"].isna().sum())
        more = f", {failed:,} of them failed" if failed else ""
        return f"{which} is a local optimum: none of {len(frame):,} neighbours that were tried is better{more}."
    change = f"{near['parameter']} {near['before']} → {near['after']}"
    if not ok:
        return f"{which} failed; {len(faster):,} of {len(frame):,} neighbours are ok, the nearest by {change}."
    gain = f"{near['gain']:.2f} times better, {shown(near['value'], near['unit'])}"
    return f"{which} has {len(faster):,} better neighbours of {len(frame):,}; the nearest is {change} ({gain})."


def untried(source: Source, task: str | None = None, record: int | None = None) -> pandas.DataFrame:
    """Return the changes of one parameter to its next value that nobody has tried around a record.

    Returns
    -------
    DataFrame
        One row per change: ``parameter before after``; values are those of the space where a `TuningLog` knows them,
        else those that occur. What the restrictions of a known space forbid is left out.

    Raises
    ------
    UsageError
        As `neighbours` does.
    """
    import pandas

    group, centre = _centre(source, task, record)
    columns = ["parameter", "before", "after"]
    if centre is None:
        return noted(pandas.DataFrame(columns=columns), "No record has a value.")
    parameters = Parameters.of(group.params())
    rows = _untried(parameters, centre, known_space(source))
    frame = pandas.DataFrame(rows, columns=columns)
    number = int(group.records["record"].iloc[centre])
    if frame.empty:
        return noted(frame, f"All next values around record {number:,} were tried.")
    were = "was" if len(frame) == 1 else "were"
    return noted(frame, f"{plural(len(frame), 'next value')} around record {number:,} {were} never tried.")


def _untried(parameters: Parameters, centre: int, space: SearchSpace | None) -> list[list[Any]]:
    mine = parameters.at(centre)
    near = np.flatnonzero((parameters.codes != parameters.codes[centre]).sum(axis=1) <= 1)
    tried = {tuple(map(said, parameters.at(int(row)).values())) for row in near}
    rows = []
    for name_, value in mine.items():
        levels = parameters.levels[parameters.names.index(name_)]
        if space is not None and value in space.parameters.get(name_, []):
            levels = space.parameters[name_]
        at = levels.index(value)
        for other in (at - 1, at + 1):
            changed = {**mine, name_: levels[other]} if 0 <= other < len(levels) else mine
            if tuple(map(said, changed.values())) in tried:
                continue
            if space is None or space.restrictions is None or changed in space:
                rows.append([name_, said(value), said(levels[other])])
    return rows


def neighbours_figure(
    source: Source, task: str | None = None, record: int | None = None, theme: str = "auto"
) -> go.Figure:
    """Plot `neighbours`: the values after one change, by parameter; the line is the record itself."""
    frame = neighbours(source, task, record)
    c = colours(theme)
    fine = frame[frame["value"].notna()]
    if fine.empty:
        return nothing("Neighbours", "No neighbour with a value", frame, theme)
    group, centre = _centre(source, task, record)
    mine = float(group.value[centre]) if centre is not None else np.nan
    factor, unit = readable(float(fine["value"].iloc[0]), group.unit)
    labels = list(dict.fromkeys(frame["parameter"]))
    places = {label: k for k, label in enumerate(labels)}
    better = fine["gain"] > 1
    traces = []
    for some, colour, words in ((fine[~better], c.point, "not better"), (fine[better], c.accent, "better")):
        text = [name(f"{b} → {a}", 60) for b, a in zip(some["before"], some["after"], strict=True)]
        traces.append(
            trace(words, factor * some["value"].to_numpy(), [places[p] for p in some["parameter"]], mode="markers",
                  marker={"size": 8, "color": colour}, text=text, customdata=some["record"].to_numpy(),
                  hovertemplate="%{text}: %{x:.4g}<br>record %{customdata}<extra></extra>")
        )  # fmt: skip
    ends = np.append(fine["value"].to_numpy(), mine)
    low, high = factor * float(np.nanmin(ends)), factor * float(np.nanmax(ends))
    if np.isfinite(mine):
        line = {"color": c.faint, "dash": "dash", "width": 1}
        traces.append(
            trace(
                "the record",
                [factor * mine] * 2,
                [-0.5, len(labels) - 0.5],
                mode="lines+markers",
                line=line,
                marker={"size": 1, "color": c.faint},
            )
        )
    scale = {"type": "log", **log_ticks(low, high)} if low > 0 else {}
    y = axis(c, "", tickvals=list(range(len(labels))), ticktext=list(map(name, labels)), showgrid=False)
    failed = len(frame) - len(fine)
    aside = above(keys([(c.accent, "better"), (c.point, "not better")]), f"{failed} failed" if failed else "")
    part = Part(traces, axis(c, measured_in(group, unit), **scale), y, title="One change", aside=aside)
    return figure(part, frame, theme, 120 + 26 * len(labels), left=170)
