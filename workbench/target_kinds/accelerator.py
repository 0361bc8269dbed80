"""An accelerator with memories that a program fills: VTA, simulated, with the numbers of its design as options."""

from __future__ import annotations

from workbench.target_kinds.declaration import Option, TargetKind, target_kinds

#: Shapes of the product that one cycle computes: rows of data x outputs x numbers summed up.
GEMM_SHAPES = ("1x16x16", "1x8x8", "1x32x32")

target_kinds.add(
    TargetKind(
        "vta",
        "An accelerator like VTA, simulated: products of bytes, memories of its own, measured in cycles.",
        options=(
            Option("gemm", "what one cycle multiplies: rows x outputs x inputs", GEMM_SHAPES[0], GEMM_SHAPES),
            Option("inp", "bytes of the memory for data", 32 << 10),
            Option("wgt", "bytes of the memory for weights", 256 << 10),
            Option("acc", "bytes of the memory for sums", 128 << 10),
            Option("uop", "bytes of the memory for micro-ops, 4 each", 32 << 10, least=4),
            Option("bus", "bytes that memory delivers in a cycle", 8),
            Option("latency", "cycles until memory answers", 32),
            Option("fill", "cycles until the first result of an instruction that computes", 6),
            Option("mhz", "cycles in a microsecond: what makes milliseconds of them", 200),
        ),
        extensions=("gemm",),
    )
)
