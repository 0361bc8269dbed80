"""What a device with memory of its own can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from workbench.codegen.gpu.launch import Launch
from workbench.errors import RunError, WorkbenchError
from workbench.runtime.buffers import Array


class Device(Protocol):
    """A device with memory of its own: a GPU, or a processor behind the same interface.

    Everything happens in the order in which it is asked for. Every method may raise `RunError` "run.device" with what
    the driver says; after that the device has to be given up with the process.
    """

    @property
    def title(self) -> str:
        """What it is."""

    def allocate(self, nbytes: int) -> Any:
        """Return memory that goes when nothing refers to it any more."""

    def write(self, memory: Any, array: Array) -> None:
        """Copy a contiguous array to the beginning of some memory."""

    def read(self, memory: Any, array: Array) -> None:
        """Copy the beginning of some memory to a contiguous array, when all that was launched is done."""

    def load(self, program: bytes) -> Callable[[str], Any]:
        """Load a program; return how to get a kernel by its name."""

    def launch(self, kernel: Any, how: Launch, arguments: Sequence[Any]) -> None:
        """Launch a kernel with some memories as arguments; does not wait."""

    def evict(self) -> None:
        """Fill the caches with something else."""

    def time(self, work: Callable[[], None]) -> int:
        """Call `work`, which launches kernels, and wait; return nanoseconds from the first one's begin to the last
        one's end.
        """


def as_fault(found: BaseException | None) -> WorkbenchError | None:
    """What stopped a call of a device, as an error of the package; an interrupt is raised again."""
    if found is None or isinstance(found, WorkbenchError):
        return found
    if not isinstance(found, Exception):
        raise found
    return RunError("run.device", f"{type(found).__name__}: {found}")
