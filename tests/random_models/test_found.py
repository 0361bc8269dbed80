"""What random models have found, each in the smallest model that shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from graph.uses.base import Use, f, use, v, whole
from onnx.reference import ReferenceEvaluator

pytest.importorskip("onnxruntime")

from random_models import oracle
from random_models.draft import Step, model_of_step
from random_models.judging import ours

EDGES = v(-np.inf, -1.5, 0.5, 7.0, np.inf, dtype=np.float32)
ROIS = np.array([[0, 0, 0, 3, 3], [1, 1, 2, 4, 4], [1, -2, 3, 9, 1], [0, 4, 5, 4, 5]], np.float32)
HALVES = f(2, 3, 4, 4).astype("f2")
FOUND = {
    "InstanceNormalization": [use(2000 * HALVES, f(3).astype("f2"), f(3).astype("f2"))],
    "LRN": [use(HALVES, size=3), use(300 * HALVES, size=3, alpha=0.5)],
    "CumSum": [use(EDGES, np.int64(0), const=const, exclusive=1) for const in ((1,), (0, 1))],
    "LpPool": [use(20 * HALVES, kernel_shape=(2, 2), p=p, opsets=(18,)) for p in (1, 2, 3)],
    "GlobalLpPool": [use(20 * HALVES, p=p) for p in (1, 2, 3)],
    "LpNormalization": [use(300 * HALVES, p=p, axis=1) for p in (1, 2)],
    "AveragePool": [
        use(HALVES, kernel_shape=(2, 2), pads=(1, 1, 0, 0)),
        use(np.full((1, 1, 90, 90), 10, np.float16), kernel_shape=(90, 90)),
        use(np.full((1, 1, 90, 90), 10, np.float16), kernel_shape=(90, 90), pads=(9, 0, 0, 0)),
    ],
    "ReduceL2": [use(whole(2, 3, dtype=t), opsets=(11,), axes=(1,)) for t in (np.int32, np.int64)],
    "ReduceMean": [
        use(v(-1, -2, -4, dtype=np.int32), opsets=(13,)),
        use(v(2**31 - 1, 2**31 - 1, -4, dtype=np.int32), opsets=(13,)),
        use(whole(4, 7), opsets=(13,), axes=(0,)),
    ],
    "Clip": [
        *(use(EDGES, opsets=(6,), **more) for more in ({}, {"min": 0.0}, {"max": 1.0})),
        use(EDGES.astype("f2"), opsets=(6,)),
        *(use(EDGES, *ends, opsets=(13,), const=(1, 2)) for ends in ((), (np.float32(0),), (None, np.float32(1)))),
    ],
    "Celu": [use(f(3, 4), alpha=alpha) for alpha in (-0.5, 2.0)],
    "ConvInteger": [use(whole(3, 1, 4, dtype=np.int8), np.array([[[-97]]], np.int8), np.int8(-75), const=(1, 2))],
    "MatMulInteger": [use(whole(3, 1, dtype=np.int8), np.array([[-97]], np.int8), const=(1,))],
    "Div": [
        use(np.array([2**62 + 1, -(2**62) - 1, 7, -7, 7, -7]), v(1, 1, 2, 2, -2, -2), const=const)
        for const in ((), (0, 1))
    ],
    "Det": [use(f(3, 3)), use(f(2, 2, 3, 3)), use(f(2, 1, 1))],
    "MaxRoiPool": [
        use(f(2, 3, 6, 5), ROIS, opsets=(8,), pooled_shape=(2, 3)),
        use(f(2, 3, 6, 5), ROIS, opsets=(8,), pooled_shape=(3, 1), spatial_scale=0.5),
    ],
    "Conv": [use(np.zeros((0, 3, 8, 8), np.float32), f(4, 3, 3, 3))],
    "Softmax": [use(np.zeros((3, 0), np.float32)), use(np.zeros((0, 3), np.float32), opsets=(9,))],
    "Hardmax": [use(np.zeros((3, 0), np.float32))],
    "LayerNormalization": [
        use(f(3, 5).astype("f8"), f(5).astype("f8"), opsets=(17,), outputs=3),
        *(use(2000 * HALVES, f(4).astype("f2"), f(4).astype("f2"), opsets=(17,), outputs=n) for n in (1, 3)),
    ],
    "MeanVarianceNormalization": [use(HALVES, opsets=(21,)), use(100 + HALVES, opsets=(22,), axes=(1, -1))],
    "QuantizeLinear": [
        use(v(-np.inf, -0.025, 0.025, 3, np.inf, dtype=np.float16), np.float16(0.05), zero, opsets=(21,), const=const)
        for const in ((), (1, 2))
        for zero in (np.int16(0), np.uint8(3), np.int8(-3), np.uint16(9))
    ],
    "QLinearConv": [
        use(
            whole(2, 3, 5, dtype=np.int8), np.float32(1), np.int8(2), whole(1, 3, 2, dtype=np.int8), np.float32(0.5),
            np.int8(0), np.float32(2), np.int8(0), np.array([-24], np.int32), opsets=(10,), const=const,
        )
        for const in ((8,), (3, 8), (1, 2, 3, 4, 5, 6, 7, 8))
    ],
    "RNN": [
        use(f(3, 2, 4), f(1, 5, 4), f(1, 5, 5), opsets=(14,), const=const, hidden_size=5, activations=[name], **more)
        for const in ((), (1, 2))
        for name, more in (
            ("Affine", {"activation_alpha": [0.5], "activation_beta": [0.25]}),
            ("LeakyRelu", {}),
            ("LeakyRelu", {"activation_alpha": [0.3]}),
            ("ThresholdedRelu", {"activation_alpha": [0.3]}),
            ("ScaledTanh", {"activation_alpha": [0.5], "activation_beta": [0.25]}),
            ("HardSigmoid", {}),
            ("HardSigmoid", {"activation_alpha": [0.5], "activation_beta": [0.25]}),
            ("Elu", {}),
            ("Softsign", {}),
            ("Softplus", {}),
        )
    ],
    "LSTM": [
        use(
            f(3, 2, 4), f(2, 20, 4), f(2, 20, 5), opsets=(14,), const=(1, 2), hidden_size=5, direction="bidirectional",
            activations=["HardSigmoid", "Elu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid"],
            activation_alpha=[0.5, 0.25, 0.75, 0.1], activation_beta=[0.3, 0.6], outputs=3,
        )
    ],
}  # fmt: skip


def run_ours(it: Use, op: str) -> tuple[onnx.ModelProto, dict[str, np.ndarray], dict[str, Any]]:
    """A use as a model, what it is fed, and our results."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(it.inputs)]
    outs = [f"y{i}" for i in range(it.outputs)]
    node = onnx.helper.make_node(op, names, outs, name="n", **it.attrs)
    given = {name: np.asarray(a) for name, a in zip(names, it.inputs, strict=True) if name}
    fixed = {name: a for i, (name, a) in enumerate(given.items()) if i in it.const}
    model = model_of_step(Step(node, tuple(given), tuple(outs)), given, fixed, it.opsets[0])
    feeds = {name: a for name, a in given.items() if name not in fixed}
    return model, feeds, ours(model, feeds)


