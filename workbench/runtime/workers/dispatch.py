"""How a batch of candidates gets through builder and runner processes: who does what next, and what if one dies.

One builder (or several) compiles ahead while the runner measures, but only if a core is free for it: a kernel that
uses all cores and a compiler beside it would disturb each other, so then the two take turns.
"""

from __future__ import annotations

import math
import queue
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.errors import RunError, WorkbenchError
from workbench.ir.stmt import loops
from workbench.runtime.machine import turns
from workbench.runtime.machine.queue_line import Waiting
from workbench.runtime.measuring.jobs import (
    EVERYBODY,
    BuildJob,
    Built,
    ContestDone,
    ContestJob,
    Reply,
    SetupJob,
    TrialJob,
    Turn,
)
from workbench.runtime.results.measurement import Measurement, Status, error_text
from workbench.runtime.workers.batch import Batch, Duty, MeasureInput, Trial
from workbench.runtime.workers.pipe import HELLO
from workbench.runtime.workers.process import LEAVING_S, START_TIMEOUT_S, Event, Worker
from workbench.runtime.workers.worker_set import WorkerSet

#: Candidates that each builder may be ahead of the runner: few where both work at the same time, many where they take
#: turns, since at every turn somebody waits for the last one.
#: Chosen, not measured; `bench_measuring rate` tells what comes of it.
_AHEAD, _AHEAD_IN_TURNS = 4, 8

#: So many starts in a row may fail before the runner gives up.
#: Chosen, not measured.
_MAX_FAILED_STARTS = 3

#: What a worker was doing when its time was over.
_DOING = {
    "build": "compiling",
    "setup": "computing the reference result",
    "trial": "running",
    "contest": "running",
}


