"""`Explorer`: the state behind the views of a log. Changes in, slices out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.errors import WorkbenchError
from workbench.logs.explorer import filters
from workbench.logs.explorer.columns import Column, Columns, columns_of
from workbench.logs.explorer.counting import Count
from workbench.logs.explorer.parameters import parameters_of
from workbench.logs.explorer.rows import Chosen, Mask, Masks
from workbench.logs.explorer.selection import Brush, Selection, Views, changed

if TYPE_CHECKING:
    from workbench.logs.tuning_log import TuningLog

LATER = 50_000
"""Records of a log whose parameters may be read later. Chosen: so many are read in about half a second."""

FIRST_AXES = 10
"""Axes of the parallel coordinates at first."""

KEPT_COUNTS = 64
"""Counts that are kept up to date; at a million records each takes 2 MB."""

NO_RANK = np.iinfo(np.int32).max
"""Rank of a row that has no cost."""


class Scope:
    """The rows that the views are about (those of one task, or all), which of them are chosen, and counts of them."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.masks = Masks(columns.n)
        self.chosen = Chosen(np.ones(columns.n, bool))
        self._counts: dict[Any, Count] = {}
        self._kept: dict[Any, Any] = {}
        self._best: tuple[Chosen | None, int | None] = None, None

    def bins(self, name: str, logs: tuple[str, ...]) -> npt.NDArray[np.uint16]:
        """Return the bin of each row on an axis."""
        return self.columns[name].bins(name in logs)

    def count(self, key: tuple[Any, ...], cells: Callable[[], npt.NDArray[np.uint16]], n: int) -> Count:
        """Return counts of cells; they are made once."""
        found = self._counts.pop(key, None) or Count(cells(), n)
        self._counts[key] = found  # the last is the one that was used last
        while len(self._counts) > KEPT_COUNTS:
            del self._counts[next(iter(self._counts))]
        return found

    def kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return what does not depend on what is chosen; it is made once."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    @cached_property
    def signed_cost(self) -> npt.NDArray[np.float64]:
        """The cost of each row, small is good; infinite where there is none."""
        cost = self.columns[self.columns.cost].values
        cost = -cost if self.columns.direction == "max" else cost
        return np.where(np.isfinite(cost), cost, np.inf)

    @cached_property
    def order_by_cost(self) -> npt.NDArray[np.int32]:
        """All rows, the best first."""
        return self.columns[self.columns.cost].order(self.columns.direction == "max")

    @cached_property
    def rank(self) -> npt.NDArray[np.int32]:
        """The place of each row's cost among the different ones, from 0, the best; `NO_RANK` where there is none."""
        cost = self.signed_cost[self.order_by_cost]
        rank, worse = np.empty(len(cost), np.int32), cost[1:] > cost[:-1]
        rank[self.order_by_cost] = np.where(np.isinf(cost), NO_RANK, np.cumsum(np.append(False, worse))[: len(cost)])
        return rank

    def best(self) -> int | None:
        """Return the best row that is chosen; None where no chosen one has a cost."""
        if self._best[0] is not self.chosen:
            self._best = self.chosen, self._find_best()
        return self._best[1]

    def _find_best(self) -> int | None:
        for at in range(0, self.columns.n, 1 << 16):
            part = self.order_by_cost[at : at + (1 << 16)]
            hits = np.flatnonzero(self.chosen.mask[part])
            if len(hits):
                row = int(part[hits[0]])
                return row if np.isfinite(self.signed_cost[row]) else None
        return None


