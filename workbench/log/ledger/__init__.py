"""Who is the best of each task, how fast, how sure that is, and how it came about: one fold over the lines of a log.

What counts, and why, is told with examples in ``docs/ledger.md``. Everything that says who is best asks this package:
the run that writes a log as well as whoever reads it. Who is best after a line depends on which lines came up to it,
not on their order; only the course does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.log.ledger.best_history import After, Step
from workbench.log.ledger.candidate import AGREES, SURE, Best, Sure, covering, of_one_mode
from workbench.log.ledger.network import Measured, NetworkLedger, same_conditions
from workbench.log.ledger.task_ranking import TaskLedger
from workbench.log.lines import AnyLine, Comparison, NetworkTime
from workbench.log.record import Record
from workbench.log.weighted_latency import shares, total

__all__ = [
    "AGREES", "SURE", "After", "Best", "Ledger", "Measured", "NetworkLedger", "Step", "Sure", "TaskLedger",
    "covering", "of_one_mode", "same_conditions",
]  # fmt: skip


class Ledger:
    """What a log, or several, say of their tasks, and of the whole network.

    Attributes
    ----------
    tasks : dict of str to TaskLedger
        By key, in the order of their first lines.
    trials : int
        Trials of all tasks.
    whole : NetworkLedger
    """

    def __init__(self, target: str | None = None) -> None:
        self._target = target
        self.tasks: dict[str, TaskLedger] = {}
        self.trials = 0
        self.whole = NetworkLedger(target)

    @classmethod
    def of(cls, lines: Iterable[AnyLine], target: str | None = None) -> Ledger:
        """Return what lines say, in the order of a log."""
        ledger = cls(target)
        for line in lines:
            ledger.take(line)
        return ledger

    def take(self, line: AnyLine, source: int = 0) -> bool:
        """Take a line in; whether it is a trial or a comparison that was not taken before."""
        if isinstance(line, NetworkTime):
            self.whole.take(line, self.trials)
        if not isinstance(line, Record | Comparison):
            return False
        if isinstance(line, Record):
            self.whole.follow(line.target)
        task = self.tasks.get(line.task_key)
        if task is None:
            task = self.tasks[line.task_key] = TaskLedger(self._target)
        fresh = task.take(line, self.trials + isinstance(line, Record), source)
        self.trials += fresh and isinstance(line, Record)
        return fresh

    def count(self, task_key: str, target: str, failure: str = "") -> None:
        """Take note of a trial of a known task that cannot be the best, and of how it failed."""
        self.whole.follow(target)
        self.tasks[task_key].count(failure)
        self.trials += 1

    @property
    def network(self) -> NetworkTime | None:
        """What the whole takes, as it was measured last."""
        return self.whole.last

    def task(self, key: str) -> TaskLedger:
        """Return what is known of a task; nothing where no line is about it."""
        return self.tasks.get(key) or TaskLedger(self._target)

    def calls(self, keys: Iterable[str]) -> list[tuple[int, float | None]]:
        """Return weight and number of tasks, as `workbench.log.weighted_latency` puts them together."""
        return [(task.weight, task.best.ms if task.best else None) for task in map(self.task, keys)]

    def course(self, keys: Iterable[str]) -> Iterator[tuple[int, float]]:
        """Yield the sum over tasks, weighted, whenever it changes: after how many trials of the log, and the sum."""
        wanted = [self.task(key) for key in keys]
        now: dict[int, float] = {}
        steps = [(step.at, n, step.ms) for n, task in enumerate(wanted) for step in task.course]
        for at, n, ms in sorted(steps, key=lambda item: item[0]):
            now[n] = ms
            if len(now) == len(wanted):
                yield at, math.fsum(task.weight * now[k] for k, task in enumerate(wanted))

    def to_json(self, keys: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the whole as JSON, as the viewer in TypeScript has to say it."""
        names = list(self.tasks if keys is None else keys)
        calls = self.calls(names)
        parts = zip(names, shares(calls), strict=True)
        return {"total_ms": total(calls), "tasks": [{**_json(key, self.task(key)), "share": s} for key, s in parts]}


def _json(key: str, task: TaskLedger) -> dict[str, Any]:
    best = task.best
    return {
        "key": key, "trials": task.trials, "failed": task.failures.total(),
        "best": None if best is None else {"trial": best.record.trial, "ms": best.ms, "sure": best.sure},
        "untuned_ms": task.untuned_ms, "course": [[s.nth, s.at, s.trial, s.ms, s.reason] for s in task.course],
    }  # fmt: skip
