"""Models with a few bytes changed or cut off: whatever that makes of them, an error of ours or a graph comes out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from errors.hostile import info, model
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import workbench as wb
from workbench.graph.onnx import read_program
from workbench.model_files.model_path import find_model


def everything():
    """A small model with a body, a function, an operator that the standard expands, weights and an open dimension."""

    def branch(op, name):
        return helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [info(name, None)])

    nodes = [
        helper.make_node("If", ["c"], ["p"], then_branch=branch("Neg", "a"), else_branch=branch("Sqrt", "b")),
        helper.make_node("dense", ["p", "w"], ["q"], domain="own"),
        helper.make_node("Softplus", ["q"], ["r"]),
        helper.make_node("Conv", ["r", "k"], ["s"], pads=[1, 1, 1, 1], name="conv"),
        helper.make_node("Resize", ["s", "", "scales"], ["t"], mode="nearest"),
        helper.make_node("Reshape", ["t", "shape"], ["y"]),
    ]
    arrays = {"w": np.ones((64, 64)), "k": np.ones((2, 3, 3, 3)), "scales": np.array([1, 1, 2, 2])}
    constants = [(n, a.astype(np.float32)) for n, a in arrays.items()] + [("shape", np.array([0, -1]))]
    proto = model(nodes, [info("x", ["n", 3, 4, 64]), info("c", [], TensorProto.BOOL)], constants)
    proto.opset_import.append(helper.make_opsetid("own", 1))
    body = [helper.make_node("MatMul", ["a", "b"], ["t"]), helper.make_node("Relu", ["t"], ["c"])]
    proto.functions.append(helper.make_function("own", "dense", ["a", "b"], ["c"], body, [helper.make_opsetid("", 18)]))
    return proto.SerializeToString()


WHOLE = (everything(), find_model("light_squeezenet").read_bytes())
CHANGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


def load(source):
    """Import a model with 8 for every open dimension."""
    program = read_program(source)
    shapes = {v.name: [d if isinstance(d, int) else 8 for d in v.dims] for v in program.inputs if v.dims is not None}
    return program.graph(shapes)


def test_they_load_when_they_are_whole():
    for data in WHOLE:
        assert load(data).nodes


@settings(max_examples=300)
@given(st.sampled_from(WHOLE), CHANGES, st.floats(0.5, 1.5))
def test_changed_bytes_give_an_error_of_ours_or_a_graph(folder, data, changes, kept):
    damaged = bytearray(data)
    for place, byte in changes:
        damaged[int(place * len(damaged))] = byte
    damaged = damaged[: int(kept * len(damaged))]
    path = folder / "m.onnx"
    path.write_bytes(damaged)
    for source in (path, bytes(damaged)):  # from a file, weights are read apart from the message
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # weights may have become NaN
            try:
                found = "model." if load(source).outputs else "a graph without outputs"
            except wb.WorkbenchError as e:
                found = e.code
        assert found.startswith(("model.", "shape."))
