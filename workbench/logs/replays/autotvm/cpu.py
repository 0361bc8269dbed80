"""What AutoTVM's templates for CPUs do with their knobs, as steps of our schedules.

Loops that TVM fuses to run in parallel are given to ``parallel`` together, which runs them as one; loops that it fuses
to place a stage inside stay apart, because the innermost of them is the place.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.logs.replays.ansor.unrolling import loops_to_unroll
from workbench.logs.replays.autotvm.threads import Knobs
from workbench.logs.replays.taking import Taking

_UNROLL_STEPS = 16
"""Statements up to which ``batch_matmul.x86`` has loops unrolled, whatever its knobs are."""


def dense_nopack(taking: Taking, knobs: Knobs) -> None:
    """Sum `tile_k` partial sums for each element, then those."""
    parts = taking.cut("k", knobs["tile_k"])
    partial = taking.do("rfactor", parts[1], -1)
    taking.told(f"tile_k {knobs['tile_k']}", "a stage of its own holds a sum for each place of a vector")
    y, x, kk = taking.loops_of("dense")
    yo, yi = taking.cut(y, knobs["tile_y"])
    taking.told(f"tile_y {knobs['tile_y']}", "rows in tiles")
    xo, xi = taking.cut(x, knobs["tile_x"])
    taking.told(f"tile_x {knobs['tile_x']}", "columns in tiles")
    taking.order(yo, xo, yi, xi)
    taking.do("compute_at", partial, xo)
    *_, z, row, k, vector = taking.loops_of(partial)
    taking.order(k, z, row, vector)
    taking.told("compute_at", "the partial sums of a tile are made right before it, the reduction outermost")
    taking.vectorize(vector)
    taking.unroll(z, row)
    taking.unroll(kk)
    taking.parallel(yo, xo)
    taking.told("vectorize, unroll, parallel", "partial sums as vectors, tiles unrolled, tiles on all cores")


def dense_pack(taking: Taking, knobs: Knobs) -> None:
    """Tiles of tiles over packed weights, with the sums of a tile in a temporary."""
    copy = taking.do("cache_write", "dense")
    taking.told("cache_write", "the sums are kept in a temporary")
    y, x = taking.loops_of(copy)
    yt, yo, yi = taking.cut(y, knobs["tile_y"])
    taking.told(f"tile_y {knobs['tile_y']}", "rows in tiles of tiles")
    xt, xo, xi = taking.cut(x, knobs["tile_x"])
    taking.told(f"tile_x {knobs['tile_x']}", "columns in tiles of tiles")
    taking.order(xt, yt, yo, xo, yi, xi)
    taking.do("compute_at", "dense", xo)
    *_, row, column, k = taking.loops_of("dense")
    taking.told("compute_at", "a tile is summed up right before it is copied")
    ko, ki = taking.cut(k, knobs["tile_k"])
    inner = knobs.get("tile_inner", [1])[-1]
    taking.told(f"tile_k {knobs['tile_k']}", "the reduction in parts")
    taking.do("transform_layout", "weight", 0, taking.extent(column))
    taking.told("packed_weight", "the weights of the columns of a tile lie together, packed ahead of time")
    _dense_pack_inside(taking, (ko, ki, row, column), inner)
    taking.vectorize(xi)
    taking.unroll(yi)
    taking.parallel(xt, yt)
    taking.told("vectorize, unroll, parallel", "columns as vectors, outer tiles on all cores")


def _dense_pack_inside(taking: Taking, loops: tuple[str, str, str, str], inner: int) -> None:
    ko, ki, row, column = loops
    if inner > 1:
        outside, inside = taking.cut(row, [0, min(inner, taking.extent(row))])
        taking.order(ko, outside, ki, inside, column)
        taking.vectorize(column)
        taking.unroll(outside, ki, inside)
    else:
        taking.order(ko, ki, row, column)
        taking.vectorize(column)
        taking.unroll(ki, row)


def batch_matmul(taking: Taking, knobs: Knobs) -> None:
    """Tiles with the sums in a temporary, which add up partial sums of `tile_k` places."""
    copy = taking.do("cache_write", "matmul")
    taking.told("cache_write", "the sums are kept in a temporary")
    b, y, x = taking.loops_of(copy)
    yo, yi = taking.cut(y, knobs["tile_y"])
    taking.told(f"tile_y {knobs['tile_y']}", "rows in tiles")
    xo, xi = taking.cut(x, knobs["tile_x"])
    taking.told(f"tile_x {knobs['tile_x']}", "columns in tiles")
    taking.order(b, yo, xo, yi, xi)
    *_, k = taking.loops_of("matmul")
    _, ki = taking.cut(k, knobs["tile_k"])
    partial = taking.do("rfactor", ki, 0)
    taking.told(f"tile_k {knobs['tile_k']}", "a stage of its own holds a sum for each place")
    taking.do("compute_at", "matmul", xo)
    one = taking.loops_of("matmul")[3]
    taking.do("compute_at", partial, one)
    taking.told("compute_at", "the sums of a tile are made right before it, the partial ones before those")
    _batch_matmul_inside(taking, partial, one)
    taking.parallel(b, yo, xo)
    for loop in loops_to_unroll(taking.schedule.func, copy, _UNROLL_STEPS):
        taking.do("unroll", loop)
    taking.told(f"parallel, auto_unroll_max_step {_UNROLL_STEPS}", "tiles on all cores, short loops unrolled")


def _batch_matmul_inside(taking: Taking, partial: str, place: str) -> None:
    path = taking.loops_of(partial)
    own = path[path.index(place) + 1 :]
    block, _ = taking.schedule.func.block(partial)
    result = {it.name for it in taking.schedule.func.block("matmul")[0].iters if it.kind == "S"}
    by_axis = zip(block.iters, block.binds, strict=True)
    vector = next(str(bind.single_var()) for it, bind in by_axis if it.kind == "S" and it.name not in result)
    taking.order(*[loop for loop in own if loop != vector], vector)
    taking.vectorize(vector)
    taking.told("vectorize", "partial sums as vectors; the loop of the vector is the innermost here")


def _schedule_pad(taking: Taking) -> None:
    if not any(block.name == "data_pad" for block in taking.schedule.blocks):
        return
    batch, chunk, height, _, lane = taking.loops_of("data_pad")
    taking.vectorize(lane)
    taking.parallel(batch, chunk, height)
    taking.told("data_pad", "the padded image in a nest of its own, rows on all cores")


def convolution(taking: Taking, knobs: Knobs) -> None:
    """Sum up pieces of a row in a temporary; kernels of one place take pieces of several rows."""
    _schedule_pad(taking)
    copy = taking.do("cache_write", "conv")
    taking.told("cache_write", "the sums are kept in a temporary")
    if "tile_oh" in knobs:
        _convolution_1x1(taking, copy, knobs)
    else:
        _convolution_rows(taking, copy, knobs)


def _pieces(taking: Taking, copy: str, axis: int, factors: Sequence[int]) -> tuple[list[str], list[str]]:
    """Sum up a piece of an axis right before it is copied; pieces that do not divide the axis are cut by conditions.

    Returns the loops outside of the pieces, and those of the sum inside.
    """
    chunk, _ = taking.cut(taking.loops_of("conv")[axis], factors)
    taking.do("reverse_compute_at", copy, chunk)
    taking.told(f"split {list(factors)}, compute_at", "pieces, each summed up right before it is copied")
    inside = taking.loops_of("conv")
    return inside[: inside.index(chunk)], inside[inside.index(chunk) + 1 :]


def _convolution_rows(taking: Taking, copy: str, knobs: Knobs) -> None:
    outside, inside = _pieces(taking, copy, 3, knobs["tile_ow"])
    *_, column, lane, channel, kh, kw = inside
    ic_chunk, ic_block = taking.cut(channel, knobs["tile_ic"])
    taking.told(f"tile_ic {knobs['tile_ic']}", "input channels in blocks")
    kernel = (kh, ic_block, kw) if knobs["unroll_kw"] else (kh, kw, ic_block)
    taking.order(ic_chunk, *kernel, column, lane)
    taking.vectorize(lane)
    taking.unroll(column)
    if knobs["unroll_kw"]:
        taking.unroll(kw)
    taking.told(f"unroll_kw {knobs['unroll_kw']}", "a piece unrolled, channels as vectors")
    taking.vectorize(taking.loops_of(copy)[-1])
    taking.parallel(*outside)
    taking.told("vectorize, parallel", "rows on all cores")


def _convolution_1x1(taking: Taking, copy: str, knobs: Knobs) -> None:
    outside, inside = _pieces(taking, copy, 2, [0, knobs["tile_oh"]])
    group, row, column, oc_block = taking.loops_of(copy)[-4:]
    ow_outer, ow_inner = taking.cut(column, knobs["tile_ow"])
    taking.told(f"tile_ow {knobs['tile_ow']}", "columns in pieces")
    taking.order(ow_outer, row, ow_inner, oc_block)
    row, column, lane, channel, kh, kw = inside[-6:]
    ic_chunk, ic_block = taking.cut(channel, knobs["tile_ic"])
    taking.told(f"tile_ic {knobs['tile_ic']}", "input channels in blocks")
    columns, piece = taking.cut(column, knobs["tile_ow"])
    taking.order(columns, ic_chunk, ic_block, kh, kw, row, piece, lane)
    taking.vectorize(lane)
    taking.unroll(row, piece)
    taking.vectorize(oc_block)
    taking.parallel(*outside, group)
    taking.told("vectorize, unroll, parallel", "a piece unrolled, channels as vectors, groups of rows on all cores")


def depthwise(taking: Taking, knobs: Knobs) -> None:
    """Sum up pieces of a row in a temporary, the kernel outside of the piece."""
    _schedule_pad(taking)
    copy = taking.do("cache_write", "conv")
    taking.told("cache_write", "the sums are kept in a temporary")
    outside, inside = _pieces(taking, copy, 3, knobs["tile_ow"])
    *_, column, lane, kh, kw = inside
    taking.order(kh, kw, column, lane)
    taking.vectorize(lane)
    taking.unroll(column)
    if knobs["unroll_kw"]:
        taking.unroll(kw)
    taking.vectorize(taking.loops_of(copy)[-1])
    taking.parallel(*outside)
    taking.told(f"unroll_kw {knobs['unroll_kw']}", "a piece unrolled, channels as vectors, rows on all cores")
