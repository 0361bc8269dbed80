"""Vector Neural Network Instructions: in every lane of 32 bits, the sum of four products of bytes."""

from __future__ import annotations

from collections.abc import Mapping

from .base import Emitter, Intrinsic, Place, registry
from .dots import Dots, description


class VnniDots(Dots):
    """vpdpbusd: unsigned bytes times signed ones, without saturation."""

    def __init__(self, emitter: Emitter, accumulators: int, lanes: int) -> None:
        super().__init__(emitter, accumulators, lanes)
        self._fn = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
        emitter.declare(self._fn, f"declare {self._type} @{self._fn}({self._type}, {self._type}, {self._type})")

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate the products of four bytes in every lane."""
        a, b = self._e.read(operands["A"], self._lanes, True), self._e.read(operands["B"], self._lanes, False)
        args = ", ".join(f"{self._type} {x}" for x in (self._get(acc), a, b))
        self._set(acc, self._e.value(f"call {self._type} @{self._fn}({args})"))


def _declare(name: str, lanes: int, accumulators: int, requires: tuple[str, ...]) -> None:
    registry.add(
        Intrinsic(
            name,
            f"C[j] += sum of A[q] * B[j, q] over four q, in {lanes} lanes j, uint8 times int8, sums in int32.",
            description(lanes, "uint8", "int8", "int32"),
            frozenset(),
            requires,
            accumulators,
            lambda emitter, count: VnniDots(emitter, count, lanes),
        )
    )


# A register less for each operand, and one to spare.
_declare("x86.vnni.dot4", 16, 29, ("avx512vnni",))
_declare("x86.avxvnni.dot4", 8, 13, ("avxvnni",))
