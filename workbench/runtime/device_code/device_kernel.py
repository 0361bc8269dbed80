"""A program on a device with memory of its own: its operands there, and its launches."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.codegen.gpu.launch import unpacked
from workbench.errors import WorkbenchError
from workbench.runtime.buffers import KERNEL_TYPE, Array
from workbench.runtime.device_code.device import Device, as_fault

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode


class DeviceKernel:
    """A function on a device.

    Called by its `address`, it copies all operands to the device and the outputs back. Whoever calls it often uses
    `write`, `run`, `read` and `time`.

    Parameters
    ----------
    device : Device
    code : ObjectCode
        Says what the parameters are.
    image : bytes
        Of `codegen.gpu.launch.packed`.

    Attributes
    ----------
    operands : list
        Memory of each parameter, with room for `guard` further bytes.
    workspace : list of (int, int, memory)
        Parts of the workspace: place and size in bytes, and where it lies.
    """

    def __init__(self, device: Device, code: ObjectCode, image: bytes) -> None:
        self._device, self._code = device, code
        _, self._launches, program = unpacked(image)
        kernel = device.load(program)
        self._kernels = [kernel(n.kernel) for n in self._launches]
        self.operands: list[Any] = []
        self.workspace: list[tuple[int, int, Any]] = []
        self._calls = threading.Lock()  # all calls share the memory of the operands
        self._found: dict[int, BaseException] = {}  # by thread
        self._entry = KERNEL_TYPE(self._call)  # lives as long as its address is called
        self.address = ctypes.cast(self._entry, ctypes.c_void_p).value or 0

    def reserve(self, guard: int = 0) -> None:
        """Make room for all operands, with `guard` further bytes behind each and behind the workspace."""
        self.operands = [self._device.allocate(_nbytes(p.shape, p.dtype) + guard) for p in self._code.params]
        places = sorted({at for n in self._launches for param, at in n.arguments if param is None})
        ends = [*places[1:], self._code.workspace_bytes(1) + guard]
        parts = [(at, end - at) for at, end in zip(places, ends, strict=True)] if places else []
        self.workspace = [(at, size, self._device.allocate(size)) for at, size in parts]

    def write(self, operand: int, array: Array) -> None:
        """Copy an array, with what stands behind it, to the memory of an operand."""
        self._device.write(self.operands[operand], array)

    def read(self, operand: int, array: Array) -> None:
        """Copy the memory of an operand to an array."""
        self._device.read(self.operands[operand], array)

    def write_workspace(self, space: Array) -> None:
        """Bring a workspace, as bytes, to the device."""
        for at, size, memory in self.workspace:
            self._device.write(memory, space[at : at + size])

    def read_workspace(self, space: Array) -> None:
        """Fetch the workspace."""
        for at, size, memory in self.workspace:
            self._device.read(memory, space[at : at + size])

    def run(self, number: int = 1) -> None:
        """Launch all kernels in order, so many times; does not wait."""
        memory = {at: part for at, _, part in self.workspace}
        given = [[memory[at] if k is None else self.operands[k] for k, at in n.arguments] for n in self._launches]
        for _ in range(number):
            for kernel, launch, arguments in zip(self._kernels, self._launches, given, strict=True):
                self._device.launch(kernel, launch, arguments)

    def time(self, repeat: int, number: int, evict: bool) -> list[float]:
        """Return the milliseconds of a call in each repetition of `number` calls."""
        out = []
        for _ in range(repeat):
            if evict:
                self._device.evict()
            out.append(max(self._device.time(lambda: self.run(number)), 1) * 1e-6 / number)
        return out

    def _call(self, bufs: int, workspace: int, rt: int) -> None:
        """Run on buffers of this process; what goes wrong is asked for by `fault`."""
        self._found.pop(threading.get_ident(), None)
        try:
            with self._calls:
                self._run_on(self._arrays(bufs), workspace)
        except BaseException as error:  # nothing can pass through the caller, which is native code
            self._found[threading.get_ident()] = error

    def _run_on(self, arrays: Sequence[Array], workspace: int) -> None:
        if not self.operands:
            self.reserve()
        for k, array in enumerate(arrays):
            self.write(k, array)
        if self.workspace:
            self.write_workspace(_bytes_at(workspace, self._code.workspace_bytes(1)))
        self.run()
        for k, array in enumerate(arrays):
            if self._code.params[k].role == "output":
                self.read(k, array)

    def _arrays(self, bufs: int) -> Sequence[Array]:
        params = self._code.params
        places = (ctypes.c_void_p * len(params)).from_address(bufs)
        return [_bytes_at(at or 0, _nbytes(p.shape, p.dtype)) for at, p in zip(places, params, strict=True)]

    def fault(self) -> WorkbenchError | None:
        """Say what went wrong in this thread's last call; what stopped it from outside, as an interrupt, is raised."""
        return as_fault(self._found.pop(threading.get_ident(), None))

    def close(self) -> None:
        """Let go of the memory."""
        self.operands, self.workspace = [], []


def _nbytes(shape: Sequence[int], dtype: str) -> int:
    return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize


def _bytes_at(address: int, nbytes: int) -> Array:
    """Bytes of this process's memory, as an array over them."""
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
