"""What each view of an explorer gets: a slice of plain JSON with arrays in it.

A slice is sent again when its key has changed. What only changes with the axes (all records, in grey) is another slice
than what changes with every brush (those that are chosen), so a brush moves as few bytes as it can.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench import markup as m
from workbench.logs.evaluation import STATUSES
from workbench.logs.explorer.best_so_far import series
from workbench.logs.explorer.columns import Column
from workbench.logs.explorer.explorer import Explorer
from workbench.logs.explorer.panels import panels
from workbench.logs.explorer.places import places

ACROSS, UP = 180, 110
"""Cells of the scatter plot for axes of numbers. Chosen: three pixels each where it is widest."""

FINE = 240
"""Bins of a histogram of numbers; four of them are a bar, and all of them the curve of shares."""

SHOWN_TASKS, SHOWN_WARNINGS = 500, 20
"""Tasks that are offered, warnings that are shown; more are counted."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice: what it depends on, and the function that makes it."""

    key: Callable[[Explorer], Hashable]
    make: Callable[[Explorer], Mapping[str, Any]]


SLICES: dict[str, Slice] = {}
Make = Callable[[Explorer], Mapping[str, Any]]


def _slice(name: str, key: Callable[[Explorer], Hashable]) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        SLICES[name] = Slice(key, make)
        return make

    return register


def _data(e: Explorer) -> Hashable:
    return e.serial


def _rows(e: Explorer) -> Hashable:
    return e.serial, e.scope.chosen.serial


@_slice("meta", lambda e: (_data(e), e.views.logs, e.reading, e.live))
def meta(e: Explorer) -> Mapping[str, Any]:
    """Return what the log is, its columns and tasks."""
    task = e.columns["task"]
    counts = np.bincount(task.values[task.values >= 0], minlength=len(task.keys))
    tasks = [[key, label, int(n)] for key, label, n in zip(task.keys, task.labels, counts, strict=True)]
    columns = e.scope.columns
    return {
        "title": m.clean(e.title), "format": e.log.format, "n": e.columns.n, "scope": columns.n,
        "tasks": tasks[:SHOWN_TASKS], "more_tasks": max(0, len(tasks) - SHOWN_TASKS),
        "columns": [_column(c) for c in columns.values()], "cost": columns.cost, "direction": columns.direction,
        "logs": list(e.views.logs), "reading": e.reading, "live": e.live,
        "panels": [[name, p.tab, p.question] for name, p in panels().items()],
        "warnings": [m.clean(w) for w in e.log.warnings[:SHOWN_WARNINGS]],
        "more_warnings": max(0, len(e.log.warnings) - SHOWN_WARNINGS),
    }  # fmt: skip


def _column(column: Column) -> Mapping[str, Any]:
    return {
        "name": column.name, "title": title(column), "group": column.group, "discrete": column.discrete,
        "positive": column.positive, "varies": column.varies,
    }  # fmt: skip


def title(column: Column) -> str:
    """Return the name of a column with its unit, as axes and tables say it."""
    name = "× best" if column.name == "times_best" else m.clean(column.name)
    return f"{name}, {unit_of(column)}" if column.unit else name


def unit_of(column: Column) -> str:
    """Return the unit of a column as it is shown."""
    return "µs" if column.unit == "us" else column.unit


def _texts(e: Explorer) -> Hashable:
    error = e.filter_error
    brushes = tuple((name, brush) for name, brush in e.selection.brushes.items())
    return e.selection.task, e.selection.statuses, e.selection.text, brushes, error and error.message


@_slice("chosen", lambda e: (_rows(e), _texts(e)))
def chosen(e: Explorer) -> Mapping[str, Any]:
    """Return what is chosen, in exact numbers and in words."""
    columns, status = e.scope.columns, e.scope.columns["status"]
    count = e.scope.count(("status",), lambda: status.bins(False), len(status.labels) + 1)
    here = count.chosen(e.scope.chosen)
    statuses = [
        [key, STATUSES[key], int(count.all[k]), int(here[k]), not e.selection.statuses or key in e.selection.statuses]
        for k, key in enumerate(status.keys)
    ]
    brushes = [
        {"column": name, "title": title(columns[name]), **b.to_json(), "text": _range(columns[name], b)}
        for name, b in e.selection.brushes.items()
    ]
    error = e.filter_error
    wrong = None if error is None else {"message": str(error.message), "hint": error.hint}
    return {
        "n": e.scope.chosen.n, "of": columns.n, "task": e.selection.task, "statuses": statuses, "brushes": brushes,
        "text": e.selection.text, "error": wrong,
        "best": _best(e),
    }  # fmt: skip


