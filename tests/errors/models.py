"""Tiny ONNX models for the command line's tests."""

from __future__ import annotations

import numpy as np


def save(path, nodes, inputs, outputs, constants=None, opset=18):
    """Write a model; `inputs` and `outputs` map names to shapes (numbers or dimension names)."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def infos(shapes):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]

    initializers = [numpy_helper.from_array(np.asarray(a), name) for name, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "tiny", infos(inputs), infos(outputs), initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.save(model, str(path))
    return path


def dense(path, n=64, batch=8, name="x"):
    """Two dense layers with bias and relu: two tasks."""
    from onnx import helper

    rng = np.random.default_rng(0)
    constants = {
        "w": rng.standard_normal((n, n)).astype("float32"),
        "b": rng.standard_normal(n).astype("float32"),
        "v": rng.standard_normal((n, 2 * n)).astype("float32"),
    }
    nodes = [
        helper.make_node("MatMul", [name, "w"], ["p"], name="first"),
        helper.make_node("Add", ["p", "b"], ["q"], name="bias"),
        helper.make_node("Relu", ["q"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "v"], ["out/y"], name="second"),
    ]
    return save(path, nodes, {name: [batch, n]}, {"out/y": [batch, 2 * n]}, constants)


def dense_reference(path, x):
    """Result of `dense` by NumPy."""
    import onnx
    from onnx import numpy_helper

    values = {t.name: numpy_helper.to_array(t) for t in onnx.load(str(path)).graph.initializer}
    return np.maximum(x @ values["w"] + values["b"], 0) @ values["v"]


def unknown_operator(path):
    """A node of an operator that nobody knows."""
    from onnx import helper

    node = helper.make_node("FancyOp", ["x"], ["y"], name="fancy", domain="com.example")
    return save(path, [node], {"x": [2, 3]}, {"y": [2, 3]})


def open_dimension(path):
    """An input with a named batch dimension."""
    from onnx import helper

    return save(path, [helper.make_node("Relu", ["x"], ["y"])], {"x": ["batch", 3]}, {"y": ["batch", 3]})


def external_weights(path):
    """A model whose weights lie in a file that is not there."""
    import onnx
    from onnx import helper

    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    weights = {"w": np.ones((64, 64), "float32")}
    save(path, [node], {"x": [2, 64]}, {"y": [2, 64]}, weights)
    onnx.save(
        onnx.load(str(path)), str(path), save_as_external_data=True, location="weights.bin", size_threshold=0,
        convert_attribute=False,
    )  # fmt: skip
    (path.parent / "weights.bin").unlink()
    return path
