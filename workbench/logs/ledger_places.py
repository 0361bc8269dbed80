"""In which order the ledger ranks the trials of the workbench's own logs: times that did not hold, comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.errors import LogError
from workbench.log.ledger import TaskLedger
from workbench.log.lines import Comparison
from workbench.log.reader import load_log
from workbench.log.record import Record


class Place(NamedTuple):
    """The rank of a trial's program, whether it is not the trial that stands for it, and what is told of the program in
    milliseconds.
    """

    rank: int
    other: bool
    ms: float


UNRANKED = Place(1 << 60, True, 0.0)


class LedgerPlaces:
    """Places of the trials of some logs; those of other tuners have none.

    Parameters
    ----------
    paths : sequence of str
        The logs.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._lines: list[tuple[int, Record | Comparison]] = []
        for source, path in enumerate(paths):
            try:
                lines = load_log(path).lines
            except (LogError, OSError):  # another tuner's, or damaged: `TuningLog` says so
                continue
            self._lines += [(source, line) for line in lines if isinstance(line, Record | Comparison)]

    def of(self, task: str, target: str) -> Mapping[tuple[Any, ...], Place]:
        """Return the places of the trials of a task for a target, by their `trial_key`."""
        ledgers: dict[str, TaskLedger] = {}
        mine = [(source, line) for source, line in self._lines if line.task == task]
        for source, line in mine:
            ledgers.setdefault(line.task_key, TaskLedger(target)).take(line, source=source)
        ranks = {id(one.record): k for ledger in ledgers.values() for k, one in enumerate(ledger.ranked())}
        found = dict[tuple[Any, ...], Place]()
        for source, line in mine:
            if isinstance(line, Record) and (one := ledgers[line.task_key].of(line, source)) is not None:
                own = (line.host, line.timestamp or None, line.latency_ms)
                found.setdefault(trial_key(*own), Place(ranks[id(one.record)], one.record is not line, one.ms))
        return found


def trial_key(device: str, timestamp: float | None, value: float | None) -> tuple[Any, ...]:
    """Return what tells trials of a task and target apart."""
    return device, timestamp if timestamp is not None and timestamp == timestamp else None, value


def ranked(rows: Iterable[tuple[Any, ...]], places: Mapping[tuple[Any, ...], Place]) -> list[int]:
    """Return the order of rows, given by `trial_key` in the order of their values."""
    return sorted(range(len(found := list(rows))), key=lambda k: places.get(found[k], UNRANKED))
