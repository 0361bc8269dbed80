"""Products whose tiles are computed by the warps of a GPU, for the tests of its code."""

from __future__ import annotations

import contextlib
import random

from workbench import te
from workbench.errors import ScheduleError
from workbench.ir import Func
from workbench.schedule import Schedule

KINDS = {"float16": "f16", "bfloat16": "bf16"}


def product(m: int, n: int, k: int, dtype: str, transposed: bool = False, scale: bool = False) -> Func:
    """``C[i, j] = sum of A[i, k] * B[k, j]`` in float32, or of ``B[j, k]``; with `scale` twice of it goes on."""
    a = te.placeholder((m, k), dtype, "A")
    b = te.placeholder((n, k) if transposed else (k, n), dtype, "B")
    r = te.reduce_axis(k, "k")

    def at(i: te.Axis, j: te.Axis) -> te.Reduction:
        other = b[j, r] if transposed else b[r, j]
        return te.sum(te.cast(a[i, r], "float32") * te.cast(other, "float32"), axis=r)

    c = te.compute((m, n), at, name="C")
    return te.func(te.compute((m, n), lambda i, j: c[i, j] * 2.0, name="D") if scale else c)


def name_of(dtype: str, transposed: bool) -> str:
    return f"cuda.wmma.{KINDS[dtype]}{'.transposed' if transposed else ''}"


def tiled(
    m: int = 64, n: int = 64, k: int = 64, dtype: str = "float16", transposed: bool = False, scale: bool = False
) -> Schedule:
    """Two warps of a block, each with two by two tiles."""
    s = Schedule(product(m, n, k, dtype, transposed, scale))
    i, j, depth = (lp.name for lp in s.func.block("C")[1])
    (i0, i1, i2), (j0, j1, j2) = s.split(i, [None, 2, 16]), s.split(j, [None, 2, 16])
    k0, k1 = s.split(depth, [None, 16])
    s.reorder(i0, j0, k0, i1, j1, i2, j2, k1)
    s.bind(i0, "blockIdx.x").bind(j0, "threadIdx.y").unroll(i1).unroll(j1)
    return s.tensorize(i2, name_of(dtype, transposed))


def fetched(
    m: int = 64, n: int = 64, k: int = 64, dtype: str = "float16", transposed: bool = False, pipeline: bool = False
) -> Schedule:
    """Operands pass through shared memory, copied by all threads of a block of four warps."""
    s = Schedule(product(m, n, k, dtype, transposed))
    (i0, i1, i2, i3), (j0, j1, j2, j3) = s.split("i", [None, 2, 1, 16]), s.split("j", [None, 2, 1, 16])
    k0, k1, k2 = s.split("k", [None, 2, 16])
    s.reorder(i0, j0, k0, i1, j1, k1, i2, j2, i3, j3, k2)
    for operand in ("A", "B"):
        copy = s.cache_read("C", operand)
        s.compute_at(copy, k0)
        whole = s.fuse(*(lp.name for lp in s.func.block(copy)[1][-2:]))
        _, z, y, x, v = s.split(whole, [None, 2, 2, 32, 4])
        s.bind(z, "threadIdx.z").bind(y, "threadIdx.y").bind(x, "threadIdx.x").vectorize(v)
        s.set_scope(f"{operand}.local", "shared")
    s.bind(i0, "blockIdx.y").bind(j0, "blockIdx.x").bind(i1, "threadIdx.z").bind(j1, "threadIdx.y")
    s.unroll(i2).unroll(j2)
    s.tensorize(i3, name_of(dtype, transposed))
    return s.pipeline(k0) if pipeline else s


def drawn(rng: random.Random) -> Schedule:
    """Tiles under loops in any order: sums that stay in registers, that go on later, or that are in memory."""
    dtype, transposed, scale = rng.choice(list(KINDS)), rng.random() < 0.5, rng.random() < 0.3
    m, n, k = (16 * rng.randint(1, 4) for _ in range(3))
    s = Schedule(product(m, n, k, dtype, transposed, scale))
    outer, inside, spatial = [], [], []
    for axis, extent in zip([lp.name for lp in s.func.block("C")[1]], (m, n, k), strict=True):
        inner = rng.choice([d for d in range(1, extent // 16 + 1) if extent // 16 % d == 0])
        *around, tile = s.split(axis, [None, inner, 16])
        outer += around
        inside.append(tile)
        spatial += around if len(inside) < 3 else []
    rng.shuffle(outer)
    s.reorder(*outer, *inside)
    kinds = ["blockIdx.x", "threadIdx.y", "threadIdx.z"]
    rng.shuffle(kinds)
    first = next(k for k, lp in enumerate(outer) if lp not in spatial)
    for k, lp in enumerate(outer):
        if k < first and rng.random() < 0.6 and kinds:
            with contextlib.suppress(ScheduleError):  # blocks of a grid are outermost
                s.bind(lp, kinds.pop())
        elif lp in spatial and rng.random() < 0.6:
            s.unroll(lp)
    return s.tensorize(inside[0], name_of(dtype, transposed))
