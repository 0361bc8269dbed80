"""What a runner does with a candidate for a device: operands stay in the device's memory, and its clock counts."""

from __future__ import annotations

from workbench.errors import WorkbenchError
from workbench.runtime.buffers import ALIGNMENT
from workbench.runtime.device_code.device_kernel import DeviceKernel
from workbench.runtime.loaded_code import LoadedCode
from workbench.runtime.measuring.adaptive_repeats import Timer
from workbench.runtime.measuring.candidate import Candidate
from workbench.runtime.measuring.cold_constants import Stream
from workbench.runtime.measuring.jobs import TrialJob
from workbench.runtime.measuring.operands import GUARD


class DeviceCandidate(Candidate):
    """A kernel on a device with its operands."""

    def _connect(self, job: TrialJob, stream: Stream | None) -> None:
        self._space = self._around.reserve(job.code.workspace_bytes(1), GUARD)
        self._loaded = LoadedCode(job.code)
        self._kernel = kernel = self._loaded.device
        kernel.reserve(GUARD)
        self._outputs = {b.name: k for k, b in enumerate(job.params) if b.role == "output"}
        for k, array in enumerate(self._arrays):
            if k not in self._outputs.values():
                kernel.write(k, array)
        self.timer: Timer = DeviceTimer(kernel, job)

    def _bring(self) -> None:
        for name, k in self._outputs.items():
            self._kernel.write(k, self._task.outputs[name].raw[ALIGNMENT:])
        self._kernel.write_workspace(self._space)

    def _fetch(self) -> None:
        for name, k in self._outputs.items():
            self._kernel.read(k, self._task.outputs[name].raw[ALIGNMENT:])
        self._kernel.read_workspace(self._space)

    def _fault(self) -> WorkbenchError | None:
        """Nothing: what a driver finds wrong, it raises."""
        return None


class DeviceTimer(Timer):
    """Repetitions of one kernel on a device, by the device's clock.

    Parameters
    ----------
    kernel : DeviceKernel
        With its operands.
    job : TrialJob
        What is measured and how.
    """

    def __init__(self, kernel: DeviceKernel, job: TrialJob) -> None:
        self._kernel = kernel
        self._options, self._best_ms = job.options, job.best_ms
        self._evicts = job.options.flush_cache or job.options.constants == "memory"
        self.number, self.disturbed, self.clock, self.why_not, self.at_least_ms = 1, 0, "device", "", 0.0

    @property
    def flushes(self) -> bool:
        """Whether something is evicted from the caches before each repetition, so that one is one call."""
        return self._evicts

    def run(self, repeat: int, number: int) -> list[float]:
        """Return milliseconds per call for each repetition."""
        return self._kernel.time(repeat, number, self._evicts)
