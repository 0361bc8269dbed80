"""What AutoTVM's templates do with their knobs, as steps of our schedules.

Loops that TVM fuses to run in parallel are given to ``parallel`` together, which runs them as one; loops that it fuses
to place a stage inside stay apart, because the innermost of them is the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.ir import Func
from workbench.logs.replays.ansor.unrolling import loops_to_unroll
from workbench.logs.replays.autotvm import computations
from workbench.logs.replays.result import CannotReplay
from workbench.logs.replays.taking import Taking

_UNROLL_STEPS = 16
"""Statements up to which ``batch_matmul.x86`` has loops unrolled, whatever its knobs are."""

Knobs = Mapping[str, Any]
"""Name of a knob -> its value: the factors of a split, an option."""


@dataclass(frozen=True, slots=True)
class Template:
    """A template: what its tasks compute, and what it does with the knobs."""

    computation: Callable[[Sequence[Any], computations.Sizes], Func]
    schedule: Callable[[Taking, Knobs], None]


def known(name: str) -> Template:
    """Return a template.

    Raises
    ------
    CannotReplay
        Where its schedule is not known here.
    """
    if name not in TEMPLATES:
        raise CannotReplay(f"the schedule of TVM's template {name} is not known here")
    return TEMPLATES[name]


def _cut(taking: Taking, loop: str, factors: Sequence[int]) -> list[str]:
    """Split a loop by the factors of a knob; the outermost follows from the extent, and may be cut short."""
    inner = [int(factor) for factor in factors[1:]]
    total = 1
    for factor in inner:
        total *= factor
    extent = taking.extent(loop)
    if total < 1:
        raise CannotReplay(f"a split by {list(factors)} makes no sense")
    outer = -(-extent // total)
    if outer * total == extent:
        return list(taking.do("split", loop, [outer, *inner]))
    return list(taking.do("split", loop, [outer, *inner], "guard"))


def _dense_nopack(taking: Taking, knobs: Knobs) -> None:
    """Sum `tile_k` partial sums for each element, then those."""
    parts = _cut(taking, "k", knobs["tile_k"])
    partial = taking.do("rfactor", parts[1], -1)
    taking.told(f"tile_k {knobs['tile_k']}", "a stage of its own holds a sum for each place of a vector")
    y, x, kk = taking.loops_of("dense")
    yo, yi = _cut(taking, y, knobs["tile_y"])
    taking.told(f"tile_y {knobs['tile_y']}", "rows in tiles")
    xo, xi = _cut(taking, x, knobs["tile_x"])
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


def _dense_pack(taking: Taking, knobs: Knobs) -> None:
    """Tiles of tiles over packed weights, with the sums of a tile in a temporary."""
    copy = taking.do("cache_write", "dense")
    taking.told("cache_write", "the sums are kept in a temporary")
    y, x = taking.loops_of(copy)
    yt, yo, yi = _cut(taking, y, knobs["tile_y"])
    taking.told(f"tile_y {knobs['tile_y']}", "rows in tiles of tiles")
    xt, xo, xi = _cut(taking, x, knobs["tile_x"])
    taking.told(f"tile_x {knobs['tile_x']}", "columns in tiles of tiles")
    taking.order(xt, yt, yo, xo, yi, xi)
    taking.do("compute_at", "dense", xo)
    *_, row, column, k = taking.loops_of("dense")
    taking.told("compute_at", "a tile is summed up right before it is copied")
    ko, ki = _cut(taking, k, knobs["tile_k"])
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
        outside, inside = _cut(taking, row, [0, min(inner, taking.extent(row))])
        taking.order(ko, outside, ki, inside, column)
        taking.vectorize(column)
        taking.unroll(outside, ki, inside)
    else:
        taking.order(ko, ki, row, column)
        taking.vectorize(column)
        taking.unroll(ki, row)


def _batch_matmul(taking: Taking, knobs: Knobs) -> None:
    """Tiles with the sums in a temporary, which add up partial sums of `tile_k` places."""
    copy = taking.do("cache_write", "matmul")
    taking.told("cache_write", "the sums are kept in a temporary")
    b, y, x = taking.loops_of(copy)
    yo, yi = _cut(taking, y, knobs["tile_y"])
    taking.told(f"tile_y {knobs['tile_y']}", "rows in tiles")
    xo, xi = _cut(taking, x, knobs["tile_x"])
    taking.told(f"tile_x {knobs['tile_x']}", "columns in tiles")
    taking.order(b, yo, xo, yi, xi)
    *_, k = taking.loops_of("matmul")
    _, ki = _cut(taking, k, knobs["tile_k"])
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


def _convolution(taking: Taking, knobs: Knobs) -> None:
    """Sum up pieces of a row in a temporary; kernels of one place take pieces of several rows."""
    _schedule_pad(taking)
    copy = taking.do("cache_write", "conv")
    taking.told("cache_write", "the sums are kept in a temporary")
    if "tile_oh" in knobs:
        _convolution_1x1(taking, copy, knobs)
    else:
        _convolution_rows(taking, copy, knobs)


def _pieces(taking: Taking, copy: str, knobs: Knobs) -> tuple[list[str], list[str], str]:
    """Sum up a piece of a row right before it is copied; pieces that do not divide the row are cut by conditions.

    Returns the loops outside of the pieces, those of the sum inside, and the loop over the lanes of the copy.
    """
    n, oc_chunk, oh, ow, oc_block = taking.loops_of(copy)
    factors = knobs["tile_ow"]
    even = taking.extent(ow) % factors[-1] == 0
    if even:
        ow_chunk, _ = _cut(taking, ow, factors)
        taking.do("compute_at", "conv", ow_chunk)
    else:
        n, oc_chunk, oh, ow, *_ = taking.loops_of("conv")
        ow_chunk, _ = _cut(taking, ow, factors)
        taking.do("reverse_compute_at", copy, ow_chunk)
        oc_block = taking.loops_of(copy)[-1]
    taking.told(f"tile_ow {factors}, compute_at", "columns in pieces, each summed up right before it is copied")
    inside = taking.loops_of("conv")
    return [n, oc_chunk, oh], inside[inside.index(ow_chunk) + 1 :], oc_block


def _convolution_rows(taking: Taking, copy: str, knobs: Knobs) -> None:
    outside, inside, oc_block = _pieces(taking, copy, knobs)
    *_, column, lane, channel, kh, kw = inside
    ic_chunk, ic_block = _cut(taking, channel, knobs["tile_ic"])
    taking.told(f"tile_ic {knobs['tile_ic']}", "input channels in blocks")
    kernel = (kh, ic_block, kw) if knobs["unroll_kw"] else (kh, kw, ic_block)
    taking.order(ic_chunk, *kernel, column, lane)
    taking.vectorize(lane)
    taking.unroll(column)
    if knobs["unroll_kw"]:
        taking.unroll(kw)
    taking.told(f"unroll_kw {knobs['unroll_kw']}", "a piece unrolled, channels as vectors")
    taking.vectorize(oc_block)
    taking.parallel(*outside)
    taking.told("vectorize, parallel", "rows on all cores")


def _convolution_1x1(taking: Taking, copy: str, knobs: Knobs) -> None:
    n, oc_chunk, oh, ow, oc_block = taking.loops_of(copy)
    oh_outer, oh_inner = _cut(taking, oh, [0, knobs["tile_oh"]])
    taking.told(f"tile_oh {knobs['tile_oh']}", "rows in groups")
    ow_outer, ow_inner = _cut(taking, ow, knobs["tile_ow"])
    taking.told(f"tile_ow {knobs['tile_ow']}", "columns in pieces")
    taking.order(oc_chunk, oh_outer, ow_outer, oh_inner, ow_inner, oc_block)
    taking.do("compute_at", "conv", oh_outer)
    *_, row, column, lane, channel, kh, kw = taking.loops_of("conv")
    taking.told("compute_at", "a group of rows is summed up right before it is copied")
    ic_chunk, ic_block = _cut(taking, channel, knobs["tile_ic"])
    taking.told(f"tile_ic {knobs['tile_ic']}", "input channels in blocks")
    columns, piece = _cut(taking, column, knobs["tile_ow"])
    taking.order(columns, ic_chunk, ic_block, kh, kw, row, piece, lane)
    taking.vectorize(lane)
    taking.unroll(row, piece)
    taking.vectorize(oc_block)
    taking.parallel(n, oc_chunk, oh_outer)
    taking.told("vectorize, unroll, parallel", "a piece unrolled, channels as vectors, groups of rows on all cores")


def _depthwise(taking: Taking, knobs: Knobs) -> None:
    """Sum up pieces of a row in a temporary, the kernel outside of the piece."""
    _schedule_pad(taking)
    copy = taking.do("cache_write", "conv")
    taking.told("cache_write", "the sums are kept in a temporary")
    outside, inside, oc_block = _pieces(taking, copy, knobs)
    *_, column, lane, kh, kw = inside
    taking.order(kh, kw, column, lane)
    taking.vectorize(lane)
    taking.unroll(column)
    if knobs["unroll_kw"]:
        taking.unroll(kw)
    taking.vectorize(oc_block)
    taking.parallel(*outside)
    taking.told(f"unroll_kw {knobs['unroll_kw']}", "a piece unrolled, channels as vectors, rows on all cores")


TEMPLATES: Mapping[str, Template] = {
    "dense_nopack.x86": Template(computations.dense, _dense_nopack),
    "dense_pack.x86": Template(computations.dense, _dense_pack),
    "batch_matmul.x86": Template(computations.batch_matmul, _batch_matmul),
    "conv2d_NCHWc.x86": Template(computations.blocked_convolution, _convolution),
    "depthwise_conv2d_NCHWc.x86": Template(computations.blocked_depthwise, _depthwise),
}
"""Templates whose schedules are known."""
