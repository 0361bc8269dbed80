"""What is known of AutoTVM's templates: the text of a task, and the extents of the axes that its knobs split."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.logs.importer import UNREADABLE

Extents = Mapping[str, int]


def call(name: str, args: Any, kwargs: Any = None) -> str:
    """Return a task as a call.

    >>> call("dense_nopack.x86", [["TENSOR", [1, 768], "float32"], None, "float32"])
    'dense_nopack.x86(float32[1, 768], None, float32)'
    """
    items = [_argument(item) for item in args] if isinstance(args, list) else [_argument(args)]
    if isinstance(kwargs, dict):
        items += [f"{key}={_argument(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(items)})"


def _argument(value: Any) -> str:
    tensor = _tensor(value)
    if tensor is not None:
        return f"{tensor[1]}{tensor[0]}"
    if isinstance(value, str):
        return value
    return "None" if value is None else json.dumps(value)


def _tensor(value: Any) -> tuple[list[int], str] | None:
    if isinstance(value, list) and len(value) >= 3 and value[0] == "TENSOR" and isinstance(value[1], list):
        return value[1], str(value[2])
    return None


def resolved(kind: str, value: Any, extent: int | None) -> Any:
    """Return the value of a knob; a split's -1 becomes the iterations that the extent leaves, the last may be cut."""
    if kind != "sp" or not isinstance(extent, int) or not isinstance(value, list) or value.count(-1) != 1:
        return value
    if not all(isinstance(size, int) for size in value):
        return value
    given = math.prod(size for size in value if size != -1)
    if given <= 0:
        return value
    return [-(-extent // given) if size == -1 else size for size in value]


def template_extents(name: str, args: Any) -> Extents:
    """Return knob -> extent of the axis that it splits, for templates that are known; empty for others."""
    extents = _EXTENTS.get(name)
    if extents is None:
        return {}
    try:
        return extents(args)
    except UNREADABLE:
        return {}


def shapes_of(args: Sequence[Any]) -> list[list[int]]:
    """Return the shapes of the tensors among the arguments of a task."""
    return [found[0] for item in args if (found := _tensor(item)) is not None]


def conv_output(size: int, kernel: int, stride: int, before: int, after: int, dilation: int = 1) -> int:
    """Return the extent of a convolution's output."""
    return (size + before + after - (kernel - 1) * dilation - 1) // stride + 1


def padding_of(padding: Sequence[int]) -> tuple[int, int, int, int]:
    """Return top, left, bottom, right of two or four numbers."""
    top, left, bottom, right = padding if len(padding) == 4 else (*padding, *padding)
    return top, left, bottom, right


def _dense(y: str, x: str) -> Callable[[Any], Extents]:
    def extents(args: Any) -> Extents:
        (m, k), (n, _) = shapes_of(args)[:2]
        return {y: m, x: n, "tile_k": k}

    return extents


def _batch_matmul(args: Any) -> Extents:
    (_, m, k), (_, n, _) = shapes_of(args)[:2]
    return {"tile_y": m, "tile_x": n, "tile_k": k}


def _output(args: Any) -> tuple[int, int]:
    (_, _, height, width), (_, _, kernel_h, kernel_w) = shapes_of(args)[:2]
    stride, padding, dilation = args[2], padding_of(args[3]), args[4] if isinstance(args[4], list) else [1, 1]
    out_h = conv_output(height, kernel_h, stride[0], padding[0], padding[2], dilation[0])
    return out_h, conv_output(width, kernel_w, stride[1], padding[1], padding[3], dilation[1])


def _conv2d_blocked(args: Any) -> Extents:
    (_, channels, _, _), (filters, _, _, _) = shapes_of(args)[:2]
    return {"tile_ic": channels, "tile_oc": filters, "tile_ow": _output(args)[1]}


def _conv2d_gpu(args: Any) -> Extents:
    (_, channels, _, _), (filters, _, kernel_h, kernel_w) = shapes_of(args)[:2]
    out_h, out_w = _output(args)
    kernel = {"tile_rc": channels, "tile_ry": kernel_h, "tile_rx": kernel_w}
    return {"tile_f": filters, "tile_y": out_h, "tile_x": out_w, **kernel}


def _depthwise_gpu(args: Any) -> Extents:
    (_, channels, _, _), (_, multiplier, _, _) = shapes_of(args)[:2]
    out_h, out_w = _output(args)
    return {"tile_f": channels * multiplier, "tile_y": out_h, "tile_x": out_w}


def _winograd(args: Any) -> Extents:
    (batch, channels, height, _), (filters, *_) = shapes_of(args)[:2]
    (out_h, out_w), m = _output(args), 4 if height % 8 == 0 else 2
    tiles = batch * -(-out_h // m) * -(-out_w // m)
    return {"tile_b": (m + 2) ** 2, "tile_y": filters, "tile_x": tiles, "tile_rc": channels}


def _transposed(*axes: str) -> Callable[[Any], Extents]:
    def extents(args: Any) -> Extents:
        (batch, channels, *image), (_, filters, *window) = shapes_of(args)[:2]
        given = args[3]
        padding = padding_of(given) if len(image) == 2 else (given[0], given[-1])
        extra = args[5] if len(args) > 5 else [0] * len(image)
        out = {
            axis: (image[d] - 1) * args[2][d] + window[d] - padding[d] - padding[d + len(image)] + extra[d]
            for d, axis in enumerate(axes)
        }
        return {"tile_n": batch, "tile_f": filters, "tile_rc": channels, **out}

    return extents


_EXTENTS: Mapping[str, Callable[[Any], Extents]] = {
    "dense_nopack.x86": _dense("tile_y", "tile_x"),
    "dense_pack.x86": _dense("tile_y", "tile_x"),
    "dense_small_batch.cuda": _dense("", ""),
    "dense_large_batch.cuda": _dense("tile_x", "tile_y"),
    "batch_matmul.x86": _batch_matmul,
    "batch_matmul.cuda": _batch_matmul,
    "conv2d_NCHWc.x86": _conv2d_blocked,
    "conv2d_nchw.cuda": _conv2d_gpu,
    "depthwise_conv2d_nchw.cuda": _depthwise_gpu,
    "conv2d_nchw_winograd.cuda": _winograd,
    "conv2d_transpose_nchw.cuda": _transposed("tile_y", "tile_x"),
    "conv1d_transpose_nchw.cuda": _transposed("tile_x"),
}