def _range(column: Column, brush: Any) -> str:
    return "no value" if brush.missing else column.range_text(brush.low, brush.high)


def _best(e: Explorer) -> Mapping[str, Any] | None:
    row = e.scope.best()
    if row is None:
        return None
    columns = e.scope.columns
    shown = columns["cost"] if "cost" in columns else columns[columns.cost]
    return {
        "record": int(columns.records[row]), "cost": shown.text(row), "unit": unit_of(shown),
        "of": _groups(e) if columns.cost == "times_best" else 1,
    }  # fmt: skip


def _groups(e: Explorer) -> int:
    """Return how many tasks, devices and objectives the chosen records are of."""
    group, most = e.scope.columns.group, np.iinfo(np.uint16).max
    count = e.scope.count(
        ("group",), lambda: np.minimum(group, most).astype(np.uint16), min(e.scope.columns.groups, most + 1)
    )
    return int(np.count_nonzero(count.chosen(e.scope.chosen)))


def _axis(e: Explorer, name: str) -> Mapping[str, Any]:
    column = e.scope.columns[name]
    log = name in e.views.logs
    scale = column.scale(log)
    ticks = [[float(scale.place(np.array([at]))[0]), text] for at, text in scale.ticks]
    return {
        **_column(column), "low": scale.low, "high": scale.high, "log": scale.log, "bins": scale.bins, "ticks": ticks,
        "labels": list(column.labels) if len(column.labels) <= 64 else None,
    }  # fmt: skip


def levels(*counts: npt.NDArray[np.int64]) -> list[npt.NDArray[np.uint8]]:
    """Return how strong each cell of some views is drawn, by the logarithm of its count: 0 where it is empty, else 1 to
    255, as much as the largest of its view.
    """
    if not counts:
        return []
    sizes = [len(one) for one in counts]
    most = np.array([max(1, one.max(initial=0)) for one in counts], np.float32)
    every = np.concatenate(counts)
    strong = np.log(every.astype(np.float32) + 1) * np.repeat(254 / np.log(most + 1), sizes)
    return np.split(np.where(every > 0, 1 + np.rint(strong), 0).astype(np.uint8), np.cumsum(sizes)[:-1])


# ----- parallel coordinates


def _gap(e: Explorer, left: str, right: str) -> Any:
    scope, logs = e.scope, e.views.logs
    a, b = scope.columns[left].scale(left in logs).bins + 1, scope.columns[right].scale(right in logs).bins + 1
    key = ("gap", left, left in logs, right, right in logs)
    return scope.count(key, lambda: scope.bins(left, logs) * np.uint16(b) + scope.bins(right, logs), a * b), a, b


def _single(e: Explorer, name: str) -> Any:
    log = name in e.views.logs
    n = e.scope.columns[name].scale(log).bins + 1
    return e.scope.count(("axis", name, log), lambda: e.scope.bins(name, e.views.logs), n)


def _axes_key(e: Explorer) -> Hashable:
    return _data(e), e.views.axes, tuple(name in e.views.logs for name in e.views.axes)


@_slice("axes", _axes_key)
def axes(e: Explorer) -> Mapping[str, Any]:
    """Return the axes, and the lines of all records between them."""
    names = e.views.axes
    lines = levels(*(_gap(e, a, b)[0].all for a, b in itertools.pairwise(names)))
    return {"names": list(names), "axes": [_axis(e, name) for name in names], "all": lines}


@_slice("lines", lambda e: (_axes_key(e), _rows(e)))
def lines(e: Explorer) -> Mapping[str, Any]:
    """Return the lines of what is chosen, the exact counts on each axis, and the best of them."""
    names, found, counts = e.views.axes, [], []
    for left, right in itertools.pairwise(names):
        count, a, b = _gap(e, left, right)
        here = count.chosen(e.scope.chosen)
        found.append(here)
        counts.append(here.reshape(a, b).sum(1))
        if right == names[-1]:
            counts.append(here.reshape(a, b).sum(0))
    if len(names) == 1:
        counts = [_single(e, names[0]).chosen(e.scope.chosen)]
    row = e.scope.best()
    best = None if row is None else places(e, names, row)
    return {"chosen": levels(*found), "counts": [c.astype(np.uint32) for c in counts], "best": best}


# ----- scatter


def _cells(e: Explorer, name: str, most: int) -> tuple[npt.NDArray[np.uint16], int]:
    column, log = e.scope.columns[name], name in e.views.logs
    n = column.scale(log).bins if column.discrete else most
    return column.bins(log, most), n


