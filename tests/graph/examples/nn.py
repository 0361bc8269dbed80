"""Examples of operators: nn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from graph.examples.case import Case, cases, sample

from workbench.graph.graph import Array, AttrValue
from workbench.graph.ops.lowering import ints
from workbench.graph.ops.nn.boxes import MaxRoiPool, NonMaxSuppression, RoiAlign
from workbench.graph.ops.nn.conv import Conv
from workbench.graph.ops.nn.conv_transpose import ConvTranspose
from workbench.graph.ops.nn.deformed import DeformConv
from workbench.graph.ops.nn.norm import (
    LRN,
    BatchNormalization,
    InstanceNormalization,
    LayerNormalization,
    MeanVarianceNormalization,
    RMSNormalization,
)
from workbench.graph.ops.nn.pool import (
    AveragePool,
    GlobalAveragePool,
    GlobalLpPool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
)
from workbench.graph.ops.nn.recurrent import Gru, Lstm, Recurrent
from workbench.graph.ops.nn.resize import Resize
from workbench.graph.ops.nn.sampling import AffineGrid, GridSample
from workbench.graph.ops.nn.softmax import AlongAxis, LpNormalization
from workbench.graph.ops.nn.unpool import MaxUnpool


@cases.register
def _non_max_suppression(op: NonMaxSuppression) -> list[Case]:
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [3, 3, 5, 4]]], np.float32)
    limits = (np.array([2]), np.array([0.5], np.float32))
    return [Case("all scores", (boxes, sample(1, 2, 3), *limits)), Case("nothing", (boxes, sample(1, 2, 3)))]


@cases.register
def _max_roi_pool(op: MaxRoiPool) -> list[Case]:
    rois = np.array([[0, 0, 0, 3, 3], [1, 1, 2, 9, 4]], np.float32)
    return [Case("two", (sample(2, 3, 6, 5), rois), {"pooled_shape": (2, 3)})]


@cases.register
def _conv(op: Conv) -> list[Case]:
    b = sample(6)

    def case(label: str, x: tuple[int, ...], w: tuple[int, ...], bias: Array | None = None, **attrs: Any) -> Case:
        return Case(label, (sample(*x), sample(*w), bias), attrs, const=(1, 2))

    nhwc: dict[str, Any] = {"layout": "NHWC"}
    return [
        case("3x3", (1, 4, 7, 6), (6, 4, 3, 3), b, pads=(1, 1, 1, 1)),
        case("1x1", (2, 4, 5, 5), (6, 4, 1, 1)),
        case("strided", (1, 3, 9, 8), (6, 3, 3, 3), b, strides=(2, 2), pads=(0, 1, 1, 0)),
        case("dilated", (1, 2, 9, 9), (3, 2, 3, 3), dilations=(2, 2)),
        case("same upper", (1, 2, 6, 7), (3, 2, 3, 2), auto_pad="SAME_UPPER", strides=(2, 2)),
        case("same lower", (1, 2, 6, 7), (3, 2, 3, 2), auto_pad="SAME_LOWER", strides=(2, 2)),
        case("grouped", (1, 4, 5, 5), (6, 2, 3, 3), b, group=2, pads=(1, 1, 1, 1)),
        case("depthwise", (1, 6, 5, 5), (6, 1, 3, 3), b, group=6, pads=(1, 1, 1, 1)),
        case("multiplier", (1, 3, 5, 5), (6, 1, 3, 3), group=3),
        case("1d", (1, 3, 9), (4, 3, 3), pads=(1, 1)),
        case("nhwc", (1, 7, 6, 4), (3, 3, 4, 6), b, pads=(1, 1, 1, 1), **nhwc),
        case("nhwc strided", (1, 9, 8, 3), (3, 3, 3, 6), b, pads=(1, 1, 1, 1), strides=(2, 2), **nhwc),
        case("nhwc depthwise", (1, 5, 5, 6), (3, 3, 1, 6), b, pads=(1, 1, 1, 1), group=6, **nhwc),
        case("nhwc grouped", (1, 5, 5, 4), (3, 3, 2, 6), group=2, **nhwc),
    ]


@cases.register
def _conv_transpose(op: ConvTranspose) -> list[Case]:
    b = sample(4)

    def case(label: str, x: tuple[int, ...], w: tuple[int, ...], bias: Array | None = None, **attrs: Any) -> Case:
        return Case(label, (sample(*x), sample(*w), bias), attrs, const=(1, 2))

    two: dict[str, Any] = {"strides": (2, 2)}
    nhwc: dict[str, Any] = {"layout": "NHWC", **two}
    return [
        case("plain", (1, 3, 4, 3), (3, 4, 3, 3), b),
        case("twice as large", (1, 3, 4, 5), (3, 4, 2, 2), b, **two),
        case("strided", (2, 3, 3, 4), (3, 4, 4, 4), pads=(1, 1, 1, 1), **two),
        case("odd", (1, 3, 3, 4), (3, 4, 3, 3), b, pads=(1, 0, 0, 1), output_padding=(1, 0), **two),
        case("stride 3", (1, 2, 3, 3), (2, 3, 5, 4), strides=(3, 2), pads=(2, 1, 1, 2)),
        case("dilated", (1, 2, 4, 3), (2, 3, 2, 2), dilations=(2, 2), pads=(1, 0, 0, 1)),
        case("strided and dilated", (1, 2, 4, 3), (2, 3, 2, 3), strides=(3, 2), dilations=(2, 2), pads=(1,) * 4),
        case("output shape", (1, 2, 3, 3), (2, 3, 3, 3), strides=(3, 2), output_shape=(10, 8)),
        case("same upper", (1, 2, 3, 3), (2, 3, 3, 3), auto_pad="SAME_UPPER", **two),
        case("same lower", (1, 2, 3, 3), (2, 3, 3, 3), auto_pad="SAME_LOWER", **two),
        case("grouped", (1, 4, 3, 3), (4, 2, 3, 3), b, group=2, pads=(1, 1, 1, 1), **two),
        case("depthwise", (1, 4, 3, 3), (4, 1, 4, 4), b, group=4, pads=(1, 1, 1, 1), **two),
        case("one channel", (1, 5, 3, 4), (5, 1, 2, 2), b[:1], **two),
        case("few channels", (2, 5, 3, 4), (5, 3, 3, 2), b[:3], strides=(3, 2)),
        case("nhwc one channel", (1, 3, 4, 5), (1, 2, 5, 1), strides=(1, 2), layout="NHWC"),
        case("1d", (1, 3, 5), (3, 4, 4), b, strides=(2,), pads=(1, 1)),
        case("nhwc", (1, 3, 4, 3), (4, 4, 3, 4), b, pads=(1, 1, 1, 1), **nhwc),
        case("nhwc grouped", (1, 3, 3, 4), (3, 3, 4, 2), b, group=2, **nhwc),
    ]


@cases.register
def _batch_normalization(op: BatchNormalization) -> list[Case]:
    vectors = (sample(3, low=0.5), sample(3), sample(3, seed=2), sample(3, seed=3, low=0.5))
    return [
        Case("nchw", (sample(1, 3, 4, 5), *vectors), const=(1, 2, 3, 4)),
        Case("nhwc", (sample(1, 4, 5, 3), *vectors), {"layout": "NHWC", "epsilon": 1e-3}, const=(1, 2, 3, 4)),
        Case("2d", (sample(4, 3), *vectors), const=(1, 2, 3, 4)),
    ]


@cases.register
def _instance_normalization(op: InstanceNormalization) -> list[Case]:
    v = (sample(3, low=0.5), sample(3))
    return [Case("nchw", (sample(2, 3, 4, 5), *v)), Case("nhwc", (sample(1, 4, 5, 3), *v), {"layout": "NHWC"})]


@cases.register
def _l_r_n(op: LRN) -> list[Case]:
    attrs = {"size": 5, "alpha": 0.1, "beta": 0.75, "bias": 2.0}
    return [
        Case("nchw", (sample(1, 7, 3, 2),), attrs),
        Case("nhwc", (sample(1, 3, 2, 7),), {**attrs, "layout": "NHWC"}),
    ]


@cases.register
def _layer_normalization(op: LayerNormalization) -> list[Case]:
    x = sample(2, 3, 8)
    return [
        Case("last", (x, sample(8), sample(8, seed=2)), const=(1, 2)),
        Case("statistics", (x, sample(8)), outputs=3),
        Case("no shift", (x, sample(8)), {"epsilon": 1e-3}, const=(1,)),
        Case("two axes", (x, sample(3, 8), sample(3, 8, seed=2)), {"axis": 1}),
        Case("all axes", (sample(4, 5), sample(4, 5)), {"axis": 0}),
    ]


@cases.register
def _rms_normalization(op: RMSNormalization) -> list[Case]:
    x = sample(2, 3, 8)
    return [
        Case("last", (x, sample(8)), const=(1,), version=23),
        Case("two axes", (x, sample(3, 8)), {"axis": 1, "epsilon": 0.1}, version=23),
        Case("all axes", (sample(4, 5), sample(4, 5)), {"axis": 0}, version=23),
        Case("in float64", (x.astype(np.float64), sample(8).astype(np.float64)), {"stash_type": 11}, version=23),
    ]


@cases.register
def _mean_variance_normalization(op: MeanVarianceNormalization) -> list[Case]:
    return [
        Case("channels", (sample(2, 3, 4, 5),)),
        Case("last", (sample(3, 8),), {"axes": (-1,)}),
        Case("two axes", (sample(2, 3, 4),), {"axes": (2, 0)}),
        Case("all axes", (sample(4, 5),), {"axes": (1, 0)}),
    ]


def _windows() -> list[Case]:
    nchw, nhwc = sample(1, 3, 7, 8), sample(1, 7, 8, 3)

    def attrs(k: int, s: int, p: int, **more: AttrValue) -> dict[str, AttrValue]:
        return {"kernel_shape": (k, k), "strides": (s, s), "pads": (p, p, p, p), **more}

    return [
        Case("2x2", (nchw,), attrs(2, 2, 0)),
        Case("3x3 padded", (nchw,), attrs(3, 2, 1)),
        Case("ceil", (nchw,), attrs(3, 2, 0, ceil_mode=1)),
        Case("ceil padded", (nchw,), attrs(2, 3, 1, ceil_mode=1)),
        Case("same", (nchw,), {"kernel_shape": (3, 2), "strides": (2, 2), "auto_pad": "SAME_UPPER"}),
        Case("nhwc", (nhwc,), attrs(3, 2, 1, layout="NHWC")),
        Case("1d", (sample(2, 3, 9),), {"kernel_shape": (3,), "strides": (2,)}),
    ]


@cases.register
def _global(op: GlobalMaxPool | GlobalAveragePool) -> list[Case]:
    return [
        Case("nchw", (sample(2, 3, 4, 5),)),
        Case("nhwc", (sample(1, 4, 5, 3),), {"layout": "NHWC"}),
        Case("1d", (sample(1, 3, 7),)),
    ]


@cases.register
def _average_pool(op: AveragePool) -> list[Case]:
    base = _windows()
    return base + [Case(f"{b.label} counted", b.inputs, {**b.attrs, "count_include_pad": 1}) for b in base]


@cases.register
def _lp_pool(op: LpPool) -> list[Case]:
    base = _windows()
    return base + [Case(f"{b.label}, p={p}", b.inputs, {**b.attrs, "p": p}) for b in base[:2] for p in (1, 3)]


@cases.register
def _global_lp_pool(op: GlobalLpPool) -> list[Case]:
    return [*_global(op), *(Case(f"p={p}", (sample(2, 3, 4, 5),), {"p": p}) for p in (1, 3))]


@cases.register
def _max_pool(op: MaxPool) -> list[Case]:
    return [
        *_windows(),
        Case("bytes", (ints(*range(8)).astype(np.uint8).reshape(1, 1, 8),), {"kernel_shape": (3,), "pads": (1, 1)}),
        Case("dilated", (sample(1, 2, 8, 8),), {"kernel_shape": (3, 3), "dilations": (2, 2)}),
        Case("places", (sample(2, 3, 5, 6),), {"kernel_shape": (2, 3), "pads": (1, 0, 0, 1)}, outputs=2),
    ]


@cases.register
def _max_unpool(op: MaxUnpool) -> list[Case]:
    x, places, attrs = sample(1, 1, 2, 2), ints(5, 7, 13, 15).reshape(1, 1, 2, 2), {"kernel_shape": (2, 2)}
    strided: dict[str, AttrValue] = {**attrs, "strides": (2, 2)}
    return [
        Case("places", (x, places), strided),
        Case("larger", (x, places, ints(1, 1, 5, 5)), strided, const=(2,)),
    ]


@cases.register
def _roi_align(op: RoiAlign) -> list[Case]:
    boxes = np.array([[0, 0, 5, 4], [-2, 1, 3, 9], [4, 4, 4, 4]], np.float32)
    inputs = (sample(2, 3, 6, 7), boxes, ints(1, 0, 1))
    whole: dict[str, AttrValue] = {"coordinate_transformation_mode": "output_half_pixel", "output_height": 2}
    return [
        Case("samples", inputs, {"output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.8}, version=16),
        Case("as many as elements", inputs, whole, version=16),
        Case("largest", inputs, {**whole, "output_width": 3, "mode": "max", "spatial_scale": 0.8}, version=16),
    ]


@cases.register
def _recurrent(op: Recurrent) -> list[Case]:
    t, b, i, h = 3, 2, 4, 5
    rows = op.gates * h

    def given(n: int) -> tuple[Array | None, ...]:
        states = tuple(sample(n, b, h) * (k + 1) for k in range(op.states))
        lengths = np.full(b, t, np.int32)
        return (sample(t, b, i), sample(n, rows, i), sample(n, rows, h), sample(n, 2 * rows), lengths, *states)

    def case(label: str, inputs: tuple[Array | None, ...], **attrs: int | float | str) -> Case:
        const = tuple(k for k in (1, 2, 3, 4) if k < len(inputs))
        return Case(label, inputs, {"hidden_size": h, **attrs}, const, 14, 1 + op.states)

    one, short = given(1), sample(1, b, i)
    return [
        case("least", one[:3]),
        case("all", one),
        case("backwards", one, direction="reverse"),
        case("both ways", given(2), direction="bidirectional"),
        case("clipped", one, clip=0.5),
        case("one step", (short, *one[1:4])),
    ]


@cases.register
def _gru(op: Gru) -> list[Case]:
    plain = _recurrent(op)
    late: dict[str, AttrValue] = {"linear_before_reset": 1}
    more = (replace(k, label=f"{k.label}, reset late", attrs={**k.attrs, **late}) for k in plain[1:4])
    return [*plain, *more]


@cases.register
def _lstm(op: Lstm) -> list[Case]:
    plain = _recurrent(op)
    looking = replace(
        plain[1], label="looks at its cell", inputs=(*plain[1].inputs, sample(1, 15)), const=(1, 2, 3, 4, 7)
    )
    return [*plain, looking, replace(looking, label="one gate less", attrs={**looking.attrs, "input_forget": 1})]


@cases.register
def _resize(op: Resize) -> list[Case]:
    x = sample(1, 2, 4, 6)

    def scaled(*scales: float) -> tuple[Array | None, ...]:
        return x, None, np.array(scales, np.float32)

    floor = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return [
        Case("twice", scaled(1, 1, 2, 2), const=(2,)),
        Case("floor", scaled(1, 1, 2, 3), floor, const=(2,)),
        Case("half", scaled(1, 1, 0.5, 0.5), floor, const=(2,)),
        Case("sizes", (x, None, None, ints(1, 2, 8, 6)), const=(3,)),
        Case("corners", (x, None, None, ints(1, 2, 7, 9)), {"coordinate_transformation_mode": "align_corners"}, (3,)),
        Case("linear", scaled(1, 1, 1.4, 0.7), {"mode": "linear"}, const=(2,)),
        Case("cubic", scaled(1, 1, 2, 0.6), {"mode": "cubic"}, const=(2,)),
    ]


@cases.register
def _grid_sample(op: GridSample) -> list[Case]:
    x, grid = sample(2, 3, 4, 5), sample(2, 3, 2, 2)
    return [
        Case("linear", (x, grid), version=20),
        Case("cubic, mirrored", (x, grid), {"mode": "cubic", "padding_mode": "reflection"}, version=20),
        Case("volume", (sample(1, 2, 3, 4, 5), sample(1, 2, 2, 2, 3)), {"padding_mode": "border"}, version=20),
    ]


@cases.register
def _affine_grid(op: AffineGrid) -> list[Case]:
    return [
        Case("image", (sample(2, 2, 3), ints(2, 3, 4, 5)), const=(1,), version=20),
        Case("volume", (sample(1, 3, 4), ints(1, 1, 2, 3, 4)), {"align_corners": 1}, const=(1,), version=20),
    ]


@cases.register
def _along_axis(op: AlongAxis) -> list[Case]:
    return [
        Case("last", (sample(3, 7),)),
        Case("middle", (sample(2, 5, 3),), {"axis": 1}),
        Case("opset 9 flattens", (sample(2, 3, 2, 2),), version=9),
        Case("opset 9 whole", (sample(4, 3),), {"axis": 0}, version=9),
    ]


@cases.register
def _lp_normalization(op: LpNormalization) -> list[Case]:
    x = sample(2, 5, 3)
    x[1, :, 2] = 0
    return [Case(f"p={p}, axis {a}", (x,), {"p": p, "axis": a}) for p in (1, 2) for a in (1, -1)]


@cases.register
def _deform_conv(op: DeformConv) -> list[Case]:
    x, w, offset = sample(2, 4, 5, 6), sample(4, 2, 2, 3), sample(2, 24, 6, 6)
    mask = sample(2, 12, 6, 6, low=0.0)
    grouped = {"group": 2, "offset_group": 2, "pads": (1, 1, 1, 1)}
    steps = {"strides": (2, 2), "dilations": (2, 2)}
    return [
        Case("plain", (sample(1, 2, 5, 5), sample(3, 2, 3, 3), sample(1, 18, 3, 3)), version=19),
        Case("groups", (x, w, offset, sample(4), mask), grouped, const=(1, 3), version=22),
        Case("steps", (sample(1, 2, 7, 7), sample(3, 2, 2, 2), 9 * sample(1, 8, 3, 3)), steps, version=19),
    ]
