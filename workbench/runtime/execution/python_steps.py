"""Python functions with the ABI of a kernel: steps of a network that are not compiled."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from workbench.errors import RunError, ShapeError, WorkbenchError
from workbench.runtime.buffers import KERNEL_TYPE, Array
from workbench.runtime.networks.execution_plan import HostCall


class HostCode:
    """A `HostCall` on its arrays, callable from machine code, which gives it nothing.

    Parameters
    ----------
    call : HostCall
    inputs, outputs : list of array
        Views of the memory that the call reads and writes; they may be replaced in the lists between two calls.
    fail : callable
        Gets the exception where the step fails: machine code cannot pass it on.
    """

    def __init__(
        self, call: HostCall, inputs: list[Array], outputs: list[Array], fail: Callable[[BaseException], None]
    ) -> None:
        self.inputs, self.outputs = inputs, outputs

        # No method: an object that is its own callback would keep its arrays until the next garbage collection.
        def entry(bufs: int, workspace: int, rt: int) -> None:
            try:
                _compute(call, inputs, outputs)
            except BaseException as error:
                fail(_named(call, error))

        self._entry = KERNEL_TYPE(entry)
        self.address = int(ctypes.cast(self._entry, ctypes.c_void_p).value or 0)


def _compute(call: HostCall, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    for out, value in zip(outputs, call.run(*inputs), strict=False):
        if np.shape(value) != out.shape:
            text = f"{call.name} gave {list(np.shape(value))} where {list(out.shape)} was expected"
            raise ShapeError("shape.mismatch", text, (call.name,))
        out[...] = value


def _named(call: HostCall, error: BaseException) -> BaseException:
    """What the caller of the network is told: an error of ours as it is, others with the name of the step."""
    if not isinstance(error, Exception) or isinstance(error, WorkbenchError):
        return error
    text = f"The step {call.name!r} cannot be computed: {error}"
    found = RunError("run.step", text, (call.name,), "look at the values that it is given")
    found.__cause__ = error
    return found
