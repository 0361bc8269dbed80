"""Weights that stand in the model's own file are read from there, apart from the message."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import workbench as wb
from workbench.errors import ModelError
from workbench.model_files import protobuf_wire

TYPES = ("float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64", "bool")


def model(arrays, raw=True):
    """A model whose outputs are its weights, one of each type."""
    tensors = []
    for name, a in arrays.items():
        tensors.append(numpy_helper.from_array(a, name))
        if not raw and a.dtype == np.float32:
            tensors[-1] = helper.make_tensor(name, TensorProto.FLOAT, a.shape, a.reshape(-1).tolist())
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in arrays]
    ends = [helper.make_empty_tensor_value_info(f"{name}_out") for name in arrays]
    graph = helper.make_graph(nodes, "g", [], ends, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {t: rng.integers(-100, 100, (67, 61)).astype(t) for t in TYPES}


@pytest.mark.parametrize("raw", [True, False])
def test_they_are_what_the_message_says(tmp_path, arrays, raw):
    data = model(arrays, raw).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    graph = wb.load_onnx(tmp_path / "m.onnx")
    (tmp_path / "m.onnx").write_bytes(bytes(len(data)))  # the file may be written again while the graph lives
    for name, a in arrays.items():
        assert graph.constants[name].dtype == a.dtype
        assert graph.constants[name].flags.aligned
        np.testing.assert_array_equal(graph.constants[name], a)


def test_the_message_is_left_without_them(arrays):
    data = model(arrays).SerializeToString()
    light = protobuf_wire.without_weights(data)
    assert len(light) < len(data) / 10
    assert protobuf_wire.without_weights(light) == light


def test_data_that_do_not_fit_are_refused(tmp_path, arrays):
    proto = model(arrays)
    proto.graph.initializer[0].raw_data = proto.graph.initializer[0].raw_data[:-4]
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(ModelError, match="do not fit its shape") as e:
        wb.load_onnx(tmp_path / "m.onnx")
    assert (e.value.code, e.value.where) == ("model.invalid_graph", ("float32",))


def test_bytes_that_are_no_message():
    for data in (b"\x0f", b"\x0a\xff\x01", b"\x80", b"\x08"):
        with pytest.raises(ValueError, match=r"message|wire type"):
            protobuf_wire.without_weights(data)
