"""The worker processes of a runner, and what is known about them from one batch to the next."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.codegen.backend import backend_for
from workbench.host import usable_threads
from workbench.queue_settings import measuring_cores
from workbench.runtime.workers.batch import Duty
from workbench.runtime.workers.process import START_TIMEOUT_S, Worker
from workbench.runtime.workers.recent_builds import RecentBuilds
from workbench.target_kinds import target_kinds

if TYPE_CHECKING:
    from workbench.target import Target


@dataclass(slots=True)
class WorkerSet:
    """The processes, and what is known about them from one batch to the next."""

    target: Target
    builders: list[Worker]
    runner: Worker
    events: queue.SimpleQueue[Any]
    overlap: bool  # a core is free for compiling while a kernel runs
    duties: dict[Worker, Duty] = field(default_factory=dict)
    starting: dict[Worker, float] = field(default_factory=dict)  # until when they have to be up
    prepared: set[str] = field(default_factory=set)
    preparing: str = ""  # what the runner was last asked to prepare
    best_ms: dict[tuple[object, ...], float] = field(default_factory=dict)
    images: RecentBuilds = field(default_factory=RecentBuilds)
    epoch: int = 0  # another one for every `cancel`: batches of earlier ones end
    tried: bool = False  # a candidate was reported
    swept: int = 0  # the epoch in which `end_unfinished` was last called
    held: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def for_machine(cls, target: Target, builders: int | None, board: Sequence[str] = ()) -> WorkerSet:
        """Workers for this machine, or for a board that a command leads to; no process starts yet."""
        cores = usable_threads()
        # Where cores are declared for measurements, compilers have others; those are for all users.
        shared = bool(measuring_cores())
        backend = backend_for(target)
        threads = target.threads if target_kinds[target.kind].processor else cores * backend.takes_cores(target)
        overlap = shared or bool(board) or threads < cores
        if shared and not builders:
            builders = 1
        count = builders or max(1, min(4, cores - threads if overlap else cores))
        events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        runner = Worker("run", events, (target.arch, *board) if board else ())
        return cls(target, [Worker("build", events) for _ in range(count)], runner, events, overlap)

    @property
    def every(self) -> tuple[Worker, ...]:
        """All of them."""
        return (self.runner, *self.builders)

    def start(self) -> None:
        """Start the runner and one builder; further builders come when these two are up, and there is work for them."""
        # A `cancel` may have come when the last batch had just ended, or this may be a forked child.
        self.end_unfinished()
        for worker in (self.runner, self.builders[0]):
            self.ready(worker)

    def ready(self, worker: Worker) -> bool:
        """Whether a worker is up; starts it if it is not there."""
        if not worker.alive:
            if worker is self.runner:
                self.prepared.clear()
            worker.start()
            self.starting[worker] = time.monotonic() + START_TIMEOUT_S
        if worker.ready:
            self.starting.pop(worker, None)
        return worker.ready

    def end_unfinished(self) -> None:
        """Leave only workers that are idle and whole; after a `cancel`, none."""
        epoch = self.epoch
        for worker in self.every if epoch != self.swept else list(self.duties):
            worker.end()
        self.swept = epoch
        self.duties.clear()
        self.starting = {w: until for w, until in self.starting.items() if w.alive}
        if not self.runner.alive:
            self.prepared.clear()
