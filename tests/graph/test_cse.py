"""What is computed twice is computed once; what nobody needs is dropped."""

from __future__ import annotations

import numpy as np
import pytest
from graph.checks import kept
from graph.nets import conv
from graph.small import net, weights

from workbench.graph import Graph, Node, TensorType


def ops(graph: Graph, *names: str) -> list[str]:
    assert not kept(graph, names)
    return [n.op for n in graph.optimize(names).nodes]


def pair(op: str, left: dict, right: dict, outputs=("y",), **more) -> Graph:
    nodes = [
        Node("a", op, ("x",), ("a",), left),
        Node("b", op, ("x",), ("b",), right),
        Node("c", "Concat", ("a", "b"), ("y",), {"axis": 1}),
    ]
    return net(nodes, outputs=outputs, **more)


def test_equal_nodes_are_computed_once():
    assert ops(pair("LeakyRelu", {"alpha": 0.2}, {"alpha": 0.2}), "common_subexpressions") == ["LeakyRelu", "Concat"]


@pytest.mark.parametrize(
    "graph",
    [
        pair("LeakyRelu", {"alpha": 0.2}, {"alpha": 0.1}),
        pair("LeakyRelu", {"alpha": 0.2}, {}),
        pair("ReduceMax", {"axes": (2,)}, {"axes": (2, 3)}, shape=(1, 4, 6, 1)),
        net([Node("a", "Sub", ("x", "z"), ("a",)), Node("b", "Sub", ("z", "x"), ("b",)),
             Node("c", "Concat", ("a", "b"), ("y",), {"axis": 1})], z=(1, 4, 6, 6)),
    ],
)  # fmt: skip
def test_nodes_that_differ_stay(graph):
    assert len(ops(graph, "common_subexpressions")) == 3


def test_chains_of_equal_nodes_and_equal_constants():
    rng = weights(4, 4, 1, 1)
    nodes = [
        conv("c1", "x", "w1", "a1"),
        conv("c2", "x", "w2", "a2"),
        Node("r1", "Relu", ("a1",), ("b1",)),
        Node("r2", "Relu", ("a2",), ("b2",)),
        Node("s", "Sub", ("b1", "b2"), ("y",)),
    ]
    graph = net(nodes, {"w1": rng, "w2": rng.copy()})
    assert ops(graph, "common_subexpressions") == ["Conv", "Relu", "Sub"]
    assert len(graph.optimize(["common_subexpressions"]).constants) == 1
    other = rng.copy()
    other[3, 3] += 1
    assert len(ops(net(nodes, {"w1": rng, "w2": other}), "common_subexpressions")) == 5


def test_constants_that_differ_in_one_element_stay_two():
    one = np.zeros((1, 4, 6, 6), np.float32)
    other = one.copy()
    other[0, 1, 2, 3] = 1
    nodes = [Node("a", "Add", ("x", "p"), ("a",)), Node("b", "Add", ("x", "q"), ("b",))]
    graph = net([*nodes, Node("m", "Mul", ("a", "b"), ("y",))], {"p": one, "q": other})
    assert len(ops(graph, "common_subexpressions")) == 3


def test_outputs_keep_their_names():
    graph = pair("Relu", {}, {}, outputs=("y", "b", "a"))
    assert graph.optimize(["common_subexpressions"]).outputs == ("y", "b", "a")
    assert not kept(graph, ["common_subexpressions"])


def test_random_numbers_are_drawn_each_time():
    attrs = {"dtype": 1, "shape": (1, 4, 6, 6)}
    nodes = [Node("a", "RandomNormal", (), ("a",), attrs), Node("b", "RandomNormal", (), ("b",), attrs),
             Node("s", "Sub", ("a", "b"), ("y",))]  # fmt: skip
    graph = Graph.make("g", nodes, {"x": TensorType((1,))}, ["y"])
    assert len(graph.optimize(["common_subexpressions"]).nodes) == 3


def test_dead_code():
    nodes = [Node("r", "Relu", ("x",), ("y",)), Node("d", "Abs", ("x",), ("d",)), Node("e", "Neg", ("d",), ("e",))]
    graph = net(nodes, {"unused": weights(3)})
    after = graph.optimize(["dead_code"])
    assert [n.op for n in after.nodes] == ["Relu"]
    assert not after.constants
    assert after.optimize(["dead_code"]) is after
