"""One candidate in the runner's process: a loaded kernel with its operands, checked against the reference."""

from __future__ import annotations

from workbench.errors import RunError, WorkbenchError
from workbench.ir import Buffer
from workbench.runtime.buffers import Array, pointer_table, poison
from workbench.runtime.loaded_code import LoadedCode
from workbench.runtime.measuring.adaptive_repeats import Timer
from workbench.runtime.measuring.cold_constants import Stream
from workbench.runtime.measuring.jobs import TrialJob
from workbench.runtime.measuring.operands import GUARD, PATTERN, Operands, Packed
from workbench.runtime.thread_pool.launch_context import LaunchContext


class Candidate:
    """A loaded kernel with its operands, to be checked first and timed then."""

    _loaded: LoadedCode | None = None  # None: another machine has it

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
        self._loaded = loaded = LoadedCode(job.code)
        self.timer = Timer(loaded.address, self._table, self._around, job, self._arrays)
        if stream is not None and job.options.constants == "shared" and not job.options.flush_cache:
            self.timer.stream(stream.tables(job.params, self._arrays))

    def _bring(self) -> None:
        """Bring outputs and workspace, as they are now, to where the kernel runs: they are there."""

    def _fetch(self) -> None:
        """Fetch them from where the kernel ran."""

    def _fault(self) -> WorkbenchError | None:
        """What the kernel itself found to be wrong since it was asked last."""
        return None if self._loaded is None else self._loaded.fault()

    @property
    def device_ms(self) -> float | None:
        """Milliseconds of the last call where a device counts its cycles; None where time is to be taken."""
        return None if self._loaded is None else self._loaded.device_ms

    def close(self) -> None:
        """Unload the code."""
        if self._loaded is not None:
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
