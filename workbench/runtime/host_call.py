"""Python functions with the ABI of a kernel: steps of a network that are not compiled."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from workbench.errors import RunError, ShapeError, WorkbenchError
from workbench.runtime.buffers import KERNEL_TYPE, Array
from workbench.runtime.plan import HostCall


class HostCode:
    """A `HostCall` on its arrays, callable from machine code.

    Machine code cannot pass an exception on: it is kept in `failure`, and the calls that follow do nothing.

    Parameters
    ----------
    call : HostCall
    inputs, outputs : sequence of array
        Views of the memory that the call reads and writes.
    """

    def __init__(self, call: HostCall, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self._call, self._inputs, self._outputs = call, list(inputs), list(outputs)
        self._entry = KERNEL_TYPE(self._run)
        self.address = int(ctypes.cast(self._entry, ctypes.c_void_p).value or 0)
        self.failure: BaseException | None = None

    def raise_failure(self) -> None:
        """Raise what went wrong in the last call, if anything did ("run.step" for what is no error of ours)."""
        failure, self.failure = self.failure, None
        if isinstance(failure, Exception) and not isinstance(failure, WorkbenchError):
            text = f"The step {self._call.name!r} cannot be computed: {failure}"
            raise RunError("run.step", text, (self._call.name,), "look at the values that it is given") from failure
        if failure is not None:
            raise failure

    def _run(self, bufs: int, workspace: int, rt: int) -> None:
        if self.failure is not None:
            return
        try:
            for out, value in zip(self._outputs, self._call.run(*self._inputs), strict=False):
                if np.shape(value) != out.shape:
                    text = f"{self._call.name} gave {list(np.shape(value))} where {list(out.shape)} was expected"
                    raise ShapeError("shape.mismatch", text, (self._call.name,))
                out[...] = value
        except BaseException as e:
            self.failure = e
