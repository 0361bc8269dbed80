"""`TuningLog`: any tuner's log as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from workbench.arguments import index, is_a, shown, whole
from workbench.errors import UsageError
from workbench.logs.ledger_places import UNRANKED, LedgerPlaces, ranked, trial_key
from workbench.logs.source import Fault
from workbench.many_values import many_values

if TYPE_CHECKING:
    import pandas

    from workbench.logs.space import SearchSpace

RESULT = ("status", "cost_s", "value", "unit", "objective", "direction")
"""Columns of `TuningLog.records` that `TuningLog.table` keeps beside the parameters."""


RANKED = 20_000
"""Records up to which the order of the workbench's own logs is that of the ledger: that takes some 60 µs of each."""

Followed: TypeAlias = "tuple[int, pandas.DataFrame, list[Fault], list[str]]"
"""New records, then all records, damage and notes of files that were looked at again."""


class TuningLog:
    """What tuners have written, from one or several files: a row per configuration that was tried.

    Attributes
    ----------
    format : str
        Name of the importer; several are joined with a comma.
    paths : tuple of str
        The files or folders.
    records : pandas.DataFrame
        One row per record. Columns: ``record`` (number from 0, also the index), ``run`` (name of the file, and of the
        run where a file has several), and the fields of `workbench.logs.evaluation.Evaluation` but `raw` and `offset`;
        ``cost_s`` is `value` in seconds where it is a time and the record is ok. Numbers that are not told are missing
        (NaN). Of a large file, ``params``, ``extra`` and ``repeats`` are read when asked for, and ``error`` is cut off
        after some lines.
    faults : list of Fault
        Damage, by its place.
    warnings : list of str
        What a reader has to know before believing a figure, each a sentence; damage is counted in one of them.
    """

    def __init__(
        self,
        format: str,  # the name that the contract gives it
        paths: Sequence[str],
        records: pandas.DataFrame,
        params: Mapping[str, Sequence[Any]] | Callable[[], Mapping[str, Sequence[Any]]],
        raw: Callable[[int], Any],
        faults: Sequence[Fault] = (),
        notes: Sequence[str] = (),
        follow: Callable[[], Followed] | None = None,
        space: Callable[[], SearchSpace | None] = lambda: None,
    ) -> None:
        self.format, self.paths = format, tuple(paths)
        self.records = records
        self._params = params
        self.faults = list(faults)
        self.warnings = [*_counted(self.faults), *notes]
        self._raw, self._follow, self._space = raw, follow, space

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        files = self.paths[0] if len(self.paths) == 1 else f"{len(self.paths)} files"
        return f"TuningLog({self.format}, {len(self)} records of {len(self.tasks)} tasks, {files})"

    def _repr_html_(self) -> str:
        from workbench.logs.html import log_html

        return log_html(self)

    def raw(self, record: int) -> Any:
        """Return a record as its tuner wrote it, as JSON has it.

        Raises
        ------
        UsageError
            ``usage.record`` for a number that no record has.
        """
        return self._raw(self.number(record))

    def number(self, record: object) -> int:
        """Return the number of a record, which has to be there; raises as `raw` does."""
        number = index(record)
        if number is None or not 0 <= number < len(self):
            hint = f"records go from 0 to {len(self) - 1}"
            raise UsageError("usage.record", f"There is no record {shown(record)}", ("record",), hint)
        return number

    def refresh(self) -> int:
        """Take up what tuners have written since the log was opened, or refreshed; return how many records are new.

        `records`, `tasks`, `params`, `faults` and `warnings` are then those of the files as they are now. Of a large
        file only the new lines are read. A last line without its end waits for it. A file that was replaced or cut
        short is read anew, and a warning says so.

        Raises
        ------
        LogError
            What `open` raises of a file.
        """
        if self._follow is None:
            return 0
        fresh, self.records, faults, notes = self._follow()
        self.faults, self.warnings = faults, [*_counted(faults), *notes]
        for name in ("tasks", "params", "held", "_ledger"):
            self.__dict__.pop(name, None)
        return fresh

    @cached_property
    def space(self) -> SearchSpace | None:
        """The configurations that could have been tried, where a T1 file or the log says it; None elsewhere.

        Raises
        ------
        UsageError
            ``usage.expression`` or ``usage.expression_name`` for a restriction of the log that cannot be used.
        """
        return self._space()

    @cached_property
    def params(self) -> dict[str, list[Any]]:
        """Name of each parameter -> its values: those of the space where the log says it, else those that occur.

        Of a large log, all records are read again for that.
        """
        found = self._params() if callable(self._params) else self._params
        return {name: list(values) for name, values in found.items()}

    @cached_property
    def tasks(self) -> pandas.DataFrame:
        """One row per task, device and objective, in the order of first appearance.

        Columns: ``task device target objective unit direction records ok failed best best_s best_record median``;
        `best` and `median` are in `unit`, over the records that are ok and have a value. `best` is of `held`, that of
        the row that `best()` gives.
        """
        import pandas

        parts = self.records.groupby(list(_COMPARED), sort=False, observed=True, dropna=False)
        rows = [_task_row(key, part, self._ranked(key, part), self.held) for key, part in parts]
        return pandas.DataFrame(rows, columns=[*_COMPARED, *_TASK])

    @cached_property
    def held(self) -> pandas.Series[float]:
        """`value` of each record, as far as it held.

        Of the workbench's own logs that is what the ledger tells of its program, by all of its times: that of this
        measurement alone is in `records`. Logs of more than `RANKED` records are taken as they are.
        """
        found = self.records["value"].astype("float64").copy()
        if self._ledger is None:
            return found
        good = self.records[(self.records["status"] == "ok") & found.notna() & (self.records["unit"] == "ms")]
        for (task, target), part in good.groupby(["task", "target"], sort=False, observed=True, dropna=False):
            places = self._ledger.of(str(task), str(target))
            seen = zip(_names(part), part["value"], strict=True)
            told = np.array([places.get(name, UNRANKED).ms or value for name, value in seen], np.float64)
            found.loc[part.index] = told
        return found

    @cached_property
    def _ledger(self) -> LedgerPlaces | None:
        """Who is ahead in the workbench's own logs, as far as they are not too long."""
        own = "workbench" in self.format.split(", ") and len(self) <= RANKED
        return LedgerPlaces(self.paths) if own else None

    def _ranked(self, key: tuple[Any, ...], part: pandas.DataFrame) -> pandas.DataFrame:
        """Return those of some records of one task that have a value, the best first."""
        good = part[(part["status"] == "ok") & part["value"].notna()]
        good = good.sort_values("value", ascending=key[-1] == "min", kind="stable")
        if self._ledger is None:
            return good
        return good.iloc[ranked(_names(good), self._ledger.of(str(key[0]), str(key[2])))]

    def best(self, k: int = 1, task: str | None = None) -> pandas.DataFrame:
        """Return the rows of `records` with the best values of each task, device and objective, the best first.

        Of the workbench's own logs those come first that the ledger ranks first: who has won a comparison, and not who
        was lucky once (``docs/ledger.md``).

        Parameters
        ----------
        k : int
            Rows of each, at most.
        task : str, optional
            This task only.

        Raises
        ------
        UsageError
            ``usage.task`` for a task that is not there, ``usage.number`` for a `k` that is no count.
        """
        import pandas

        most = whole("k", k)
        records = self._of(task)
        parts = records.groupby(list(_COMPARED), sort=False, observed=True, dropna=False)
        found = [self._ranked(key, part).head(most) for key, part in parts]
        return pandas.concat(found) if found else records

    def table(self, task: str | None = None) -> pandas.DataFrame:
        """Return a column per parameter, then `RESULT`; the index is the number of the record.

        Parameters
        ----------
        task : str, optional
            Records of this task only; needed where a log has several tasks with parameters of their own.

        Raises
        ------
        UsageError
            ``usage.task`` for a task that is not there.
        """
        import pandas

        records = self._of(task)
        with many_values():
            found = list(records["params"])
            names = dict.fromkeys(name for params in found for name in params)
            told = {name: [params.get(name, math.nan) for params in found] for name in names}
            columns = pandas.DataFrame(told, index=records.index)
        result = records[list(RESULT)].rename(columns={n: f"{n}_of_record" for n in RESULT if n in columns})
        return columns.infer_objects().join(result)

    def _of(self, task: str | None) -> pandas.DataFrame:
        """Return the records of a task, or all."""
        if task is None:
            return self.records
        if is_a("task", task, str) not in set(self.tasks["task"]):
            hint = "the tasks are in `log.tasks`"
            raise UsageError("usage.task", f"The log has no task {shown(task)}", ("task",), hint)
        return self.records[self.records["task"] == task]


