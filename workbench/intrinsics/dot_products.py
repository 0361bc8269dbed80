"""What dot products of four bytes have in common: results in the lanes of a vector register."""

from __future__ import annotations

from collections.abc import Mapping

from workbench import te
from workbench.intrinsics.declaration import Emitter, Place
from workbench.ir.func import Func


class Dots:
    """Accumulators in vector registers; four bytes of A go to every lane, four bytes of B to each lane its own."""

    def __init__(self, emitter: Emitter, accumulators: int, lanes: int) -> None:
        self._e, self._lanes = emitter, lanes
        self._type = f"<{lanes} x i32>"
        self._slots = [emitter.slot(self._type) for _ in range(accumulators)]

    def zero(self, acc: int) -> None:
        """Set an accumulator to 0."""
        self._set(acc, "zeroinitializer")

    def load(self, acc: int, at: Place) -> None:
        """Read a vector of sums from memory."""
        self._set(acc, self._e.value(f"load {self._type}, ptr {at.pointer}, align 4"))

    def store(self, acc: int, at: Place) -> None:
        """Write a vector of sums to memory."""
        self._e.effect(f"store {self._type} {self._get(acc)}, ptr {at.pointer}, align 4")

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate the products of four bytes in every lane."""
        raise NotImplementedError

    def fence(self) -> None:
        """Vector registers are the code generator's business."""

    def _get(self, acc: int) -> str:
        return self._e.value(f"load {self._type}, ptr {self._slots[acc]}, align 64")

    def _set(self, acc: int, value: str) -> None:
        self._e.effect(f"store {self._type} {value}, ptr {self._slots[acc]}, align 64")


def description(lanes: int, a_dtype: str, b_dtype: str, sum_dtype: str) -> Func:
    """``C[j] += A[q] * B[j, q]``."""
    a, b = te.placeholder((4,), a_dtype, "A"), te.placeholder((lanes, 4), b_dtype, "B")
    q = te.reduce_axis(4, "q")

    def at(j: te.Axis) -> te.Reduction:
        return te.sum(te.cast(a[q], sum_dtype) * te.cast(b[j, q], sum_dtype), axis=q)

    return te.func(te.compute((lanes,), at, name="C"), "dot4")