class BatchDispatch:
    """One batch, from its first candidate to its last result."""

    def __init__(self, workers: WorkerSet, batch: Batch) -> None:
        self._workers, self._batch = workers, batch
        self._telling = False  # whether participants of the contest are told apart in their blocks
        self._hopeless: dict[str, Measurement] = {}  # tasks without a reference result, and why there is none

    def work(self) -> None:
        """Return when every candidate is reported, or nobody wants them any more."""
        while not self._finished():
            self._dispatch()
            self._wait()

    @property
    def cancelled(self) -> bool:
        """Whether the batch was cancelled, be it before its work began."""
        return self._batch.epoch != self._workers.epoch

    def _finished(self) -> bool:
        batch = self._batch
        if self.cancelled:
            return True
        if batch.abandoned:
            for worker, duty in self._workers.duties.items():
                if duty.waits:  # nobody wants to know, so it is to leave the line
                    worker.kill()
            return not self._workers.duties
        self._refill()
        return batch.exhausted and not batch.to_build and not batch.to_run and not self._workers.duties

    def _refill(self) -> None:
        batch = self._batch
        while not batch.exhausted and len(batch.to_build) < len(self._workers.builders):
            item = next(batch.source, None)
            if item is None:
                batch.exhausted = True
            else:
                batch.to_build.append(Trial(*item))

    # ---- giving out work ----

    def _dispatch(self) -> None:
        workers, batch = self._workers, self._batch
        if batch.abandoned or workers.held.is_set():
            return
        self._take_known()
        building = sum(d.what == "build" for d in workers.duties.values())
        limit = math.inf if batch.rules else self._ahead()
        for builder in workers.builders if workers.overlap or not (batch.measuring or self._timing()) else ():
            if not builder.alive and (workers.starting or limit == 1) and builder is not workers.builders[0]:
                break  # one after the other: those that are there have enough to do
            wanted = batch.to_build and builder not in workers.duties and len(batch.to_run) + building < limit
            if wanted and workers.ready(builder):
                self._begin_build(builder, batch.to_build.popleft())
                building += 1
                self._refill()
        self._prepare()
        if batch.rules:
            ready = batch.exhausted and not batch.to_build and not building
        elif workers.overlap:
            ready = True
        else:
            free = workers.runner not in workers.duties or self._timing()
            ready = batch.measuring = free and not building and bool(batch.to_run)
        alone = workers.overlap or not any(builder in workers.starting for builder in workers.builders)
        if ready and alone and workers.runner not in workers.duties and batch.to_run and workers.ready(workers.runner):
            count = len(batch.to_run) if batch.rules else 1
            trials = [batch.to_run.popleft() for _ in range(count)]
            self._begin_run(sorted(trials, key=lambda t: t.index))  # the first participant is the incumbent

    def _ahead(self) -> int:
        """How many candidates the builders may be ahead of the runner."""
        if not self._workers.overlap and not self._workers.tried:
            return 1  # the first one is not to wait for others, nor for a second builder to start
        return (_AHEAD if self._workers.overlap else _AHEAD_IN_TURNS) * len(self._workers.builders)

    def _timing(self) -> bool:
        """Whether the runner times something just now, rather than to compute a reference result."""
        duty = self._workers.duties.get(self._workers.runner)
        return duty is not None and duty.what != "setup"

    def _prepare(self) -> None:
        """Let an idle runner compute the task's reference result while its first candidates are built."""
        workers, batch = self._workers, self._batch
        begun = next((duty.trials for duty in workers.duties.values()), [])
        waiting: Sequence[Trial] = batch.to_build or batch.to_run or begun
        if not waiting or workers.runner in workers.duties or not (workers.runner.alive and workers.runner.ready):
            return
        key = self._key_of(waiting[0].input)
        if key != workers.preparing and key not in workers.prepared and key not in self._hopeless:
            self._begin_setup(waiting[0].input, [])

    def _begin_setup(self, item: MeasureInput, trials: list[Trial]) -> None:
        workers, options = self._workers, self._batch.options
        workers.preparing = self._key_of(item)
        setup = SetupJob(workers.preparing, item.task_func, options.seed)
        self._give(workers.runner, Duty(trials, options.setup_timeout_s, "setup", key=workers.preparing), setup)

    def _take_known(self) -> None:
        """What is still there from an earlier batch need not be built."""
        batch = self._batch
        while batch.to_build and (built := self._workers.images.get(batch.to_build[0].input)) is not None:
            trial = batch.to_build.popleft()
            trial.built = built
            batch.to_run.append(trial)
            self._refill()

    def _begin_build(self, builder: Worker, trial: Trial) -> None:
        job = BuildJob(trial.input.func, self._workers.target, trial.input.symbol)
        self._give(builder, Duty([trial], self._batch.options.build_timeout_s, "build"), job)

    def _begin_run(self, trials: list[Trial]) -> None:
        workers, options = self._workers, self._batch.options
        key = self._key_of(trials[0].input)
        if key in self._hopeless:
            for trial in trials:
                self._report(trial, self._hopeless[key])
            return
        if key not in workers.prepared:
            self._begin_setup(trials[0].input, trials)
            return
        jobs = tuple(self._trial_job(key, trial) for trial in trials)
        if self._batch.rules is None:
            self._give(workers.runner, Duty(trials, options.timeout_s, "trial"), jobs[0])
        else:
            contest = ContestJob(jobs, self._batch.rules, self._telling)
            self._give(workers.runner, Duty(trials, options.timeout_s, "contest"), contest)

    def _trial_job(self, key: str, trial: Trial) -> TrialJob:
        item = trial.input
        assert trial.built is not None
        assert trial.built.code is not None
        best = min(item.best_ms, self._workers.best_ms.get(self._condition(item), math.inf))
        threads = self._workers.target.threads
        busy = None if any(loop.kind == "parallel" for loop, _ in loops(item.func.body)) else 1
        return TrialJob(key, trial.built.code, item.func.params, threads, self._batch.options, best, busy)

    def _key_of(self, item: MeasureInput) -> str:
        return f"{item.task_key}@{self._batch.options.seed}"

    def _condition(self, item: MeasureInput) -> tuple[object, ...]:
        """Under what times of a task can be compared."""
        return (item.task_key, self._batch.options.flush_cache, self._batch.options.constants)

    def _give(self, worker: Worker, duty: Duty, job: Any) -> None:
        self._workers.duties[worker] = duty
        duty.begin()
        try:
            worker.send(job)
        except WorkbenchError:  # no process to send it to
            raise
        except Exception as error:  # it is nested too deep, or has parts that no other process can be given
            del self._workers.duties[worker]
            self._blame(duty, "build_error" if duty.what == "build" else "run_error", error_text(error))

    # ---- events ----

    def _wait(self) -> None:
        duties, starting = self._workers.duties, self._workers.starting
        if not duties and not starting and not self._workers.held.is_set():
            return
        deadline = min([*(d.deadline for d in duties.values()), *starting.values()], default=math.inf)
        try:
            left = min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)
            event = self._workers.events.get(timeout=left)
        except queue.Empty:
            self._expire()
            return
        if isinstance(event, Event) and event.generation == event.worker.generation:
            self._handle(event)

    def _handle(self, event: Event) -> None:
        worker, duties = event.worker, self._workers.duties
        if event.message == HELLO:
            self._workers.starting.pop(worker, None)
            return
        if isinstance(event.message, Turn):
            if worker in duties:
                duties[worker].turn = event.message.index
                duties[worker].begin()
            return
        if isinstance(event.message, Waiting):
            if worker in duties:  # others may take as long as they like; then its own time begins
                duties[worker].wait(bool(event.message.ahead))
            turns.announce(event.message)
            return
        duty = duties.pop(worker, None)
        if event.message is None:
            how = worker.end(LEAVING_S) if worker.alive else "the worker was killed"
            self._workers.starting.pop(worker, None)
            if not self.cancelled:
                self._after_death(worker, duty, how)
            return
        if duty is None:
            return
        if isinstance(event.message, Built):
            self._after_build(duty.trial, event.message)
        elif isinstance(event.message, ContestDone):
            self._after_contest(duty, event.message)
        else:
            self._after_run(duty, event.message)

    def _after_death(self, worker: Worker, duty: Duty | None, how: str) -> None:
        """Report the trial of a worker that died; give up when workers die before they are up."""
        if worker.failed_starts >= _MAX_FAILED_STARTS:
            raise RunError("run.worker", f"worker processes do not start: {how}", hint="see `workbench doctor`")
        if duty is None:
            return
        if worker.recalled:  # by a `cancel` that was meant for others
            self._again(duty, duty.trials)
            return
        if worker.killed and not any(trial.losses for trial in duty.trials):
            for trial in duty.trials:  # somebody's mistake, or the system was short of memory: once more
                trial.losses += 1
            self._again(duty, duty.trials)
            return
        if worker.killed:
            how += "\nIt was killed twice with this candidate: the system does so when memory runs out."
        self._blame(duty, "build_error" if duty.what == "build" else "run_error", how)

    def _expire(self) -> None:
        now = time.monotonic()
        for worker, until in list(self._workers.starting.items()):
            if until <= now and not self._workers.ready(worker):
                how = worker.end()
                raise RunError("run.worker", f"a worker process did not start within {START_TIMEOUT_S:g} s: {how}")
        for worker, duty in list(self._workers.duties.items()):
            if duty.deadline > now:
                continue
            del self._workers.duties[worker]
            worker.kill()
            worker.end()
            said = f"\n{worker.said}" if worker.said else ""
            text = f"{_DOING[duty.what]} took longer than {duty.limit_s:g} s, so the worker process was killed{said}"
            self._blame(duty, "build_error" if duty.what == "build" else "timeout", text)

    def _blame(self, duty: Duty, status: Status, text: str) -> None:
        """Report whoever was at work; the other participants of a contest go on without it."""
        if duty.what == "setup":
            self._hopeless[duty.key] = Measurement(status=status, error=text)
        if duty.turn == EVERYBODY:  # one of them, in its block: once more, to find out who
            self._telling = True
            self._again(duty, duty.trials)
            return
        guilty = [duty.trial] if duty.what == "contest" else duty.trials
        for trial in guilty:
            self._report(trial, Measurement(status=status, error=text))
        self._again(duty, [t for t in duty.trials if t not in guilty])

    def _again(self, duty: Duty, trials: Sequence[Trial]) -> None:
        line = self._batch.to_build if duty.what == "build" else self._batch.to_run
        line.extendleft(reversed(trials))

    # ---- results ----

    def _after_build(self, trial: Trial, built: Built) -> None:
        trial.built = built
        if built.code is None:
            self._report(trial, Measurement(status="build_error", error=built.error))
        else:
            self._workers.images.put(trial.input, built)
            self._batch.to_run.append(trial)

    def _after_run(self, duty: Duty, done: Measurement | Reply) -> None:
        if isinstance(done, Reply):
            if done.what == "ready":
                self._workers.prepared.add(duty.key)
            else:
                self._workers.prepared.discard(self._key_of(duty.trial.input))
            self._again(duty, duty.trials)
        elif duty.what in ("setup", "contest"):
            self._blame(duty, "run_error", done.error)
        else:
            self._judge(duty.trial, done)

    def _after_contest(self, duty: Duty, done: ContestDone) -> None:
        waiting = []
        for trial, one in zip(duty.trials, done.results, strict=True):
            if isinstance(one, Reply):
                waiting.append(trial)
            else:
                self._judge(trial, one)
        self._again(duty, waiting)

    def _judge(self, trial: Trial, done: Measurement) -> None:
        here, best = self._condition(trial.input), self._workers.best_ms
        if done.costs_ms:  # the median: one impossible time would make all others hopeless
            best[here] = min(best.get(here, math.inf), statistics.median(done.costs_ms))
        self._report(trial, done)

    def _report(self, trial: Trial, result: Measurement) -> None:
        self._workers.tried = True
        built = trial.built.seconds if trial.built else 0.0
        self._batch.results.put((trial.index, replace(result, flops=trial.input.flops, compile_s=built)))
