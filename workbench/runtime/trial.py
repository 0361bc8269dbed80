"""What a runner does with one candidate: run it once against the reference, then time it."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from workbench.errors import RunError
from workbench.ir.dtypes import is_float
from workbench.ir.func import Buffer, Func, pack
from workbench.runtime import harness
from workbench.runtime.buffers import ALIGNMENT, Array, aligned_empty, as_aligned, concrete_shape, pointer_table, poison
from workbench.runtime.loaded import LoadedCode, Surroundings
from workbench.runtime.results import TOLERANCE, MeasureOptions, SetupJob, TrialDone, TrialJob
from workbench.runtime.streaming import CallCycle, Stream

#: Bytes after every buffer that a kernel may write, filled with a pattern that must survive.
GUARD = 256
_PATTERN = 0xA5

#: Bytes of inputs, references and packed operands that a runner keeps between trials.
CACHE_BYTES = 1 << 30

#: Shortest repetition in ms: reading the processor-time clock is a system call of a few tenths of a microsecond.
_SHORTEST_MS = 0.02

#: In an adaptive measurement, go on until so many milliseconds were timed.
_ENOUGH_MS = 3.0


@dataclass(slots=True)
class _Guarded:
    """An array with a pattern on both sides."""

    raw: Array
    array: Array

    @classmethod
    def make(cls, shape: tuple[int, ...], dtype: str) -> _Guarded:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        raw = aligned_empty((ALIGNMENT + size + GUARD,), "uint8")
        raw[:ALIGNMENT] = _PATTERN
        raw[ALIGNMENT + size :] = _PATTERN
        return cls(raw, raw[ALIGNMENT : ALIGNMENT + size].view(dtype).reshape(shape))

    def intact(self) -> bool:
        """Whether nothing was written next to the array."""
        end = ALIGNMENT + self.array.nbytes
        return bool((self.raw[:ALIGNMENT] == _PATTERN).all() and (self.raw[end:] == _PATTERN).all())


@dataclass(slots=True)
class _Expected:
    """Reference result of one output; `scale` is max |reference|."""

    array: Array
    scale: float
    finite: bool


@dataclass(slots=True)
class _Task:
    """What a runner keeps about a task: inputs as given, reference results, buffers to write to, packed operands."""

    func: Func
    inputs: dict[str, Array]
    expected: dict[str, _Expected]
    outputs: dict[str, _Guarded]
    packed: OrderedDict[tuple[object, ...], Array] = field(default_factory=OrderedDict)

    @property
    def nbytes(self) -> int:
        """Memory that the task holds."""
        arrays = [*self.inputs.values(), *self.packed.values(), *(e.array for e in self.expected.values())]
        return sum(a.nbytes for a in arrays) + sum(g.raw.nbytes for g in self.outputs.values())

    def operand(self, buffer: Buffer) -> Array:
        """Return an input in the layout that this candidate wants."""
        if not buffer.layout:
            return self.inputs[buffer.name]
        key = (buffer.name, buffer.layout)
        if key in self.packed:
            self.packed.move_to_end(key)
        else:
            self.packed[key] = as_aligned(pack(buffer, self.inputs[buffer.name]))
            while len(self.packed) > 4:
                self.packed.popitem(last=False)
        return self.packed[key]


def make_inputs(func: Func, seed: int, positive: bool = False) -> dict[str, Array]:
    """Return seeded inputs and constant operands; `positive` keeps to where logarithms and roots are defined."""
    from workbench.ir.interp import random_inputs

    arrays = random_inputs(func, seed)
    if positive:
        arrays = {n: (np.abs(a) + a.dtype.type(0.5) if is_float(a.dtype) else a) for n, a in arrays.items()}
    return {name: as_aligned(array) for name, array in arrays.items()}


def _references(func: Func, inputs: dict[str, Array]) -> dict[str, _Expected]:
    from workbench.ir.reference import evaluate

    with np.errstate(all="ignore"):
        results = evaluate(func, inputs)
    expected = {}
    for buffer in func.outputs:
        array = np.ascontiguousarray(results[buffer.name]).astype(buffer.dtype, copy=False)
        finite = bool(np.isfinite(array).all()) if is_float(array.dtype) else True
        scale = float(np.max(np.abs(array[np.isfinite(array)]), initial=0.0)) if is_float(array.dtype) else 0.0
        expected[buffer.name] = _Expected(array, scale, finite)
    return expected


def prepare(func: Func, seed: int) -> _Task:
    """Make inputs and reference results; raises whatever the reference raises."""
    inputs = make_inputs(func, seed)
    expected = _references(func, inputs)
    if not all(e.finite for e in expected.values()):
        inputs = make_inputs(func, seed, positive=True)
        expected = _references(func, inputs)
    outputs = {b.name: _Guarded.make(concrete_shape(b.shape), b.dtype) for b in func.outputs}
    return _Task(func, inputs, expected, outputs)


def relative_error(result: Array, expected: _Expected) -> float:
    """Return the largest difference over max |reference|; infinite where only one of the two is a number."""
    reference = expected.array
    if not is_float(result.dtype):
        return 0.0 if np.array_equal(result, reference) else math.inf
    with np.errstate(all="ignore"):
        result, reference = _wide(result), _wide(reference)
        if not expected.finite:
            if not np.array_equal(np.isnan(result), np.isnan(reference)):
                return math.inf
            same = np.isnan(reference) | (result == reference)
            result, reference = np.where(same, 0, result), np.where(same, 0, reference)
        difference = np.max(np.abs(np.subtract(result, reference)), initial=0.0)
    if not np.isfinite(difference):
        return math.inf
    if expected.scale == 0.0:
        return 0.0 if difference == 0.0 else math.inf
    return float(difference) / expected.scale


def _wide(x: Array) -> Array:
    """The same values in a type whose differences are exact enough to judge."""
    return x.astype("float32") if x.dtype.itemsize < 4 else x


def describe_mismatch(name: str, result: Array, expected: _Expected) -> str:
    """Say where a result differs from the reference, for the log."""
    reference = expected.array
    unwritten = int(np.isnan(result).sum()) if is_float(result.dtype) else 0
    with np.errstate(all="ignore"):
        if is_float(result.dtype):
            wrong = ~(np.abs(result - reference) <= TOLERANCE[str(result.dtype)] * expected.scale)
            wrong &= ~(np.isnan(result) & np.isnan(reference))
        else:
            wrong = result != reference
    if not wrong.any():
        return f"{name} is right"
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    missing = f"; {unwritten} are NaN, as before the run" if unwritten else ""
    return (
        f"{name}: {int(wrong.sum())} of {wrong.size} elements differ from the reference{missing}; "
        f"first at {list(at)}: {result[at]} instead of {reference[at]}"
    )


class Candidate:
    """A loaded kernel with its operands, to be checked first and timed then."""

    def __init__(self, job: TrialJob, task: _Task, around: Surroundings, stream: Stream) -> None:
        self._job, self._task, self._around = job, task, around
        arrays = [task.outputs[b.name].array if b.role == "output" else task.operand(b) for b in job.params]
        for buffer, array in zip(job.params, arrays, strict=True):
            if tuple(array.shape) != tuple(buffer.shape):
                text = f"{buffer.name} has shape {array.shape}, the kernel expects {buffer.shape}"
                raise RunError("run.layout", text)
        self._space = around.reserve(job.image.workspace_bytes(job.threads), GUARD)
        self._table = pointer_table([a.ctypes.data for a in arrays])
        self._loaded = LoadedCode(job.image)
        self.timer = Timer(self._loaded.address, self._table, around, job, arrays)
        if job.options.constants == "shared" and not job.options.flush_cache:
            self.timer.stream(stream.copies(job.params, arrays))

    def close(self) -> None:
        """Unload the code."""
        self._loaded.close()

    def check(self) -> tuple[float, float, str]:
        """Run once; return its milliseconds, the largest error, and what is wrong ("" when all is right)."""
        guard = self._space[self._space.nbytes - GUARD :]
        for output in self._task.outputs.values():
            poison(output.array)
        self._around.poison()
        guard[...] = _PATTERN
        self._around.ready()
        first_ms = self.timer.run(1, 1)[0]
        worst, problems = 0.0, []
        for name, output in self._task.outputs.items():
            expected = self._task.expected[name]
            error = relative_error(output.array, expected)
            worst = max(worst, error)
            if error > TOLERANCE.get(str(output.array.dtype), 0.0):
                problems.append(describe_mismatch(name, output.array, expected))
            if not output.intact():
                problems.append(f"the kernel wrote outside {name}")
        if not (guard == _PATTERN).all():
            problems.append("the kernel wrote past the end of its workspace")
        return first_ms, worst, "\n".join(problems)


class TrialRunner:
    """Checks and times candidates in this process; a runner process holds one."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, _Task] = OrderedDict()
        self._around: dict[int, Surroundings] = {}
        self._streams: list[Stream] = []

    def setup(self, job: SetupJob) -> None:
        """Prepare a task."""
        self._tasks[job.key] = prepare(job.func, job.seed)
        while len(self._tasks) > 1 and sum(t.nbytes for t in self._tasks.values()) > CACHE_BYTES:
            self._tasks.popitem(last=False)

    def knows(self, key: str) -> bool:
        """Whether the task was prepared and is still there."""
        return key in self._tasks

    def forget(self, key: str) -> None:
        """Prepare the task anew before its next trial: a kernel that computes nonsense may have spoilt the inputs."""
        self._tasks.pop(key, None)

    def surroundings(self, threads: int) -> Surroundings:
        """Threads and workspace, kept from one trial to the next."""
        if threads not in self._around:
            self._around[threads] = Surroundings(threads)
        return self._around[threads]

    def candidate(self, job: TrialJob, place: int = 0) -> Candidate:
        """Load a candidate of a task that was prepared; those of different places may be there at once."""
        self._tasks.move_to_end(job.key)
        while len(self._streams) <= place:
            self._streams.append(Stream())
        return Candidate(job, self._tasks[job.key], self.surroundings(job.threads), self._streams[place])

    def run(self, job: TrialJob) -> TrialDone:
        """Check and time one candidate."""
        if not self.knows(job.key):
            return TrialDone("need_setup")
        begin = time.perf_counter()
        candidate = self.candidate(job)
        try:
            first_ms, error, text = candidate.check()
            if text:
                self.forget(job.key)
                return TrialDone("wrong_answer", (), text, time.perf_counter() - begin, error)
            timer = candidate.timer
            costs = tuple(timer.measure(first_ms))
            return TrialDone("ok", costs, "", time.perf_counter() - begin, error, timer.number, timer.clock)
        finally:
            candidate.close()


