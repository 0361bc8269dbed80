"""Vector Neural Network Instructions: in every lane of 32 bits, the sum of four products of bytes."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.intrinsics.declaration import Emitter, Intrinsic, Place, registry
from workbench.intrinsics.dot_products import Dots, description


class VnniDots(Dots):
    """vpdpbusd: unsigned bytes times signed ones, without saturation."""

    def __init__(self, emitter: Emitter, accumulators: int, lanes: int) -> None:
        super().__init__(emitter, accumulators, lanes)
        self._fn = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
        emitter.declare(self._fn, f"declare {self._type} @{self._fn}({self._type}, {self._type}, {self._type})")

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate the products of four bytes in every lane."""
        a, b = self._e.read(operands["A"], self._lanes, True), self._e.read(operands["B"], self._lanes, False)
        self._set(acc, self._dot(self._get(acc), a, b))

    def _dot(self, acc: str, a: str, b: str) -> str:
        args = ", ".join(f"{self._type} {x}" for x in (acc, a, b))
        return self._e.value(f"call {self._type} @{self._fn}({args})")


class SignedVnniDots(VnniDots):
    """The same of two signed bytes: 128 is added to the first, and 128 times the second taken off again."""

    def __init__(self, emitter: Emitter, accumulators: int, lanes: int) -> None:
        super().__init__(emitter, accumulators, lanes)
        self._shift = f"splat (i32 {-0x7F7F7F80})"  # 128 in every byte
        self._raised: dict[str, str] = {}
        self._surplus: dict[str, str] = {}

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate the products of four bytes in every lane."""
        a, b = self._e.read(operands["A"], self._lanes, True), self._e.read(operands["B"], self._lanes, False)
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


def _declare(name: str, lanes: int, accumulators: int, requires: tuple[str, ...], signed: bool = False) -> None:
    kind, dots = ("int8", SignedVnniDots) if signed else ("uint8", VnniDots)
    registry.add(
        Intrinsic(
            name,
            f"C[j] += sum of A[q] * B[j, q] over four q, in {lanes} lanes j, {kind} times int8, sums in int32.",
            description(lanes, kind, "int8", "int32"),
            frozenset(),
            requires,
            accumulators,
            lambda emitter, count: dots(emitter, count, lanes),
            cycles=1.0 if signed else 0.5,
        )
    )


# A register less for each operand, and one to spare; signed ones need three more for what is added and taken off.
_declare("x86.vnni.dot4", 16, 29, ("avx512vnni",))
_declare("x86.avxvnni.dot4", 8, 13, ("avxvnni",))
_declare("x86.vnni.signed4", 16, 26, ("avx512vnni",), signed=True)
_declare("x86.avxvnni.signed4", 8, 10, ("avxvnni",), signed=True)
