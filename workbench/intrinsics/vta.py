"""The product of an accelerator like VTA: a row of bytes by a block of weights, every cycle."""

from __future__ import annotations

from workbench.intrinsics.declaration import Intrinsic, registry
from workbench.intrinsics.dot_products import dot_description
from workbench.target_kinds.accelerator import GEMM_SHAPES

for _shape in GEMM_SHAPES:
    _rows, _outputs, _inputs = map(int, _shape.split("x"))
    registry.add(
        Intrinsic(
            f"vta.gemm.{_shape}",
            f"C[j] += sum of A[q] * B[j, q] over {_inputs} q, for {_outputs} j, int8 times int8, sums in int32.",
            dot_description(_outputs, _inputs, "int8"),
            frozenset(),
            (f"gemm-{_shape}",),
            1,
            None,
            cycles=1.0,
            latency=1.0,
        )
    )
