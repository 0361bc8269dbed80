"""What a session works on: the state behind the slices. Only the session's thread changes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workbench.errors import UsageError
from workbench.graph.tasks import Task
from workbench.schedule import Schedule
from workbench.tune.record import Record
from workbench.tune.replay import schedule_of
from workbench.tune.selection import position
from workbench.tune.session import TuningSession

from .history import History, View
from .measuring import Key, Result
from .notes import NO_PROGRAM_HINT
from .stats import Stats
from .subject import Opened
from .tuning import TuningWatch


class Desk:
    """The schedules, the selection, what was measured and what was tuned.

    Parameters
    ----------
    moved : callable
        Called, from any thread, when the schedule on show has changed.
    tuned : callable
        Called, from the tuning thread, with whether it is urgent, when the tuning run has news.
    """

    def __init__(
        self, opened: Opened, log: str | None, auto: bool, moved: Callable[[], object], tuned: Callable[[bool], object]
    ) -> None:
        self.opened, self.log, self.auto = opened, log, auto
        self.target = opened.target
        self.infos = opened.tasks
        self.history, self.stats = History(), Stats()
        self.stats.add(opened.records)
        self.stats.add(opened.comparisons)
        self.peak = self.target.stored_peak()
        self.selected = ""
        #: Whether another schedule is shown than a moment ago, so that something has to be selected first.
        self.fresh = True
        #: Names that the last step made.
        self.made: tuple[str, ...] = ()
        self.note: dict[str, Any] | None = None
        #: State -> "measuring" or "queued".
        self.doing: dict[Key, str] = {}
        self.watch: TuningWatch | None = None
        self.index: int | None = None
        self.schedule: Schedule | None = None
        self._cursors: dict[int, Schedule] = {}
        self._before: dict[int, list[Schedule]] = {}
        self._moved, self._tuned = moved, tuned
        self._unwatch: Callable[[], None] = lambda: None
        if opened.schedule is not None:
            self._cursors[0] = opened.schedule
        if opened.tuning is not None:
            self.attach(opened.tuning, "all" if len(self.infos) > 1 else "task")
        if self.infos:
            self.open_task(self._first())

    def _first(self) -> int:
        """The task to show first: the one with the most arithmetic in the whole model."""
        return max(range(len(self.infos)), key=lambda i: self.infos[i].weight * self.infos[i].flops)

    # ----- the schedule on show

    @property
    def task(self) -> Task | None:
        """The task on show."""
        return None if self.index is None else self.infos[self.index].task

    def view(self) -> View | None:
        """Look at the schedule on show."""
        if self.index is None or self.schedule is None:
            return None
        return View.of(self.index, self.schedule)

    def open_task(self, item: object) -> None:
        """Show a task, as it was when it was left."""
        index = self.find(item)
        if index == self.index:
            return
        task = self.infos[index].task
        if task is not None and index not in self._cursors:
            self._cursors[index] = Schedule(task, task.target or self.target)
        self.index = index
        self._show(self._cursors.get(index))

    def find(self, item: object) -> int:
        """Return the number of a task given by number, key or name; that on show for None."""
        if item is None and self.index is not None:
            return self.index
        return position(self.infos, getattr(item, "key", item))  # type: ignore[arg-type]

    def _show(self, schedule: Schedule | None) -> None:
        self._unwatch()
        self._unwatch = lambda: None
        self.schedule = schedule
        self.selected, self.fresh = "", True
        if schedule is not None:
            self._unwatch = schedule.watch(self._moved)

    # ----- what is known of it

    @property
    def peak_of_all(self) -> float | None:
        """The peak of all threads in GFLOP/s, where it is known."""
        return None if self.peak is None else self.peak * self.target.threads

    def best(self, index: int) -> tuple[float | None, str | None]:
        """Return the best latency of a task and who found it."""
        by_hand = self.history.best(index)
        found = [
            (ms, by)
            for ms, by in (
                (by_hand.ms if by_hand is not None else None, "hand"),
                (self.stats.best_ms(self.infos[index].key), "tuner"),
            )
            if ms is not None
        ]
        return min(found, default=(None, None))

    # ----- what the tuner found

    def attach(self, tuning: TuningSession, scope: str) -> None:
        """Follow a tuning run instead of the one before."""
        if self.watch is not None:
            self.watch.close()
        self.watch = TuningWatch(tuning, scope, self._tuned)
        self.stats.add(self.watch.fresh())

    def adopt(self, item: object, trial: int | None = None) -> None:
        """Show the tuner's best schedule of a task, or that of a trial; `back` returns."""
        index = self.find(item)
        info = self.infos[index]
        record = self.stats.of(info.key).best if trial is None else self._trial(info.key, trial)
        if info.task is None:
            raise UsageError("session.no_program", "The log does not hold the program", (), NO_PROGRAM_HINT)
        if record is None:
            hint = "tune the task first, or read in the task table why its trials failed"
            raise UsageError("usage.nothing_measured", "No trial of this task was valid so far", [info.name], hint)
        found = schedule_of(info.task, record)
        found.target = info.task.target or self.target
        self.open_task(index)
        assert self.schedule is not None
        self._before.setdefault(index, []).append(self.schedule)
        view = View.of(index, found)
        by_hand = {*View.of(index, self.schedule).keys, *self.history.results} - self.history.tuned
        self.history.tuned.update(key for key in view.keys[1:] if key not in by_hand)
        shown = replace(record, latency_ms=self.stats.of(info.key).shown_ms(record))
        self.history.results[view.key] = Result.of_record(shown)
        self._cursors[index] = found
        self._show(found)

    def _trial(self, key: str, trial: int) -> Record:
        found = [r for r in self.stats.records if r.task_key == key and r.trial == trial]
        if not found:
            raise UsageError("session.trial", f"There is no trial {trial} of this task", (), "the log numbers them")
        if not found[-1].trace and not found[-1].ok:
            raise UsageError("session.trial", f"Trial {trial} has no schedule", (), "its program could not be made")
        return found[-1]

    @property
    def can_back(self) -> bool:
        """Whether `back` has somewhere to go."""
        return self.index is not None and bool(self._before.get(self.index))

    def back(self) -> None:
        """Show what was there before `adopt`."""
        if self.index is None or not self.can_back:
            raise UsageError("session.back", "There is no schedule to return to", (), "adopt keeps the one before it")
        earlier = self._before[self.index].pop()
        self._cursors[self.index] = earlier
        self._show(earlier)

    def close(self) -> None:
        """Let go of what others own."""
        self._unwatch()
        if self.watch is not None:
            self.watch.close()
