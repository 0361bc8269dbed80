"""Trials and comparisons of a log, task by task, as they come in: best so far, failures, the curve of a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from workbench.tune.events import TaskRow
from workbench.tune.lines import Comparison
from workbench.tune.ranking import (
    Key,
    Ladder,
    at_least,
    compared_ms,
    lasting,
    latency_shown,
    remeasured,
    same_program,
    shown_ms,
    uncompared,
)
from workbench.tune.record import Record

SPARK_POINTS = 24
DELTA_TRIALS = 20


@dataclass(slots=True)
class TaskStats:
    """What is known about one task.

    Which trial is the best is told by the rule of `workbench.tune.ranking`.
    """

    best: Record | None = None
    #: Its latency: the least of its own and of those in its comparisons.
    best_ms: float | None = None
    #: The default schedule's, likewise.
    untuned_ms: float | None = None
    failures: Counter[str] = field(default_factory=Counter)
    #: The newest trial of each kind of failure.
    failed: dict[str, Record] = field(default_factory=dict)
    #: Who was thought the best after each trial: its latency; None before the first valid one.
    course: list[float | None] = field(default_factory=list)
    _valid: dict[int, Record] = field(default_factory=dict)
    _comparisons: list[Comparison] = field(default_factory=list)
    #: Trials that took part in comparisons, and the place of the best one.
    _named: set[int] = field(default_factory=set)
    _least: Key = ()
    _default: int = -1

    @property
    def trials(self) -> int:
        """Number of trials, failed ones included."""
        return len(self.course)

    @property
    def spread(self) -> float | None:
        """Spread of the best one's own measurement."""
        return None if self.best is None else self.best.spread

    @property
    def compared(self) -> int:
        """Number of comparisons."""
        return len(self._comparisons)

    @property
    def spark(self) -> list[float]:
        """At most `SPARK_POINTS` values of the curve, evenly spaced over the trials, the last one included."""
        n, curve = len(self.course), lasting(self.course)
        picks = (
            range(n) if n <= SPARK_POINTS else [round(k * (n - 1) / (SPARK_POINTS - 1)) for k in range(SPARK_POINTS)]
        )
        return [rounded(ms) for k in picks if (ms := curve[k]) is not None]

    @property
    def delta(self) -> float | None:
        """Relative change of the best latency over the last `DELTA_TRIALS` trials: -0.05 is 5 % faster."""
        if len(self.course) <= DELTA_TRIALS:
            return None
        then, *_, now = lasting(self.course[-1 - DELTA_TRIALS :])
        return None if then is None or now is None else rounded(now / then - 1.0)

    def add(self, record: Record) -> None:
        """Take a trial in."""
        if not record.ok:
            self.failures[record.status] += 1
            self.failed[record.status] = record
        else:
            place, number = uncompared(_alone(record), record.trial), self._number(record)
            again = number in self._valid
            self._valid[number] = remeasured(self._valid[number], record) if again else record
            if again or number in self._named:
                self._rank()
            elif self.best is None or place < self._least:
                self._least = place
                self._choose(record)
        if record.ok and record.origin == "default" and self.untuned_ms is None:
            self.untuned_ms, self._default = record.latency_ms, record.trial
        self.course.append(self.best_ms)

    def _number(self, record: Record) -> int:
        """Return the number that a trial is ranked by: its own, unless another program had that before."""
        known = self._valid.get(record.trial)
        same = known is None or same_program(known, record)
        return record.trial if same else next(n for n in count(-1, -1) if n not in self._valid)

    def compare(self, line: Comparison) -> None:
        """Take a comparison in."""
        self._comparisons.append(line)
        self._named.update(line.trials)
        self._rank()
        if self._default in line.trials:
            self.untuned_ms = shown_ms(self.untuned_ms, line.latency_of(self._default))
        if self.course:
            self.course[-1] = self.best_ms

    def _rank(self) -> None:
        least = compared_ms(self._comparisons)
        alone = {trial: _alone(at_least(record, least.get(trial))) for trial, record in self._valid.items()}
        ladder = Ladder.of(alone, self._comparisons)
        if ladder.best is not None:
            self._least = ladder.places[ladder.best]
            self._choose(self._valid[ladder.best])

    def _choose(self, record: Record) -> None:
        self.best, self.best_ms = record, self.shown_ms(record)

    def trial(self, number: int) -> Record | None:
        """Return the valid trial that a number means."""
        return self._valid.get(number)

    def shown_ms(self, record: Record) -> float | None:
        """Latency to show for a trial: the least of its own and of those in its comparisons."""
        known = self.trial(record.trial) or record
        return latency_shown(record, self._comparisons) if known == record else record.latency_ms


def _alone(record: Record) -> tuple[int, float]:
    """What orders a trial that was never compared."""
    return (record.warmth, record.latency_ms or 0.0)


class Stats:
    """All trials that a session knows; adding one takes constant time."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.comparisons: list[Comparison] = []
        self._tasks: dict[str, TaskStats] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._claimed: dict[str, TaskRow] = {}

    def add(self, lines: Iterable[Record | Comparison]) -> None:
        """Take trials and comparisons in; those that are known already are left out."""
        for line in lines:
            mark = _mark(line)
            if mark in self._seen:
                continue
            self._seen.add(mark)
            task = self._tasks.setdefault(line.task_key, TaskStats())
            if isinstance(line, Record):
                self.records.append(line)
                task.add(line)
            else:
                self.comparisons.append(line)
                task.compare(line)

    def of(self, key: str) -> TaskStats:
        """Return what is known about a task; empty when nothing is."""
        return self._tasks.get(key) or TaskStats()

    def follow(self, rows: Iterable[TaskRow]) -> None:
        """Let a run say how fast its tasks are: it claims nothing before it has compared."""
        self._claimed = {row.key: row for row in rows if row.latency_ms is not None}

    def claim(self, key: str) -> TaskRow | None:
        """Return what the run says of a task; None when another run's trials rank before its own, because these were
        timed with the caches in another state.
        """
        row, task = self._claimed.get(key), self.of(key)
        its = None if row is None or row.trial is None else task.trial(row.trial)
        return None if its is not None and task.best is not None and its.warmth > task.best.warmth else row

    def best(self, key: str) -> Record | None:
        """Return the best trial of a task."""
        row, task = self.claim(key), self.of(key)
        return (None if row is None or row.trial is None else task.trial(row.trial)) or task.best

    def best_ms(self, key: str) -> float | None:
        """Return its latency."""
        row = self.claim(key)
        return self.of(key).best_ms if row is None else row.latency_ms

    def counts(self) -> dict[str, Any]:
        """Return trials and failures over all tasks."""
        return {"trials": len(self.records), "failed": sum(t.failures.total() for t in self._tasks.values())}


def _mark(line: Record | Comparison) -> tuple[object, ...]:
    if isinstance(line, Record):
        return (line.task_key, line.trial, line.key, line.timestamp)
    return (line.task_key, line.trials, line.elapsed_s, line.timestamp)


def rounded(value: float | None, digits: int = 5) -> Any:
    """Return `value` with so many significant digits: what is shown needs no more, and it is shorter on the wire."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")
