"""Programs of the accelerator: a simulator in the place of the device, which counts cycles."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING

import numpy as np

from workbench.codegen.vta import assembly
from workbench.codegen.vta.simulator import Run, simulate
from workbench.errors import RunError, WorkbenchError

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_void_p)


class Accelerator:
    """A program that can be called like a function of this machine.

    Attributes
    ----------
    cycles_ms : float
        Milliseconds of the last call, by the accelerator's clock.
    """

    def __init__(self, code: ObjectCode, image: bytes) -> None:
        self._program = assembly.read(image.decode())
        self._sizes = [(np.dtype(p.dtype), math.prod(p.shape)) for p in code.params]
        self._call = _ENTRY(self._run)
        self.address = int(ctypes.cast(self._call, ctypes.c_void_p).value or 0)
        self._fault: WorkbenchError | None = None
        self.run: Run | None = None

    def _run(self, buffers: ctypes._Pointer[ctypes.c_void_p], workspace: int, rt: int) -> None:
        try:
            tensors = []
            for k, (dtype, size) in enumerate(self._sizes):
                raw = (ctypes.c_uint8 * (size * dtype.itemsize)).from_address(int(buffers[k] or 0))
                tensors.append(np.ctypeslib.as_array(raw).view(dtype))
            self._fault, self.run = None, simulate(self._program, tensors)
        except WorkbenchError as error:
            self._fault = error
        except Exception as error:  # an exception cannot pass through the caller, which is native code
            self._fault = RunError("run.device", f"{type(error).__name__}: {error}")

    @property
    def device_ms(self) -> float | None:
        """Milliseconds of the last call by the device's own clock, which says the same for every call."""
        return None if self.run is None else self.run.ms

    def fault(self) -> WorkbenchError | None:
        """Say what the last call found wrong."""
        return self._fault

    def close(self) -> None:
        """Nothing is loaded."""


load = Accelerator
