"""Vector Neural Network Instructions: in every lane of 32 bits, the sum of four products of bytes."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.intrinsics.declaration import Emitter, Place
from workbench.intrinsics.dot_products import Dots, declare_dots


class SignedDots(Dots):
    """vpdpbusd of two signed bytes: 128 is added to the first, and 128 times the second taken off again."""

    def __init__(self, emitter: Emitter, accumulators: int, lanes: int, function: str) -> None:
        super().__init__(emitter, accumulators, lanes, function)
        self._shift = f"splat (i32 {-0x7F7F7F80})"  # 128 in every byte
        self._raised: dict[str, str] = {}
        self._surplus: dict[str, str] = {}

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate the products of four bytes in every lane."""
        a, b = self._read(operands, "A"), self._read(operands, "B")
        if a not in self._raised:
            self._raised[a] = self._e.value(f"xor {self._type} {a}, {self._shift}")
        if b not in self._surplus:
            self._surplus[b] = self._dot("zeroinitializer", self._shift, b)
        sums = self._dot(self._get(acc), self._raised[a], b)
        self._set(acc, self._e.value(f"sub {self._type} {sums}, {self._surplus[b]}"))

    def fence(self) -> None:
        """A loop begins: its operands are others."""
        self._raised.clear()
        self._surplus.clear()


def _declare(name: str, lanes: int, accumulators: int, requires: str, signed: bool = False) -> None:
    """Declare vpdpbusd, unsigned bytes times signed ones without saturation, or what makes it signed."""
    dots, function = SignedDots if signed else Dots, f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    declare_dots(
        name, lanes, accumulators, (requires,), "int8" if signed else "uint8",
        lambda emitter, count: dots(emitter, count, lanes, function), 1.0 if signed else 0.5,
    )  # fmt: skip


# A register less for each operand, and one to spare; signed ones need three more for what is added and taken off.
_declare("x86.vnni.dot4", 16, 29, "avx512vnni")
_declare("x86.avxvnni.dot4", 8, 13, "avxvnni")
_declare("x86.vnni.signed4", 16, 26, "avx512vnni", signed=True)
_declare("x86.avxvnni.signed4", 8, 10, "avxvnni", signed=True)
