"""Operators as training uses them, and sequences that are known when a model is read."""

from __future__ import annotations

import numpy as np
import pytest
from graph.test_uses import by_onnxruntime, model_of

import workbench as wb
from workbench.network.compile import compile
from workbench.runtime.networks.execution_plan import HostCall

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
node = onnx.helper.make_node


def compiled(nodes, feeds, outputs, opset, weights=None):
    """Executable of a model without any step in Python, and the model."""
    model = model_of(nodes, feeds, outputs, opset, weights or {})
    executable = compile(wb.load_onnx(model))
    assert not any(isinstance(c, HostCall) for c in executable.plan.calls)
    return executable, model


@pytest.mark.parametrize("seed", range(4))
def test_normalisation_by_the_batch(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(2, 6, rng.integers(2, 5)))
    x = rng.normal(3, 2, shape).astype(np.float32)
    vectors = dict(zip("sbmv", rng.random((4, shape[1])).astype(np.float32), strict=True))
    attrs = {"training_mode": 1, "momentum": float(rng.random()), "epsilon": 1e-3}
    nodes = [node("BatchNormalization", ["x", *"sbmv"], ["y", "mean", "var"], **attrs)]
    executable, _ = compiled(nodes, {"x": x, **vectors}, ["y", "mean", "var"], 15)
    got, wide = executable.run({"x": x, **vectors}), x.astype(np.float64)
    axes, at = tuple(d for d in range(x.ndim) if d != 1), (-1, *(1,) * (x.ndim - 2))
    mean, var = wide.mean(axes), wide.var(axes)
    y = (wide - mean.reshape(at)) / np.sqrt(var.reshape(at) + 1e-3) * vectors["s"].reshape(at) + vectors["b"].reshape(
        at
    )
    old = attrs["momentum"]
    want = {"y": y, "mean": vectors["m"] * old + mean * (1 - old), "var": vectors["v"] * old + var * (1 - old)}
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", [False, True])
def test_dropout_with_a_seed(training):
    x = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    feeds = {"x": x, "r": np.float32(0.25), "t": np.array(training)}
    nodes = [node("Dropout", ["x", "r", "t"], ["y", "mask"], seed=7)]
    executable, _ = compiled(nodes, feeds, ["y", "mask"], 13)
    first, second = executable.run(feeds), executable.run(feeds)
    mask = first["mask"]
    assert mask.all() != training
    assert 0.7 < mask.mean() <= 1
    np.testing.assert_array_equal(mask, second["mask"])
    np.testing.assert_allclose(first["y"], np.where(mask, x / (0.75 if training else 1), 0), rtol=1e-6)


def test_dropout_that_is_switched_off_is_the_input():
    x = np.ones((2, 3), np.float32)
    weights = {"r": np.float32(0.5), "t": np.array(False)}
    nodes = [node("Dropout", ["x", "r", "t"], ["d"]), node("Relu", ["d"], ["y"])]
    executable, _ = compiled(nodes, {"x": x}, ["y"], 13, weights)
    assert len(executable.plan.calls) == 1


def test_scans_and_sequences_are_nodes_of_the_graph():
    body = onnx.helper.make_graph(
        [node("Add", ["state", "row"], ["next"]), node("Identity", ["next"], ["out"])],
        "body",
        [onnx.helper.make_tensor_value_info(n, 1, [3]) for n in ("state", "row")],
        [onnx.helper.make_tensor_value_info(n, 1, [3]) for n in ("next", "out")],
    )
    nodes = [
        node("Scan", ["first", "x"], ["last", "sums"], body=body, num_scan_inputs=1, scan_input_directions=[1]),
        node("SequenceConstruct", ["x", "sums"], ["both"]),
        node("SequenceInsert", ["both", "x", "one"], ["three"]),
        node("SequenceErase", ["three", "minus"], ["two"]),
        node("SequenceAt", ["two", "one"], ["z"]),
        node("SequenceLength", ["two"], ["n"]),
        node("ConcatFromSequence", ["three"], ["y"], axis=1, new_axis=1),
        node("SplitToSequence", ["x", "parts"], ["pieces"], axis=0),
        node("SequenceAt", ["pieces", "minus"], ["piece"]),
    ]
    rng = np.random.default_rng(0)
    feeds = {"x": rng.standard_normal((4, 3)).astype(np.float32), "first": rng.standard_normal(3).astype(np.float32)}
    weights = {"one": np.array(1), "minus": np.array(-1), "parts": np.array([1, 3])}
    outputs = ["last", "sums", "y", "z", "n", "piece"]
    executable, model = compiled(nodes, feeds, outputs, 17, weights)
    for a, b in zip(executable.run(feeds).values(), by_onnxruntime(model, feeds), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-6)
