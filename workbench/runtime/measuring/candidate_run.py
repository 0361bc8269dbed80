"""What a runner does with one candidate: run it once against the reference, then time it."""

from __future__ import annotations

import time
from collections import OrderedDict
from contextlib import AbstractContextManager
from dataclasses import replace

from workbench.errors import RunError, WorkbenchError
from workbench.ir import Buffer
from workbench.runtime.buffers import Array, pointer_table, poison
from workbench.runtime.loaded_code import LoadedCode
from workbench.runtime.machine.interference import Interference, StolenTime, timing
from workbench.runtime.machine.processor_speed import Pace
from workbench.runtime.measuring.adaptive_repeats import Timer
from workbench.runtime.measuring.cold_constants import CONTEST_BYTES, STREAM_BYTES, Stream
from workbench.runtime.measuring.jobs import Reply, SetupJob, TrialJob
from workbench.runtime.measuring.operands import GUARD, PATTERN, Operands, Packed, prepare
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.thread_pool.launch_context import LaunchContext

#: Bytes of inputs and references that a runner keeps between trials.
#: Chosen, not measured.
CACHE_BYTES = 1 << 30


class Candidate:
    """A loaded kernel with its operands, to be checked first and timed then."""

    def __init__(
        self, job: TrialJob, task: Operands, packed: Packed, around: LaunchContext, stream: Stream | None
    ) -> None:
        self._task, self._around = task, around
        self._expected = task.expected_of(job.params)
        # Kept here: what was packed for others since then may have pushed these out.
        self._arrays = arrays = [_operand(job.key, b, task, packed) for b in job.params]
        for buffer, array in zip(job.params, arrays, strict=True):
            if tuple(array.shape) != tuple(buffer.shape):
                text = f"{buffer.name} has shape {array.shape}, the kernel expects {buffer.shape}"
                raise RunError("run.layout", text)
        self._connect(job, stream)

    def _connect(self, job: TrialJob, stream: Stream | None) -> None:
        """Make workspace and timer."""
        self._space = self._around.reserve(job.code.workspace_bytes(job.threads), GUARD)
        self._table = pointer_table([a.ctypes.data for a in self._arrays])
        self._loaded = LoadedCode(job.code)
        self.timer = Timer(self._loaded.address, self._table, self._around, job, self._arrays)
        if stream is not None and job.options.constants == "shared" and not job.options.flush_cache:
            self.timer.stream(stream.tables(job.params, self._arrays))

    def _bring(self) -> None:
        """Bring outputs and workspace, as they are now, to where the kernel runs: they are there."""

    def _fetch(self) -> None:
        """Fetch them from where the kernel ran."""

    def _fault(self) -> WorkbenchError | None:
        """What the kernel itself found to be wrong since it was asked last."""
        return self._loaded.fault()

    def close(self) -> None:
        """Unload the code."""
        self._loaded.close()

    def check(self) -> tuple[float, float, str]:
        """Run once; return milliseconds, the largest error over its bound, and what is wrong ("" when all is right)."""
        guard = self._space[self._space.nbytes - GUARD :]
        for output in self._task.outputs.values():
            poison(output.array)
        poison(self._space)  # its own: an earlier candidate may have needed far more
        guard[...] = PATTERN
        self._bring()
        first_ms = self.timer.run(1, 1)[0]
        self._fetch()
        worst, problems = 0.0, []
        if (fault := self._fault()) is not None:
            problems.append(str(fault))
        for name, output in self._task.outputs.items():
            error = self._expected[name].worst(output.array)
            worst = max(worst, error)
            if error > 1.0:
                problems.append(self._expected[name].mismatch(name, output.array))
            if not output.intact():
                problems.append(f"the kernel wrote outside {name}")
        if not (guard == PATTERN).all():
            problems.append("the kernel wrote past the end of its workspace")
        return first_ms, worst, "\n".join(problems)


def _operand(key: str, buffer: Buffer, task: Operands, packed: Packed) -> Array:
    """Return the array that a kernel gets for one of its parameters."""
    if buffer.role == "output":
        return task.outputs[buffer.name].array
    given = task.inputs[buffer.name]
    return packed.get(key, buffer, given) if buffer.layout else given


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
            self._streams.append(Stream(CONTEST_BYTES if self._streams else STREAM_BYTES))
        around = self.launch_context(job.threads)
        return Candidate(job, self._tasks[job.key], self._packed, around, self._streams[place])

    def watching(self, threads: int) -> AbstractContextManager[Interference]:
        """Work of so many threads whose time counts."""
        return timing(self.launch_context(threads).pool)

    def pace(self, job: TrialJob, timer: Timer) -> Pace | None:
        """Look after the processor's speed from now on, where that matters."""
        if job.options.early_stop or timer.flushes:
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
            with self.watching(job.threads) as watch:
                watch.begin()
                first_ms, error, text = candidate.check()
                if text:
                    self.forget(job.key)
                    seconds = watch.clock() - begin
                    return Measurement(status="wrong_answer", error=text, run_s=seconds, max_rel_error=error)
                timer = candidate.timer
                costs = tuple(timer.measure(first_ms, watch, self.pace(job, timer)))
            why_not, at_least_ms = timer.why_not, timer.at_least_ms
            if not why_not and (why_not := self.stolen()):
                at_least_ms = min(costs) * (1.0 - self._stolen.share)
            seconds = watch.clock() - begin
            right = Measurement(status="ok", run_s=seconds, max_rel_error=error, waited_s=watch.waited_s)
            timed = replace(right, costs_ms=costs, number=timer.number, clock=timer.clock, disturbed=timer.disturbed)
            return replace(timed, why_not=why_not, at_least_ms=at_least_ms)
        finally:
            candidate.close()
