"""Differences that are not ours: what onnxruntime gets wrong, or what the standard leaves open.

An entry names operators, says when it applies, and why. It looks at the results, too: an element that the reason does
not reach has to be right. Whatever else differs is a fault of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import helper

FLOAT32 = float(np.finfo("f4").eps)
Mask: TypeAlias = np.ndarray | bool


@dataclass(frozen=True)
class Case:
    """A node that is wrong by itself.

    Operands by their places (None: absent), onnxruntime's results, ours, and which elements of each are wrong (None:
    another shape or type).
    """

    node: onnx.NodeProto
    opset: int
    x: list[Any]
    want: list[Any]
    got: list[Any]
    wrong: list[np.ndarray | None]

    def attr(self, name: str, default: Any = None) -> Any:
        found = next((a for a in self.node.attribute if a.name == name), None)
        return default if found is None else helper.get_attribute_value(found)

    def operand(self, i: int) -> Any:
        """An operand; None where it is absent."""
        return self.x[i] if i < len(self.x) else None

    def only(self, *masks: Mask) -> bool:
        """Whether elements are wrong only where the masks, one for each result, allow it."""
        pairs = zip(self.wrong, (*masks, *[False] * len(self.wrong)), strict=False)
        return all(w is not None and not (w & ~np.broadcast_to(m, w.shape)).any() for w, m in pairs)

    def apart(self) -> np.ndarray:
        """How far the first results are from each other."""
        return np.asarray(np.abs(self.want[0].astype("f8") - self.got[0].astype("f8")))


@dataclass(frozen=True)
class Entry:
    """Operators, a condition on the case, and the reason."""

    operators: str
    applies: Callable[[Case], bool]
    reason: str


def _nan(x: np.ndarray) -> np.ndarray:
    return np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)


def _lowest(x: np.ndarray) -> float:
    return float(np.finfo(x.dtype).min) if x.dtype.kind == "f" else -np.inf


def _reduced(c: Case) -> tuple[int, ...]:
    """Axes of a reduction."""
    named = c.attr("axes") if c.operand(1) is None else c.operand(1).tolist()
    rank = c.x[0].ndim
    return tuple(a % rank for a in named) if named else tuple(range(rank))


def _group_with_nan(c: Case) -> bool:
    keep = bool(c.attr("keepdims", 1))
    return c.only(_nan(c.x[0]).any(axis=_reduced(c), keepdims=keep) & _nan(c.got[0]))


def _largest_alone(c: Case) -> bool:
    """Whether onnxruntime has the logarithm of a number of largest integers, and the largest."""
    x, how = c.x[0], {"axis": _reduced(c), "keepdims": True}
    top = x.max(**how)
    there = top + np.log((x == top).sum(**how)).astype(top.dtype)
    return _whole(c) and c.only(c.want[0] == there.reshape(c.want[0].shape))


def _some_with_nan(c: Case) -> bool:
    """Whether of maxima those alone are wrong that are NaN in one result, and their places."""
    odd = _nan(c.want[0]) | _nan(c.got[0])
    return any(_nan(v).any() for v in c.x) and c.only(*[odd] * len(c.wrong))


def _row_with(c: Case, odd: np.ndarray) -> np.ndarray:
    """Elements in a row with an odd one: along an axis, before opset 13 over all axes from one on."""
    axis = c.attr("axis", -1 if c.opset >= 13 else 1)
    axes = (axis,) if c.opset >= 13 else tuple(range(axis % odd.ndim, odd.ndim))
    return np.asarray(odd.any(axis=axes, keepdims=True))


def _later_texts(c: Case) -> bool:
    """Whether texts are empty that do not begin what an index names."""
    block = c.x[0].shape[c.attr("axis", 0) % c.x[0].ndim + 1 :]
    later = (np.arange(np.prod(block, dtype=int)) > 0).reshape(block)
    return c.x[0].dtype == object and c.only(later & (c.want[0].astype(str) == ""))


def _overflow(c: Case) -> bool:
    """Whether results that are no numbers come of operands near the largest, or of a product that passes it."""
    top = float(np.finfo(c.want[0].dtype).max) if c.want[0].dtype.kind == "f" else np.inf
    floats = [v.astype("f8") for v in c.x if v is not None and v.dtype.kind == "f"]
    large = max((np.abs(v).max(initial=0) for v in floats), default=0)
    if c.node.op_type == "ReduceProd":
        large = max(large, np.maximum(np.abs(c.x[0].astype("f8")), 1).prod(axis=_reduced(c)).max(initial=0))
    return bool(large > top / 2) and c.only(~np.isfinite(c.want[0]) | ~np.isfinite(c.got[0]))


def _equal_numbers(c: Case) -> bool:
    """Groups of one number, over and over: NaN there, and 0 here."""
    axes = tuple(c.attr("axes", (0, 2, 3)))
    same = np.ptp(c.x[0], axis=axes, keepdims=True) == 0
    return c.only(same & np.isnan(c.want[0]) & (c.got[0] == 0))


def _cancelled(c: Case) -> bool:
    """Whether differences are within rounding of the terms that cancel in x * scale + (bias - mean * scale)."""
    x, axes = c.x[0].astype("f8"), tuple(range(2, c.x[0].ndim))
    scale = c.x[1].reshape(-1, *[1] * len(axes)) / np.sqrt(x.var(axis=axes, keepdims=True) + c.attr("epsilon", 1e-5))
    near = 4 * np.finfo(c.x[0].dtype).eps * np.abs(x).max(axis=axes, keepdims=True, initial=0) * np.abs(scale)
    return c.only(c.apart() <= near)


def _float32_statistics(c: Case) -> bool:
    """Whether differences are within float32's rounding of what groups are divided by and of what is left."""
    x = c.x[0].reshape(c.x[0].shape[0], c.attr("num_groups"), -1)
    deviation = np.sqrt(x.var(axis=-1) + c.attr("epsilon", 1e-5)).min(initial=np.inf)
    size = np.abs(x).max(initial=0) / deviation * np.abs(c.x[1]).max(initial=0) + np.abs(c.x[2]).max(initial=0)
    return x.dtype == np.float64 and c.only(c.apart() <= 4 * FLOAT32 * size)


