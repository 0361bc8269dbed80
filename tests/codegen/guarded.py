"""Running a kernel whose operands end where readable memory ends."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Mapping

import numpy as np

from workbench.codegen.backend import build_func
from workbench.codegen.llvm import llvmlite_binding
from workbench.ir import Func
from workbench.ir.func import pack
from workbench.runtime.buffers import RuntimeStruct, aligned_empty, concrete_shape, pointer_table
from workbench.runtime.native.timing_loop import clock_for, time_calls
from workbench.runtime.thread_pool.pool import serial_launch_address
from workbench.target import Target

HOST = Target.host(threads=1)
AVX2 = Target("llvm -mcpu=haswell", threads=1) if HOST.arch == "x86_64" else HOST
PLAIN = Target("llvm -mcpu=x86-64", threads=1) if HOST.arch == "x86_64" else HOST


class Fenced:
    """An array that ends at a page which nothing may touch."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        page = mmap.PAGESIZE
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        whole = -(-max(size, 1) // page) * page
        self._map = mmap.mmap(-1, whole + page)
        self._anchor = ctypes.c_char.from_buffer(self._map)
        start = ctypes.addressof(self._anchor)
        if sys.platform != "win32":
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.mprotect(ctypes.c_void_p(start + whole), ctypes.c_size_t(page), 0) == 0
        self.address = start + whole - size
        raw = (ctypes.c_char * max(size, 1)).from_address(self.address if size else start)
        self.array = np.frombuffer(raw, np.dtype(dtype), int(np.prod(shape, dtype=np.int64))).reshape(shape)


def run_guarded(func: Func, target: Target, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Compile, run once with every operand at the end of its memory, and return the outputs."""
    code = build_func(func, target, poison=True)
    library = llvmlite_binding.load_object(code.object, (code.symbol,))
    operands = {}
    for b in func.params:
        fenced = operands[b.name] = Fenced(concrete_shape(b.shape), b.dtype)
        if b.role == "output":
            fenced.array.view(np.uint8).fill(0xFF)
        else:
            fenced.array[...] = pack(b, inputs[b.name]) if b.layout else inputs[b.name]
    table = pointer_table([operands[b.name].address for b in func.params])
    workspace = aligned_empty((code.shared_bytes + code.per_thread_bytes + 64,), "uint8")
    workspace.fill(0xFF)
    around = RuntimeStruct(1, None, serial_launch_address())
    time_calls(library[code.symbol], int(table.ctypes.data), int(workspace.ctypes.data), around, 1, 1, clock_for(1))
    library.close()
    return {b.name: operands[b.name].array.copy() for b in func.outputs}
