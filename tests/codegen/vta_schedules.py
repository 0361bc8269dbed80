"""Schedules for the accelerator that tests of several folders use."""

from __future__ import annotations

from workbench import te, workloads
from workbench.ir import Func
from workbench.schedule import Schedule
from workbench.target import Target


def truncated_matmul(m: int, n: int, k: int) -> Func:
    """``C = int8(A . B)``: no step of the ALU, and a byte is stored for each sum."""
    a, b = te.placeholder((m, k), "int8", "A"), te.placeholder((k, n), "int8", "B", constant=True)
    r = te.reduce_axis(k, "k")
    c = te.compute((m, n), lambda i, j: te.sum(te.cast(a[i, r], "int32") * te.cast(b[r, j], "int32"), axis=r), name="C")
    return te.func(te.compute((m, n), lambda i, j: te.cast(c[i, j], "int8"), name="D"), "matmul_int8")


def matmul(
    func: Func, tile: tuple[int, int, int], threads: int = 1, target: str = "vta", rows: bool = False
) -> Schedule:
    """Tiles of rows, and of blocks of columns and of the sum; virtual threads share out the columns, or the rows."""
    s = Schedule(func, Target("vta"))
    i, j, k = tile
    i0, iv, i1 = s.split("i", [None, threads if rows else 1, i])
    j0, jv, j1, j2 = s.split("j", [None, 1 if rows else threads, j, 16])
    k0, k1, k2 = s.split("k", [None, k, 16])
    for _ in range(2):
        s.transform_layout("B", 1, 16)
    s.reorder(i0, j0, iv, jv, k0, i1, j1, k1, j2, k2)
    result = "C"
    if len(s.blocks) == 1:
        s.cache_write("C")
        result = "C.local"
    for name, scope in (("A", "inp"), ("B", "wgt")):
        s.compute_at(s.cache_read("C", name), k0)
        s.set_scope(f"{name}.local", scope)
    s.reverse_compute_at(s.blocks[-1].name, jv)
    s.set_scope(result, "acc")
    s.tensorize(j2, "vta.gemm.1x16x16")
    if threads > 1:
        s.bind(iv if rows else jv, "vthread")
    return s


def conv(
    shape: tuple[int, int, int, int, int],
    tile: tuple[int, int, int],
    threads: int = 1,
    rows: bool = False,
    shift: int | None = 6,
) -> Schedule:
    """A convolution of an image of a size, with channels in and out, kernel and stride, in tiles of rows, and of blocks
    of output and input channels.
    """
    size, ci, co, kernel, stride = shape
    s = Schedule(
        workloads.conv2d_int8_nhwc(size, size, ci, co, kernel, stride, kernel // 2, shift=shift), Target("vta")
    )
    h0, hv, h1 = s.split("h", [None, threads if rows else 1, tile[0]])
    o0, ov, o1, o2 = s.split("o", [None, 1 if rows else threads, tile[1], 16])
    c0, c1, c2 = s.split("c", [None, tile[2], 16])
    for _ in range(2):
        s.transform_layout("W", 3, 16)
    s.reorder("n", h0, o0, hv, ov, c0, h1, "w", o1, "kh", "kw", c1, o2, c2)
    result = "conv"
    if s.blocks[-1].name == "conv":
        s.cache_write("conv")
        result = "conv.local"
    data = "pad" if any(b.name == "pad" for b in s.blocks) else s.cache_read("conv", "X")
    for name, scope in ((data, "inp"), (s.cache_read("conv", "W"), "wgt")):
        s.compute_at(name, c0)
        s.set_scope(s.func.block(name)[0].buffer, scope)
    s.reverse_compute_at(s.blocks[-1].name, ov)
    s.set_scope(result, "acc")
    s.tensorize(o2, "vta.gemm.1x16x16")
    if threads > 1:
        s.bind(hv if rows else ov, "vthread")
    return s
