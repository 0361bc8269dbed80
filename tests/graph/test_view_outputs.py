"""Outputs that are views: of inputs, of constants' results, of each other."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.graph import Graph, Node, TensorType, partition, run_reference
from workbench.network.compile import compile

SHAPES = {"s": np.array([3, 2]), "flat": np.array([6])}


def build(nodes: list[Node], outputs: list[str]) -> Graph:
    return Graph.make("views", nodes, {"x": TensorType((2, 3))}, outputs, SHAPES)


RELU = Node("r", "Relu", ("x",), ("y",))
CASES = {
    "beside its source": ([RELU, Node("v", "Reshape", ("y", "s"), ("z",))], ["y", "z"], 1),
    "of an input": ([Node("v", "Reshape", ("x", "s"), ("z",))], ["z"], 0),
    "two of one result": (
        [RELU, Node("v", "Reshape", ("y", "s"), ("z",)), Node("u", "Reshape", ("y", "flat"), ("w",))], ["z", "w"], 1
    ),
    "a view of a view": (
        [RELU, Node("v", "Reshape", ("y", "s"), ("z",)), Node("u", "Flatten", ("z",), ("w",), {"axis": 0})],
        ["y", "z", "w"],
        1,
    ),
    "read again": (
        [RELU, Node("v", "Reshape", ("y", "s"), ("z",)), Node("t", "Tanh", ("z",), ("w",))], ["y", "z", "w"], 2
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_output_that_is_a_view_needs_no_kernel(case):
    nodes, outputs, kernels = CASES[case]
    graph = build(nodes, outputs).optimize()
    assert sum(not g.view for g in partition(graph)) == kernels
    x = np.arange(-3, 3, dtype="float32").reshape(2, 3)
    executable = compile(graph)
    executable.poison()
    for _ in range(2):  # what the caller does with the first results must not reach the second
        found = executable.run(x)
        expected = run_reference(graph, {"x": x}, outputs)
        assert list(found) == outputs
        for name in outputs:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)
            found[name][...] = 7
