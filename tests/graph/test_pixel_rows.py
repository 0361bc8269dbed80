"""1x1 convolutions with channels first: images as one row of pixels, against onnxruntime's results."""

from __future__ import annotations

import numpy as np
import onnx
import ort_session
import pytest
from graph.nets import close
from graph.small import weights
from onnx import TensorProto, helper

import workbench as wb
from workbench.graph.passes import optimized
from workbench.graph.tasks import partition

MODES = {"alone": 0, "one number per pixel": 1, "one per column": 2, "one per channel": 3, "part of a concatenation": 4}


def model(x: tuple[int, ...], channels: int, mode: int) -> onnx.ModelProto:
    """A convolution, what is added to it, and Relu; or two convolutions joined along channels."""
    n, _, h, w = x
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"])]
    given = {"x": x}
    constants = {"w": weights(channels, x[1], 1, 1), "b": weights(channels, seed=1)}
    if mode in (1, 2, 3):
        given["z"] = {1: (n, channels, h, w), 2: (1, 1, 1, w), 3: (n, channels, 1, 1)}[mode]
        nodes.append(helper.make_node("Add", ["c", "z"], ["d"]))
    nodes.append(helper.make_node("Relu", ["d" if mode in (1, 2, 3) else "c"], ["r" if mode == 4 else "y"]))
    if mode == 4:
        constants["v"] = weights(5, x[1], 1, 1, seed=2)
        nodes.append(helper.make_node("Conv", ["x", "v"], ["e"]))
        nodes.append(helper.make_node("Concat", ["r", "e"], ["y"], axis=1))
    inputs = [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in given.items()]
    out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    stored = [onnx.numpy_helper.from_array(v, k) for k, v in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, out, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("x", [(1, 37, 31, 31), (3, 5, 7, 1), (2, 16, 1, 9)])
@pytest.mark.parametrize("mode", MODES)
def test_results_are_those_of_onnxruntime(x, mode, tmp_path):
    made = model(x, 13, MODES[mode])
    path = tmp_path / "m.onnx"
    onnx.save(made, path)
    feeds = {i.name: weights(*(d.dim_value for d in i.type.tensor_type.shape.dim), seed=3) for i in made.graph.input}
    (want,) = ort_session.session(made).run(None, feeds)
    assert close(wb.compile(wb.load_onnx(path), without=("layout",)).run(feeds)["y"], want, 1e-5)


@pytest.mark.parametrize(("mode", "row"), [("alone", True), ("one number per pixel", True), ("one per column", False)])
def test_where_an_image_is_one_row(mode, row, tmp_path):
    """Not where an operand tells columns apart."""
    onnx.save(model((2, 12, 6, 7), 8, MODES[mode]), tmp_path / "m.onnx")
    (group,) = partition(optimized(wb.load_onnx(tmp_path / "m.onnx"), ("layout",)))
    assert group.func is not None
    shape = next(b.shape for b in group.func.params if b.name == "X")
    assert shape == ((2, 12, 1, 42) if row else (2, 12, 6, 7))


def test_a_convolution_alone_is_not_transposed_for(tmp_path):
    """Two transpositions would take longer than channels that are no vectors."""
    onnx.save(model((1, 37, 31, 31), 53, 0), tmp_path / "m.onnx")
    groups = partition(optimized(wb.load_onnx(tmp_path / "m.onnx"), ()))
    assert [np.prod(g.func.params[-1].shape) for g in groups if g.func is not None] == [53 * 961]
