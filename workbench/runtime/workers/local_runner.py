"""The local runner: candidates go through builder and runner processes of this machine."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING

from workbench.errors import RunError, UsageError
from workbench.locks import ForkLock
from workbench.runtime.machine import turns
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import Batch, MeasureInput, Results
from workbench.runtime.workers.dispatch import BatchDispatch
from workbench.runtime.workers.process import Worker
from workbench.runtime.workers.worker_set import WorkerSet

if TYPE_CHECKING:
    from workbench.target import Target


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
    board : sequence of str
        Command that leads to a board on which candidates run, see `workbench.runtime.boards.board_runner.BoardRunner`.

    Notes
    -----
    Workers start with `start` or the first candidate and stay for the next batch. A worker that crashes or hangs is
    replaced; its candidate gets the status ``run_error``, ``timeout`` or ``build_error`` with the full text, and the
    others are not affected. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        target: Target,
        options: MeasureOptions | None = None,
        builders: int | None = None,
        board: Sequence[str] = (),
    ) -> None:
        self.target = target
        self.options = options or MeasureOptions()
        self._workers = WorkerSet.for_machine(target, builders, board)
        self._lock = ForkLock(reentrant=False)  # held by the running batch
        self._closed = False
        # Without a `close`, the processes go with the last reference to this object, or at exit.
        weakref.finalize(self, _release, self._workers.every)

    def __enter__(self) -> LocalRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what others call ----

    def start(self) -> None:
        """Start the worker processes without waiting for them; they come up while the caller does something else.

        Raises
        ------
        RunError
            ``run.worker`` when processes cannot be started, ``run.closed`` after `close`.
        """
        self._check_open()
        if self._lock.acquire(blocking=False):  # a running batch has started them
            try:
                self._workers.start()
            finally:
                self._lock.release()

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
        return self._begin(Batch(iter(enumerate(inputs)), options or self.options))

    def contest(
        self, inputs: Sequence[MeasureInput], options: MeasureOptions | None = None, rules: ContestRules | None = None
    ) -> Contest:
        """Time candidates of one task against each other: in alternating blocks, in one process.

        Each one's result is checked first. One that fails, crashes or hangs is reported as such, and the others go on
        without it. What was built lately is not built again.

        Parameters
        ----------
        inputs : sequence of MeasureInput
            The participants; the first one is the incumbent.
        options : MeasureOptions, optional
            The runner's own by default. Where kernels find their operands counts, and the limits; how often a kernel
            runs is up to the rules.
        rules : ContestRules, optional
            How long it lasts.

        Returns
        -------
        Contest
            One measurement per participant, in the order of `inputs`.

        Raises
        ------
        UsageError
            ``usage.contest`` for participants that belong to different tasks.
        RunError
            As for `measure_many`.
        """
        begin = time.perf_counter()
        if len({item.task_key for item in inputs}) > 1:
            raise UsageError("usage.contest", "Only candidates that compute the same can be compared in a contest")
        batch = Batch(iter(enumerate(inputs)), options or self.options, rules or ContestRules())
        found = dict(self._begin(batch))
        lost = Measurement(status="cancelled")
        results = tuple(found.get(i, lost) for i in range(len(inputs)))
        return Contest(measurements=results, elapsed_s=time.perf_counter() - begin)

    def measure(self, item: MeasureInput, options: MeasureOptions | None = None) -> Measurement:
        """Measure one candidate; status ``cancelled`` if `cancel` came first."""
        return next((m for _, m in self.measure_many([item], options)), Measurement(status="cancelled"))

    def cancel(self) -> None:
        """Kill all workers at once, from any thread; a running `measure_many` ends. The runner can be used again."""
        workers = self._workers
        workers.epoch += 1
        for worker in workers.every:
            worker.kill()
        workers.events.put(None)
        if self._lock.acquire(blocking=False):  # nothing is running that would tidy up
            try:
                workers.end_unfinished()
            finally:
                self._lock.release()

    def hold(self, on: bool) -> None:
        """Start no more work, or go on; from any thread. What workers have begun they finish."""
        if on:
            self._workers.held.set()
        else:
            self._workers.held.clear()
        self._workers.events.put(None)

    def close(self) -> None:
        """Let the workers go; harmless when repeated."""
        self._closed = True
        if not self._lock.acquire(blocking=False):
            self.cancel()
            self._lock.acquire()
        try:
            for worker in self._workers.every:
                worker.close()
            self._workers.duties.clear()
        finally:
            self._lock.release()

    # ---- the thread behind measure_many ----

    def _check_open(self) -> None:
        if self._closed:
            raise RunError("run.closed", "this runner was closed", hint="make a new one")

    def _begin(self, batch: Batch) -> Iterator[tuple[int, Measurement]]:
        self._check_open()
        turns.check()
        batch.epoch = self._workers.epoch
        work = partial(copy_context().run, self._work, batch)  # who asks is told where it stands in the line
        threading.Thread(target=work, name="workbench-measure", daemon=True).start()
        events = self._workers.events
        return Results(batch, lambda: events.put(None))

    def _work(self, batch: Batch) -> None:
        with self._lock:
            dispatch = BatchDispatch(self._workers, batch)
            try:
                if not (self._closed or dispatch.cancelled):
                    self._workers.start()
                    dispatch.work()
                batch.results.put(None)
            except BaseException as error:
                batch.results.put(error)
            finally:
                self._workers.end_unfinished()
