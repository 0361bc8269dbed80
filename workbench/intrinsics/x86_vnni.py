"""Vector Neural Network Instructions: in every lane of 32 bits, the sum of four products of bytes."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir import te
from ..ir.func import Func
from .base import Emitter, Intrinsic, Place, registry


class Dots:
    """Accumulators in vector registers; four bytes of A go to every lane, four bytes of B for each lane."""

    def __init__(self, emitter: Emitter, accumulators: int, lanes: int) -> None:
        self._e, self._lanes = emitter, lanes
        self._type = f"<{lanes} x i32>"
        self._slots = [emitter.slot(self._type) for _ in range(accumulators)]
        self._fn = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
        emitter.declare(self._fn, f"declare {self._type} @{self._fn}({self._type}, {self._type}, {self._type})")

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
        a, b = self._e.read(operands["A"], self._lanes, True), self._e.read(operands["B"], self._lanes, False)
        old = self._get(acc)
        self._set(
            acc, self._e.value(f"call {self._type} @{self._fn}({self._type} {old}, {self._type} {a}, {self._type} {b})")
        )

    def fence(self) -> None:
        """Vector registers are the code generator's business."""

    def _get(self, acc: int) -> str:
        return self._e.value(f"load {self._type}, ptr {self._slots[acc]}, align 64")

    def _set(self, acc: int, value: str) -> None:
        self._e.effect(f"store {self._type} {value}, ptr {self._slots[acc]}, align 64")


def _description(lanes: int) -> Func:
    """``C[j] += A[q] * B[j, q]``."""
    a, b = te.placeholder((4,), "uint8", "A"), te.placeholder((lanes, 4), "int8", "B")
    q = te.reduce_axis(4, "q")
    return te.func(
        te.compute((lanes,), lambda j: te.sum(te.cast(a[q], "int32") * te.cast(b[j, q], "int32"), axis=q), name="C"),
        "dot4",
    )


def _declare(name: str, lanes: int, accumulators: int, requires: tuple[str, ...]) -> None:
    registry.add(
        Intrinsic(
            name,
            f"C[j] += sum of A[q] * B[j, q] over four q, in {lanes} lanes j, uint8 times int8, sums in int32.",
            _description(lanes),
            frozenset(),
            requires,
            accumulators,
            lambda emitter, count: Dots(emitter, count, lanes),
        )
    )


# A register less for each operand, and one to spare.
_declare("x86.vnni.dot4", 16, 29, ("avx512vnni",))
_declare("x86.avxvnni.dot4", 8, 13, ("avxvnni",))
