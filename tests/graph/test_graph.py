from __future__ import annotations

import numpy as np
import pytest
from graph.nets import close, random_feeds, residual_net

from workbench.errors import ShapeError
from workbench.graph import Graph, Node, TensorType, run_reference


def chain(*ops: str) -> Graph:
    names = ["x", *(f"t{i}" for i in range(len(ops) - 1)), "y"]
    nodes = [Node(f"n{i}", op, (names[i],), (names[i + 1],)) for i, op in enumerate(ops)]
    return Graph.make("chain", nodes, {"x": TensorType((2, 3))}, ["y"])


def test_text_form():
    assert str(chain("Relu", "Neg")) == (
        "graph chain (2 nodes, 0 constants)\n"
        "  input  x: float32[2, 3]\n"
        "  t0 = Relu(x) : float32[2, 3]\n"
        "  y = Neg(t0) : float32[2, 3]\n"
        "  output y: float32[2, 3]"
    )
    assert "2 nodes" in repr(chain("Relu", "Neg"))


def test_nodes_are_sorted():
    nodes = [Node("b", "Neg", ("t",), ("y",)), Node("a", "Relu", ("x",), ("t",))]
    g = Graph.make("g", nodes, {"x": TensorType((2,))}, ["y"])
    assert [n.name for n in g.nodes] == ["a", "b"]


def test_long_chains_do_not_exhaust_the_stack():
    assert len(chain(*["Relu"] * 3000).nodes) == 3000


def test_consumers_and_producers():
    g = residual_net()
    assert [n.name for n in g.consumers()["t2"]] == ["c1", "c2"]
    assert g.producers()["t6"].name == "a1"
    assert g.node("a1").op == "Sum"


def test_with_outputs_keeps_what_is_needed():
    g = residual_net().with_outputs(["t7", "t2"])
    assert [n.name for n in g.nodes] == ["c0", "n0", "r0", "c1", "n1", "c2", "a1", "r1"]
    assert "w3" not in g.constants
    feeds = random_feeds(g)
    both = run_reference(residual_net(), feeds, ["t7", "t2"])
    for name, value in run_reference(g, feeds).items():
        assert np.array_equal(value, both[name])


def test_a_graph_is_not_changed_by_optimizing():
    g = residual_net()
    before = str(g)
    h = g.optimize()
    assert str(g) == before
    assert h.history
    assert close(run_reference(h, random_feeds(g))["prob"], run_reference(g, random_feeds(g))["prob"])


@pytest.mark.parametrize(
    ("feeds", "code"),
    [
        ({}, "shape.name"),
        ({"x": np.zeros((2, 3), "f4"), "z": np.zeros(1)}, "shape.name"),
        ({"x": np.zeros((3, 2), "f4")}, "shape.mismatch"),
        ({"x": np.zeros((2, 3), "f8")}, "shape.mismatch"),
    ],
)
def test_feeds_that_do_not_fit(feeds, code):
    with pytest.raises(ShapeError) as e:
        run_reference(chain("Relu"), feeds)
    assert e.value.code == code