@pytest.mark.parametrize(("op", "k"), [(op, k) for op, uses in FOUND.items() for k in range(len(uses))])
def test_like_onnxruntime(op, k):
    model, feeds, got = run_ours(FOUND[op][k], op)
    for name, want in zip(got, oracle.run(oracle.session(model), feeds), strict=True):
        assert (got[name].dtype, got[name].shape) == (want.dtype, want.shape)
        near = 2e-3 if want.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(got[name], want, rtol=10 * near, atol=near)


def test_the_sign_of_a_zero_has_no_sign():
    _, _, got = run_ours(use(v(-0.0, 0.0, dtype=np.float32)), "Sign")
    assert not np.signbit(got["y0"]).any()


def test_logarithms_of_halves_near_1_keep_their_digits():
    x = np.array([[-5, 8.5, -12.5, -2], [-1, 7, -0.5, 0.5]], np.float16)
    got = run_ours(use(x, opsets=(13,)), "LogSoftmax")[2]["y0"]
    wide = x.astype("f8")
    want = wide - np.log(np.exp(wide).sum(axis=1, keepdims=True))
    assert (np.abs(got - want) <= 2.0**-11 * np.abs(want) + 2.0**-22).all()


def test_a_long_row_of_halves_has_the_sum_1():
    got = run_ours(use(np.zeros((1, 20000), np.float16), opsets=(13,)), "Softmax")[2]["y0"]
    assert (got == np.float16(1 / 20000)).all()


