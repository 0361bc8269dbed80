"""The tuning loop: choose a task, ask its search, measure, write down, tell; no threads and no user interface here."""

from __future__ import annotations

import platform
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import WorkbenchError
from workbench.tune.events import Event, EventKind
from workbench.tune.log_writer import LogWriter
from workbench.tune.options import COST_MODELS, TuneOptions
from workbench.tune.record import Record, outcome
from workbench.tune.task_scheduler import STRATEGIES, TaskScheduler

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.runtime.results import Measurement
    from workbench.schedule import Schedule
    from workbench.tune.search import Candidate

__all__ = ["COST_MODELS", "TuneOptions", "TuningLoop", "default_batch"]


class Search(Protocol):
    """Proposes candidates of one task and learns from their measurements."""

    def ask(self, n: int) -> list[Candidate]: ...
    def tell(self, results: Sequence[tuple[Candidate, Measurement]]) -> None: ...
    def restore(self, records: Sequence[Record]) -> None: ...


class Space(Protocol):
    """Where the candidates of one task come from."""

    @property
    def id(self) -> str: ...
    def schedule(self, candidate: Candidate) -> Schedule: ...


class Measurer(Protocol):
    """Builds, checks and times schedules of one task, in worker processes."""

    def measure(self, task: Task, schedules: Sequence[Schedule], best_ms: float) -> Iterator[tuple[int, Measurement]]:
        """Yield (position, measurement) for each schedule, each as soon as it is known; `best_ms` is to be beaten."""

    def hold(self, on: bool) -> None:
        """Start no more work, or go on, from any thread; what has begun is finished."""

    def kill(self) -> None:
        """End all workers at once, from any thread; a running `measure` ends soon after."""

    def close(self) -> None:
        """Let the workers go."""


class Toolbox(Protocol):
    """What the loop needs from the search and schedule side; one implementation for real, one in the tests."""

    def space(self, task: Task) -> Space: ...
    def search(self, task: Task, space: Space, seed: int) -> Search: ...
    def default(self, task: Task) -> Schedule: ...
    def model_version(self) -> str: ...


class Control(Protocol):
    """How the loop is steered from outside."""

    def proceed(self) -> bool:
        """Wait while paused; False when the loop should end."""

    @property
    def cancelled(self) -> bool:
        """Whether the trial in flight is to be thrown away."""

    @property
    def paused_s(self) -> float:
        """Seconds that were spent paused so far."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Stands in for a search's candidate when the default schedule is measured."""

    key: str
    variant: int = -1
    origin: str = "default"
    predicted: float | None = None
    parent: str | None = None
    mutation: str | None = None

    @property
    def row(self) -> dict[str, int]:
        """No holes, no row."""
        return {}


@dataclass(slots=True)
class _Workshop:
    """Space and search of one task, made when the task is first chosen."""

    space: Space
    search: Search


