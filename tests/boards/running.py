"""Kernels on boards, called as those of this machine are."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from workbench.codegen.c.cross_toolchain import find_toolchain
from workbench.codegen.lowering import ObjectCode
from workbench.errors import BuildError
from workbench.ir import Func
from workbench.ir.func import pack
from workbench.runtime.boards.board import Board, call
from workbench.runtime.boards.toolchain import emulator
from workbench.runtime.buffers import poison
from workbench.target import Target

#: What qemu runs. Names of RISC-V's CPUs would switch on what an older qemu does not have.
FOREIGN = {
    "aarch64": "llvm -mtriple=aarch64-linux-gnu -mcpu=generic -mattr=+bf16,+dotprod,+fullfp16,+i8mm,+neon",
    "neon": "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72",
    "riscv64": "llvm -mtriple=riscv64-linux-gnu -mcpu=generic -mattr=+v,+zfh,+zvl256b",
    "rvv128": "llvm -mtriple=riscv64-linux-gnu -mcpu=generic -mattr=+v",
    "rv64gc": "llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-u74",
}


@functools.cache
def foreign(name: str) -> tuple[Target, tuple[str, ...]]:
    """A target, and the command that runs a board's program for it; the test is skipped where there is none."""
    target = Target(FOREIGN[name])
    command = emulator(target)
    if command is None:
        pytest.skip(f"qemu-{target.arch} is not installed")
    try:
        find_toolchain(target.arch)
    except BuildError as error:
        pytest.skip(str(error))
    return target, command


class BoardKernel:
    """A kernel on a board, with the interface of `Kernel`: outputs begin as NaN."""

    def __init__(self, board: Board, func: Func, code: ObjectCode) -> None:
        self._board, self._func, self._code = board, func, code

    def __call__(self, *arrays: np.ndarray, **named: np.ndarray):
        params = [b for b in self._func.params if b.role != "output"]
        given = dict(zip((b.name for b in params), arrays, strict=False)) | named
        operands = []
        for b in self._func.params:
            if b.role == "output":
                operands.append(np.empty(b.shape, b.dtype))
                poison(operands[-1])
            else:
                operands.append(np.ascontiguousarray(pack(b, given[b.name])))
        after = call(self._board, self._code, operands)
        made = [a for a, b in zip(after, self._func.params, strict=True) if b.role == "output"]
        return made[0] if len(made) == 1 else tuple(made)
