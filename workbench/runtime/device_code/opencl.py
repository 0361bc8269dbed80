"""Devices behind OpenCL."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.codegen.gpu import opencl
from workbench.codegen.gpu.launch import Launch, unpacked
from workbench.errors import RunError, TargetError
from workbench.runtime.buffers import Array
from workbench.runtime.device_code.device_kernel import DeviceKernel
from workbench.target_kinds import Device as Row

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode

#: Bytes that are written to fill a device's caches with something else.
#: Chosen, not measured: more than the second cache of a large GPU.
_EVICT_BYTES = 64 << 20
#: Bytes of the smallest memory: there is none of 0.
_LEAST_BYTES = 16


class OpenCLDevice:
    """A device with one queue, in which everything is done in order and timed."""

    def __init__(self, name: str) -> None:
        self._cl = cl = opencl.library()
        self._device, self._context = opencl.find_device(name), opencl.context(name)
        with self._told():
            self._queue = cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._events: list[Any] | None = None
        self._other: Any = None

    @property
    def title(self) -> str:
        """What it is."""
        return opencl.label(self._device)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say of what the driver reports that the device failed."""
        try:
            yield
        except (self._cl.Error, self._cl.LogicError, self._cl.RuntimeError, self._cl.MemoryError) as error:
            hint = "smaller operands or blocks, if it ran out of something; else see the driver's messages"
            raise RunError("run.device", f"{self.title} failed: {error}.", (), hint) from error

    def allocate(self, nbytes: int) -> Any:
        """Return memory that goes when nothing refers to it any more."""
        with self._told():
            return self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, max(nbytes, _LEAST_BYTES))

    def write(self, memory: Any, array: Array) -> None:
        """Copy a contiguous array to the beginning of some memory."""
        if array.nbytes:
            with self._told():
                self._cl.enqueue_copy(self._queue, memory, array, is_blocking=True)

    def read(self, memory: Any, array: Array) -> None:
        """Copy the beginning of some memory to a contiguous array."""
        if array.nbytes:
            with self._told():
                self._cl.enqueue_copy(self._queue, array, memory, is_blocking=True)

    def load(self, program: bytes) -> Callable[[str], Any]:
        """Load a program; return how to get a kernel by its name."""
        with self._told():
            built = self._cl.Program(self._context, [self._device], [program]).build()

        def kernel(name: str) -> Any:
            with self._told():
                return self._cl.Kernel(built, name)

        return kernel

    def launch(self, kernel: Any, how: Launch, arguments: Sequence[Any]) -> None:
        """Launch a kernel with some memories as arguments; does not wait."""
        items = tuple(g * b for g, b in zip(how.grid, how.block, strict=True))
        with self._told():
            kernel.set_args(*arguments)
            event = self._cl.enqueue_nd_range_kernel(self._queue, kernel, items, how.block)
        if self._events is not None:
            self._events[1:] = [event]  # the first one and the last one

    def evict(self) -> None:
        """Fill the caches with something else."""
        with self._told():
            if self._other is None:
                self._other = self.allocate(_EVICT_BYTES)
            self._cl.enqueue_fill_buffer(self._queue, self._other, b"\0\0\0\0", 0, _EVICT_BYTES)
            self._queue.finish()

    def time(self, work: Callable[[], None]) -> int:
        """Call `work` and wait; return nanoseconds from the first kernel's begin to the last one's end."""
        events: list[Any] = []
        self._events = events
        try:
            work()
            with self._told():
                self._queue.finish()
                return int(events[-1].profile.end - events[0].profile.start) if events else 0
        finally:
            self._events = None


_device = functools.cache(OpenCLDevice)


def load(code: ObjectCode, image: bytes) -> DeviceKernel:
    """Load a program."""
    return DeviceKernel(_device(unpacked(image)[0]), code, image)


def _word(device: Any) -> str:
    """Return a word that a target finds this very device by: of its name, of its driver, or its number."""
    words = re.findall(r"[\w.-]+", f"{device.name} {device.platform.name}".lower())
    number = f"{opencl.NUMBER}{opencl.devices().index(device)}"
    return next((w for w in words if opencl.find_device(w) == device), number)


def devices() -> Iterator[Row]:
    """Find the devices, for `workbench.devices`."""
    try:
        found = opencl.devices()
    except TargetError as error:
        install = error.hint if error.hint.startswith("pip install") else error.hint.rpartition(": ")[2]
        yield Row("opencl", "A GPU or processor with an OpenCL driver", "prints", error.message, install)
        return
    for device in found:
        parts = f"{device.max_compute_units} units, {device.local_mem_size >> 10} KB shared by a block"
        # A processor runs work-items one by one: the rules of processors suit it.
        alone = " -thread_warp_size=1" if opencl.is_cpu(device) else ""
        yield Row(
            f"opencl -device={_word(device)}{alone}", f"{opencl.label(device)}, {parts}", "runs", device.version.strip()
        )