def _points(e: Explorer) -> tuple[Any, int, int]:
    x, y, logs = e.views.x, e.views.y, e.views.logs
    across, up = (e.scope.columns[n].scale(n in logs).bins if e.scope.columns[n].discrete else most
                  for n, most in ((x, ACROSS), (y, UP)))  # fmt: skip

    def cells() -> npt.NDArray[np.uint16]:
        return _cells(e, x, ACROSS)[0] * np.uint16(up + 1) + _cells(e, y, UP)[0]

    key = ("points", x, x in logs, y, y in logs)
    return e.scope.count(key, cells, (across + 1) * (up + 1)), across, up


def _scatter_key(e: Explorer) -> Hashable:
    return _data(e), e.views.x, e.views.y, e.views.x in e.views.logs, e.views.y in e.views.logs


@_slice("scatter", _scatter_key)
def scatter(e: Explorer) -> Mapping[str, Any]:
    """Return the axes of the scatter plot and the cells of all records; the last of each axis has no value."""
    count, across, up = _points(e)
    return {
        "x": _axis(e, e.views.x), "y": _axis(e, e.views.y), "across": across, "up": up, "all": levels(count.all)[0],
    }  # fmt: skip


@_slice("points", lambda e: (_scatter_key(e), _rows(e)))
def points(e: Explorer) -> Mapping[str, Any]:
    """Return the cells of what is chosen, and where the best of it stands."""
    row = e.scope.best()
    best = None if row is None else places(e, (e.views.x, e.views.y), row)
    return {"chosen": levels(_points(e)[0].chosen(e.scope.chosen))[0], "best": best}


# ----- histogram


def _bars(e: Explorer) -> Any:
    name = e.views.histogram
    bins, n = _cells(e, name, FINE)
    return e.scope.count(("bars", name, name in e.views.logs), lambda: bins, n + 1)


def _histogram_key(e: Explorer) -> Hashable:
    return _data(e), e.views.histogram, e.views.histogram in e.views.logs


@_slice("histogram", _histogram_key)
def histogram(e: Explorer) -> Mapping[str, Any]:
    """Return the axis of the histogram and the counts of all records; the last has no value."""
    column = e.scope.columns[e.views.histogram]
    return {
        "axis": _axis(e, e.views.histogram),
        "all": _bars(e).all.astype(np.uint32),
        "merge": 1 if column.discrete else 4,
    }


@_slice("bars", lambda e: (_histogram_key(e), _rows(e)))
def bars(e: Explorer) -> Mapping[str, Any]:
    """Return the counts of what is chosen."""
    return {"chosen": _bars(e).chosen(e.scope.chosen).astype(np.uint32)}


# ----- best so far


@_slice("best", lambda e: (_rows(e), e.views.by_time, e.scope.columns.cost in e.views.logs))
def best(e: Explorer) -> Mapping[str, Any]:
    """Return the best so far, of each run and task, of what is chosen and of all."""
    return series(e)


# ----- table


def shown_columns(e: Explorer) -> list[Column]:
    """Return the columns of the table: the result first, then those that have an axis, then other parameters."""
    columns = e.scope.columns
    first = [n for n in ("record", "cost", "times_best", "status") if n in columns]
    rest = [n for n in e.views.axes if n not in first]
    return [columns[n] for n in [*first, *rest]]


@_slice("table", lambda e: (_rows(e), e.views.sort, e.views.descending, e.views.first, e.views.count, e.views.axes))
def table(e: Explorer) -> Mapping[str, Any]:
    """Return the rows of the table that are on the screen."""
    shown = shown_columns(e)
    first = max(0, min(e.views.first, e.scope.chosen.n - 1))
    rows = window(e, first, e.views.count)
    return {
        "columns": [_column(c) for c in shown], "sort": e.views.sort, "descending": e.views.descending,
        "n": e.scope.chosen.n, "first": first, "records": [int(e.scope.columns.records[r]) for r in rows],
        "rows": [[_cell(c, r) for c in shown] for r in rows],
    }  # fmt: skip


def _cell(column: Column, row: int) -> str:
    if column.name == "record":
        return m.counted(int(column.values[row]))
    return m.shortened(column.text(row), 60)


def window(e: Explorer, first: int, count: int) -> list[int]:
    """Return some rows of what is chosen, in the order of the table."""
    order, mask = e.scope.columns[e.views.sort].order(e.views.descending), e.scope.chosen.mask
    found: list[int] = []
    for at in range(0, len(order), 1 << 15):
        part = order[at : at + (1 << 15)]
        hits = part[mask[part]]
        if first < len(hits):
            found += hits[first : first + count - len(found)].tolist()
            if len(found) >= count:
                break
        first = max(0, first - len(hits))
    return found


__all__ = ["SLICES", "Slice", "levels", "shown_columns", "title", "window"]
