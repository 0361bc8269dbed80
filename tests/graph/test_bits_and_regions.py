"""Runtime kernels of bits, regions and recurrences: what onnxruntime leaves open."""

from __future__ import annotations

import numpy as np
import pytest
from graph.examples import Case
from graph.test_runtime_kernels import agree, compiled

from workbench.graph import Graph, Node, run_reference
from workbench.graph.evaluation import evaluate
from workbench.graph.graph import TensorType
from workbench.network.compile import compile


@pytest.mark.parametrize("far", [np.inf, -np.inf, np.nan, 1e30])
def test_regions_without_end_and_images_that_are_not_there_end(far):
    boxes = np.array([[0, 0, far, 2], [far, 0, 2, 2]], np.float32)
    case = Case("t", (np.ones((1, 2, 3, 4), np.float32), boxes, np.array([9, -9])), {"output_width": 2}, version=16)
    exe, feeds = compiled("RoiAlign", case)
    assert next(iter(exe.run(feeds).values())).shape == (2, 2, 1, 2)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64", "uint64"])
def test_all_bits_may_be_moved_out(dtype, direction):
    info = np.iinfo(dtype)
    x = np.array([info.min, -1 if info.min else 7, 5, info.max], dtype).reshape(-1, 1)
    by = np.array([0, 1, info.bits - 1, info.bits, info.bits + 1, 100, -1 if info.min else info.max], dtype)
    case = Case("t", (x, by.reshape(1, -1)), {"direction": direction}, version=28)
    pair = Case("t", tuple(np.array(a) for a in np.broadcast_arrays(*case.inputs)), case.attrs, version=28)
    exe, feeds = compiled("BitShift", pair)
    agree(exe.run(feeds).values(), evaluate(pair.call("BitShift"), *pair.inputs))


def test_a_recurrence_may_give_its_last_state_alone():
    x, w, r = (np.random.default_rng(0).standard_normal(s).astype("f4") for s in ((3, 2, 4), (1, 15, 4), (1, 15, 5)))
    node = Node("n", "GRU", ("x", "w", "r"), ("", "h"), {"hidden_size": 5}, "", 14)
    graph = Graph.make("one", [node], {"x": TensorType(x.shape)}, ["h"], {"w": w, "r": r})
    np.testing.assert_allclose(compile(graph).run({"x": x})["h"], run_reference(graph, {"x": x})["h"], rtol=1e-5)
