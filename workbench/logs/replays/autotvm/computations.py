"""What AutoTVM's tasks compute, in the layouts that a template asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench import te
from workbench.ir import Func
from workbench.logs.replays.result import CannotReplay
from workbench.logs.tvm.autotvm_templates import conv_output, padding_of, shapes_of

Sizes = Mapping[str, int]
"""The innermost factor of each split."""


def float32_only(args: Sequence[Any]) -> None:
    """Refuse a task of other numbers."""
    types = {item[2] for item in args if isinstance(item, list) and item and item[0] == "TENSOR"}
    types |= {item for item in args if isinstance(item, str) and item.startswith(("float", "int", "uint", "bfloat"))}
    if types != {"float32"}:
        raise CannotReplay(f"its numbers are {', '.join(sorted(types))}; only float32 is rebuilt")


def dense(args: Sequence[Any], sizes: Sizes) -> Func:
    """``dense[y, x] = sum(data[y, k] * weight[x, k])``."""
    float32_only(args)
    _no_bias(args)
    (m, k), (n, _) = shapes_of(args)[:2]
    data, weight = te.placeholder((m, k), name="data"), te.placeholder((n, k), name="weight", constant=True)
    r = te.reduce_axis(k, "k")
    return te.func(te.compute((m, n), lambda y, x: te.sum(data[y, r] * weight[x, r], axis=r), name="dense"))


def batch_matmul(args: Sequence[Any], sizes: Sizes) -> Func:
    """``matmul[b, y, x] = sum(A[b, y, k] * B[b, x, k])``."""
    float32_only(args)
    (batch, m, k), (other, n, _) = shapes_of(args)[:2]
    if other != batch:
        raise CannotReplay("one of the factors has a batch of one")
    a, b = te.placeholder((batch, m, k), name="A"), te.placeholder((batch, n, k), name="B")
    r = te.reduce_axis(k, "k")
    product = te.compute((batch, m, n), lambda b_, y, x: te.sum(a[b_, y, r] * b[b_, x, r], axis=r), name="matmul")
    return te.func(product)


def blocked_convolution(args: Sequence[Any], sizes: Sizes) -> Func:
    """Convolution whose channels are blocked by ``tile_ic`` and ``tile_oc``, as TVM measures it."""
    float32_only(args)
    _layout(args)
    (batch, channels, height, width), (filters, own, kernel_h, kernel_w) = shapes_of(args)[:2]
    ic, oc = sizes["tile_ic"], sizes["tile_oc"]
    if own != channels:
        raise CannotReplay(f"{channels // own} groups")
    if channels % ic or filters % oc:
        raise CannotReplay(f"blocks of {ic} and {oc} do not divide {channels} and {filters} channels")
    out_h, out_w = output_of(args, (height, width), (kernel_h, kernel_w))
    (down, right), (dil_h, dil_w) = args[2], args[4]
    data = padded(te.placeholder((batch, channels // ic, height, width, ic), name="data"), args[3])
    shape = (filters // oc, channels // ic, kernel_h, kernel_w, ic, oc)
    weight = te.placeholder(shape, name="kernel", constant=True)
    rc, rh, rw = te.reduce_axis(channels, "ic"), te.reduce_axis(kernel_h, "kh"), te.reduce_axis(kernel_w, "kw")

    def at(n: te.Axis, oc_chunk: te.Axis, oh: te.Axis, ow: te.Axis, oc_block: te.Axis) -> te.Reduction:
        image = data[n, rc // ic, oh * down + rh * dil_h, ow * right + rw * dil_w, rc % ic]
        return te.sum(image * weight[oc_chunk, rc // ic, rh, rw, rc % ic, oc_block], axis=[rc, rh, rw])

    return te.func(te.compute((batch, filters // oc, out_h, out_w, oc), at, name="conv"))


def blocked_depthwise(args: Sequence[Any], sizes: Sizes) -> Func:
    """Depthwise convolution whose channels are blocked by ``tile_ic`` and ``tile_oc``, as TVM measures it."""
    float32_only(args)
    _layout(args)
    (batch, channels, height, width), (filters, multiplier, kernel_h, kernel_w) = shapes_of(args)[:2]
    ic, oc = sizes["tile_ic"], sizes["tile_oc"]
    if multiplier != 1 or filters != channels:
        raise CannotReplay(f"{multiplier} filters for each channel")
    if channels % ic or channels % oc or (ic % oc and oc % ic):
        raise CannotReplay(f"blocks of {ic} and {oc} do not divide {channels} channels, or one the other")
    out_h, out_w = output_of(args, (height, width), (kernel_h, kernel_w))
    (down, right), (dil_h, dil_w) = args[2], args[4]
    data = padded(te.placeholder((batch, channels // ic, height, width, ic), name="data"), args[3])
    weight = te.placeholder((channels // oc, kernel_h, kernel_w, oc), name="kernel", constant=True)
    rh, rw = te.reduce_axis(kernel_h, "kh"), te.reduce_axis(kernel_w, "kw")

    def at(n: te.Axis, oc_chunk: te.Axis, oh: te.Axis, ow: te.Axis, oc_block: te.Axis) -> te.Reduction:
        # Blocks of the result inside blocks of the image: each index is a sum of digits of one axis.
        inside = max(ic // oc, 1)
        channel = oc_chunk % inside * oc + oc_block if inside > 1 else oc_block
        chunk = oc_chunk // inside if inside > 1 else oc_chunk * (oc // ic) + oc_block // ic
        image = data[n, chunk, oh * down + rh * dil_h, ow * right + rw * dil_w, channel % ic]
        return te.sum(image * weight[oc_chunk, rh, rw, oc_block], axis=[rh, rw])

    return te.func(te.compute((batch, channels // oc, out_h, out_w, oc), at, name="conv"))


def _no_bias(args: Sequence[Any]) -> None:
    if len(args) > 2 and args[2] is not None:
        raise CannotReplay("it adds a bias")


def _layout(args: Sequence[Any]) -> None:
    if len(args) > 6 and (args[5], args[6]) != ("NCHW", "NCHW"):
        raise CannotReplay(f"its layouts are {args[5]} and {args[6]}")


def output_of(args: Sequence[Any], image: Sequence[int], window: Sequence[int]) -> tuple[int, int]:
    """Height and width of a convolution's result."""
    top, left, bottom, right = padding_of(args[3])
    out_h = conv_output(image[0], window[0], args[2][0], top, bottom, args[4][0])
    return out_h, conv_output(image[1], window[1], args[2][1], left, right, args[4][1])


def padded(data: te.Tensor, padding: Sequence[int]) -> te.Tensor:
    """An image ``[n, c, h, w]`` or ``[n, c, h, w, block]`` with zeros around it; itself where there are none."""
    top, left, bottom, right = padding_of(padding)
    if not any((top, left, bottom, right)):
        return data
    batch, chunks, height, width, *block = data.shape

    def at(n: te.Axis, c: te.Axis, h: te.Axis, w: te.Axis, v: te.Axis | None = None) -> te.Value:
        inside = (h >= top) & (h < height + top) & (w >= left) & (w < width + left)
        lane = () if v is None else (v,)
        return te.select(inside, data[(n, c, h - top, w - left, *lane)], 0.0)

    return te.compute((batch, chunks, height + top + bottom, width + left + right, *block), at, name="data_pad")