_COMPARED = ("task", "device", "target", "objective", "unit", "direction")
"""Columns of records whose values can be compared where these are the same."""

_TASK = ("records", "ok", "failed", "best", "best_s", "best_record", "median")


def _task_row(
    key: tuple[Any, ...], part: pandas.DataFrame, good: pandas.DataFrame, held: pandas.Series[float]
) -> list[Any]:
    ok = int((part["status"] == "ok").sum())
    counts = [len(part), ok, len(part) - ok]
    if good.empty:  # of winners alone, for instance, times may not be told
        return [*key, *counts, None, None, None, None]
    best, cost_s = good.index[0], good["cost_s"].iloc[0]
    value, seen = held[best], good["value"].iloc[0]
    return [*key, *counts, value, cost_s * value / seen if seen else cost_s, best, held[good.index].median()]


def _names(part: pandas.DataFrame) -> Iterator[tuple[Any, ...]]:
    """What tells the records of a task and target apart."""
    return starmap(trial_key, zip(part["device"], part["timestamp"], part["value"], strict=True))


def _counted(faults: Sequence[Fault]) -> list[str]:
    if not faults:
        return []
    more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
    places = "; ".join(map(str, faults[:3]))
    return [f"{len(faults)} damaged place{'s' * (len(faults) > 1)}: {places}{more}."]
