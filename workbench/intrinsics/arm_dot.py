"""AArch64's dot products: in every lane of 32 bits, the sum of four products of bytes (extension DotProd)."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.intrinsics.declaration import Emitter, Intrinsic, Place, registry
from workbench.intrinsics.dot_products import Dots, description

LANES = 4


class NeonDots(Dots):
    """The same as VNNI's, on operands that LLVM takes as bytes."""

    def __init__(self, emitter: Emitter, accumulators: int, instruction: str) -> None:
        super().__init__(emitter, accumulators, LANES)
        self._fn = f"llvm.aarch64.neon.{instruction}.v4i32.v16i8"
        emitter.declare(self._fn, f"declare {self._type} @{self._fn}({self._type}, <16 x i8>, <16 x i8>)")

    def step(self, acc: int, operands: Mapping[str, Place]) -> None:
        """Accumulate the products of four bytes in every lane."""
        a, b = self._bytes(operands["A"], True), self._bytes(operands["B"], False)
        args = f"{self._type} {self._get(acc)}, <16 x i8> {a}, <16 x i8> {b}"
        self._set(acc, self._e.value(f"call {self._type} @{self._fn}({args})"))

    def _bytes(self, place: Place, splat: bool) -> str:
        return self._e.value(f"bitcast {self._type} {self._e.read(place, LANES, splat)} to <16 x i8>")


registry.add(
    Intrinsic(
        "arm.dotprod.sdot",
        f"C[j] += sum of A[q] * B[j, q] over four q, in {LANES} lanes j, int8 times int8, sums in int32.",
        description(LANES, "int8", "int8", "int32"),
        frozenset(),
        ("dotprod",),
        # Of 32 registers, a few for operands.
        28,
        lambda emitter, count: NeonDots(emitter, count, "sdot"),
    )
)
