"""The best records of one or more logs, looked up by task and target."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from workbench.log.ledger import Best, TaskLedger
from workbench.log.lines import Comparison
from workbench.log.reader import load_log
from workbench.log.record import Record
from workbench.log.similar_tasks import lookup

if TYPE_CHECKING:
    from workbench.log.similar_tasks import Lookup, NamedTask
    from workbench.target import Target


def compatible(recorded: str, wanted: str | None) -> bool:
    """Whether a schedule tuned for target text `recorded` may be used for `wanted`.

    A schedule stays legal (though perhaps not the best) when only threads and cache sizes differ; the vector extensions
    and the architecture have to agree.
    """
    return wanted is None or recorded == wanted or essence(recorded) == essence(wanted)


def essence(target: str) -> frozenset[str]:
    """Return what a schedule depends on in a target's text form; the CPU counts only where extensions are not told."""
    words = target.split()
    told = any(word.startswith("-mattr=") for word in words)
    loose = ("-threads=", "-l1=", "-l2=", "-l3=", "-line=", *(("-mcpu=",) if told else ()))
    return frozenset(word for word in words if not word.startswith(loose))


class Database:
    """Records grouped by task, best first.

    Parameters
    ----------
    records : iterable of Record
        Only the successful ones are kept.
    comparisons : iterable of Comparison
        Those of the same log: they name records by trial number. How they count is told in ``docs/ledger.md``.
    """

    def __init__(self, records: Iterable[Record] = (), comparisons: Iterable[Comparison] = ()) -> None:
        self._by_task: dict[str, list[list[Record | Comparison]]] = {}  # trials are numbered within one log
        for record in records:
            self.add(record)
        for comparison in comparisons:
            self.add(comparison)

    @classmethod
    def load(cls, *paths: str | os.PathLike[str]) -> Database:
        """Read one or more logs; see `workbench.log.reader.load_log` for what can go wrong."""
        database = cls()
        for path in paths:
            log = load_log(path)
            database.update(cls(log.records, log.comparisons))
        return database

    def add(self, line: Record | Comparison) -> None:
        """Take a line of the (first) log in; failed trials are ignored."""
        if isinstance(line, Comparison) or line.ok:
            logs = self._by_task.setdefault(line.task_key, [])
            if not logs:
                logs.append([])
            logs[0].append(line)

    def update(self, other: Database) -> None:
        """Take in what another database knows; its logs stay apart, since their trials are numbered by themselves."""
        for key, logs in other._by_task.items():
            self._by_task.setdefault(key, []).extend(list(lines) for lines in logs)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._by_task if key in self)

    def __contains__(self, task_key: object) -> bool:
        return bool(self.records(str(task_key)))

    def records(self, task_key: str) -> list[Record]:
        """Return all successful records of a task, in the order in which they were added."""
        return [line for lines in self._by_task.get(task_key, ()) for line in lines if isinstance(line, Record)]

    def top(self, task_key: str, k: int, target: str | None = None) -> list[Record]:
        """Return up to `k` different programs of a task, best first.

        Those tuned for exactly `target` come first, and among them those timed as in a network (`Record.warmth`): other
        latencies cannot be compared with theirs. The order within is that of the ledger.
        """
        return self.select(task_key, k, lambda r: compatible(r.target, target), target)

    def select(
        self, task_key: str, k: int, wanted: Callable[[Record], bool], target: str | None = None
    ) -> list[Record]:
        """Return up to `k` different programs of a task that are `wanted`, in the order of `top`."""
        return [one.record for one in self.told(task_key, k, wanted, target)]

    def told(
        self, task_key: str, k: int, wanted: Callable[[Record], bool] = lambda record: True, target: str | None = None
    ) -> list[Best]:
        """Return what `select` does, each with the latency that the ledger tells, and how it is known."""
        ledger = TaskLedger(target)
        for source, lines in enumerate(self._by_task.get(task_key, ())):
            for line in lines:
                if isinstance(line, Comparison) or wanted(line):
                    ledger.take(line, source=source)
        found: dict[object, Best] = {}
        for number, one in enumerate(ledger.ranked()):
            found.setdefault(one.record.program or number, one)
        return list(found.values())[:k]

    def best(self, task_key: str, target: str | None = None) -> Record | None:
        """Return the best record of a task, or None."""
        found = self.told_best(task_key, target)
        return found.record if found else None

    def told_best(self, task_key: str, target: str | None = None) -> Best | None:
        """Return the best record of a task with what the ledger tells of it, or None."""
        found = self.told(task_key, 1, lambda r: compatible(r.target, target), target)
        return found[0] if found else None

    def lookup(self, task: NamedTask, target: Target | str | None = None, k: int = 4) -> Lookup:
        """Return records that are of use for a task, best first, and a sentence that says where they come from.

        Of this task and target if there are any; else of this task on another machine; else of the task of the same
        kind whose extents are nearest. There are none when nothing of that kind is known.

        Parameters
        ----------
        task : Task
        target : Target or str, optional
            What is tuned or compiled for; any when left out.
        k : int
            How many different programs at most.
        """
        return lookup(self, task, None if target is None else str(target), k)
