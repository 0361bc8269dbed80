"""The best records of one or more logs, looked up by task and target."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.tune.lines import Comparison
from workbench.tune.log import load_log
from workbench.tune.ranking import latency_shown, meant, placed
from workbench.tune.record import Record

if TYPE_CHECKING:
    from workbench.target import Target
    from workbench.tune.similar import Lookup, Named


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


@dataclass(slots=True)
class _Known:
    """What one log knows about one task; trial numbers mean something within one log only."""

    records: list[Record] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)


class Database:
    """Records grouped by task, best first.

    Parameters
    ----------
    records : iterable of Record
        Only the successful ones are kept.
    comparisons : iterable of Comparison
        Those of the same log: they name records by trial number. How they count is told in `workbench.tune.ranking`.
    """

    def __init__(self, records: Iterable[Record] = (), comparisons: Iterable[Comparison] = ()) -> None:
        self._by_task: dict[str, list[_Known]] = {}
        for record in records:
            self.add(record)
        for comparison in comparisons:
            self._of(comparison.task_key).comparisons.append(comparison)

    @classmethod
    def load(cls, *paths: str | os.PathLike[str]) -> Database:
        """Read one or more logs; see `workbench.tune.log.load_log` for what can go wrong."""
        database = cls()
        for path in paths:
            log = load_log(path)
            database.update(cls(log.records, log.comparisons))
        return database

    def add(self, line: Record | Comparison) -> None:
        """Take a line of the (first) log in; failed trials are ignored."""
        if isinstance(line, Comparison):
            self._of(line.task_key).comparisons.append(line)
        elif line.ok:
            self._of(line.task_key).records.append(line)

    def update(self, other: Database) -> None:
        """Take in what another database knows; its logs stay apart, since their trials are numbered by themselves."""
        for key, logs in other._by_task.items():
            self._of(key)
            self._by_task[key].extend(_Known(list(log.records), list(log.comparisons)) for log in logs)

    def _of(self, key: str) -> _Known:
        """Return what lines that are added by themselves belong to."""
        logs = self._by_task.setdefault(key, [])
        if not logs:
            logs.append(_Known())
        return logs[0]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[str]:
        return (key for key, logs in self._by_task.items() if any(log.records for log in logs))

    def __contains__(self, task_key: object) -> bool:
        return any(log.records for log in self._by_task.get(str(task_key), ()))

    def records(self, task_key: str) -> list[Record]:
        """Return all successful records of a task, in the order in which they were added."""
        return [r for log in self._by_task.get(task_key, ()) for r in log.records]

    def top(self, task_key: str, k: int, target: str | None = None) -> list[Record]:
        """Return up to `k` different programs of a task, best first.

        Those tuned for exactly `target` come first, and among them those timed as in a network (`Record.warmth`): other
        latencies cannot be compared with theirs. The order within is that of `workbench.tune.ranking`.
        """
        return self.select(task_key, k, lambda r: compatible(r.target, target), target)

    def select(
        self, task_key: str, k: int, wanted: Callable[[Record], bool], target: str | None = None
    ) -> list[Record]:
        """Return up to `k` different programs of a task that are `wanted`, in the order of `top`."""

        def order(r: Record) -> tuple[bool, int, float]:
            return (target is not None and r.target != target, r.warmth, r.latency_ms or 0.0)

        logs = self._by_task.get(task_key, ())
        lists = [placed(filter(wanted, log.records), log.comparisons, order) for log in logs]
        seen: set[str] = set()
        out: list[Record] = []
        for _, record in heapq.merge(*lists, key=lambda item: item[0]):
            name = _program(record)
            if name not in seen:
                seen.add(name)
                out.append(record)
        return out[:k]

    def best(self, task_key: str, target: str | None = None) -> Record | None:
        """Return the best record of a task, or None."""
        found = self.top(task_key, 1, target)
        return found[0] if found else None

    def latency_ms(self, record: Record) -> float | None:
        """Return the latency to show for a record, in milliseconds: the least of its own and of those in its
        comparisons.
        """
        for log in self._by_task.get(record.task_key, ()):
            if any(r is record or r == record for r in log.records):
                known = meant(log.records)[0].get(record.trial)
                return latency_shown(record, log.comparisons) if known == record else record.latency_ms
        return record.latency_ms

    def lookup(self, task: Named, target: Target | str | None = None, k: int = 4) -> Lookup:
        """Return up to `k` records that are of use for a task, exact or not; see `nearest`."""
        from workbench.tune.similar import lookup

        return lookup(self, task, None if target is None else str(target), k)

    def nearest(self, task: Named, target: Target | str | None = None, k: int = 4) -> tuple[list[Record], str]:
        """Return records that are of use for a task, and a sentence that says where they come from.

        Parameters
        ----------
        task : Task
        target : Target or str, optional
            What is tuned or compiled for; any when left out.
        k : int
            How many different programs at most.

        Returns
        -------
        records : list of Record
            Best first. Of this task and target if there are any; else of this task on another machine; else of the task
            of the same kind whose extents are nearest. Empty when there is nothing of that kind.
        how : str
        """
        found = self.lookup(task, target, k)
        return list(found.records), found.how


def _program(record: Record) -> str:
    return record.key or f"{record.variant}:{sorted(record.row.items())}:{record.trace}"