def test_an_optional_value_is_the_value():
    make, f1 = onnx.helper.make_node, onnx.TensorProto.FLOAT
    nodes = [make("Optional", ["x"], ["o"]), make("OptionalGetElement", ["o"], ["y"]),
             make("OptionalHasElement", ["o"], ["z"])]  # fmt: skip
    outputs = [onnx.ValueInfoProto(name=o) for o in "yz"]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", f1, [2, 3])], outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    got = ours(model, {"x": f(2, 3)})
    assert got["y"].shape == (2, 3)
    assert got["z"].dtype == bool
    assert got["z"].all()


@pytest.mark.parametrize("opset", [9, 13, 21])
@pytest.mark.parametrize(("dtype", "inner"), [(np.float16, 1e-6), (np.float32, 1e-6), (np.float64, 1e-12)])
@pytest.mark.parametrize("axes", [(0, 2, 3), (1,), (3, 0)])
def test_normalised_by_mean_and_deviation_of_the_exact_numbers(dtype, inner, axes, opset):
    """onnxruntime has no float64, and float16 since opset 19 only. `inner`: rounding before the result."""
    x = (f(2, 3, 4, 5) + 20).astype(dtype)
    _, _, got = run_ours(use(x, opsets=(opset,), axes=axes), "MeanVarianceNormalization")
    wide = x.astype(np.longdouble)
    want = (wide - wide.mean(axes, keepdims=True)) / (wide.std(axes, keepdims=True) + 1e-9)
    bound = np.finfo(dtype).eps / 2 * np.abs(want) + inner
    assert got["y0"].dtype == dtype
    assert (np.abs(got["y0"] - want) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_equal_numbers_are_normalised_to_nothing(dtype):
    _, _, got = run_ours(use(np.full((2, 3, 7), 0.1, dtype), opsets=(13,), axes=(0, 2)), "MeanVarianceNormalization")
    assert not got["y0"].any()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_smoothed_integers_are_those_of_the_standard(mode, dtype):
    """onnxruntime rounds after each dimension, and has no negative int8 there: this is the standard's own reference."""
    x = np.array([[3, 0, 90], [6, 11, 120]], dtype)
    it = use(x, None, None, np.array([4, 5]), opsets=(18,), const=(3,), mode=mode, antialias=1)
    model, feeds, got = run_ours(it, "Resize")
    (want,) = ReferenceEvaluator(model).run(None, feeds)
    assert (got["y0"] == want).all()


def test_the_largest_of_an_empty_image_is_the_least():
    """onnxruntime gives the lowest finite number."""
    _, _, got = run_ours(use(np.zeros((2, 3, 0, 4), np.float32)), "GlobalMaxPool")
    assert (got["y0"] == np.full((2, 3, 1, 1), -np.inf)).all()


def test_a_sum_of_no_integers_is_0():
    """onnxruntime gives what was in memory."""
    _, _, got = run_ours(use(np.zeros((4, 0), np.uint8), np.zeros((0, 3), np.uint8)), "MatMulInteger")
    assert not got["y0"].any()


def test_a_quantised_sum_of_nothing_is_the_zero_point():
    """onnxruntime gives what was in memory."""
    one = np.float32(0.5)
    a, b = np.zeros((2, 0), np.uint8), np.zeros((0, 3), np.int8)
    it = use(a, one, np.uint8(3), b, one, np.int8(0), one, np.uint8(6), opsets=(10,))
    assert (run_ours(it, "QLinearMatMul")[2]["y0"] == np.full((2, 3), 6, np.uint8)).all()


def model_of(*nodes: onnx.NodeProto, opset: int, **given: np.ndarray) -> onnx.ModelProto:
    """Model of several nodes, whose last result is its output."""
    graph = onnx.helper.make_graph(
        nodes, "g",
        [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
         for n, a in given.items()],
        [onnx.ValueInfoProto(name=nodes[-1].output[0])],
    )  # fmt: skip
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)


