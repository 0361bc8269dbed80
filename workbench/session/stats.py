"""Trials of a tuning log, task by task, as they come in: best so far, failures, the little curve of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from workbench.tune.record import Record

SPARK_POINTS = 24
DELTA_TRIALS = 20


@dataclass(slots=True)
class TaskStats:
    """What is known about one task."""

    best: Record | None = None
    untuned_ms: float | None = None
    failures: Counter[str] = field(default_factory=Counter)
    #: Best latency after each trial; None before the first valid one.
    curve: list[float | None] = field(default_factory=list)

    @property
    def trials(self) -> int:
        """Number of trials, failed ones included."""
        return len(self.curve)

    @property
    def best_ms(self) -> float | None:
        """Latency of the fastest trial."""
        return None if self.best is None else self.best.latency_ms

    @property
    def spark(self) -> list[float]:
        """At most `SPARK_POINTS` values of the curve, evenly spaced over the trials, the last one included."""
        n = len(self.curve)
        picks = (
            range(n) if n <= SPARK_POINTS else [round(k * (n - 1) / (SPARK_POINTS - 1)) for k in range(SPARK_POINTS)]
        )
        return [rounded(ms) for k in picks if (ms := self.curve[k]) is not None]

    @property
    def delta(self) -> float | None:
        """Relative change of the best latency over the last `DELTA_TRIALS` trials: -0.05 is 5 % faster."""
        if len(self.curve) <= DELTA_TRIALS:
            return None
        then, now = self.curve[-1 - DELTA_TRIALS], self.curve[-1]
        return None if then is None or now is None else rounded(now / then - 1.0)

    def add(self, record: Record) -> None:
        """Take a trial in."""
        if not record.ok:
            self.failures[record.status] += 1
        elif self.best_ms is None or (record.latency_ms or 0.0) < self.best_ms:
            self.best = record
        if record.ok and record.origin == "default" and self.untuned_ms is None:
            self.untuned_ms = record.latency_ms
        self.curve.append(self.best_ms)


class Stats:
    """All trials that a session knows; adding one takes constant time."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._tasks: dict[str, TaskStats] = {}
        self._seen: set[tuple[object, ...]] = set()

    def add(self, records: Iterable[Record]) -> None:
        """Take trials in; those that are known already are left out."""
        for record in records:
            mark = (record.task_key, record.trial, record.key, record.timestamp)
            if mark in self._seen:
                continue
            self._seen.add(mark)
            self.records.append(record)
            self._tasks.setdefault(record.task_key, TaskStats()).add(record)

    def of(self, key: str) -> TaskStats:
        """Return what is known about a task; empty when nothing is."""
        return self._tasks.get(key) or TaskStats()

    def counts(self) -> dict[str, Any]:
        """Return trials and failures over all tasks."""
        return {"trials": len(self.records), "failed": sum(t.failures.total() for t in self._tasks.values())}


def rounded(value: float | None, digits: int = 5) -> Any:
    """Return `value` with so many significant digits: what is shown needs no more, and it is shorter on the wire."""
    return None if value is None else float(f"{value:.{digits}g}")
