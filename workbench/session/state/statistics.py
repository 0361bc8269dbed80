"""Trials and comparisons that a session knows, folded by the ledger as they come in."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from workbench.log import Comparison, Ledger, NetworkTime, Record, TaskLedger
from workbench.many_values import many_values

SPARK_POINTS = 24
"""Points of the small curve in a row of the task table, which is 56 pixels wide."""

DELTA_TRIALS = 20
"""Trials over which the table says how much a task became faster."""


class Statistics:
    """All trials that a session knows.

    Attributes
    ----------
    lines, records, comparisons : list
        Trials and comparisons that were taken in, in the order in which it came, and by kind.
    ledger : Ledger
        What they say, and what the network takes.
    """

    def __init__(self) -> None:
        self.lines: list[Record | Comparison] = []
        self.records: list[Record] = []
        self.comparisons: list[Comparison] = []
        self.ledger = Ledger()
        self._with: dict[str, tuple[tuple[object, ...], TaskLedger]] = {}

    def add(self, lines: Iterable[Record | Comparison | NetworkTime]) -> None:
        """Take lines in; those that are known already are left out."""
        with many_values():
            self._add(lines)

    def _add(self, lines: Iterable[Record | Comparison | NetworkTime]) -> None:
        for line in lines:
            if self.ledger.take(line) and not isinstance(line, NetworkTime):
                self.lines.append(line)
                (self.records if isinstance(line, Record) else self.comparisons).append(line)  # type: ignore[arg-type]

    def of(self, key: str) -> TaskLedger:
        """Return what is known about a task; nothing where no line is about it."""
        return self.ledger.task(key)

    def also(self, key: str, others: tuple[Record | Comparison, ...]) -> TaskLedger:
        """Return what is known about a task, together with trials and comparisons that are in no log, or not yet."""
        if not others:
            return self.of(key)
        known = (len(self.lines), others)
        if self._with.get(key, ((),))[0] != known:
            task = TaskLedger()
            for line in (*self.lines, *others):
                if line.task_key == key:
                    task.take(line)
            self._with[key] = (known, task)
        return self._with[key][1]

    def counts(self) -> dict[str, Any]:
        """Return trials and failures over all tasks."""
        failed = sum(task.failures.total() for task in self.ledger.tasks.values())
        return {"trials": len(self.records), "failed": failed}


def spark(task: TaskLedger) -> list[float]:
    """Return at most `SPARK_POINTS` values of the best so far, evenly spaced over the trials, the last one included.

    They never rise: where the best turned out to be slower than it was told, that is told from the beginning.
    """
    n = task.trials
    picks = range(n) if n <= SPARK_POINTS else [round(k * (n - 1) / (SPARK_POINTS - 1)) for k in range(SPARK_POINTS)]
    found = [ms for k in picks if (ms := task.ms_after(k + 1)) is not None]
    return [rounded(ms) for ms in list(accumulate(reversed(found), max))[::-1]]


def delta(task: TaskLedger) -> float | None:
    """Return the change of the best over the last `DELTA_TRIALS` trials: -0.05 is 5 % faster. It never is slower."""
    then = task.ms_after(task.trials - DELTA_TRIALS)
    return None if then is None or task.best is None else rounded(min(0.0, task.best.ms / then - 1.0))


def rounded(value: float | None, digits: int = 5) -> Any:
    """Return `value` with so many significant digits: what is shown needs no more, and it is shorter on the wire."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")