class Timer:
    """Repetitions of one loaded kernel."""

    def __init__(self, fn: int, table: Array, around: Surroundings, job: TrialJob, arrays: list[Array]) -> None:
        self._fn, self._table, self._around = fn, table, around
        self._options: MeasureOptions = job.options
        self._best_ms = job.best_ms
        self._clock = harness.clock_for(job.threads)
        self._cycle: CallCycle | None = None
        self._flush: Array | None = None
        if job.options.flush_cache:
            space = around.reserve(job.image.workspace_bytes(job.threads))
            self._flush = harness.flush_table([*arrays, space])
        elif job.options.constants == "memory":
            weights = [a for b, a in zip(job.params, arrays, strict=True) if b.role == "const"]
            self._flush = harness.flush_table(weights) if weights else None
        self.number = 1
        self.clock = "cpu" if job.threads == 1 else "wall"

    @property
    def flushes(self) -> bool:
        """Whether something is evicted from the caches before each repetition, so that one is one call."""
        return self._flush is not None

    def stream(self, operands: list[list[Array]]) -> None:
        """Cycle through these operand lists where there are several."""
        if len(operands) > 1:
            self._cycle = CallCycle(self._fn, operands, self._clock)

    def run(self, repeat: int, number: int) -> list[float]:
        """Return milliseconds per call for each repetition."""
        if self._cycle is not None:
            times = self._cycle.times(repeat, number, self._around.workspace, self._around.rt)
            return [t * 1e-6 for t in times]
        nanoseconds = harness.time_calls(
            self._fn,
            self._table.ctypes.data,
            self._around.workspace,
            self._around.rt,
            repeat,
            number,
            self._clock,
            self._flush,
        )
        return [float(t) * 1e-6 for t in nanoseconds]

    def _is_hopeless(self, costs: list[float]) -> bool:
        limit = self._options.early_stop * self._best_ms
        return bool(self._options.early_stop) and min(costs) > limit

    def measure(self, first_ms: float) -> list[float]:
        """Time the kernel; `first_ms` is what the checking run took, with cold caches."""
        options = self._options
        if options.repeat is None and first_ms > 2 * options.budget_ms and self._is_hopeless([first_ms / 2]):
            return [first_ms]
        warm_ms = first_ms if first_ms > options.budget_ms else min(self.run(2 if first_ms < 1.0 else 1, 1))
        shortest = _SHORTEST_MS if options.min_repeat_ms is None else options.min_repeat_ms
        if self._flush is None:
            self.number = max(1, math.ceil(shortest / max(warm_ms, 1e-6)))
        if options.repeat is not None:
            return self.run(options.repeat, self.number)
        costs = self.run(self._fitting(warm_ms, 3), self.number)
        if self._is_hopeless(costs):
            return costs
        each = max(min(costs) * self.number, 1e-3)
        wanted = max(10, math.ceil(_ENOUGH_MS / each))
        left_ms = options.budget_ms - first_ms - warm_ms
        more = min(wanted, int(left_ms / each)) - len(costs)
        return costs + self.run(more, self.number) if more > 0 else costs

    def _fitting(self, each_ms: float, most: int) -> int:
        """Return how many repetitions of this length fit in the budget: at least one, at most `most`."""
        return max(1, min(most, round(2 * self._options.budget_ms / max(each_ms * self.number, 1e-3))))
