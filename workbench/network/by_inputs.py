"""Executables whose calls depend on the inputs of a run: looking at them is looking at what runs these inputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.runtime.buffers import Array
from workbench.runtime.execution.executable import Executable

if TYPE_CHECKING:
    from workbench.runtime.execution.recorded_run import RecordedRun
    from workbench.runtime.execution.run_context import RunContext


class ByInputs(Executable):
    """An executable that has others, one of which runs given inputs."""

    @abstractmethod
    def _of(self, inputs: Mapping[str, Any] | None) -> tuple[Executable, dict[str, Array]]:
        """What runs these inputs, with the inputs that it takes."""

    def profile(self, inputs: Mapping[str, Any] | None = None, **how: Any) -> Any:
        """Time every call, as `Executable.profile`, of the kernels that run these inputs."""
        executable, feeds = self._of(inputs)
        return executable.profile(feeds, **how)

    def trace(self, path: Any, inputs: Mapping[str, Any] | None = None, **how: Any) -> None:
        """Record some runs, as `Executable.trace`, with the kernels that run these inputs."""
        executable, feeds = self._of(inputs)
        executable.trace(path, feeds, **how)

    def record(self, inputs: Mapping[str, Any] | None = None, **how: Any) -> RecordedRun:
        """Record some runs, as `Executable.record`, with the kernels that run these inputs."""
        executable, feeds = self._of(inputs)
        return executable.record(feeds, **how)

    @contextmanager
    def measuring(self, inputs: Mapping[str, Any] | None, warmup: int = 0) -> Iterator[RunContext]:
        """As `Executable.measuring`, with the kernels that run these inputs."""
        executable, feeds = self._of(inputs)
        with executable.measuring(feeds, warmup) as context:
            yield context
