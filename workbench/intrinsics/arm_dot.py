"""AArch64's dot products: in every lane of 32 bits, the sum of four products of bytes (extension DotProd)."""

from __future__ import annotations

from workbench.intrinsics.dot_products import Dots, declare_dots

# Of 32 registers, a few for operands. LLVM takes the operands as bytes.
declare_dots(
    "arm.dotprod.sdot", 4, 28, ("dotprod",), "int8",
    lambda emitter, count: Dots(emitter, count, 4, "llvm.aarch64.neon.sdot.v4i32.v16i8", "<16 x i8>"),
)  # fmt: skip
