"""What a runner does with one candidate: run it once against the reference, then time it."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from workbench import host
from workbench.runtime.loaded_code import has_memory
from workbench.runtime.machine import turns
from workbench.runtime.machine.hardware_counters import count
from workbench.runtime.machine.interference import Interference, StolenTime, timing
from workbench.runtime.machine.processor_speed import Pace
from workbench.runtime.measuring.adaptive_repeats import Timer
from workbench.runtime.measuring.candidate import Candidate
from workbench.runtime.measuring.cold_constants import Stream, ring_bytes
from workbench.runtime.measuring.device_run import DeviceCandidate
from workbench.runtime.measuring.jobs import Reply, SetupJob, TrialJob
from workbench.runtime.measuring.operands import Operands, Packed, prepare
from workbench.runtime.results.counted import Counted
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.thread_pool.launch_context import LaunchContext

#: Bytes of inputs and references that a runner keeps between trials.
#: Chosen, not measured.
CACHE_BYTES = 1 << 30

#: Each event is counted for so many milliseconds.
#: Chosen, not measured: what stands around the calls is a millionth of that.
COUNTED_MS = 10.0


class TrialRunner:
    """Checks and times candidates in this process; a runner process holds one."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, Operands] = OrderedDict()
        self._packed = Packed()
        self._stolen, self._pace = StolenTime(), Pace()
        self._around: dict[int, LaunchContext] = {}
        self._streams: list[Stream] = []

    def setup(self, job: SetupJob) -> None:
        """Prepare a task."""
        self._tasks[job.key] = prepare(job.func, job.seed)
        while len(self._tasks) > 1 and sum(t.nbytes for t in self._tasks.values()) > CACHE_BYTES:
            self.forget(next(iter(self._tasks)))

    def knows(self, key: str) -> bool:
        """Whether the task was prepared and is still there."""
        return key in self._tasks

    def forget(self, key: str) -> None:
        """Prepare the task anew before its next trial: a kernel that computes nonsense may have spoilt the inputs."""
        self._tasks.pop(key, None)
        self._packed.forget(key)

    def launch_context(self, threads: int) -> LaunchContext:
        """Threads and workspace, kept from one trial to the next."""
        if threads not in self._around:
            self._around[threads] = LaunchContext(threads)
        return self._around[threads]

    def candidate(self, job: TrialJob, place: int = 0) -> Candidate:
        """Load a candidate of a task that was prepared; those of different places may be there at once.

        Place 0 is for one alone, the others are for the participants of a contest.
        """
        self._tasks.move_to_end(job.key)
        while len(self._streams) <= place:
            self._streams.append(Stream(ring_bytes(host.detect())))
        around = self.launch_context(job.threads)
        kind = DeviceCandidate if has_memory(job.code) else Candidate
        return kind(job, self._tasks[job.key], self._packed, around, self._streams[place])

    @contextmanager
    def watching(self, job: TrialJob) -> Iterator[Interference]:
        """Work whose time counts; what a device does by itself nobody sees."""
        if has_memory(job.code):
            with turns.turn():
                yield Interference(())
        else:
            with timing(self.launch_context(job.threads).pool, job.busy) as watch:
                yield watch

    def pace(self, job: TrialJob, timer: Timer) -> Pace | None:
        """Look after the processor's speed from now on, where that matters."""
        if job.options.early_stop or timer.flushes or has_memory(job.code):
            return None
        self._pace.begin((job.code.object, job.threads))
        return self._pace

    def stolen(self) -> str:
        """Say what of this machine's time its host took; empty where it was little."""
        return self._stolen.reason()

    def run(self, job: TrialJob) -> Measurement | Reply:
        """Check and time one candidate."""
        if not self.knows(job.key):
            return Reply("need_setup")
        begin = time.perf_counter()
        candidate = self.candidate(job)
        try:
            with self.watching(job) as watch:
                watch.begin()
                first_ms, error, text = candidate.check()
                if text:
                    self.forget(job.key)
                    seconds = watch.clock() - begin
                    return Measurement(status="wrong_answer", error=text, run_s=seconds, max_rel_error=error)
                if (exact := candidate.device_ms) is not None:
                    done = Measurement(status="ok", run_s=watch.clock() - begin, max_rel_error=error)
                    return replace(done, costs_ms=(exact,), number=1, clock="cycles")
                timer = candidate.timer
                costs = tuple(timer.measure(first_ms, watch, self.pace(job, timer)))
                counted = self._counted(job, timer, min(costs)) if job.options.counters else None
            why_not, at_least_ms = timer.why_not, timer.at_least_ms
            if not why_not and (why_not := self.stolen()):
                at_least_ms = min(costs) * (1.0 - self._stolen.share)
            seconds = watch.clock() - begin
            right = Measurement(status="ok", run_s=seconds, max_rel_error=error, waited_s=watch.waited_s)
            timed = replace(right, costs_ms=costs, number=timer.number, clock=timer.clock, disturbed=timer.disturbed)
            return replace(timed, why_not=why_not, at_least_ms=at_least_ms, counters=counted)
        finally:
            candidate.close()

    @staticmethod
    def _counted(job: TrialJob, timer: Timer, ms: float) -> Counted:
        """What the processor counts in calls of a kernel that takes so long."""
        calls = 1 if timer.flushes else max(1, math.ceil(COUNTED_MS / max(ms, 1e-6)))
        return count(lambda: timer.run(1, calls), calls, job.threads)
