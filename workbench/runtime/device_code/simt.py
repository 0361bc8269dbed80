"""Threads of a device that the CPU runs: machine code of this machine, and what it found wrong."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from workbench.codegen.gpu import simt
from workbench.codegen.llvm import llvmlite_binding

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode
    from workbench.errors import WorkbenchError


class Threads:
    """A linked kernel with its status."""

    def __init__(self, code: ObjectCode, image: bytes) -> None:
        self._library = llvmlite_binding.load_object(image, (code.symbol, simt.STATUS))
        self.address = self._library[code.symbol]

    def fault(self) -> WorkbenchError | None:
        """Say what the last call found wrong."""
        return simt.fault(ctypes.string_at(self._library[simt.STATUS], simt.STATUS_BYTES))

    def close(self) -> None:
        """Unload the code."""
        self._library.close()


load = Threads
