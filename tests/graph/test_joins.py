"""Concatenations that cost nothing, and those that have to stay kernels."""

from __future__ import annotations

import numpy as np
import pytest
from graph.nets import conv, run_groups

import workbench as wb
from workbench.graph.graph import Graph, Node, TensorType
from workbench.graph.reference import run_reference
from workbench.graph.tasks import partition


def two_branches(extra: list[Node]) -> Graph:
    rng = np.random.default_rng(1)
    constants = {n: rng.standard_normal((co, 3, 1, 1)).astype(np.float32) for n, co in (("w1", 4), ("w2", 6))}
    nodes = [conv("a", "x", "w1", "p"), conv("b", "x", "w2", "q"), *extra]
    return Graph.make("net", nodes, {"x": TensorType((1, 3, 8, 8), "float32")}, ("y",), constants)


CASES = {
    "both parts in place": ([Node("c", "Concat", ("p", "q"), ("y",), {"axis": 1})], 0),
    "a part is read elsewhere too": (
        [
            Node("c", "Concat", ("p", "q"), ("z",), {"axis": 1}),
            Node("r", "Relu", ("p",), ("s",)),
            Node("e", "Concat", ("z", "s"), ("y",), {"axis": 1}),
        ],
        1,
    ),
    "the same part twice": (
        [Node("c", "Concat", ("p", "p"), ("z",), {"axis": 1}), Node("d", "Concat", ("z", "q"), ("y",), {"axis": 1})],
        1,
    ),
    "an input is a part": ([Node("c", "Concat", ("p", "x", "q"), ("y",), {"axis": 1})], 1),
}


@pytest.mark.parametrize("case", CASES)
def test_result_and_number_of_copies(case):
    extra, copies = CASES[case]
    graph = two_branches(extra)
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)}
    want = run_reference(graph, feeds)["y"]
    optimised = graph.optimize()
    assert sum(g.description.startswith("concat") for g in partition(optimised)) == copies
    np.testing.assert_allclose(run_groups(optimised, feeds)["y"], want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(wb.compile(graph).run(feeds)["y"], want, rtol=1e-5, atol=1e-5)
