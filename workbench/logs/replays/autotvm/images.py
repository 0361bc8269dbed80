"""What AutoTVM's tasks for GPUs compute on images of the layout NCHW."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from workbench import te
from workbench.ir import Func
from workbench.logs.replays.autotvm.computations import Sizes, float32_only, output_of, padded
from workbench.logs.replays.result import CannotReplay
from workbench.logs.tvm.autotvm_templates import padding_of, shapes_of


def convolution(args: Sequence[Any], sizes: Sizes) -> Func:
    """``conv[n, f, y, x] = sum(data_pad[n, c, y, x of the window] * kernel[f, c, window])``."""
    float32_only(args)
    (batch, channels, *image), (filters, own, *window) = shapes_of(args)[:2]
    if own != channels:
        raise CannotReplay(f"{channels // own} groups")
    data = padded(te.placeholder((batch, channels, *image), name="data"), args[3])
    weight = te.placeholder((filters, channels, *window), name="kernel", constant=True)
    rc, ry, rx = te.reduce_axis(channels, "rc"), te.reduce_axis(window[0], "ry"), te.reduce_axis(window[1], "rx")
    (down, right), (far_y, far_x) = args[2], args[4]

    def at(n: te.Axis, f: te.Axis, y: te.Axis, x: te.Axis) -> te.Reduction:
        pixel = data[n, rc, y * down + ry * far_y, x * right + rx * far_x]
        return te.sum(pixel * weight[f, rc, ry, rx], axis=[rc, ry, rx])

    return te.func(te.compute((batch, filters, *output_of(args, image, window)), at, name="conv"))


def depthwise(args: Sequence[Any], sizes: Sizes) -> Func:
    """A convolution of each channel with a kernel of its own."""
    float32_only(args)
    (batch, channels, *image), (_, times, *window) = shapes_of(args)[:2]
    if times != 1:
        raise CannotReplay(f"{times} filters for each channel")
    data = padded(te.placeholder((batch, channels, *image), name="data"), args[3])
    weight = te.placeholder((channels, 1, *window), name="kernel", constant=True)
    ry, rx = te.reduce_axis(window[0], "ry"), te.reduce_axis(window[1], "rx")
    (down, right), (far_y, far_x) = args[2], args[4]

    def at(n: te.Axis, f: te.Axis, y: te.Axis, x: te.Axis) -> te.Reduction:
        return te.sum(data[n, f, y * down + ry * far_y, x * right + rx * far_x] * weight[f, 0, ry, rx], axis=[ry, rx])

    return te.func(te.compute((batch, channels, *output_of(args, image, window)), at, name="conv"))


def transposed_2d(args: Sequence[Any], sizes: Sizes) -> Func:
    """A transposed convolution, as a convolution of the image with zeros between its pixels."""
    float32_only(args)
    extra = args[5] if len(args) > 5 else (0, 0)
    return _transposed(shapes_of(args), args[2], padding_of(args[3]), extra)


def transposed_1d(args: Sequence[Any], sizes: Sizes) -> Func:
    """A transposed convolution of one dimension, of the layout NCW."""
    float32_only(args)
    left, right = args[3] if len(args[3]) == 2 else (args[3][0], args[3][0])
    return _transposed(shapes_of(args), args[2], (left, right), args[5] if len(args) > 5 else (0,))


def _transposed(
    shapes: Sequence[Sequence[int]], strides: Sequence[int], padding: Sequence[int], extra: Sequence[int]
) -> Func:  # fmt: skip
    """Dimensions of the image are the last ones; `padding` has those in front first, `extra` what is added behind.

    The image with zeros in between begins with so many zeros more that the place of its first pixel is a multiple of
    the stride: an index is then divided without a remainder to think of. Nothing reads them.
    """
    (batch, channels, *image), (_, filters, *window) = shapes[:2]
    rank = range(len(image))
    front = [window[d] - 1 - padding[d] for d in rank]
    more = [-front[d] % strides[d] for d in rank]
    first = [(front[d] + more[d]) // strides[d] for d in rank]
    both = [padding[d] + padding[len(image) + d] for d in rank]
    out = [(image[d] - 1) * strides[d] + window[d] - both[d] + extra[d] for d in rank]
    data = te.placeholder((batch, channels, *image), name="data")
    weight = te.placeholder((channels, filters, *window), name="kernel", constant=True)

    def spread(n: te.Axis, c: te.Axis, h: te.Axis, w: te.Axis | None = None) -> te.Value:
        place = (h,) if w is None else (h, w)
        pixels = [place[d] // strides[d] for d in rank]
        inside = [(pixels[d] >= first[d]) & (pixels[d] < first[d] + image[d]) for d in rank]
        inside += [(place[d] % strides[d]).equal(0) for d in rank if strides[d] > 1]
        pixel = data[(n, c, *(pixels[d] - first[d] for d in rank))]
        return te.select(functools.reduce(operator.and_, inside), pixel, 0.0)

    shape = (batch, channels, *(out[d] + window[d] - 1 + more[d] for d in rank))
    wide = te.compute(shape, spread, name="data_pad")
    sizes = zip(("rc", "ry", "rx"), (channels, *window), strict=False)
    rc, *rw = (te.reduce_axis(size, name) for name, size in sizes)

    def at(n: te.Axis, f: te.Axis, y: te.Axis, x: te.Axis | None = None) -> te.Reduction:
        place = (y,) if x is None else (y, x)
        pixel = wide[(n, rc, *(place[d] + rw[d] + more[d] for d in rank))]
        return te.sum(pixel * weight[(rc, f, *(window[d] - 1 - rw[d] for d in rank))], axis=[rc, *rw])

    return te.func(te.compute((batch, filters, *out), at, name="conv"))
