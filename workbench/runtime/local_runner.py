"""The local runner: candidates go through builder and runner processes of this machine.

One builder (or several) compiles ahead while the runner measures, but only if a core is free for it: a kernel that
uses all cores and a compiler beside it would disturb each other, so then the two take turns.
"""

from __future__ import annotations

import math
import queue
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.errors import RunError
from workbench.host import usable_threads
from workbench.locks import ForkLock
from workbench.runtime.batch import Batch, Duty, MeasureInput, Trial
from workbench.runtime.pool import START_TIMEOUT_S, Event, Worker
from workbench.runtime.results import (
    BuildJob,
    Built,
    Measurement,
    MeasureOptions,
    SetupJob,
    Status,
    TrialDone,
    TrialJob,
)
from workbench.runtime.worker import HELLO

if TYPE_CHECKING:
    from workbench.target import Target

#: Candidates that each builder may be ahead of the runner.
_AHEAD = 4

#: So many starts in a row may fail before the runner gives up.
_MAX_FAILED_STARTS = 3


def _release(workers: Iterable[Worker]) -> None:
    for worker in workers:
        worker.close()


class LocalRunner:
    """Measures candidates on this machine, in worker processes.

    Parameters
    ----------
    target : Target
        What to compile for, and how many threads kernels may use.
    options : MeasureOptions, optional
        How to measure.
    builders : int, optional
        Number of builder processes; by default as many as there are free cores, at most 4.

    Notes
    -----
    Workers start with the first candidate and stay for the next batch. A worker that crashes or hangs is replaced;
    its candidate gets the status ``run_error``, ``timeout`` or ``build_error`` with the full text, and the others are
    not affected. Use it as a context manager, or call `close`.
    """

    def __init__(self, target: Target, options: MeasureOptions | None = None, builders: int | None = None) -> None:
        self.target = target
        self.options = options or MeasureOptions()
        self._current = self.options  # those of the running batch
        cores = usable_threads()
        self._overlap = target.threads < cores
        free = cores - target.threads if self._overlap else cores
        count = builders or max(1, min(4, free))
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._builders = [Worker("build", self._events) for _ in range(count)]
        self._runner = Worker("run", self._events)
        self._duties: dict[Worker, Duty] = {}
        self._prepared: set[str] = set()
        self._best_ms: dict[str, float] = {}
        self._lock = ForkLock(reentrant=False)  # held by the running batch
        self._cancelled = threading.Event()
        self._held = threading.Event()
        self._closed = False
        # Without a `close`, the processes go with the last reference to this object, or at exit.
        weakref.finalize(self, _release, (*self._builders, self._runner))

    def __enter__(self) -> LocalRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what others call ----

    def measure_many(
        self, inputs: Iterable[MeasureInput], options: MeasureOptions | None = None
    ) -> Iterator[tuple[int, Measurement]]:
        """Measure candidates; work begins at once, in the background.

        Parameters
        ----------
        inputs : iterable of MeasureInput
            May be lazy: it is consumed a few candidates ahead of the builders, in another thread.
        options : MeasureOptions, optional
            For this batch; the runner's own by default.

        Yields
        ------
        (index, Measurement)
            As each becomes known, not necessarily in order. After `cancel` the iterator ends; closing it early lets the
            candidates in the works finish unseen.

        Raises
        ------
        RunError
            ``run.worker`` when worker processes cannot be started, ``run.closed`` after `close`. What `inputs` raises.
        """
        if self._closed:
            raise RunError("run.closed", "this runner was closed", hint="make a new one")
        batch = Batch(iter(enumerate(inputs)), options or self.options)
        threading.Thread(target=self._work, args=(batch,), name="workbench-measure", daemon=True).start()
        return self._deliver(batch)

    def _deliver(self, batch: Batch) -> Iterator[tuple[int, Measurement]]:
        try:
            while (item := batch.results.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            batch.abandoned = True
            self._events.put(None)

    def measure(self, item: MeasureInput, options: MeasureOptions | None = None) -> Measurement:
        """Measure one candidate; status ``cancelled`` if `cancel` came first."""
        return next((m for _, m in self.measure_many([item], options)), Measurement(status="cancelled"))

    def cancel(self) -> None:
        """Kill all workers at once, from any thread; a running `measure_many` ends. The runner can be used again."""
        self._cancelled.set()
        for worker in (*self._builders, self._runner):
            worker.kill()
        self._events.put(None)
        if self._lock.acquire(blocking=False):  # nothing is running that would tidy up
            try:
                self._stand_down()
            finally:
                self._lock.release()

    kill = cancel

    def hold(self, on: bool) -> None:
        """Start no more work, or go on; from any thread. What workers have begun they finish."""
        if on:
            self._held.set()
        else:
            self._held.clear()
        self._events.put(None)

    def close(self) -> None:
        """Let the workers go; harmless when repeated."""
        self._closed = True
        if not self._lock.acquire(blocking=False):
            self.cancel()
            self._lock.acquire()
        try:
            for worker in (*self._builders, self._runner):
                worker.close()
            self._duties.clear()
        finally:
            self._lock.release()

    # ---- the thread behind measure_many ----

    def _work(self, batch: Batch) -> None:
        with self._lock:
            self._cancelled.clear()
            self._current = batch.options
            try:
                self._runner.start()  # beside the first builder: starting takes both a third of a second
                while not self._finished(batch):
                    self._dispatch(batch)
                    self._wait(batch)
                batch.results.put(None)
            except BaseException as error:
                batch.results.put(error)
            finally:
                self._stand_down()

    def _finished(self, batch: Batch) -> bool:
        if self._cancelled.is_set() or self._closed:
            return True
        if batch.abandoned:
            return not self._duties
        self._refill(batch)
        return batch.exhausted and not batch.to_build and not batch.to_run and not self._duties

    def _refill(self, batch: Batch) -> None:
        while not batch.exhausted and len(batch.to_build) < len(self._builders):
            item = next(batch.source, None)
            if item is None:
                batch.exhausted = True
            else:
                batch.to_build.append(Trial(*item))

    def _stand_down(self) -> None:
        """Leave only workers that are idle and whole."""
        for worker in list(self._duties):
            worker.end()
        if self._cancelled.is_set():
            for worker in (*self._builders, self._runner):
                worker.end()
        self._duties.clear()
        if not self._runner.alive:
            self._prepared.clear()

    def _dispatch(self, batch: Batch) -> None:
        if batch.abandoned or self._held.is_set():
            return
        building = sum(d.what == "build" for d in self._duties.values())
        limit = _AHEAD * len(self._builders)
        may_build = self._overlap or (not batch.measuring and self._runner not in self._duties)
        for builder in self._builders if may_build else ():
            if batch.to_build and builder not in self._duties and len(batch.to_run) + building < limit:
                self._begin_build(builder, batch.to_build.popleft())
                building += 1
                self._refill(batch)
        if not self._overlap:
            batch.measuring = not building and bool(batch.to_run)
        if self._runner not in self._duties and batch.to_run and (self._overlap or batch.measuring):
            self._begin_run(batch.to_run.popleft())

    def _begin_build(self, builder: Worker, trial: Trial) -> None:
        job = BuildJob(trial.input.func, self.target, trial.input.symbol)
        self._give(builder, Duty(trial, self._current.build_timeout_s, "build"), job)

    def _begin_run(self, trial: Trial) -> None:
        if not self._runner.alive:
            self._prepared.clear()
        item, key = trial.input, self._setup_key(trial)
        if key not in self._prepared:
            job: Any = SetupJob(key, item.task_func, self._current.seed)
            self._give(self._runner, Duty(trial, self._current.setup_timeout_s, "setup"), job)
            return
        assert trial.built is not None
        assert trial.built.image is not None
        best = min(item.best_ms, self._best_ms.get(item.task_key, math.inf))
        job = TrialJob(key, trial.built.image, item.func.params, self.target.threads, self._current, best)
        self._give(self._runner, Duty(trial, self._current.timeout_s, "trial"), job)

    def _setup_key(self, trial: Trial) -> str:
        return f"{trial.input.task_key}@{self._current.seed}"

    def _give(self, worker: Worker, duty: Duty, job: Any) -> None:
        self._duties[worker] = duty
        worker.send(job)
        duty.deadline = time.monotonic() + START_TIMEOUT_S
        if worker.ready:
            duty.begin()

    # ---- events ----

    def _wait(self, batch: Batch) -> None:
        if not self._duties and not self._held.is_set():
            return
        now = time.monotonic()
        deadline = min((d.deadline for d in self._duties.values()), default=math.inf)
        try:
            left = min(max(0.0, deadline - now), threading.TIMEOUT_MAX)
            event = self._events.get(timeout=left if self._duties else None)
        except queue.Empty:
            self._expire(batch)
            return
        if isinstance(event, Event) and event.generation == event.worker.generation:
            self._handle(batch, event)

    def _handle(self, batch: Batch, event: Event) -> None:
        worker = event.worker
        if event.message == HELLO:
            if worker in self._duties:
                self._duties[worker].begin()
            return
        duty = self._duties.pop(worker, None)
        if event.message is None:
            how = worker.end() if worker.alive else "the worker was killed"
            if not self._cancelled.is_set():
                self._mourn(batch, worker, duty, how)
            return
        if duty is None:
            return
        if isinstance(event.message, Built):
            self._after_build(batch, duty.trial, event.message)
        else:
            self._after_run(batch, duty, event.message)

    def _mourn(self, batch: Batch, worker: Worker, duty: Duty | None, how: str) -> None:
        """Report the trial of a worker that died; give up when workers die before they are up."""
        if worker.failed_starts >= _MAX_FAILED_STARTS:
            raise RunError("run.worker", f"worker processes do not start: {how}", hint="see `workbench doctor`")
        if duty is None:
            return
        if not worker.ready:
            (batch.to_build if duty.what == "build" else batch.to_run).appendleft(duty.trial)
            return
        status: Status = "build_error" if duty.what == "build" else "run_error"
        self._report(batch, duty.trial, Measurement(status=status, error=how))

    def _expire(self, batch: Batch) -> None:
        now = time.monotonic()
        for worker, duty in list(self._duties.items()):
            if duty.deadline > now:
                continue
            del self._duties[worker]
            was_ready = worker.ready
            worker.kill()
            how = worker.end()
            if not was_ready:
                raise RunError("run.worker", f"a worker process did not start within {START_TIMEOUT_S:g} s: {how}")
            what = {"build": "compiling", "setup": "computing the reference result", "trial": "running"}[duty.what]
            status: Status = "build_error" if duty.what == "build" else "timeout"
            text = f"{what} took longer than {duty.limit_s:g} s, so the worker process was killed"
            self._report(batch, duty.trial, Measurement(status=status, error=text))

    def _after_build(self, batch: Batch, trial: Trial, built: Built) -> None:
        trial.built = built
        if built.image is None:
            self._report(batch, trial, Measurement(status="build_error", error=built.error))
        else:
            batch.to_run.append(trial)

    def _after_run(self, batch: Batch, duty: Duty, done: TrialDone) -> None:
        trial = duty.trial
        key, task = self._setup_key(trial), trial.input.task_key
        if duty.what == "setup" and done.status == "ready":
            self._prepared.add(key)
            batch.to_run.appendleft(trial)
        elif done.status == "need_setup":
            self._prepared.discard(key)
            batch.to_run.appendleft(trial)
        else:
            status: Any = done.status
            if done.costs_ms:
                self._best_ms[task] = min(self._best_ms.get(task, math.inf), *done.costs_ms)
            self._report(
                batch,
                trial,
                Measurement(
                    status=status,
                    costs_ms=done.costs_ms,
                    error=done.error,
                    run_s=done.seconds,
                    max_rel_error=done.max_rel_error,
                    number=done.number,
                    clock=done.clock,
                ),
            )

    @staticmethod
    def _report(batch: Batch, trial: Trial, result: Measurement) -> None:
        built = trial.built.seconds if trial.built else 0.0
        batch.results.put((trial.index, replace(result, flops=trial.input.flops, compile_s=built)))
