"""Products of bytes without an instruction that sums four of them: the bytes are widened to words of 16 bits.

vpmaddwd sums two products of words in every lane of 32 bits; no two products of bytes are too large for that. What
takes bytes as they are, vpmaddubsw, clips sums above 32767, which two products reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from workbench.intrinsics.declaration import Emitter, Place
from workbench.intrinsics.dot_products import Dots, declare_dots


class WordDots(Dots):
    """Operands are split into bytes of even and of odd numbers, once for all that they are multiplied with."""

    def __init__(self, emitter: Emitter, accumulators: int, lanes: int, function: str, signed: bool) -> None:
        super().__init__(emitter, accumulators, lanes, function, f"<{2 * lanes} x i16>", adds=False)
        self._signed = signed
        self._words: dict[str, tuple[str, str]] = {}

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate the products of four bytes in every lane."""
        pairs = zip(self._split(operands, "A", self._signed), self._split(operands, "B", True), strict=True)
        for a, b in pairs:
            self._set(acc, self._e.value(f"add {self._type} {self._get(acc)}, {self._products(a, b)}"))

    def _products(self, a: str, b: str) -> str:
        a = self._e.again(a, self._operand)
        return self._e.value(f"call {self._type} @{self._fn}({self._operand} {a}, {self._operand} {b})")

    def fence(self) -> None:
        """A loop begins: its operands are others."""
        self._words.clear()

    def _split(self, operands: Mapping[str, Place], name: str, signed: bool) -> tuple[str, str]:
        """Words of the lower and of the upper byte of every 16 bits."""
        read = self._e.read(operands[name], self._lanes, name == "A")
        if read not in self._words:
            both, eight = self._e.value(f"bitcast {self._type} {read} to {self._operand}"), "splat (i16 8)"
            shift = "ashr" if signed else "lshr"
            raised = self._e.value(f"shl {self._operand} {both}, {eight}")
            low, high = (self._e.value(f"{shift} {self._operand} {x}, {eight}") for x in (raised, both))
            self._words[read] = low, high
        return self._words[read]


def _declare(name: str, lanes: int, accumulators: int, requires: str, function: str, cycles: float) -> None:
    """Declare products with uint8, and with int8."""
    for kind, dtype in (("dot4", "uint8"), ("signed4", "int8")):
        make = partial(WordDots, lanes=lanes, function=function, signed=dtype == "int8")
        declare_dots(f"{name}.{kind}", lanes, accumulators, (requires,), dtype, make, cycles, latency=2.0)


# Two products and two sums. Both halves of two operands take registers, too.
_declare("x86.avx512bw", 16, 24, "avx512bw", "llvm.x86.avx512.pmaddw.d.512", 2.0)
_declare("x86.avx2", 8, 8, "avx2", "llvm.x86.avx2.pmadd.wd", 1.0)
