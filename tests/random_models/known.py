"""Differences that are not ours: what onnxruntime gets wrong, or what the standard leaves open.

An entry names operators and says when it applies, and why. Whatever else differs is a fault of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from onnx import helper

from random_models.draft import Draft, Step

Attrs: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """Operators, a condition on the values of a node's operands and its attributes, and the reason."""

    operators: str
    applies: Callable[[list[np.ndarray], Attrs], bool]
    reason: str


def _nan(x: np.ndarray) -> bool:
    return x.dtype.kind == "f" and bool(np.isnan(x).any())


def _huge(x: np.ndarray) -> bool:
    return x.dtype.kind == "f" and bool((np.abs(x) > float(np.finfo(x.dtype).max) / 2).any())


def _no_spread(x: np.ndarray, axes: tuple[int, ...]) -> bool:
    """Whether some group of numbers along axes is one number, over and over."""
    return bool(x.size) and bool((np.ptp(x.astype("f8"), axis=axes) < 1e-6).any())


def _wide_stride(x: list[np.ndarray], attrs: Attrs) -> bool:
    kernel = attrs.get("kernel_shape", x[1].shape[2:])
    n = len(kernel)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, attrs.get("dilations", [1] * n), strict=True)]
    wide = any(s > w for s, w in zip(attrs.get("strides", [1] * n), spans, strict=True))
    return wide and attrs.get("auto_pad", b"").startswith(b"SAME")


def _no_window(x: list[np.ndarray], attrs: Attrs) -> bool:
    kernel = attrs["kernel_shape"]
    n = len(kernel)
    pads = attrs.get("pads", [0] * 2 * n)
    sizes = [s + pads[k] + pads[k + n] for k, s in enumerate(x[0].shape[2:])]
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, attrs.get("dilations", [1] * n), strict=True)]
    return any(w > s for w, s in zip(spans, sizes, strict=True))


def _odd_text(x: list[np.ndarray], attrs: Attrs) -> bool:
    return any(str(s) == "" or "\t" in str(s) for s in x[0].flat)


def _gates_without_bounds(x: list[np.ndarray], attrs: Attrs) -> bool:
    names = set(attrs.get("activations", ()))
    return b"Sigmoid" in names and bool(
        names & {b"Relu", b"LeakyRelu", b"Elu", b"Softplus", b"Affine", b"ThresholdedRelu"}
    )


def _far_end(x: list[np.ndarray], attrs: Attrs) -> bool:
    steps = x[4] if len(x) > 4 else x[3] if len(x) > 3 else np.ones(1)
    return bool((steps < 0).any()) and bool((x[2] >= 2**31 - 1).any())


TABLE = (
    Entry("NonZero", lambda x, a: x[0].ndim == 0, "the standard gives a scalar's places the shape [0, N], not [1, N]"),
    Entry("DFT STFT", lambda x, a: True, "onnxruntime's sines are off by some units of float32, in float64 too"),
    Entry(
        "HannWindow HammingWindow BlackmanWindow",
        lambda x, a: a.get("output_datatype") == 11,
        "the standard's own definition computes float64 windows in float32",
    ),
    Entry(
        "MeanVarianceNormalization",
        lambda x, a: _no_spread(x[0], tuple(a.get("axes", (0, 2, 3)))),
        "equal numbers: the standard's definition keeps away from 0 / 0, onnxruntime gives NaN",
    ),
    Entry(
        "InstanceNormalization",
        lambda x, a: _no_spread(x[0], tuple(range(2, x[0].ndim))),
        "equal numbers: onnxruntime's x * scale + (bias - mean * scale) cancels",
    ),
    Entry("Hardmax", lambda x, a: _nan(x[0]), "the largest of NaN and numbers is nowhere defined"),
    Entry(
        "ReduceMax ReduceMin GlobalMaxPool MaxPool",
        lambda x, a: _nan(x[0]),
        "the standard leaves NaN open; onnxruntime keeps some and loses others",
    ),
    Entry(
        "ReduceProd ReduceSum ReduceMean ReduceSumSquare ReduceL1 ReduceL2 CumSum MatMul Gemm Einsum Det",
        lambda x, a: any(_huge(v) for v in x),
        "whether numbers near the largest overflow on the way depends on the order, which is free",
    ),
    Entry(
        "ReduceLogSumExp",
        lambda x, a: x[0].dtype.kind in "iu",
        "of integers, onnxruntime cuts every exponential to an integer before it adds them",
    ),
    Entry(
        "Shrink",
        lambda x, a: x[0].dtype.kind in "iu" and bool((np.abs(x[0].astype("f8")) > 2**24).any()),
        "onnxruntime computes integers in float32",
    ),
    Entry(
        "AveragePool LpPool MaxPool",
        _no_window,
        "a window that does not fit: onnxruntime cuts the negative quotient of (size - window) / stride towards zero",
    ),
    Entry(
        "AveragePool LpPool MaxPool",
        lambda x, a: a.get("auto_pad", b"").startswith(b"SAME") and max(a.get("dilations", [1])) > 1,
        "SAME is size / stride; onnxruntime forgets that a dilated window is wider",
    ),
    Entry(
        "Resize",
        lambda x, a: x[0].dtype.kind in "iu" and bool(a.get("antialias")),
        "how integers are rounded is open; onnxruntime rounds after each dimension where it smooths",
    ),
    Entry(
        "RNN GRU LSTM",
        _gates_without_bounds,
        "onnxruntime's logistic function is off by 3e-7 wherever it should be 0, which gates without bounds multiply",
    ),
    Entry(
        "SplitToSequence",
        lambda x, a: len(x) > 1 and a.get("keepdims") == 0,
        "keepdims is ignored where sizes are given; onnxruntime drops the dimension",
    ),
    Entry(
        "QLinearMatMul",
        lambda x, a: x[0].size == 0,
        "a sum of nothing is the zero point; onnxruntime leaves 0",
    ),
    Entry("StringSplit", _odd_text, "white space is more than blanks, and an empty text is one text"),
    Entry("ReduceMean", lambda x, a: x[0].size == 0, "the mean of nothing is undefined; onnxruntime says 0"),
    Entry("ConvTranspose", _wide_stride, "SAME is input * stride; onnxruntime gives less where kernels are smaller"),
    Entry("Slice", _far_end, "an end beyond a dimension is clamped to it; onnxruntime reads INT_MAX as the beginning"),
    Entry(
        "GroupNormalization",
        lambda x, a: x[0].dtype == np.float64,
        "the standard computes statistics in float32 (stash_type), onnxruntime in float64",
    ),
)


def excuse(draft: Draft, step: Step, culprit: str) -> str:
    """Why a difference that a node makes is not ours; "" where it is."""
    op = step.proto.op_type
    if culprit != op:
        return ""
    attrs = {a.name: helper.get_attribute_value(a) for a in step.proto.attribute}
    operands = [np.asarray(draft.known[n]) for n in step.reads]
    entry = next((e for e in TABLE if op in e.operators.split() and e.applies(operands, attrs)), None)
    return f"{op}: {entry.reason}" if entry else ""