def _windows(c: Case) -> Iterator[tuple[int, int, int, int]]:
    """Of each dimension that windows walk along: its padded size, kernel, span and stride."""
    kernel = c.attr("kernel_shape", c.x[1].shape[2:] if c.node.op_type == "ConvTranspose" else ())
    n = len(kernel)
    pads = c.attr("pads", [0] * 2 * n)
    each = zip(kernel, c.attr("dilations", [1] * n), c.attr("strides", [1] * n), strict=True)
    for k, (size, d, stride) in enumerate(each):
        yield c.x[0].shape[2 + k] + pads[k] + pads[k + n], size, (size - 1) * d + 1, stride


def _lengths(c: Case) -> Iterator[tuple[int, int]]:
    """Of each dimension that windows walk along: onnxruntime's length of it, and ours."""
    return zip(c.want[0].shape[2:], c.got[0].shape[2:], strict=True)


def _unfit_windows(c: Case) -> bool:
    """Whether there is one window there and none here along just those dimensions in which none fits."""
    both = zip(_lengths(c), _windows(c), strict=True)
    return all(a == b or (size < span and (a, b) == (1, 0)) for (a, b), (size, _, span, _) in both)


def _dilated(c: Case) -> bool:
    """Whether kernels are dilated, and lengths less than size / stride just along dimensions in which they are."""
    if not c.attr("auto_pad", b"").startswith(b"SAME"):
        return False
    both = [(*n, size, stride, span > k) for n, (size, k, span, stride) in zip(_lengths(c), _windows(c), strict=True)]
    return any(w for *_, w in both) and all(a == b or (w and a < b == -(-s // t)) for a, b, s, t, w in both)


def _short_kernel(c: Case) -> bool:
    """Whether a result of ConvTranspose is shorter just where strides are wider than kernels."""
    both = zip(_lengths(c), _windows(c), c.x[0].shape[2:], strict=True)
    same = c.attr("auto_pad", b"").startswith(b"SAME")
    return same and all(a == b or (t > w and a < b == n * t) for (a, b), (_, _, w, t), n in both)


def _far_end(c: Case) -> bool:
    ends, steps = c.x[2], c.operand(4)
    return steps is not None and bool(((steps < 0) & (ends >= 2**31 - 1)).any())


def _kept_length(c: Case) -> bool:
    """Whether some axis with a region of its own keeps its length."""
    if c.attr("coordinate_transformation_mode") != b"tf_crop_and_resize":
        return False
    first, last = c.operand(1).reshape(2, -1)
    axes = c.attr("axes", range(c.x[0].ndim))
    same = [c.x[0].shape[a] == c.want[0].shape[a] for a in axes]
    return bool((np.array(same) & ((first != 0) | (last != 1))).any())


def _odd(c: Case) -> np.ndarray:
    """Which texts hold white space that is no blank, or are empty where the standard says what splits them."""
    given = bool(c.attr("delimiter", b""))
    return np.reshape([str(s) == "" if given else "\t" in str(s) for s in c.x[0].flat], c.x[0].shape).astype(bool)


def _odd_counts(c: Case) -> bool:
    """Whether texts are counted otherwise just where they are odd; the longest decides how long the lists are."""
    return c.wrong[1] is not None and not (c.wrong[1] & ~_odd(c)).any()


def _rough_softplus(c: Case) -> bool:
    """Whether elements are wrong only where onnxruntime's are 0, infinite or NaN."""
    return b"Softplus" in c.attr("activations", ()) and all(
        not (w & np.isfinite(v) & (v != 0)).any() for w, v in zip(c.wrong, c.want, strict=True)
    )


def _gates_without_bounds(c: Case) -> bool:
    names = set(c.attr("activations", ()))
    endless = names & {b"Relu", b"LeakyRelu", b"Elu", b"Softplus", b"Affine", b"ThresholdedRelu"}
    results = zip(c.wrong, c.want, c.got, strict=True)
    near = [~w | (np.abs(a - b) <= 1e-5 * np.abs(a).max(initial=0)) for w, a, b in results]
    return b"Sigmoid" in names and bool(endless) and all(n.all() for n in near)


def _whole(c: Case) -> bool:
    return bool(c.x[0].dtype.kind in "iu")


#: Where a result has another shape, or is another sequence.
SHAPES = (
    Entry("NonZero", lambda c: c.x[0].ndim == 0, "the standard gives a scalar's places the shape [0, N], not [1, N]"),
    Entry(
        "AveragePool LpPool MaxPool",
        _unfit_windows,
        "a window that does not fit: onnxruntime cuts the negative quotient of (size - window) / stride towards zero",
    ),
    Entry(
        "AveragePool LpPool MaxPool",
        _dilated,
        "SAME is size / stride; onnxruntime forgets that a dilated window is wider",
    ),
    Entry(
        "SplitToSequence",
        lambda c: (
            c.operand(1) is not None
            and [v.ravel().tolist() for v in c.want[0]] == [v.ravel().tolist() for v in c.got[0]]
        ),
        "keepdims is ignored where sizes are given; onnxruntime drops the dimension",
    ),
    Entry("ConvTranspose", _short_kernel, "SAME is input * stride; onnxruntime gives less where kernels are smaller"),
    Entry("Slice", _far_end, "an end beyond a dimension is clamped to it; onnxruntime reads INT_MAX as the beginning"),
    Entry("StringSplit", _odd_counts, "white space is more than blanks, and an empty text is one text"),
)
#: Where elements are others.
VALUES = (
    Entry(
        "DFT",
        lambda c: (
            c.want[0].dtype == np.float64
            and bool(c.attr("inverse"))
            and c.only(c.apart() <= FLOAT32 / 2 * np.abs(c.got[0]))
        ),
        "onnxruntime divides by a number of elements whose reciprocal is a float32, in float64 too",
    ),
    Entry(
        "HannWindow HammingWindow BlackmanWindow",
        lambda c: c.attr("output_datatype") == onnx.TensorProto.DOUBLE and c.only(c.apart() <= 2 * FLOAT32),
        "the standard's own definition computes float64 windows in float32",
    ),
    Entry(
        "MeanVarianceNormalization",
        _equal_numbers,
        "equal numbers: the standard's definition keeps away from 0 / 0, onnxruntime gives NaN",
    ),
    Entry("InstanceNormalization", _cancelled, "onnxruntime's x * scale + (bias - mean * scale) cancels"),
    Entry(
        "QuantizeLinear",
        lambda c: c.x[1].dtype == np.float16 and c.only(c.apart() <= 1),
        "the quotient has the type of the scale; onnxruntime rounds one of float16 numbers in float32",
    ),
    Entry("Sign", lambda c: c.only(_nan(c.x[0])), "the standard says nothing of the sign of NaN"),
    Entry(
        "DynamicQuantizeLinear",
        lambda c: not np.isfinite(c.x[0]).all() and c.only(True, False, True),
        "no integer is NaN: which one stands for it is open",
    ),
    Entry("Gather", _later_texts, "of texts, onnxruntime copies the first of each block and leaves the others empty"),
    Entry("QuantizeLinear", lambda c: c.only(_nan(c.x[0])), "no integer is NaN: which one stands for it is open"),
    Entry("Hardmax", lambda c: c.only(_row_with(c, _nan(c.x[0]))), "the largest of NaN and numbers is nowhere defined"),
    Entry(
        "Softmax LogSoftmax",
        lambda c: c.only(_row_with(c, ~(c.x[0] < np.inf)) & _nan(c.got[0])),
        "where the largest element is NaN or infinite, all are NaN; onnxruntime loses that in float64",
    ),
    Entry(
        "ReduceMax ReduceMin",
        _group_with_nan,
        "the standard leaves NaN open; onnxruntime keeps some and loses others",
    ),
    Entry(
        "GlobalMaxPool MaxPool",
        _some_with_nan,
        "the standard leaves NaN open; onnxruntime keeps some and loses others",
    ),
    Entry(
        "ScatterElements ScatterND",
        lambda c: c.attr("reduction") in (b"max", b"min") and _some_with_nan(c),
        "the standard leaves NaN open; onnxruntime keeps some and loses others",
    ),
    Entry(
        "MaxPool",
        lambda c: c.only(*[(c.want[0] == _lowest(c.want[0])) & (c.got[0] == -np.inf)] * len(c.wrong)),
        "onnxruntime begins maxima at the lowest finite number: of nothing but padding that is what it finds",
    ),
    Entry(
        "ReduceProd ReduceSum ReduceMean ReduceSumSquare ReduceL1 ReduceL2 CumSum MatMul Gemm Einsum Det",
        _overflow,
        "whether numbers near the largest overflow on the way depends on the order, which is free",
    ),
    Entry("ReduceLogSumExp", _group_with_nan, "a sum with NaN is NaN; onnxruntime looks for the largest and loses it"),
    Entry(
        "ReduceLogSumExp",
        _largest_alone,
        "of integers, onnxruntime cuts every exponential to an integer: what is less than the largest adds nothing",
    ),
    Entry(
        "Shrink",
        lambda c: (
            c.only(np.abs(c.x[0].astype("f8")) >= 2**23)
            if _whole(c)
            else c.x[0].dtype == np.float64 and c.only(c.apart() <= FLOAT32 * np.abs(c.want[0]))
        ),
        "onnxruntime computes integers and float64 in float32",
    ),
    Entry(
        "AveragePool LpPool MaxPool",
        _dilated,
        "SAME is size / stride; onnxruntime forgets that a dilated window is wider",
    ),
    Entry(
        "Resize",
        lambda c: _whole(c) and bool(c.attr("antialias")) and c.only(c.apart() <= 1),
        "how integers are rounded is open; onnxruntime rounds after each dimension where it smooths",
    ),
    Entry("Resize", _kept_length, "onnxruntime leaves out the region along an axis that keeps its length"),
    Entry(
        "RNN GRU LSTM",
        _rough_softplus,
        "inside of these onnxruntime's softplus is infinite from 89 on and 0 from -17 down",
    ),
    Entry(
        "RNN GRU LSTM",
        _gates_without_bounds,
        "onnxruntime's logistic function is off by 3e-7 wherever it should be 0, which gates without bounds multiply",
    ),
    Entry(
        "StringSplit",
        lambda c: c.only(_odd(c)[..., None], _odd(c)),
        "white space is more than blanks, and an empty text is one text",
    ),
    Entry(
        "ReduceMean",
        lambda c: c.x[0].size == 0 and c.only(c.want[0] == 0),
        "the mean of nothing is undefined; onnxruntime says 0",
    ),
    Entry(
        "GroupNormalization",
        _float32_statistics,
        "the standard computes statistics in float32 (stash_type), onnxruntime in float64",
    ),
)


def excuse(case: Case) -> str:
    """Why a difference that a node makes is not ours; "" where it is."""
    import os

    if f := os.environ.get("DUMP"):
        import pickle

        with open(f, "ab") as h:
            pickle.dump((case.node.SerializeToString(), case.opset, case.x, case.want, case.got, case.wrong), h)
    table = SHAPES if any(w is None for w in case.wrong) else VALUES
    found = (e for e in table if case.node.op_type in e.operators.split() and e.applies(case))
    return next((e.reason for e in found), "")
