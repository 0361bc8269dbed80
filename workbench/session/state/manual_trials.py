"""What a person has measured, as trials of the log: checked, timed and ranked as those of the tuner."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from workbench import __version__
from workbench.errors import LogError, WorkbenchError
from workbench.graph.tasks import Task
from workbench.log import Comparison, Header, LogWriter, Record, Round
from workbench.runtime.results.measurement import Measurement
from workbench.schedule import Schedule
from workbench.session.state.results import Key, Result
from workbench.session.state.session_input import TaskInfo
from workbench.session.state.verdicts import PairResult
from workbench.space.default_schedule import default_schedule
from workbench.space.program_keys import program_key
from workbench.target import Target
from workbench.tune.options import TuneOptions
from workbench.tune.plan.tune_context import GivenCandidate
from workbench.tune.state.log_recorder import Stamp, trial_line

Waiting: TypeAlias = "tuple[Key | None, Record]"
"""The state that was measured, none for a default schedule that nobody has opened, and its trial without a number."""


_STATE = "state "
"""Begin of the key of a trial that stands for a state of which only the time is known."""


class ManualTrials:
    """Writes measurements into the log when nobody else writes to it. May be used from any thread.

    Parameters
    ----------
    tasks : sequence of TaskInfo
        Those of the subject: a log knows the tasks of its model, and no others.
    constants : str
        Where kernels find their constants while they are timed.
    """

    def __init__(self, tasks: Sequence[TaskInfo], model: str, target: Target, constants: str) -> None:
        self._tasks, self._model, self._target = {t.key: t for t in tasks}, model, target
        caches = TuneOptions(constants=constants).caches
        self.stamp = Stamp(str(target), f"{platform.node()} {platform.machine()}", 0, caches)
        self._waiting: list[Waiting] = []
        self._made: list[Waiting] = []
        self._numbers: dict[Key, int] = {}
        self._trials: dict[Key, Record] = {}
        self._met: dict[frozenset[Key], PairResult] = {}
        self._defaults: dict[str, Schedule | None] = {}
        self._list = threading.Lock()
        #: Held while the log is open: who starts a run waits for the moment that takes.
        self.lock = threading.Lock()

    @property
    def waiting(self) -> bool:
        """Whether there is something to write."""
        return bool(self._waiting or self._decided())

    def place(self, key: Key, log: str | None) -> str:
        """Say where the measurement of a state is kept."""
        if key in self._numbers:
            return f"trial {self._numbers[key]} of the log"
        waits = log is not None and any(k == key for k, _ in self._waiting)
        return "not yet in the log" if waits else "not in a log"

    def made(self, task_key: str) -> list[Waiting]:
        """Return what was measured of a task in this session, as trials that may have no number yet."""
        with self._list:
            return [one for one in self._made if one[1].task_key == task_key]

    def knows(self, key: Key) -> bool:
        """Whether a state is a trial, of the log or to be."""
        return key in self._numbers or any(k == key for k, _ in self._made)

    def compare(self, pair: PairResult) -> None:
        """Note what came of timing two states against each other, once both are trials of the log."""
        with self._list:
            self._met[frozenset(pair.keys)] = pair

    def _decided(self) -> list[PairResult]:
        """Pairs that are to be written: one of the two is faster, and both are in the log."""
        return [one for one in self._met.values() if one.winner and all(key in self._numbers for key in one.keys)]

    def remembered(self, key: Key, info: TaskInfo, result: Result, number: int) -> Record:
        """Return the trial of a state that another session has measured, with a number that no other one has."""
        return Record(
            task_key=info.key, task=info.name, trial=number, status="ok", target=str(self._target), weight=info.weight,
            flops=info.flops, key=f"{_STATE}{key[0]} {key[1]}", origin="manual", caches=self.stamp.caches,
            host=self.stamp.host, latency_ms=result.ms, spread=result.spread, clean=not result.why_not,
            why_not=result.why_not, at_least_ms=result.at_least_ms or 0.0,
        )  # fmt: skip

    def remembers(self, record: Record) -> Key | None:
        """Return the state that such a trial is of; None for every other one."""
        if not record.key.startswith(_STATE):
            return None
        index, _, steps = record.key.removeprefix(_STATE).partition(" ")
        return int(index), steps

    def know(self, key: Key, record: Record) -> None:
        """Note that a state is a trial of the log already."""
        self._numbers[key] = record.trial
        self._trials[key] = record

    def numbers(self, index: int) -> dict[int, Key]:
        """Return the states of a task that are trials of the log, by their numbers."""
        return {number: key for key, number in self._numbers.items() if key[0] == index}

    def trial(self, key: Key) -> Record | None:
        """Return a trial of a state, in the log or not; None for one that is no trial."""
        return self._trials.get(key)

    def keep(self, key: Key | None, task: Task, schedule: Schedule, measurement: Measurement) -> None:
        """Note a measurement that is to be written; one that was cancelled says nothing."""
        if task.key not in self._tasks or measurement.status == "cancelled":
            return
        usual = self._default(task)
        if usual is not None and usual.to_json() == schedule.to_json():
            given = GivenCandidate(f"default:{task.key}", "default", schedule=schedule)
        else:
            given = GivenCandidate(program_key(schedule.func), "manual", schedule=schedule)
        with self._list:
            record = trial_line(task, given, schedule, measurement, self.stamp, trial=-1 - len(self._made))
            self._waiting.append((key, record))
            self._made.append((key, record))
        if key is not None:
            self._trials[key] = record

    def yardsticks(self, known: Collection[str]) -> list[tuple[Task, Schedule]]:
        """Return what has to be measured, too: of each task of a network the schedule that it has without the log,
        unless that is `known`. Beside it a slower one by hand is used by nobody.
        """
        with self._list:
            found = [record for _, record in self._waiting if record.ok]
        known = {*known, *(r.task_key for r in found if r.origin == "default")}
        keys = dict.fromkeys(r.task_key for r in found if r.task_key not in known) if len(self._tasks) > 1 else ()
        tasks = [task for key in keys if (task := self._tasks[key].task) is not None]
        return [(task, usual) for task in tasks if (usual := self._default(task)) is not None]

    def _default(self, task: Task) -> Schedule | None:
        if task.key not in self._defaults:
            try:
                self._defaults[task.key] = default_schedule(task, task.target or self._target)
            except WorkbenchError:
                self._defaults[task.key] = None
        return self._defaults[task.key]

    def write(self, path: str) -> list[Record | Comparison]:
        """Write what waits; returns what was written: nothing while somebody else writes to this log.

        Raises
        ------
        LogError
            Where the log cannot be written at all: then the measurements stay in memory only.
        """
        with self.lock:
            if not self.waiting:
                return []
            with self._list:
                made, self._waiting = self._waiting, []
            try:
                with LogWriter(path, self._header(path, made), resume=True) as writer:
                    records = [self._append(writer, one, k) for k, one in enumerate(made)]
                    return [*records, *self._append_comparisons(writer)]
            except LogError as error:
                if error.code != "log.locked":
                    raise
                with self._list:
                    self._waiting = made + self._waiting
                return []

    def _header(self, path: str, made: Sequence[Waiting]) -> Header:
        """Return the header of a new log; one that is there has to know the tasks that were measured."""
        there = Path(path).exists() and Path(path).stat().st_size > 0
        trials = [*(record for _, record in made), *(self._trials[key] for one in self._decided() for key in one.keys)]
        tasks = dict.fromkeys(record.task_key for record in trials) if there else self._tasks
        return Header(
            tasks=tuple((key, self._tasks[key].name) for key in tasks), target=str(self._target), model=self._model,
            version=__version__, created=time.time(),
        )  # fmt: skip

    def _append(self, writer: LogWriter, one: Waiting, after: int) -> Record:
        key, record = one
        lines: list[Record | Round] = [*writer.found.records, *writer.found.rounds]
        number = 1 + after + max((r.trial for r in writer.found.records), default=-1)
        last = max((line.round for line in lines), default=0)
        spent = max((line.elapsed_s for line in lines), default=0.0)
        record = replace(record, trial=number, round=last, elapsed_s=spent)
        writer.append(record)
        if key is not None:
            self._numbers[key] = number
        return record

    def _append_comparisons(self, writer: LogWriter) -> list[Comparison]:
        """Write who was faster in turns, of those that are in the log by now."""
        lines: list[Record | Round] = [*writer.found.records, *writer.found.rounds]
        spent = max((line.elapsed_s for line in lines), default=0.0)
        with self._list:
            found = self._decided()
            for pair in found:
                del self._met[frozenset(pair.keys)]
        written = []
        for pair in found:
            trials = {key: replace(self._trials[key], trial=self._numbers[key]) for key in pair.keys}
            about = self._tasks.get(trials[pair.keys[0]].task_key)
            if about is not None and (line := pair.line(about, trials, self.stamp)) is not None:
                written.append(replace(line, elapsed_s=spent))
                writer.append(written[-1])
        return written