TOGETHER = {
    "memory of what is not read, handed on in another shape": (
        [
            onnx.helper.make_node(
                "ConvTranspose", ["x", "w", "c"], ["t"], group=2, dilations=[3, 3, 1], strides=[1, 3, 1],
                output_shape=[7, 2, 2],
            ),
            onnx.helper.make_node("InstanceNormalization", ["t", "s", "b"], ["y"]),
        ],
        7,
        {"x": f(1, 4, 7, 1, 2), "w": f(4, 1, 4, 2, 2), "c": np.zeros(2, np.float32), "s": f(2), "b": f(2)},
    ),
    "rows of nothing": (
        [onnx.helper.make_node("Softmax", ["x"], ["t"], axis=0), onnx.helper.make_node("Relu", ["t"], ["y"])],
        7,
        {"x": np.zeros((0, 5), np.float32)},
    ),
    "a dimension of nothing that is dropped": (
        [
            onnx.helper.make_node("ReduceProd", ["x"], ["t"], axes=[2]),
            onnx.helper.make_node("Squeeze", ["t"], ["y"], axes=[0, 1]),
        ],
        11,
        {"x": np.zeros((1, 1, 1, 0), np.float32)},
    ),
    "the less of a number and a NaN with a sign, known ahead": (
        [
            onnx.helper.make_node("ReduceLogSumExp", ["x"], ["s"]),
            onnx.helper.make_node("Sqrt", ["s"], ["t"]),
            onnx.helper.make_node("Min", ["t", "v"], ["y"]),
        ],
        18,
        {"x": np.zeros((0, 3), np.float32), "v": np.array(-0.5, np.float32)},
    ),
    "a region that nobody reads": (
        [
            onnx.helper.make_node("Resize", ["x", "r", "s"], ["t"], mode="linear"),
            onnx.helper.make_node("Relu", ["t"], ["y"]),
        ],
        12,
        {"x": f(3, 4), "r": np.zeros(0, np.float32), "s": np.array([1, 2], np.float32)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER)
def test_nodes_together_are_like_onnxruntime(name):
    nodes, opset, feeds = TOGETHER[name]
    model = model_of(*nodes, opset=opset, **feeds)
    (want,) = oracle.run(oracle.session(model), feeds)
    np.testing.assert_allclose(ours(model, feeds)["y"], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["LeakyRelu", "Sigmoid"])
def test_a_function_of_bytes_that_are_known_ahead(op):
    nodes = [
        onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], ["a"]),
        onnx.helper.make_node(op, ["a"], ["b"]),
        onnx.helper.make_node("QuantizeLinear", ["b", "s", "z"], ["c"]),
        onnx.helper.make_node("BitwiseXor", ["c", "x"], ["y"]),
    ]
    feeds = {"x": np.arange(4, dtype=np.int8)}
    model = model_of(*nodes, opset=21, **feeds)
    known = {"q": np.array([-3, 8, 3, -60], np.int8), "s": np.float32(0.5), "z": np.int8(2)}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in known.items())
    (want,) = oracle.run(oracle.session(model), feeds)
    np.testing.assert_array_equal(ours(model, feeds)["y"], want)


def test_an_axis_that_keeps_its_length_has_a_region_too():
    """onnxruntime takes such an axis as it is; this is the standard's formula."""
    x = np.arange(10, dtype=np.float32).reshape(2, 5) ** 2
    roi = np.array([0, 0.1, 1, 0.8], np.float32)
    it = use(x, roi, None, np.array([2, 5]), const=(1, 2), opsets=(22,),
             mode="linear", coordinate_transformation_mode="tf_crop_and_resize")  # fmt: skip
    _, _, got = run_ours(it, "Resize")
    at = 0.4 + np.arange(5) * (0.8 - 0.1) * 4 / 4
    np.testing.assert_allclose(got["y0"], [np.interp(at, np.arange(5), row) for row in x], rtol=1e-5)
