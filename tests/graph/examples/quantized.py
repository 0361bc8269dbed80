"""Examples of operators: quantized."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.examples.case import Case, bytes_of, cases, sample

from workbench.graph.ops.quantized.qlinear import ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul
from workbench.graph.ops.quantized.quantize_linear import DequantizeLinear, DynamicQuantizeLinear, QuantizeLinear


@cases.register
def _mat_mul_integer(op: MatMulInteger) -> list[Case]:
    a, b, one = bytes_of(3, 5), bytes_of(5, 4), np.array(130, np.uint8)
    signed, zeros = b.view(np.int8), np.array([-3, 0, 5, 127], np.int8)
    return [
        Case("plain", (a, b), version=10),
        Case("zero points", (a, signed, one, np.array(-7, np.int8)), const=(2, 3), version=10),
        Case("computed", (a, b, np.array(7, np.uint8), np.array(200, np.uint8)), version=10),
        Case("columns", (a, signed, one, zeros), const=(2,), version=10),
        Case("batched", (bytes_of(2, 3, 5), signed, one), const=(2,), version=10),
    ]


@cases.register
def _q_linear_mat_mul(op: QLinearMatMul) -> list[Case]:
    a, b = bytes_of(3, 5), bytes_of(5, 4)
    sa, sb, sy = (np.array(v, np.float32) for v in (0.02, 0.013, 0.7))
    za, zb, zy = (np.array(v, np.uint8) for v in (120, 131, 9))
    ia, ib, iy = (np.array(v, np.int8) for v in (4, 0, -9))
    return [
        Case("unsigned", (a, sa, za, b, sb, zb, sy, zy), const=(1, 2, 4, 5, 6, 7), version=10),
        Case("computed", (a, sa, za, b, sb, zb, sy, zy), version=10),
        Case("signed", (a.view("i1"), sa, ia, b.view("i1"), sb, ib, sy, iy), const=(1, 2, 4, 5, 6, 7), version=10),
    ]


@cases.register
def _conv_integer(op: ConvInteger) -> list[Case]:
    x, w, zx = bytes_of(1, 4, 6, 5), bytes_of(6, 4, 3, 3), np.array(130, np.uint8)
    pads: dict[str, Any] = {"pads": (1, 1, 1, 1)}
    nhwc: dict[str, Any] = {"layout": "NHWC", **pads}
    image, kernel = np.transpose(x, (0, 2, 3, 1)), np.transpose(w, (2, 3, 1, 0))
    return [
        Case("plain", (x, w), version=10),
        Case("zero points", (x, w, zx, np.array(99, np.uint8)), pads, const=(2, 3), version=10),
        Case("computed", (x, w, zx, np.array(99, np.uint8)), pads, version=10),
        Case("signed", (x, w.view(np.int8), zx), {"strides": (2, 2), **pads}, const=(2,), version=10),
        Case("grouped", (x, bytes_of(6, 2, 3, 3).view(np.int8), zx), {"group": 2, **pads}, const=(2,), version=10),
        Case("nhwc", (image, kernel, zx, np.array([*range(60, 66)], np.uint8)), nhwc, const=(2,), version=10),
        Case("nhwc surrounded", (image, kernel, zx), {"pad_only": 1, **nhwc}, const=(2,), version=10),
        Case("nhwc surrounded, computed", (image, kernel, zx), {"pad_only": 1, **nhwc}, version=10),
    ]


@cases.register
def _q_linear_conv(op: QLinearConv) -> list[Case]:
    x, w, bias = bytes_of(1, 4, 6, 5), bytes_of(6, 4, 3, 3), bytes_of(6).astype(np.int32) * 50 - 6000
    sx, sw, sy = (np.array(v, np.float32) for v in (0.02, 0.013, 0.7))
    zx, zw, zy = (np.array(v, np.uint8) for v in (120, 131, 9))
    each, none = sample(6, low=0.01) * 0.02, np.zeros(6, np.int8)
    pads, const = {"pads": (1, 1, 1, 1)}, (1, 2, 4, 5, 6, 7)
    # Of half their size: on processors without VNNI onnxruntime clips sums of two products at 32767.
    signed = (x, sx, zx, w.view(np.int8) // 2, each, none, sy, zy, bias)
    return [
        Case("unsigned", (x, sx, zx, w, sw, zw, sy, zy, bias), pads, const=const, version=10),
        Case("computed", (x, sx, zx, w, sw, zw, sy, zy), pads, version=10),
        Case("channels", signed, pads, const=(1, 2, 6, 7), version=10),
        Case("one channel", (x, sx, zx, w[:1], sw, zw, sy, zy, bias[:1]), pads, const=(*const, 8), version=10),
    ]


@cases.register
def _quantize_linear(op: QuantizeLinear) -> list[Case]:
    x, one = sample(2, 3, 4) * 40, np.array(0.5, np.float32)
    x[0, 0] = [0.25, 0.75, -0.25, -1.25]  # ties
    x[1, 2, 3] = 1e30
    per = np.array([0.5, 0.25, 2], np.float32)
    return [
        Case("tensor", (x, one, np.array(128, np.uint8)), const=(1, 2), version=13),
        Case("no zero point", (x, one), const=(1,), version=13),
        Case("signed", (x, one, np.array(-3, np.int8)), const=(1, 2), version=13),
        Case("computed scale", (x, one, np.array(3, np.uint8)), version=13),
        Case("axis", (x, per, np.array([1, 2, 30], np.uint8)), {"axis": 1}, const=(1, 2), version=13),
        Case("16 bits", (x * 99, one, np.array(-9, np.int16)), const=(1, 2), version=21),
        Case("blocks", (x, sample(2, 3, 2, low=0.1)), {"axis": 2, "block_size": 2, "output_dtype": 3}, version=21),
    ]


@cases.register
def _dequantize_linear(op: DequantizeLinear) -> list[Case]:
    x, one = bytes_of(2, 3, 4), np.array(0.5, np.float32)
    per = np.array([0.5, 0.25, 2], np.float32)
    wide = bytes_of(2, 3, 4).astype(np.int32) * 1000
    return [
        Case("tensor", (x, one, np.array(128, np.uint8)), const=(1, 2), version=13),
        Case("no zero point", (x.view(np.int8), one), const=(1,), version=13),
        Case("sums", (wide, one), const=(1,), version=13),
        Case("computed scale", (x, one, np.array(3, np.uint8)), version=13),
        Case("axis", (x, per, np.array([1, 2, 30], np.uint8)), {"axis": -2}, const=(1, 2), version=13),
        Case("blocks", (x, sample(2, 3, 2, low=0.1)), {"axis": 2, "block_size": 2}, version=21),
    ]


@cases.register
def _dynamic_quantize_linear(op: DynamicQuantizeLinear) -> list[Case]:
    return [
        Case("both signs", (sample(3, 5) * 3,), version=11, outputs=3),
        Case("positive", (sample(3, 5, low=1.0),), version=11, outputs=3),
        Case("negative", (-sample(3, 5, low=1.0),), version=11, outputs=3),
    ]
