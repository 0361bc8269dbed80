"""The tuner's trials in the roofline: the arithmetic of each per byte, worked out beside the session's thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from workbench.analysis.loop_nest.schedule_estimate import estimated
from workbench.errors import WorkbenchError
from workbench.graph.tasks import Task
from workbench.log import Record
from workbench.log.replay import schedule_of
from workbench.target import Target

MOST = 256
"""Trials of a task that are drawn at most: the fastest ones, and an even sample of all."""

SLICE = 24
"""Trials that are worked out in one go, at some 8 ms of a processor each."""

_log = logging.getLogger(__name__)

Number = tuple[str, int, str]
"""A trial: its task, its number, its program."""


class Intensities:
    """Operations per byte of trials, by the estimate. Used in the session's thread, but for the work of `rest`."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._known: dict[Number, float | None] = {}
        self._busy = False
        #: The task and the number of trials for which everything is known.
        self._done: tuple[str, int] | None = None

    def rest(self, task: Task | None, records: Sequence[Record]) -> Callable[[], Callable[[], None]] | None:
        """Return the work for trials of a task that are not known yet; None when there is nothing to do."""
        if task is None or self._busy or self._done == (task.key, len(records)):
            return None
        todo = [r for r in chosen(task.key, records) if _number(r) not in self._known][:SLICE]
        if not todo:
            self._done = (task.key, len(records))
            return None
        self._busy = True

        def work() -> Callable[[], None]:
            found = {_number(r): _intensity(task, r, self._target) for r in todo}
            return lambda: self._take(found)

        return work

    def of(self, key: str, records: Sequence[Record]) -> list[tuple[Record, float]]:
        """Return the trials of a task that can be drawn, with their operations per byte."""
        found = [(r, self._known.get(_number(r))) for r in chosen(key, records)]
        return [(r, intensity) for r, intensity in found if intensity is not None]

    def count(self, key: str) -> int:
        """Return how many trials of a task are known."""
        return sum(number[0] == key for number in self._known)

    def _take(self, found: dict[Number, float | None]) -> None:
        self._busy = False
        self._known.update(found)


def chosen(key: str, records: Iterable[Record]) -> list[Record]:
    """Return the trials of a task to draw. Of a longer run they are mostly the same ones."""
    mine = [r for r in records if r.task_key == key and r.ok and r.flops]
    if len(mine) <= MOST:
        return mine
    step = 1 << (2 * len(mine) // MOST).bit_length()  # powers of two: what is left out later was never added between
    fastest = sorted(mine, key=lambda r: (r.latency_ms or 0.0, r.trial))[: MOST // 2]
    return list({_number(r): r for r in [*fastest, *mine[::step]]}.values())


def _number(r: Record) -> Number:
    return (r.task_key, r.trial, r.key)


def _intensity(task: Task, record: Record, target: Target) -> float | None:
    try:
        found = estimated(schedule_of(task, record), task.target or target, None)
    except WorkbenchError:  # of another program or version: it is just not drawn
        _log.debug("trial %s of %s cannot be drawn", record.trial, record.task, exc_info=True)
        return None
    return None if found is None else found.intensity
