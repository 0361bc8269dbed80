"""Sparse tensors of ONNX: `sparse_initializer` and the attribute `sparse_value`, against onnxruntime; hostile ones."""

from __future__ import annotations

import math

import numpy as np
import ort_session
import pytest
from onnx import helper, numpy_helper

import workbench as wb
from workbench.errors import ModelError, ModelWarning


def sparse(name, dims, values, places, dtype=np.int64):
    """A sparse tensor as a file may have it, right or not."""
    return helper.make_sparse_tensor(
        numpy_helper.from_array(np.asarray(values), name),
        numpy_helper.from_array(np.asarray(places, dtype), f"{name}.places"),
        dims,
    )


def taken_apart(array, pairs):
    """Values and places of what is not zero in an array."""
    at = np.flatnonzero(array)
    places = np.stack(np.unravel_index(at, array.shape), 1) if pairs else at
    return array.reshape(-1)[at], places


def model(*tensors, attribute=None, nodes=()):
    """x [4, n] times the first tensor [n, m], or what `nodes` say."""
    made = [*nodes] or [helper.make_node("MatMul", ["x", tensors[0].values.name], ["y"])]
    rows = tensors[0].dims[0] if len(tensors[0].dims) == 2 else 3
    x = helper.make_tensor_value_info("x", 1, [4, min(rows, 1 << 40)])
    graph = helper.make_graph(made, "g", [x], [helper.make_empty_tensor_value_info("y")])
    graph.sparse_initializer.extend(tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def by_onnxruntime(proto, x):
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, None))
    session = ort_session.session(proto)
    return session.run(None, {"x": x})[0]


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.5])
def test_random_ones_are_what_onnxruntime_makes_of_them(tmp_path, pairs, density):
    rng = np.random.default_rng(round(100 * density))
    array = np.where(rng.random((67, 130)) < density, rng.standard_normal((67, 130)), 0).astype(np.float32)
    proto = model(sparse("w", array.shape, *taken_apart(array, pairs)))
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    x = rng.standard_normal((4, 67)).astype(np.float32)
    for source in (proto, tmp_path / "m.onnx"):  # a file's heavy parts are read from where they stand
        graph = wb.load_onnx(source)
        np.testing.assert_array_equal(graph.constants["w"], array)
        got = wb.compile(graph, threads=1).run({"x": x})["y"]
        np.testing.assert_allclose(got, x @ array, rtol=1e-4, atol=1e-4)
    if density:
        np.testing.assert_allclose(by_onnxruntime(proto, x), x @ array, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "int64", "bool", "uint16"])
def test_types(dtype):
    proto = model(
        sparse("w", (3, 2), np.array([1, 1], dtype), [1, 4]), nodes=[helper.make_node("Identity", ["w"], ["y"])]
    )
    w = wb.load_onnx(proto).constants["w"]
    assert w.dtype == dtype
    np.testing.assert_array_equal(w, np.array([[0, 1], [0, 0], [1, 0]], dtype))


def test_a_constant_may_be_sparse():
    value = sparse("v", (4, 3), np.array([2, -3], np.float32), [[0, 1], [3, 2]])
    nodes = [helper.make_node("Constant", [], ["c"], sparse_value=value), helper.make_node("Add", ["x", "c"], ["y"])]
    proto = model(value, nodes=nodes)
    proto.graph.ClearField("sparse_initializer")
    x = np.zeros((4, 3), np.float32)
    proto.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", 1, [4, 3]))
    got = wb.compile(wb.load_onnx(proto), threads=1).run({"x": x})["y"]
    np.testing.assert_array_equal(got, by_onnxruntime(proto, x))
    assert got[0, 1] == 2
    assert got[3, 2] == -3


ONE = np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("tensor", "code", "text"),
    [
        (sparse("w", (3, 2), ONE, [0, 6]), "model.invalid_graph", "outside of its 6 elements"),
        (sparse("w", (3, 2), ONE, [-1, 2]), "model.invalid_graph", "outside of its 6 elements"),
        (sparse("w", (3, 2), ONE, [[0, 0], [0, 2]]), "model.invalid_graph", "outside of its shape"),
        (sparse("w", (3, 2), ONE, [[0, 0], [-1, 1]]), "model.invalid_graph", "outside of its shape"),
        (sparse("w", (3, 2), ONE, [4, 1]), "model.invalid_graph", "ascending"),
        (sparse("w", (3, 2), ONE, [[2, 0], [0, 1]]), "model.invalid_graph", "ascending"),
        (sparse("w", (3, 2), ONE, [1, 1]), "model.invalid_graph", "twice"),
        (sparse("w", (3, 2), ONE, [1]), "model.invalid_graph", "2 values at indices"),
        (sparse("w", (3, 2), ONE, [[1, 1, 1], [2, 0, 0]]), "model.invalid_graph", "2 values at indices"),
        (sparse("w", (3, 2), ONE, [1, 2], np.int32), "model.invalid_graph", "int32"),
        (sparse("w", (3, 2), np.ones((2, 1), np.float32), [1, 2]), "model.invalid_graph", "values of the shape"),
        (sparse("w", (3, 2), np.array(["a", "b"], object), [1, 2]), "model.invalid_graph", "type"),
        (sparse("w", (3, -2), ONE, [1, 2]), "model.invalid_graph", "shape"),
        (sparse("", (3, 2), ONE, [1, 2]), "model.invalid_graph", "no name"),
        (sparse("w", (1 << 20, 1 << 20), ONE, [1, 2]), "model.too_large", "GiB"),
        (sparse("w", (1 << 62, 1 << 62), ONE, [[1, 2], [3, 4]]), "model.too_large", "GiB"),
        (sparse("w", [1] * 200, ONE[:1], [0]), "model.invalid_graph", "shape"),
    ],
)
def test_hostile_ones_are_refused(tensor, code, text):
    with pytest.raises(ModelError, match=text) as e:
        wb.load_onnx(model(tensor))
    assert e.value.code == code


def test_names_are_not_shared():
    w = sparse("w", (3, 2), ONE, [0, 1])
    with pytest.raises(ModelError, match="Two initializers") as e:
        wb.load_onnx(model(w, w))
    assert e.value.code == "model.duplicate_name"


def test_a_value_that_is_no_number_is_told():
    with pytest.warns(ModelWarning, match="NaN"):
        wb.load_onnx(model(sparse("w", (3, 2), np.array([1, math.nan], np.float32), [0, 1])))


def test_functions_keep_them():
    """A model with a function is written anew without it."""
    proto = model(sparse("w", (3, 2), ONE, [0, 5]), nodes=[helper.make_node("Twice", ["x", "w"], ["y"], domain="own")])
    body = [helper.make_node("MatMul", ["a", "b"], ["c"]), helper.make_node("Add", ["c", "c"], ["d"])]
    opsets = [helper.make_opsetid("", 18)]
    proto.functions.append(helper.make_function("own", "Twice", ["a", "b"], ["d"], body, opsets))
    proto.opset_import.append(helper.make_opsetid("own", 1))
    got = wb.compile(wb.load_onnx(proto), threads=1).run({"x": np.ones((4, 3), np.float32)})["y"]
    np.testing.assert_array_equal(got, np.full((4, 2), 2, np.float32))
