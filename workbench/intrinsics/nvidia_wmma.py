"""Tensor cores of NVIDIA's GPUs: the threads of a warp multiply tiles of 16 x 16 numbers together.

Published in NVIDIA's PTX ISA, chapter "Warp-level matrix instructions" (wmma, shape m16n16k16). Numbers of 2 bytes are
multiplied exactly and summed in float32.
"""

from __future__ import annotations

from workbench import te
from workbench.intrinsics.declaration import Intrinsic, registry
from workbench.ir import Func

#: Rows, columns and numbers of a sum of one tile; threads that compute it.
SIZE, WARP = 16, 32


def _description(dtype: str, transposed: bool) -> Func:
    """``C[i, j] += A[i, k] * B[k, j]``, or ``B[j, k]``."""
    a, b = te.placeholder((SIZE, SIZE), dtype, "A"), te.placeholder((SIZE, SIZE), dtype, "B")
    k = te.reduce_axis(SIZE, "k")

    def at(i: te.Axis, j: te.Axis) -> te.Reduction:
        other = b[j, k] if transposed else b[k, j]
        return te.sum(te.cast(a[i, k], "float32") * te.cast(other, "float32"), axis=k)

    return te.func(te.compute((SIZE, SIZE), at, name="C"), "tile_product")


def _declare(kind: str, dtype: str, transposed: bool) -> None:
    index = "j, k" if transposed else "k, j"
    registry.add(
        Intrinsic(
            f"cuda.wmma.{kind}{'.transposed' if transposed else ''}",
            f"C[i, j] += A[i, k] * B[{index}] for a tile of 16 x 16 x 16, {dtype} times {dtype}, sums in float32, "
            "by the threads of a warp together.",
            _description(dtype, transposed),
            frozenset("ABC"),
            (f"wmma-{kind}",),
            # A thread has 255 registers; a tile of sums takes 8 of each.
            16,
            None,
            cycles=16.0,
            latency=32.0,
            threads=WARP,
        )
    )


for _transposed in (False, True):
    _declare("f16", "float16", _transposed)
    _declare("bf16", "bfloat16", _transposed)
