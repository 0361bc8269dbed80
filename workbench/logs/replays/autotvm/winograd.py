"""AutoTVM's template for convolutions by Winograd's algorithm on GPUs.

The weights are transformed before, as where TVM measures. The matrices are those of A. Lavin and S. Gray (2015), as in
`workbench.ir.winograd_weights`; here they are conditions on places of a tile, which vanish where loops are unrolled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench import te
from workbench.ir import Func
from workbench.ir.winograd_weights import WinogradStep
from workbench.logs.replays.autotvm.computations import Sizes, float32_only, output_of, padded
from workbench.logs.replays.autotvm.threads import Knobs, bind, caches, finish, on_grid, place, tiles
from workbench.logs.replays.result import CannotReplay
from workbench.logs.replays.taking import ALONE, Taking
from workbench.logs.tvm.autotvm_templates import padding_of, shapes_of
from workbench.schedule.size_limits import THREAD_LIMIT

Matrix = Sequence[Sequence[float]]

DATA: Mapping[int, Matrix] = {
    2: ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    4: (
        (4, 0, -5, 0, 1, 0),
        (0, -4, -4, 1, 1, 0),
        (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0),
        (0, 2, -1, -2, 1, 0),
        (0, 4, 0, -5, 0, 1),
    ),
}
"""Outputs of a tile -> the matrix that transforms a tile of the image from both sides."""

RESULT: Mapping[int, Matrix] = {
    2: ((1, 1, 1, 0), (0, 1, -1, -1)),
    4: ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1)),
}
"""Outputs of a tile -> the matrix that transforms products back from both sides."""


def winograd(args: Sequence[Any], sizes: Sizes) -> Func:
    """A convolution of NCHW images with 3x3 kernels, tile by tile; kernels are ``[3, 3, c, f]`` for the caller."""
    float32_only(args)
    (batch, channels, *image), (filters, own, *window) = shapes_of(args)[:2]
    if window != [3, 3] or list(args[2]) != [1, 1] or list(args[4]) != [1, 1] or own != channels:
        raise CannotReplay("only kernels of 3x3 without strides, dilation and groups have a transform here")
    m = 4 if image[0] % 8 == 0 else 2
    out_h, out_w = output_of(args, image, window)
    down, across = -(-out_h // m), -(-out_w // m)
    top, left, *_ = padding_of(args[3])
    room = (top, left, m * down + 2 - image[0] - top, m * across + 2 - image[1] - left)
    data = padded(te.placeholder((batch, channels, *image), name="data"), room)
    products = _products(data, filters, (down, across), m)
    r_a, r_b = te.reduce_axis(m + 2, "r_a"), te.reduce_axis(m + 2, "r_b")

    def back(f: te.Axis, p: te.Axis, vh: te.Axis, vw: te.Axis) -> te.Reduction:
        factors = _element(RESULT[m], vh, r_a) * _element(RESULT[m], vw, r_b)
        return te.sum(products[r_a, r_b, f, p] * factors, axis=[r_a, r_b])

    inverse = te.compute((filters, batch * down * across, m, m), back, name="inverse")

    def pixel(n: te.Axis, f: te.Axis, h: te.Axis, w: te.Axis) -> te.Value:
        return inverse[f, n * (down * across) + (h // m) * across + w // m, h % m, w % m]

    func = te.func(te.compute((batch, filters, out_h, out_w), pixel, name="output"))
    return func.with_buffers([replace(func.buffer("kernel"), layout=(WinogradStep(m),))])


def _products(data: te.Tensor, filters: int, tiles_: tuple[int, int], m: int) -> te.Tensor:
    """The sums over channels, for each place of a tile, filter and tile."""
    (batch, channels, *_), (down, across), size = data.shape, tiles_, m + 2
    count = batch * down * across

    def tile(c: te.Axis, p: te.Axis, eps: te.Axis, nu: te.Axis) -> te.Value:
        return data[p // (down * across), c, p // across % down * m + eps, p % across * m + nu]

    d = te.compute((channels, count, size, size), tile, name="d")
    r_a, r_b, rc = te.reduce_axis(size, "r_a"), te.reduce_axis(size, "r_b"), te.reduce_axis(channels, "ci")

    def packed(eps: te.Axis, nu: te.Axis, c: te.Axis, p: te.Axis) -> te.Reduction:
        factors = _element(DATA[m], eps, r_a) * _element(DATA[m], nu, r_b)
        return te.sum(d[c, p, r_a, r_b] * factors, axis=[r_a, r_b])

    pack = te.compute((size, size, channels, count), packed, name="data_pack")
    kernel = te.placeholder((size, size, channels, filters), name="kernel", constant=True)

    def product(eps: te.Axis, nu: te.Axis, co: te.Axis, p: te.Axis) -> te.Reduction:
        return te.sum(kernel[eps, nu, rc, co] * pack[eps, nu, rc, p], axis=rc)

    return te.compute((size, size, filters, count), product, name="bgemm")


def _element(matrix: Matrix, row: te.Axis, column: te.Axis) -> te.Value:
    """An element of a matrix of numbers, by its place."""
    value = te.const(0.0)
    for i, numbers in enumerate(matrix):
        for j, number in enumerate(numbers):
            if number:
                value = te.select(row.equal(i) & column.equal(j), te.const(float(number)), value)
    return value


def schedule(taking: Taking, knobs: Knobs) -> None:
    """Transform tiles in a nest of its own, multiply in tiles of blocks and threads, transform back.

    The knobs are about the product. Around it, threads have single pixels here, because an axis of tiles cannot be cut.
    """
    _transform_data(taking)
    _multiply(taking, knobs)
    _transform_back(taking)
    taking.note("What transforms is cut otherwise: a thread transforms single pixels and not tiles.")


def _transform_data(taking: Taking) -> None:
    inlined = [block.name for block in taking.schedule.blocks if block.name in ("data_pad", "d")]
    for block in inlined:
        taking.do("compute_inline", block)
    taking.told("compute_inline", f"{' and '.join(inlined)} where they are read")
    eps, nu, c, p, *sums = taking.loops_of("data_pack")
    block, thread = (c, p) if taking.extent(p) <= THREAD_LIMIT else (p, c)
    taking.order(block, thread, eps, nu, *sums)
    bind(taking, [(block, "blockIdx.x"), (thread, "threadIdx.x")])
    taking.unroll(eps, nu, *sums)
    taking.told("unroll", "the places of a tile are written out")


def _multiply(taking: Taking, knobs: Knobs) -> None:
    copy, shared = caches(taking, "bgemm", apart=True)
    eps, nu, co, p = taking.loops_of(copy)
    batch = str(taking.do("fuse", eps, nu))
    axes = tiles(taking, knobs, tile_b=batch, tile_y=co, tile_x=p)
    bindings = on_grid(taking, axes)
    *inner, ci = place(taking, "bgemm", axes[2][2], "local")
    ((outer, part),) = tiles(taking, knobs, tile_rc=ci)
    taking.order(outer, part, *inner)
    for block in shared:
        place(taking, block, outer, "shared")
    taking.note(ALONE)
    finish(taking, bindings, knobs, copy)


def _transform_back(taking: Taking) -> None:
    n, co, h, w = taking.loops_of("output")
    blocks = str(taking.do("fuse", n, co))
    loops = place(taking, "inverse", w, "local")
    bind(taking, [(blocks, "blockIdx.y"), (h, "blockIdx.x"), (w, "threadIdx.x")])
    taking.unroll(*loops)
    taking.told("unroll", "the places of a tile are written out")
