"""NVIDIA's GPUs behind their driver."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.codegen.gpu import cuda_driver, nvrtc
from workbench.codegen.gpu.cuda_driver import Driver
from workbench.codegen.gpu.launch import Launch
from workbench.errors import RunError, TargetError
from workbench.runtime.buffers import Array
from workbench.runtime.device_code.device_kernel import DeviceKernel
from workbench.target_kinds import Device as Row

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode

#: Bytes that are written to fill a device's caches with something else.
#: Chosen, not measured: more than the second cache of a large GPU.
_EVICT_BYTES = 128 << 20
_LEAST_BYTES = 16


class _Memory:
    """Memory of a device; goes with this object, in whatever thread that is.

    Parameters
    ----------
    here : callable
        Makes the calling thread one of the context, and returns the driver.
    """

    def __init__(self, here: Callable[[], Driver], nbytes: int) -> None:
        self._here, self.address = here, ctypes.c_uint64()
        here()("cuMemAlloc_v2", ctypes.byref(self.address), max(nbytes, _LEAST_BYTES))

    def __del__(self) -> None:
        if self.address.value:
            with contextlib.suppress(RunError):  # a device that failed keeps nothing
                self._here()("cuMemFree_v2", self.address)


class _Module:
    """Machine code on a device; goes with this object, which its kernels hold."""

    def __init__(self, here: Callable[[], Driver], program: bytes) -> None:
        self._here, self._handle = here, ctypes.c_void_p()
        here()("cuModuleLoadData", ctypes.byref(self._handle), program)

    def kernel(self, name: str) -> _Kernel:
        """Get a kernel by its name."""
        function = ctypes.c_void_p()
        self._here()("cuModuleGetFunction", ctypes.byref(function), self._handle, name.encode())
        return _Kernel(self, function)

    def __del__(self) -> None:
        if self._handle.value:
            with contextlib.suppress(RunError):  # a device that failed keeps nothing
                self._here()("cuModuleUnload", self._handle)


class _Kernel(NamedTuple):
    """A kernel, and the machine code that it is part of."""

    module: _Module
    function: ctypes.c_void_p


class CudaDevice:
    """The first GPU, with its usual context and its usual stream."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._context = driver, ctypes.c_void_p()
        driver("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), driver.device)
        self._other: _Memory | None = None
        self._begin, self._end = ctypes.c_void_p(), ctypes.c_void_p()
        self._here()
        for event in (self._begin, self._end):
            driver("cuEventCreate", ctypes.byref(event), 0)

    @property
    def title(self) -> str:
        """What it is."""
        return self._driver.title

    def _here(self) -> Driver:
        """Make the calling thread one of the context."""
        self._driver("cuCtxSetCurrent", self._context)
        return self._driver

    def allocate(self, nbytes: int) -> Any:
        """Return memory that goes when nothing refers to it any more."""
        return _Memory(self._here, nbytes)

    def write(self, memory: Any, array: Array) -> None:
        """Copy a contiguous array to the beginning of some memory."""
        if array.nbytes:
            self._here()("cuMemcpyHtoD_v2", memory.address, array.ctypes.data, array.nbytes)

    def read(self, memory: Any, array: Array) -> None:
        """Copy the beginning of some memory to a contiguous array."""
        if array.nbytes:
            self._here()("cuMemcpyDtoH_v2", array.ctypes.data, memory.address, array.nbytes)

    def load(self, program: bytes) -> Callable[[str], Any]:
        """Load machine code; return how to get a kernel by its name."""
        return _Module(self._here, program).kernel

    def launch(self, kernel: Any, how: Launch, arguments: Sequence[Any]) -> None:
        """Launch a kernel with some memories as arguments; does not wait."""
        places = [ctypes.addressof(a.address) for a in arguments]
        table = (ctypes.c_void_p * max(1, len(places)))(*places)
        self._here()("cuLaunchKernel", kernel.function, *how.grid, *how.block, 0, None, table, None)

    def evict(self) -> None:
        """Fill the caches with something else."""
        if self._other is None:
            self._other = self.allocate(_EVICT_BYTES)
        self._here()("cuMemsetD8_v2", self._other.address, 0, _EVICT_BYTES)
        self._driver("cuCtxSynchronize")

    def time(self, work: Callable[[], None]) -> int:
        """Call `work` and wait; return nanoseconds from the first kernel's begin to the last one's end."""
        driver, ms = self._here(), ctypes.c_float()
        driver("cuEventRecord", self._begin, None)
        work()
        driver("cuEventRecord", self._end, None)
        driver("cuEventSynchronize", self._end)
        driver("cuEventElapsedTime", ctypes.byref(ms), self._begin, self._end)
        return int(ms.value * 1e6)


@functools.cache
def _device() -> CudaDevice:
    return CudaDevice(cuda_driver.driver())


def load(code: ObjectCode, image: bytes) -> DeviceKernel:
    """Load machine code."""
    return DeviceKernel(_device(), code, image)


def devices() -> Iterator[Row]:
    """Find the device, for `workbench.devices`."""
    missing = nvrtc.problem()
    install, notes = (missing.hint, [missing.message]) if missing else ("", [])
    try:
        found = cuda_driver.driver()
    except TargetError as error:
        note = " ".join([*notes, error.message])
        yield Row("cuda", "An NVIDIA GPU, through CUDA C", "prints" if missing else "compiles", note, install)
        return
    parts = f"{found.title}, {found.units} multiprocessors, {found.shared >> 10} KB shared by a block"
    if (arch := cuda_driver.nearest(found.arch)) is None:
        yield Row("cuda", parts, "compiles", f"It is {found.arch}, which no target can have.", install)
        return
    yield Row(f"cuda -arch={arch}", parts, "prints" if missing else "runs", " ".join(notes), install)
