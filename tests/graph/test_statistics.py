"""LayerNormalization with its mean and deviation: kernels for all three."""

from __future__ import annotations

import numpy as np
import pytest
from graph.checks import kept
from graph.mutation import Mutation, assert_noticed

from workbench.graph import Graph, Node, partition, run_reference
from workbench.graph.graph import TensorType

X = np.random.default_rng(0).standard_normal((2, 3, 8)).astype(np.float32) * 3 + 1


def net(outputs: tuple[str, ...], axis: int = -1, **attrs) -> Graph:
    ones = {"s": np.linspace(1, 2, int(np.prod(X.shape[axis:])), dtype=np.float32).reshape(X.shape[axis:])}
    node = Node("n", "LayerNormalization", ("x", "s"), outputs, {"axis": axis, **attrs}, "", 17)
    return Graph.make("norm", [node], {"x": TensorType(X.shape, "float32")}, [o for o in outputs if o], ones)


@pytest.mark.parametrize("outputs", [("y", "m", "d"), ("y", "m"), ("y", "", "d"), ("", "m", "d")])
@pytest.mark.parametrize("axis", [-1, 1])
def test_each_result_has_a_kernel(outputs, axis):
    graph = net(outputs, axis, epsilon=0.1)
    assert kept(graph) == ""
    assert not any(g.obstacle for g in partition(graph.optimize()))
    got = run_reference(graph.optimize(), {"x": X})
    over = tuple(range(axis % 3, 3))
    want = {"m": X.mean(over, keepdims=True), "d": 1 / np.sqrt(X.var(over, keepdims=True) + 0.1)}
    for name in set(outputs) & set(want):
        np.testing.assert_allclose(got[name], want[name], rtol=1e-5)


def test_one_that_is_asked_for_its_result_alone_stays_as_it_is():
    assert [n.op for n in net(("y",)).optimize().nodes] == ["LayerNormalization"]


@pytest.mark.parametrize(
    ("old", "new"), [('"Sub", (x, mean)', '"Add", (x, mean)'), ("(variance, least)", "(variance, variance)")]
)
def test_the_mutation_is_noticed(old, new):
    where = "workbench.graph.passes.norm_statistics_outputs:_parted"
    assert_noticed(Mutation("part_statistics", where, new, old, new, (lambda: net(("y", "m", "d"), epsilon=0.1),)))
