"""Instructions of the accelerator: what they are, and which rows of which memory they touch.

They are VTA's, with two differences: the first micro-ops of a product may start their sums at 0, where VTA spends an
instruction, and a store writes sums as int32 where the result is declared so. Fields have no width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Who executes instructions, each in order, in the order in which results go from one to the next.
ENGINES = ("load", "compute", "store")
ALU_OPS = ("min", "max", "add", "shr", "mul")

Rows: TypeAlias = NDArray[np.int64]
#: Iterations, and how far the places of sums, data and weights (of an ALU instruction: sums, sources) go in each.
HardwareLoop: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Transfer:
    """A rectangle between memory and one of the accelerator's: `height` rows of `width`, `stride` apart in memory.

    A load writes zeros around it: `pad` rows above and below, and elements left and right.
    """

    op: str
    memory: str
    sram: int
    tensor: int
    dram: int
    height: int
    width: int
    stride: int
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def engine(self) -> str:
        """Sums are loaded by who computes with them."""
        return self.op if self.op == "store" or self.memory != "acc" else "compute"

    @property
    def padded(self) -> tuple[int, int]:
        """Rows, and elements of a row, in the accelerator's memory."""
        above, below, left, right = self.pad
        return self.height + above + below, self.width + left + right

    def inside(self) -> Rows:
        """Rows of the accelerator's memory that the rectangle lies in, ``[height, width]``."""
        above, _, left, _ = self.pad
        width = self.padded[1]
        y, x = np.arange(self.height)[:, None] + above, np.arange(self.width) + left
        return self.sram + y * width + x

    def outside(self) -> Rows:
        """Rows of the tensor, ``[height, width]``."""
        return self.dram + np.arange(self.height)[:, None] * self.stride + np.arange(self.width)


@dataclass(frozen=True, slots=True)
class LoadMicroOps:
    """Micro-ops of a kernel into their memory, from `sram` on."""

    sram: int
    kernel: int
    engine: str = field(default="compute", init=False)


@dataclass(frozen=True, slots=True)
class Gemm:
    """Products: for both loops, for every micro-op, ``acc[a] += inp[b] . wgt[c]``.

    The sums that the first `reset` micro-ops name start at 0.
    """

    first: int
    end: int
    reset: int
    loops: tuple[HardwareLoop, HardwareLoop]
    engine: str = field(default="compute", init=False)


@dataclass(frozen=True, slots=True)
class Alu:
    """``acc[a] = acc[a] op acc[b]``, or ``op`` a number, for both loops and every micro-op."""

    op: str
    first: int
    end: int
    loops: tuple[HardwareLoop, HardwareLoop]
    number: int | None = None
    engine: str = field(default="compute", init=False)


Operation: TypeAlias = Transfer | LoadMicroOps | Gemm | Alu


@dataclass(frozen=True, slots=True)
class Instruction:
    """An operation, with the engines that it waits for and those that it tells, and the row of the nest it is from."""

    does: Operation
    pops: tuple[str, ...] = ()
    pushes: tuple[str, ...] = ()
    row: str = ""

    @property
    def engine(self) -> str:
        """Who executes it."""
        return self.does.engine


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions, and what they name.

    Attributes
    ----------
    target : str
        The accelerator, as a target's text.
    tensors : tuple
        Name, dtype and number of elements of each parameter.
    kernels : tuple
        Sequences of micro-ops: places of sums, data and weights.
    instructions : tuple of Instruction
        In program order.
    """

    target: str
    tensors: tuple[tuple[str, str, int], ...]
    kernels: tuple[tuple[tuple[int, int, int], ...], ...]
    instructions: tuple[Instruction, ...]


def steps(loops: Sequence[HardwareLoop], words: Rows) -> Rows:
    """Places of every iteration of an instruction, ``[iterations, 3]``: loops outside, micro-ops inside."""
    out, inner = (np.arange(lp[0])[:, None] * np.array(lp[1:]) for lp in loops)
    return np.asarray((out[:, None, None] + inner[None, :, None] + words).reshape(-1, 3))


class Footprints:
    """Which rows an operation reads and writes; knows the micro-ops as a program goes on.

    Parameters
    ----------
    kernels : sequence
        As `Program.kernels`.
    depth : int
        Micro-ops that there is room for.
    """

    def __init__(self, kernels: Sequence[Sequence[tuple[int, int, int]]], depth: int) -> None:
        self.words = np.full((depth, 3), -1, np.int64)
        self._kernels = [np.array(k, np.int64).reshape(-1, 3) for k in kernels]
        self._known: dict[object, Rows] = {}

    def load(self, op: LoadMicroOps) -> int:
        """Put a kernel into the memory of micro-ops; returns how many it has."""
        words = self._kernels[op.kernel]
        self.words[op.sram : op.sram + len(words)] = words
        return len(words)

    def places(self, op: Gemm | Alu) -> Rows:
        """Places of every iteration, ``[iterations, 3]``."""
        words = self.words[op.first : op.end]
        key = op.loops, words.tobytes()
        if key not in self._known:
            self._known[key] = steps(op.loops, words)
        return self._known[key]

    def touched(self, op: Operation) -> tuple[list[tuple[str, Rows]], list[tuple[str, Rows]]]:
        """Rows that an operation reads and writes, by memory."""
        if isinstance(op, Transfer):
            height, width = op.padded
            if op.op == "store":
                return [(op.memory, op.inside().ravel())], []
            return [], [(op.memory, op.sram + np.arange(height * width))]
        if isinstance(op, LoadMicroOps):
            return [], []
        rows = [self._distinct(op, k) for k in range(3)]
        if isinstance(op, Gemm):
            return [("inp", rows[1]), ("wgt", rows[2])], [("acc", rows[0])]
        return ([("acc", rows[1])] if op.number is None else []), [("acc", rows[0])]

    def _distinct(self, op: Gemm | Alu, column: int) -> Rows:
        key = op.loops, self.words[op.first : op.end].tobytes(), column
        if key not in self._known:
            self._known[key] = np.unique(self.places(op)[:, column])
        return self._known[key]
