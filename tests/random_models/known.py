"""Differences that are not ours: what onnxruntime gets wrong, or what the standard leaves open.

An entry names operators, says when it applies, and why. It looks at the results, too: an element that the reason does
not reach has to be right. Whatever else differs is a fault of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx

from random_models.conditions import (
    FLOAT32,
    Case,
    beyond_float32,
    beyond_integers,
    cancelled,
    cropping,
    dilated,
    equal_numbers,
    far_end,
    float32_statistics,
    gates_without_bounds,
    group_with_nan,
    infinite_mean,
    kept_length,
    largest_alone,
    later_texts,
    long_sums,
    lowest,
    nan,
    odd,
    odd_counts,
    on_the_cut,
    overflow,
    rough_softplus,
    row_with,
    short_kernel,
    short_quotients,
    some_with_nan,
    unfit_windows,
    whole,
    windows,
    without_elements,
    zero_times_infinite,
)


@dataclass(frozen=True)
class Entry:
    """Operators, a condition on the case, and the reason."""

    operators: str
    applies: Callable[[Case], bool]
    reason: str


#: Where a node is refused.
REFUSED = (
    Entry(
        "Hardmax LogSoftmax Softmax",
        lambda c: c.x[0].size == 0 and not -c.x[0].ndim <= c.attr("axis", 1) < c.x[0].ndim,
        "there is no such axis: onnxruntime takes any where there are no elements",
    ),
    Entry(
        "AveragePool LpPool MaxPool",
        lambda c: any(size < span for size, _, span, _ in windows(c)),
        "a window that does not fit: onnxruntime cuts the negative quotient of (size - window) / stride towards zero",
    ),
)
#: Where a result has another shape, or is another sequence.
SHAPES = (
    Entry(
        "Unique",
        lambda c: nan(c.x[0]).any(),
        "the standard does not say which NaN are one; onnxruntime takes all as equal beside one",
    ),
    Entry("NonZero", lambda c: c.x[0].ndim == 0, "the standard gives a scalar's places the shape [0, N], not [1, N]"),
    Entry(
        "AveragePool LpPool MaxPool",
        unfit_windows,
        "a window that does not fit: onnxruntime cuts the negative quotient of (size - window) / stride towards zero",
    ),
    Entry(
        "AveragePool LpPool MaxPool",
        dilated,
        "SAME is size / stride; onnxruntime forgets that a dilated window is wider",
    ),
    Entry(
        "SplitToSequence",
        lambda c: (
            c.operand(1) is not None
            and c.attr("keepdims") == 0
            and [str(v.ravel().tolist()) for v in c.want[0]] == [str(v.ravel().tolist()) for v in c.got[0]]
        ),
        "keepdims is ignored where sizes are given; onnxruntime drops the dimension",
    ),
    Entry("ConvTranspose", short_kernel, "SAME is input * stride; onnxruntime gives less where kernels are smaller"),
    Entry("Slice", far_end, "an end beyond a dimension is clamped to it; onnxruntime reads INT_MAX as the beginning"),
    Entry(
        "StringSplit",
        odd_counts,
        "white space is more than blanks, a rest keeps its end, an empty text is one",
    ),
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
        "Gelu",
        lambda c: c.want[0].dtype == np.float64 and c.only(c.apart() <= FLOAT32 / 2 * np.abs(c.x[0])),
        "the standard's own definition has its constants in float32",
    ),
    Entry(
        "HannWindow HammingWindow BlackmanWindow",
        lambda c: c.attr("output_datatype") == onnx.TensorProto.DOUBLE and c.only(c.apart() <= 2 * FLOAT32),
        "the standard's own definition computes float64 windows in float32",
    ),
    Entry(
        "MeanVarianceNormalization",
        equal_numbers,
        "equal numbers: the standard's definition keeps away from 0 / 0, onnxruntime gives NaN",
    ),
    Entry("InstanceNormalization", cancelled, "onnxruntime's x * scale + (bias - mean * scale) cancels"),
    Entry(
        "QuantizeLinear",
        short_quotients,
        "the quotient has the type of the scale; onnxruntime rounds one of float16 numbers in float32",
    ),
    Entry("Sign", lambda c: c.only(nan(c.x[0])), "the standard says nothing of the sign of NaN"),
    Entry(
        "DynamicQuantizeLinear",
        lambda c: not np.isfinite(c.x[0]).all() and c.only(True, False, True),
        "no integer is NaN: which one stands for it is open",
    ),
    Entry("Gather", later_texts, "of texts, onnxruntime copies the first of each block and leaves the others empty"),
    Entry("QuantizeLinear", lambda c: c.only(nan(c.x[0])), "no integer is NaN: which one stands for it is open"),
    Entry("Hardmax", lambda c: c.only(row_with(c, nan(c.x[0]))), "the largest of NaN and numbers is nowhere defined"),
    Entry(
        "Softmax LogSoftmax",
        lambda c: c.x[0].dtype == np.float64 and c.only(row_with(c, ~(c.x[0] < np.inf)) & nan(c.got[0])),
        "where the largest element is NaN or infinite, all are NaN; onnxruntime loses that in float64",
    ),
    Entry(
        "ReduceMax ReduceMin",
        group_with_nan,
        "the standard leaves NaN open; onnxruntime keeps some and loses others",
    ),
    Entry(
        "GlobalMaxPool MaxPool",
        some_with_nan,
        "the standard leaves NaN open; onnxruntime keeps some and loses others",
    ),
    Entry(
        "ScatterElements ScatterND",
        lambda c: c.attr("reduction") in (b"max", b"min") and some_with_nan(c),
        "the standard leaves NaN open; onnxruntime keeps some and loses others",
    ),
    Entry(
        "GlobalMaxPool MaxPool",
        lambda c: c.only(
            *[
                (c.want[0] == lowest(c.want[0])) & (c.got[0] == -np.inf)
                | nan(c.x[0]).any() & (nan(c.want[0]) | nan(c.got[0]))
            ]
            * len(c.wrong)
        ),
        "onnxruntime begins maxima at the lowest finite number: of nothing but padding that is what it finds",
    ),
    Entry(
        "MaxPool",
        lambda c: len(c.want) > 1 and c.only(False, without_elements(c)),
        "of nothing but padding there is no place",
    ),
    Entry(
        "ReduceProd ConvTranspose",
        overflow,
        "whether numbers near the largest overflow on the way depends on the order, which is free",
    ),
    Entry(
        "ReduceLogSumExp",
        lambda c: c.only((c.want[0] == np.inf) & (c.got[0] > 88) & (c.got[0] < np.inf)),
        "onnxruntime sums up exponentials as they are: infinite for large numbers, whose logarithm they are",
    ),
    Entry("ReduceLogSumExp", group_with_nan, "a sum with NaN is NaN; onnxruntime looks for the largest and loses it"),
    Entry(
        "ReduceLogSumExp",
        largest_alone,
        "of integers, onnxruntime cuts every exponential to an integer: what is less than the largest adds nothing",
    ),
    Entry("ReduceMean", long_sums, "means of integers are those of float64, which has not all beyond 2**53"),
    Entry(
        "ReduceL1 ReduceL2 ReduceProd ReduceSum ReduceSumSquare",
        beyond_integers,
        "integers whose sums, squares or products are none of the type: onnxruntime takes others, or those of floats",
    ),
    Entry(
        "LRN",
        lambda c: c.only(np.isnan(c.want[0]) & ~np.isfinite(np.square(c.x[0])).all(axis=1, keepdims=True)),
        "onnxruntime adds the next channel to a sum and subtracts the last: NaN stays in it for good",
    ),
    Entry(
        "Shrink",
        lambda c: (
            c.only(np.abs(c.x[0].astype("f8")) >= 2**20)
            if whole(c)
            else c.x[0].dtype == np.float64 and c.only(c.apart() <= FLOAT32 * (np.abs(c.want[0]) + np.abs(c.x[0])))
        ),
        "onnxruntime computes integers and float64 in float32",
    ),
    Entry(
        "AveragePool MaxPool",
        dilated,
        "SAME is size / stride; onnxruntime forgets that a dilated window is wider",
    ),
    Entry(
        "AveragePool LpPool MaxPool",
        cropping,
        "SAME where strides leave gaps needs less than no padding: onnxruntime crops, refuses, or (Conv) pads nothing",
    ),
    Entry(
        "Resize",
        lambda c: whole(c) and bool(c.attr("antialias")) and c.only(c.apart() <= 1),
        "how integers are rounded is open; onnxruntime rounds after each dimension where it smooths",
    ),
    Entry(
        "Resize",
        lambda c: c.x[0].dtype == np.int8 and bool(c.attr("antialias")) and bool((c.want[0] >= 0).all()),
        "onnxruntime smooths int8 as if it were uint8: what is below 0 on the way becomes 0",
    ),
    Entry("Resize Upsample", on_the_cut, "what is cut off of a mean that is a whole number is for rounding to decide"),
    Entry("Resize", kept_length, "onnxruntime leaves out the region along an axis that keeps its length"),
    Entry(
        "Resize",
        zero_times_infinite,
        "what is weighted with 0 does not count, finite or not: onnxruntime multiplies it",
    ),
    Entry(
        "RNN GRU LSTM",
        rough_softplus,
        "inside of these onnxruntime's softplus is log(1 + e**x) as it stands: infinite from 89 on, 0 from -17 down",
    ),
    Entry(
        "RNN GRU LSTM",
        lambda c: b"ThresholdedRelu" in c.attr("activations", ()) and c.attr("clip") in c.attr("activation_alpha", ()),
        "inside of these ThresholdedRelu lets its threshold pass, to which numbers are clipped; onnxruntime does not",
    ),
    Entry(
        "RNN GRU LSTM",
        gates_without_bounds,
        "onnxruntime's logistic function is off by 3e-7 wherever it should be 0, which gates without bounds multiply",
    ),
    Entry(
        "LSTM",
        lambda c: c.operand(7) is not None and nan(c.operand(7)).any() and c.only(*map(nan, c.got)),
        "a gate whose peephole weight is NaN is NaN; onnxruntime's logistic function makes a number of it",
    ),
    Entry(
        "StringSplit",
        lambda c: c.only(odd(c)[..., None], odd(c)),
        "white space is more than blanks, a rest keeps its end, an empty text is one",
    ),
    Entry(
        "ReduceMean",
        lambda c: c.x[0].size == 0 and c.only(c.want[0] == 0),
        "the mean of nothing is undefined; onnxruntime says 0",
    ),
    Entry(
        "GroupNormalization RMSNormalization",
        float32_statistics,
        "the standard computes statistics in float32 (stash_type), onnxruntime in float64",
    ),
    Entry(
        "LayerNormalization",
        beyond_float32,
        "statistics are float32 by the standard: whether numbers beyond it cancel is for the order to say",
    ),
    Entry(
        "LayerNormalization",
        infinite_mean,
        "the mean of numbers and infinities of one sign is infinite; onnxruntime says NaN where they are in a vector",
    ),
    Entry(
        "Attention",
        lambda c: c.opset < 25 and bool(c.attr("is_causal")) and c.operand(4) is not None and c.only(True),
        "a causal mask begins at the first key, kept ones included; onnxruntime's kernel begins at the first new one",
    ),
    Entry(
        "Attention",
        lambda c: c.x[0].dtype == np.float64 and c.only(c.apart() <= 64 * FLOAT32 * np.abs(c.want[0]).max(initial=0)),
        "onnxruntime's scale of float64 is a root of a root in float32",
    ),
)


def excuse(case: Case) -> str:
    """Why a difference that a node makes is not ours; "" where it is."""
    table = REFUSED if not case.got else SHAPES if any(w is None for w in case.wrong) else VALUES
    found = (e for e in table if case.node.op_type in e.operators.split() and e.applies(case))
    return next((e.reason for e in found), "")
