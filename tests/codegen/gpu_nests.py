"""Nests for a GPU, for the tests of its code."""

from __future__ import annotations

from workbench import workloads
from workbench.schedule import Schedule


def tiled_matmul(
    m: int = 64,
    n: int = 64,
    k: int = 32,
    *,
    threads: int = 8,
    tile: int = 4,
    step: int = 8,
    vector: int = 1,
    scope: str = "local",
    swap: bool = False,
) -> Schedule:
    """A product whose operands pass through shared memory, and whose sums stay in the registers of a thread.

    With `swap` other threads add up than those that write the result.
    """
    s = Schedule(workloads.matmul(m, n, k))
    out = s.cache_write("C")
    rows, columns = (lp.name for lp in s.func.block(out)[1])
    (i0, i1, i2), (j0, j1, j2) = s.split(rows, [None, threads, tile]), s.split(columns, [None, threads, tile])
    s.reorder(i0, j0, i1, j1, i2, j2)
    s.compute_at("C", j0)
    i, j, depth = (lp.name for lp in s.func.block("C")[1][-3:])
    (k0, k1), (r1, r2), (c1, c2) = (
        s.split(depth, [None, step]),
        s.split(i, [threads, tile]),
        s.split(j, [threads, tile]),
    )
    s.reorder(k0, r1, c1, k1, r2, c2)
    for operand in ("A", "B"):
        copy = s.cache_read("C", operand)
        s.compute_at(copy, k0)
        row, column = (lp.name for lp in s.func.block(copy)[1][-2:])
        whole = s.fuse(row, column)
        _, y, x, v = s.split(whole, [None, threads, threads, vector])
        s.bind(y, "threadIdx.y").bind(x, "threadIdx.x").set_scope(f"{operand}.local", "shared")
        if vector > 1:
            s.vectorize(v)
    s.bind(i0, "blockIdx.y").bind(j0, "blockIdx.x").bind(i1, "threadIdx.y").bind(j1, "threadIdx.x")
    s.bind(r1, f"threadIdx.{'yx'[swap]}").bind(c1, f"threadIdx.{'xy'[swap]}").unroll(r2).unroll(c2)
    s.set_scope("C.local", scope)
    return s