class Explorer:
    """What is chosen of a log, and what each view shows of it. Use it from one thread.

    Parameters
    ----------
    log : TuningLog
        What to explore.
    title : str
        What to call it.
    later : bool
        Whether somebody reads the parameters of a large log afterwards (`unread`, `add_parameters`): that may take
        longer than to open it.

    Attributes
    ----------
    log : TuningLog
    columns : Columns
        All records.
    scope : Scope
        The records that the views are about: all, or those of the task that is chosen.
    selection : Selection
    views : Views
    filter_error : WorkbenchError or None
        What is wrong with the filter; as long as something is, it lets everything through.
    serial : int
        Counts how often there were other records, columns or another task.
    reading : float or None
        Share of the parameters that are read, where they come later.
    live : str
        In words, what writes to the log at present.
    """

    scope: Scope
    filter_error: WorkbenchError | None
    reading: float | None = None
    live = ""
    serial = 0

    def __init__(self, log: TuningLog, title: str = "", later: bool = False) -> None:
        self.log, self.title, self.later = log, title, later and len(log) > LATER
        self.columns = self._read()
        self.selection, self.filter_error = Selection(), None
        self._scoped("")
        self.views = first_views(self.scope.columns)

    # ----- changes

    def change(self, /, **settings: Any) -> Explorer:
        """Replace settings of the selection or the views, by the names of their fields.

        Raises
        ------
        UsageError
            "explorer.change" for a setting or column that is not there.
        """
        chosen = {name: value for name, value in settings.items() if name in Selection.__dataclass_fields__}
        shown = {name: value for name, value in settings.items() if name not in chosen}
        scope, columns = self.scope, self.scope.columns
        task = changed(self.selection, {n: v for n, v in chosen.items() if n == "task"}, self.columns).task
        before, first = self.selection, self.views
        if task != before.task:
            scope = Scope(self.columns.of_task(task) if task else self.columns)
            columns = scope.columns
            before = replace(before, task=task, brushes={}, statuses=())
            first = first_views(columns)
        views = changed(first, shown, columns)
        selection = changed(before, {n: v for n, v in chosen.items() if n != "task"}, columns)
        if scope is not self.scope:
            self.scope, self.serial = scope, self.serial + 1
        if chosen:
            self.selection = selection
            self._choose()
        self.views = replace(views, first=0) if chosen and "first" not in shown else views
        return self

    def renew(self, log: TuningLog) -> Explorer:
        """Show the log as it has become; what is chosen stays chosen as far as it is there."""
        old, untouched = self.scope.columns, self._untouched()
        self.log = log
        self.columns = self._read()
        task = self.selection.task if self.selection.task in self.columns["task"].keys else ""
        self._scoped(task)
        now = self.scope.columns
        kept = {}
        for name, brush in self.selection.brushes.items():
            if name in now and now[name].discrete == old[name].discrete:
                kept[name] = filters.moved(brush, old[name], now[name])
        statuses = tuple(s for s in self.selection.statuses if s in now["status"].keys)
        self.selection = replace(self.selection, task=task, brushes=kept, statuses=statuses)
        self._choose()
        first = first_views(self.scope.columns)
        if untouched:  # the first records of a run tell little of what varies
            brushed = (name for name in kept if name not in first.axes)
            self.views = replace(first, axes=(*first.axes, *brushed), first=self.views.first, count=self.views.count)
            return self
        known = {f: getattr(self.views, f) for f in ("x", "y", "histogram", "sort")}
        axes = tuple(name for name in self.views.axes if name in now)
        self.views = replace(
            self.views, axes=axes or first.axes, **{f: v if v in now else getattr(first, f) for f, v in known.items()}
        )
        return self

    def _read(self) -> Columns:
        columns = columns_of(self.log)
        return columns if self.later else columns.joined_by(parameters_of(self.log))

    @property
    def unread(self) -> npt.NDArray[np.int64] | None:
        """Numbers of the records whose parameters are still to be read; None where they are, or where there are several
        tasks and none is chosen: each has parameters of its own.
        """
        several = len(self.columns["task"].keys) > 1 and not self.selection.task
        return None if not self.later or several or self.scope.columns.parameters else self.scope.columns.records

    def add_parameters(self, parameters: Sequence[Column], serial: int) -> Explorer:
        """Add the columns of parameters that were read for the records on show when `serial` was this."""
        if serial == self.serial and parameters:
            untouched = self._untouched()
            chosen = self.scope.chosen
            self.scope = Scope(self.scope.columns.joined_by(parameters))
            self.scope.chosen = Chosen(chosen.mask)
            self.serial += 1
            if untouched:
                self.views = first_views(self.scope.columns)
            if self.filter_error is not None:
                self._choose()  # it may name a parameter
        return self

    def _untouched(self) -> bool:
        """Whether the views show what they do at first, wherever the table was scrolled to."""
        first = replace(first_views(self.scope.columns), first=self.views.first, count=self.views.count)
        brushed = (name for name in self.selection.brushes if name not in first.axes)
        return self.views in (first, replace(first, axes=(*first.axes, *brushed)))

    def _scoped(self, task: str) -> None:
        self.serial += 1
        self.scope = Scope(self.columns.of_task(task) if task else self.columns)

    def _choose(self) -> None:
        parts: dict[str, tuple[object, Callable[[], Mask]]] = {}
        columns = self.scope.columns
        for name, brush in self.selection.brushes.items():
            parts[name] = (brush, partial(_inside, columns[name], brush))
        if self.selection.statuses:
            parts["\0status"] = (self.selection.statuses, self._of_statuses)
        self.filter_error = None
        if self.selection.text.strip():
            parts["\0text"] = (self.selection.text, self._of_text)
        self.scope.chosen = Chosen(self.scope.masks.all_of(parts), self.scope.chosen)

    def _of_statuses(self) -> Mask:
        column = self.scope.columns["status"]
        wanted = [column.keys.index(s) for s in self.selection.statuses if s in column.keys]
        return np.isin(column.values, wanted)

    def _of_text(self) -> Mask:
        try:
            return filters.mask(self.selection.text, self.scope.columns, self.log)
        except WorkbenchError as error:
            self.filter_error = error
            return np.ones(self.scope.columns.n, bool)

    # ----- what Python sees

    @property
    def records(self) -> npt.NDArray[np.int64]:
        """Numbers of the records that are chosen."""
        return self.scope.columns.records[self.scope.chosen.rows]

    def column(self, name: str) -> Column:
        """Return a column of the records that the views are about."""
        return self.scope.columns[name]

    def row_of(self, record: int) -> int | None:
        """Return the row of a record among those that the views are about."""
        records = self.scope.columns.records
        at = int(np.searchsorted(records, record))
        return at if at < len(records) and records[at] == record else None

    @property
    def brushes(self) -> Mapping[str, Any]:
        """The ranges that are chosen, by column."""
        return self.selection.brushes


def _inside(column: Column, brush: Brush) -> Mask:
    return column.missing() if brush.missing else column.between(brush.low, brush.high)


def first_views(columns: Columns) -> Views:
    """Return what the views show at first."""
    cost = columns.cost
    varying = [c for c in columns.parameters if c.varies]
    around = [n for n in ("run", "device", "task") if n in columns and columns[n].varies]
    axes = [*around, *(c.name for c in varying[: FIRST_AXES - len(around) - 2]), cost]
    if columns["status"].varies:
        axes.append("status")
    logs = tuple(n for n, c in columns.items() if c.log and c.positive)
    x = varying[0].name if varying else "record"
    return Views(
        axes=tuple(axes), logs=logs, x=x, y=cost, histogram=cost, sort=cost, descending=columns.direction == "max"
    )