def default_batch(trials: int | None, tasks: int) -> int:
    """Return the trials of a round: about three rounds per task, but at least 4 and at most 16 trials."""
    return 16 if trials is None else max(4, min(16, trials // max(1, 3 * tasks)))


class TuningLoop:
    """State and steps of one tuning run.

    Parameters
    ----------
    tasks : sequence of Task
        All tasks of the model, in table order.
    active : sequence of int
        Indices of those to tune.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        active: Sequence[int],
        *,
        toolbox: Toolbox,
        measurer: Measurer,
        writer: LogWriter | None,
        options: TuneOptions,
        trials: int | None,
        seconds: float | None,
        seed: int,
        target: str,
        control: Control,
        publish: Callable[[Event], None],
    ) -> None:
        self.tasks = tuple(tasks)
        self.options = options
        self.trials, self.seconds, self.seed = trials, seconds, seed
        self.scheduler: TaskScheduler = STRATEGIES[options.scheduler](self.tasks, active)
        self.batch = options.batch or default_batch(trials, len(active))
        self.baseline = options.baseline and (trials is None or trials >= 2 * len(active))
        self.records: list[Record] = list(writer.records) if writer else []
        self.untuned: dict[str, float] = {}
        self.current: int | None = None
        self.started: float | None = None
        self._ended: float | None = None
        self._toolbox, self._measurer, self._writer = toolbox, measurer, writer
        self._control, self._publish, self._target = control, publish, target
        self._host = f"{platform.node()} {platform.machine()}"
        self._workshops: dict[int, _Workshop] = {}
        self._measured: dict[str, set[str]] = {task.key: set() for task in self.tasks}
        self._round = 0
        self.elapsed_before = 0.0
        self._restored = len(self.records)
        self._next_trial = max((r.trial for r in self.records), default=-1) + 1
        for record in self.records:
            self._note(record)
        if self.records:
            self._round = max(r.round for r in self.records) + 1
            self.elapsed_before = max(r.elapsed_s for r in self.records)

    # ---- where it stands ----

    @property
    def elapsed(self) -> float:
        """Tuning time of the log in seconds, earlier runs included."""
        if self.started is None:
            return self.elapsed_before
        now = time.monotonic() if self._ended is None else self._ended
        return self.elapsed_before + max(0.0, now - self.started - self._control.paused_s)

    @property
    def new_trials(self) -> int:
        """Trials of this run."""
        return len(self.records) - self._restored

    def budget_left(self) -> int:
        """Return how many trials may still be made, 0 when trials or time are used up."""
        if self.seconds is not None and self.elapsed - self.elapsed_before >= self.seconds:
            return 0
        return self.trials - len(self.records) if self.trials is not None else self.batch

    # ---- steps ----

    def run(self) -> None:
        """Tune until the budget is used, every space is exhausted, or `control` says so."""
        self.started = time.monotonic()
        try:
            self._run()
        finally:
            self.current = None
            self._ended = time.monotonic()

    def _run(self) -> None:
        self._restore()
        while self._control.proceed() and (left := self.budget_left()) > 0:
            index = self.scheduler.next()
            if index is None:
                self._tell("warning", "every candidate of every task has been measured")
                return
            self.current = index
            self._one_round(index, min(self.batch, left))

    def _restore(self) -> None:
        """Give every search back what the log knows about its task."""
        by_task: dict[str, list[Record]] = {}
        for record in self.records:
            by_task.setdefault(record.task_key, []).append(record)
        for index in self.scheduler.active:
            known = by_task.get(self.tasks[index].key)
            if known:
                workshop = self._workshop(index)
                usable = [r for r in known if r.variant >= 0 and r.space == workshop.space.id]
                if usable:
                    workshop.search.restore(usable)

    def _workshop(self, index: int) -> _Workshop:
        if index not in self._workshops:
            task = self.tasks[index]
            space = self._toolbox.space(task)
            seed = (self.seed * 1_000_003 + index) & 0x7FFFFFFF
            self._workshops[index] = _Workshop(space, self._toolbox.search(task, space, seed))
        return self._workshops[index]

    def _one_round(self, index: int, count: int) -> None:
        task = self.tasks[index]
        batch = self._candidates(index, count)
        if not batch:
            self.scheduler.exhaust(index)
            return
        results: list[tuple[Candidate, Measurement]] = []
        broken = 0
        ready: list[tuple[Any, Schedule]] = []
        for candidate in batch:
            try:
                ready.append((candidate, self._schedule(index, candidate)))
            except WorkbenchError:
                broken += 1
                self._add(index, candidate, None, None, traceback.format_exc())
        best_ms = self.scheduler.states[index].best_ms
        stream = self._measurer.measure(task, [s for _, s in ready], best_ms) if ready else iter(())
        try:
            for position, measurement in stream:
                candidate, schedule = ready[position]
                if self._control.cancelled or measurement.status == "cancelled":
                    return
                self._add(index, candidate, schedule, measurement)
                if candidate.variant >= 0:
                    results.append((candidate, measurement))
                if not self._control.proceed() or self.budget_left() <= 0:
                    break
        finally:
            close = getattr(stream, "close", None)
            if close is not None:
                close()
        if results:
            self._workshops[index].search.tell(results)
        self._round += 1
        self._tell("round", f"{len(results) + broken} trials", task.name)

    def _candidates(self, index: int, count: int) -> list[Any]:
        """Return new candidates of a task: its default schedule first, then what the search proposes."""
        task, seen = self.tasks[index], self._measured[self.tasks[index].key]
        batch: list[Any] = []
        key = f"default:{task.key}"
        if self.baseline and self.scheduler.states[index].rounds == 0 and key not in seen:
            batch.append(Baseline(key))
        attempts = 0
        while len(batch) < count and attempts < 3:
            fresh: list[Candidate] = []
            for candidate in self._workshop(index).search.ask(count - len(batch)):
                if candidate.key not in seen and all(candidate.key != other.key for other in (*batch, *fresh)):
                    fresh.append(candidate)
            batch += fresh[: count - len(batch)]
            attempts = 0 if fresh and attempts == 0 else attempts + 1
        return batch

    def _schedule(self, index: int, candidate: Any) -> Schedule:
        if candidate.variant < 0:
            return self._toolbox.default(self.tasks[index])
        return self._workshop(index).space.schedule(candidate)

    # ---- writing down ----

    def _add(
        self, index: int, candidate: Any, schedule: Schedule | None, measurement: Measurement | None, error: str = ""
    ) -> None:
        record = self._record(index, candidate, schedule, measurement, error)
        if self._writer is not None:
            self._writer.append(record)
        self._next_trial += 1
        before = self.scheduler.states[index].best_ms
        self.records.append(record)
        self._note(record)
        self._publish(Event("trial", record.elapsed_s, "", record.task, record))
        if record.ok and record.latency_ms is not None and record.latency_ms < before:
            self._publish(Event("best", record.elapsed_s, f"{record.latency_ms:.4f} ms", record.task, record))

    def _note(self, record: Record) -> None:
        self.scheduler.observe(record)
        if record.task_key in self._measured and record.key:
            self._measured[record.task_key].add(record.key)
        if record.origin == "default" and record.ok and record.latency_ms is not None:
            self.untuned.setdefault(record.task_key, record.latency_ms)

    def _record(
        self, index: int, candidate: Any, schedule: Schedule | None, measurement: Measurement | None, error: str
    ) -> Record:
        task = self.tasks[index]
        known: dict[str, Any] = {"status": "build_error", "error": error}
        if measurement is not None:
            known = outcome(measurement)
        workshop = self._workshops.get(index)
        return Record(
            task_key=task.key,
            task=task.name,
            description=task.description,
            weight=task.weight,
            flops=int(task.flops),
            trial=self._next_trial,
            round=self._round,
            target=self._target,
            host=self._host,
            space=workshop.space.id if workshop is not None and candidate.variant >= 0 else "",
            variant=candidate.variant,
            row={name: int(value) for name, value in candidate.row.items()},
            trace=tuple(schedule.to_json()) if schedule is not None else (),
            key=candidate.key,
            origin=candidate.origin,
            parent=candidate.parent,
            mutation=candidate.mutation,
            seed=self.seed,
            caches=self.options.caches,
            predicted=None if candidate.predicted is None else float(candidate.predicted),
            model=self._toolbox.model_version() if candidate.predicted is not None else None,
            elapsed_s=round(self.elapsed, 4),
            timestamp=time.time(),
            **known,
        )

    def _tell(self, kind: EventKind, message: str, task: str | None = None) -> None:
        self._publish(Event(kind, self.elapsed, message, task))
