"""An excuse reaches what its reason names, and nothing beside it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

pytest.importorskip("onnxruntime")

from random_models import judging
from random_models.conditions import Case
from random_models.draft import Draft
from random_models.judging import _wrong, judge
from random_models.known import REFUSED, SHAPES, VALUES, excuse
from random_models.recipes import RECIPES

NAN, INF = np.nan, np.inf
ROWS = np.array([[NAN, 1], [2, 3]], np.float32)
F64 = onnx.TensorProto.DOUBLE
WHOLE = np.array([2**40, 3])
TEXTS = np.array(["a b", "a\tb"], object)
#: Operator, operands, attributes, onnxruntime's result, one of ours that is excused, and one that is not.
CASES = [
    ("NonZero", [np.float32(1)], {}, np.zeros((1, 1)), np.zeros((0, 1)), None),
    ("NonZero", [ROWS], {}, np.zeros((1, 1)), None, np.zeros((0, 1))),
    ("Unique", [ROWS], {}, np.zeros(1), np.zeros(4), None),
    ("Unique", [ROWS[1:]], {}, np.zeros(1), None, np.zeros(4)),
    ("ReduceL2", [np.int8([9, 3])], {"noop_with_empty_axes": 1}, np.int8([9, 3]), None, np.int8([8, 3])),
    ("ReduceMax", [ROWS], {"axes": [1], "keepdims": 0}, [1, 3], [NAN, 3], [NAN, 2]),
    ("ReduceMax", [ROWS], {"axes": [1], "keepdims": 0}, [1, 3], [NAN, 3], [2, 3]),
    ("GlobalMaxPool", [ROWS[None]], {}, [[[1], [3]]], [[[NAN], [3]]], [[[1], [2]]]),
    ("ScatterND", [ROWS], {"reduction": "max"}, [[0, 1], [2, 3]], [[NAN, 1], [2, 3]], [[NAN, 1], [2, 9]]),
    ("ScatterND", [ROWS], {}, [[0, 1], [2, 3]], None, [[NAN, 1], [2, 3]]),
    ("ScatterElements", [ROWS], {"reduction": "min"}, [[0, 1], [2, 3]], [[NAN, 1], [2, 3]], [[NAN, 1], [2, 9]]),
    ("Gelu", [np.float64([1.5, 2])], {"approximate": "tanh"}, np.float64([1.4, 2]), [1.4 + 5e-8, 2], [1.4 + 5e-7, 2]),
    ("ReduceMean", [np.int64([2**62, 2**60 + 1])], {}, np.int64([2**58]), [2**58 + 900], [2**58 + 9000]),
    ("ReduceMean", [np.int64([2**40, 4])], {}, np.int64([2**39 + 2]), None, [2**39 + 3]),
    ("ReduceLogSumExp", [np.int64([2, 3])], {"noop_with_empty_axes": 1}, np.int64([1, 2]), [2, 3], None),
    ("ReduceLogSumExp", [np.int64([2, 3])], {"noop_with_empty_axes": 1}, np.int64([1, 3]), None, [2, 2]),
    ("Hardmax", [ROWS], {}, [[1, 0], [0, 1]], [[0, 1], [0, 1]], [[0, 1], [1, 0]]),
    ("QuantizeLinear", [ROWS, np.float32(1)], {}, [[9, 1], [2, 3]], [[0, 1], [2, 3]], [[9, 1], [2, 4]]),
    ("QuantizeLinear", [np.float16([0.2051, 2]), np.float16(0.01)], {}, [21, 200], [20, 200], [20, 201]),
    ("QuantizeLinear", [np.float32([1, 2]), np.float32(1)], {}, [1, 2], None, [1, 3]),
    ("DynamicQuantizeLinear", [ROWS], {}, [[0, 1]], [[9, 1]], None),
    ("DynamicQuantizeLinear", [np.float32([1, 2])], {}, [0, 1], None, [9, 1]),
    ("LogSoftmax", [np.float64(ROWS)], {"axis": 1}, [[3, 1], [2, 3]], [[NAN, NAN], [2, 3]], [[NAN, NAN], [2, 4]]),
    ("Gather", [np.array([["a", "b"]], object), np.array([0])], {}, np.array([["a", ""]], object),
     [["a", "b"]], [["c", "b"]]),
    ("MeanVarianceNormalization", [np.eye(2) * [[1], [0]]], {"axes": [1]}, [[1, -1], [NAN, NAN]],
     [[1, -1], [0, 0]], [[1, 1], [0, 0]]),
    ("InstanceNormalization", [np.float64([[[3, 3, 3]]]), np.ones(1), np.zeros(1)], {}, [[[1e-13, 0, 0]]],
     [[[0, 0, 0]]], [[[1e-3, 0, 0]]]),
    ("InstanceNormalization", [np.float32([[[3e38], [2]]]), np.float32([-2, 1]), np.float32([0.5, 0])], {},
     np.float32([[[NAN], [0]]]), [[[0.5], [0]]], [[[0.5], [9]]]),
    ("HannWindow", [np.int64(3)], {"output_datatype": F64}, [0, 0.5, 0.5], [1e-8, 0.5, 0.5], [1e-5, 0.5, 0.5]),
    ("DFT", [ROWS], {"inverse": 1}, np.float64([1, 2]), [1 + 5e-8, 2], [1 + 5e-7, 2]),
    ("ReduceProd", [np.float64([1e200, 1e200, 0])], {}, np.float64([NAN]), [0.0], None),
    ("ConvTranspose", [np.float64([1e308, NAN])], {}, np.float64([NAN, 1]), [INF, 1], [INF, 2]),
    ("ConvTranspose", [np.float64([INF, NAN])], {}, np.float64([NAN]), None, [INF]),
    ("ReduceProd", [np.float64([1, 2])], {}, np.float64([INF]), None, [2.0]),
    ("Shrink", [WHOLE], {}, WHOLE, WHOLE + np.array([9, 0]), WHOLE + np.array([0, 1])),
    ("MaxPool", [ROWS], {"kernel_shape": [2]}, np.float32([-3.4028235e38, 3]), [-INF, 3], [-INF, 2]),
    ("MaxPool", [np.zeros((1, 1, 3, 5))], {"kernel_shape": [4, 2]}, np.zeros((1, 1, 1, 4)), np.zeros((1, 1, 0, 4)),
     np.zeros((1, 1, 0, 5))),
    ("MaxPool", [np.zeros((1, 1, 9, 4))], {"kernel_shape": [4, 2], "dilations": [3, 1], "auto_pad": "SAME_UPPER"},
     np.zeros((1, 1, 3, 4)), np.zeros((1, 1, 9, 4)), np.zeros((1, 1, 3, 3))),
    ("Resize", [np.int8([-4, -4])], {"antialias": 1}, np.int8([0, 0]), [-4, -4], None),
    ("Resize", [np.int8([-4, -4])], {"antialias": 1}, np.int8([-1, 0]), None, [-4, -4]),
    ("AveragePool", [np.zeros((1, 1, 9))], {"kernel_shape": [1], "strides": [3], "auto_pad": "SAME_UPPER"},
     [[[1, 4, 7]]], [[[0, 3, 6]]], None),
    ("AveragePool", [np.zeros((1, 1, 9))], {"kernel_shape": [3], "strides": [3], "auto_pad": "SAME_UPPER"},
     [[[1, 4, 7]]], None, [[[0, 3, 6]]]),
    ("ConvTranspose", [np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 1, 2))], {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
     np.zeros((1, 1, 3, 4)), np.zeros((1, 1, 4, 4)), np.zeros((1, 1, 4, 3))),
    ("ReduceMean", [np.zeros((0, 2))], {}, [0, 0], [NAN, NAN], None),
    ("GroupNormalization", [np.float64([[[1, 2], [3, 5]]]), np.ones(1), np.zeros(1)], {"num_groups": 1},
     np.float64([[[-1.18, -0.5], [0.2, 1.5]]]), [[[-1.18 + 1e-7, -0.5], [0.2, 1.5]]], [[[-1.17, -0.5], [0.2, 1.5]]]),
    ("ReduceL1", [np.int32([[-(2**31), 0], [2, 3]])], {"axes": [1]}, np.int32([[2**31 - 1], [5]]),
     [[-(2**31)], [5]], [[2**31 - 1], [6]]),
    ("ReduceL2", [np.int32([[-(2**30), 0], [3, 4]])], {"axes": [1]}, np.int32([[2**30], [5]]),
     [[-(2**31)], [5]], [[2**30], [6]]),
    ("ReduceProd", [np.int32([[2**20, 2**20], [3, 4]])], {"axes": [1]}, np.int32([[2**31 - 1], [12]]),
     [[0], [12]], [[0], [13]]),
    ("ReduceSum", [np.int32([[2**31 - 1, 2], [3, 4]])], {"axes": [1]}, np.int32([[2**31 - 1], [7]]),
     [[1 - 2**31], [7]], [[2**31 - 1], [8]]),
    ("ReduceSumSquare", [np.int64([[2**62, 0], [3, 4]])], {"axes": [1]}, np.int64([[2**63 - 1], [25]]),
     [[0], [25]], [[2**63 - 1], [24]]),
    ("ReduceLogSumExp", [np.float32([[1000, 0], [3, 4]])], {"axes": [1]}, [[INF], [4.313]],
     [[1000], [4.313]], [[1000], [5]]),
    ("LRN", [np.float32([[[INF], [2], [3]], [[1], [2], [3]]])], {"size": 1}, [[[NAN], [NAN], [NAN]], [[1], [2], [3]]],
     [[[NAN], [2], [3]], [[1], [2], [3]]], [[[NAN], [2], [3]], [[1], [2], [4]]]),
    ("RMSNormalization", [np.float64([[1, 2], [3, 5]]), np.ones(2)], {}, np.float64([[0.6, 1.2], [0.7, 1.2]]),
     [[0.6 + 5e-8, 1.2], [0.7, 1.2]], [[0.6 + 5e-6, 1.2], [0.7, 1.2]]),
    ("LayerNormalization", [np.float64([[1e300, -1e300], [3, 5]])], {}, np.float64([[NAN, NAN], [-1, 1]]),
     [[1, -1], [-1, 1]], [[1, -1], [-1, 2]]),
    ("Attention", [np.ones((1, 1, 2)), np.ones((1, 1, 2)), np.ones((1, 1, 2))], {}, np.float64([[[1, 2]]]),
     [[[1 + 1e-7, 2]]], [[[1 + 1e-3, 2]]]),
    ("LSTM", [ROWS], {"activations": ["ThresholdedRelu"], "clip": 0.5, "activation_alpha": [0.5]}, [0], [1], None),
    ("LSTM", [ROWS], {"activations": ["ThresholdedRelu"], "clip": 0.5, "activation_alpha": [1.0]}, [0], None, [1]),
    ("Resize", [np.int8([[0, 3]]), np.float32([]), np.float32([1, 3])],
     {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, np.int8([[0, 1, 2, 3, 3, 3]]),
     [[0, 0, 2, 3, 3, 3]], [[0, 3, 2, 3, 3, 3]]),
    ("LSTM", [ROWS], {"activations": ["Softplus"]}, [[[[NAN], [1]]]], [[[[INF], [1]]]], [[[[INF], [2]]]]),
    ("GRU", [ROWS], {"activations": ["Softplus"], "direction": "reverse"}, [[[[1]]], [[[INF]]], [[[3]]]],
     [[[[9]]], [[[8]]], [[[3]]]], [[[[1]]], [[[INF]]], [[[4]]]]),
    ("Resize", [np.float32([[INF, 2, 5]]), np.float32([]), np.float32([1, 1.7])],
     {"mode": "linear", "coordinate_transformation_mode": "align_corners"}, [[INF, INF, NAN, 3.5, 5]],
     [[INF, INF, 2, 3.5, 5]], [[INF, INF, 3, 3.5, 5]]),
    ("RMSNormalization", [np.float64([[1, 2], [NAN, 5]]), np.ones(2)], {}, np.float64([[0.6, 1.2], [NAN, NAN]]),
     [[0.6 + 5e-8, 1.2], [NAN, NAN]], [[0.6 + 5e-6, 1.2], [NAN, NAN]]),
]  # fmt: skip


def case(op, x, attrs, want, got, opset=17):
    node = onnx.helper.make_node(op, [f"x{k}" for k in range(len(x))], ["y"], **attrs)
    want = np.asarray(want, np.float32 if isinstance(want, list) else None)
    got = np.asarray(got, want.dtype)
    return Case(node, opset, [np.asarray(v) for v in x], [want], [got], [_wrong(want, got, None)])


@pytest.mark.parametrize(("op", "x", "attrs", "want", "excused", "faulty"), CASES)
def test_only_what_the_reason_names_is_excused(op, x, attrs, want, excused, faulty):
    if excused is not None:
        assert excuse(case(op, x, attrs, want, excused))
    if faulty is not None:
        assert not excuse(case(op, x, attrs, want, faulty))


def test_texts_are_excused_by_their_counts():
    node = onnx.helper.make_node("StringSplit", ["x"], ["y", "z"])
    pieces = [np.array([["a", "b"], ["a\tb", ""]], object), np.array([["a", "b"], ["a", "b"]], object)]

    def found(*counts):
        wrong = [np.array([[False, False], [True, True]]), np.array([2, 1]) != np.array(counts)]
        return excuse(Case(node, 20, [TEXTS], [pieces[0], np.array([2, 1])], [pieces[1], np.array(counts)], wrong))

    assert found(2, 2)
    assert not found(1, 2)


def several(op, x, attrs, want, got):
    node = onnx.helper.make_node(op, ["x"], ["y", "z"], **attrs)
    want, got = [np.asarray(v) for v in want], [np.asarray(v) for v in got]
    return Case(node, 17, [x], want, got, [_wrong(a, b, None) for a, b in zip(want, got, strict=False)])


def test_places_are_excused_where_there_is_nothing_but_padding():
    x, attrs = np.zeros((1, 1, 2), np.uint8), {"kernel_shape": [2], "dilations": [3], "pads": [1, 2]}
    values, places = np.zeros((1, 1, 2), np.uint8), np.array([[[0, 1]]])
    assert excuse(several("MaxPool", x, attrs, (values, places), (values, places + np.array([1, 0]))))
    assert not excuse(several("MaxPool", x, attrs, (values, places), (values, places + np.array([0, 1]))))


def test_infinite_means_are_excused():
    x, y = np.float32([[INF, 1], [2, 4]]), np.zeros((2, 2), np.float32)
    mean = np.float32([[NAN], [3]])
    assert excuse(several("LayerNormalization", x, {}, (y, mean), (y, np.float32([[INF], [3]]))))
    assert not excuse(several("LayerNormalization", x, {}, (y, mean), (y, np.float32([[-INF], [3]]))))
    assert not excuse(several("LayerNormalization", x, {}, (y, mean), (y, np.float32([[INF], [2]]))))


def test_refusals_are_excused_where_a_window_does_not_fit():
    wide, fit = {"kernel_shape": [3], "dilations": [3]}, {"kernel_shape": [3]}
    assert excuse(several("MaxPool", np.zeros((1, 1, 3)), wide, (np.zeros((1, 1, 0)),), ()))
    assert not excuse(several("MaxPool", np.zeros((1, 1, 3)), fit, (np.zeros((1, 1, 1)),), ()))


def test_every_reason_is_of_operators_that_are_tried():
    assert {op for e in (*REFUSED, *SHAPES, *VALUES) for op in e.operators.split()} <= set(RECIPES)


def test_a_fault_beside_an_excused_difference_is_seen(monkeypatch):
    """NaN in a maximum is excused, and what follows from it; a wrong sum in the same model is not."""
    draft = Draft(np.random.default_rng(0), 13)
    x = draft.fresh(np.array([[1, 2], [NAN, 3]], np.float32))
    (largest,) = draft.add("ReduceMax", [x], axes=[0], keepdims=0)
    draft.add("Abs", [largest])
    y = draft.fresh(np.ones(3, np.float32))
    (total,) = draft.add("Exp", [y])
    right, spoil = judging.ours, []

    def ours(model, feeds):
        got = right(model, feeds)
        return {n: v + 1 if n in spoil else v for n, v in got.items()}

    monkeypatch.setattr(judging, "ours", ours)
    before = judge(draft, 0)
    spoil.append(total)
    after = judge(draft, 0)
    assert (before.status, before.culprit) == ("not ours", "ReduceMax")
    assert (after.status, after.culprit) == ("differs", "Exp")
