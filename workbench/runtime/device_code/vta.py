"""Programs of the accelerator: a simulator in the place of the device, which counts cycles."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING

import numpy as np

from workbench.codegen.vta import assembly
from workbench.codegen.vta.simulator import Run, simulate
from workbench.errors import WorkbenchError
from workbench.runtime.device_code.device import as_fault

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_void_p)


class Accelerator:
    """A program that can be called like a function of this machine.

    Attributes
    ----------
    device_ms : float or None
        Milliseconds of the last call, by the accelerator's clock; None where it did not run to its end.
    """

    def __init__(self, code: ObjectCode, image: bytes) -> None:
        self._program = assembly.read(image.decode())
        self._sizes = [(np.dtype(p.dtype), math.prod(p.shape)) for p in code.params]
        self._call = _ENTRY(self._run)
        self.address = int(ctypes.cast(self._call, ctypes.c_void_p).value or 0)
        self._fault: BaseException | None = None
        self.run: Run | None = None

    def _run(self, buffers: ctypes._Pointer[ctypes.c_void_p], workspace: int, rt: int) -> None:
        self._fault = self.run = None
        try:
            tensors = []
            for k, (dtype, size) in enumerate(self._sizes):
                raw = (ctypes.c_uint8 * (size * dtype.itemsize)).from_address(int(buffers[k] or 0))
                tensors.append(np.ctypeslib.as_array(raw).view(dtype))
            self.run = simulate(self._program, tensors)
        except BaseException as error:  # nothing can pass through the caller, which is native code
            self._fault = error

    @property
    def device_ms(self) -> float | None:
        """Milliseconds of the last call by the device's own clock, which says the same for every call."""
        return None if self.run is None else self.run.ms

    def fault(self) -> WorkbenchError | None:
        """Say what the last call found wrong; what stopped it from outside, such as an interrupt, is raised."""
        found, self._fault = self._fault, None
        return as_fault(found)

    def close(self) -> None:
        """Nothing is loaded."""


load = Accelerator
