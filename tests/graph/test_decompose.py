"""Operators that are written as others: every example computes the same, in loop nests throughout."""

from __future__ import annotations

import numpy as np
import pytest
from graph.checks import kept
from graph.examples import cases
from graph.examples.case import Case, sample
from graph.mutation import Mutation, assert_noticed

from workbench.graph import Graph, Node, partition, run_reference
from workbench.graph.graph import TensorType
from workbench.graph.opdef import OpDef, registry
from workbench.network.compile import compile


def graph_of(op: str, case: Case) -> Graph:
    call = case.call(op)
    constants = {n: a for i, (n, a) in enumerate(zip(call.node.inputs, case.inputs, strict=True)) if i in case.const}
    moving = {n: t for n, t in zip(call.node.inputs, call.types, strict=True) if n and n not in constants}
    return Graph.make("one", [call.node], moving, call.node.outputs, constants)


def decomposed():
    for name, op in registry().items():
        if type(op).decompose is not OpDef.decompose:
            for case in cases(op):
                graph = graph_of(name, case)
                if graph.optimize(("decompose",)) is not graph:
                    yield pytest.param(name, case, id=f"{name}-{case.label}")


@pytest.mark.parametrize(("name", "case"), list(decomposed()))
def test_what_an_operator_is_written_as_computes_the_same(name, case):
    graph = graph_of(name, case)
    feeds = {n: a for n, a in zip(case.call(name).node.inputs, case.inputs, strict=True) if n in graph.inputs}
    want, done = run_reference(graph, feeds), graph.optimize()
    for got in (
        run_reference(graph.optimize(("decompose",)), feeds),
        run_reference(done, feeds),
        compile(done).run(feeds),
    ):
        for output, value in want.items():
            assert got[output].dtype == value.dtype
            np.testing.assert_allclose(got[output], value, rtol=2e-4, atol=2e-5)
    assert not any(g.obstacle for g in partition(done))


def parts_without_elements() -> Graph:
    nodes = [
        Node("c", "Concat", ("x", "e", "x"), ("t",), {"axis": 1}),
        Node("s", "ReduceSum", ("e",), ("u",), {"axes": (1,)}, "", 11),
        Node("a", "Add", ("t", "u"), ("y",)),
        Node("l", "Slice", ("x",), ("z",), {"starts": (9,), "ends": (9,), "axes": (1,)}, "", 9),
    ]
    return Graph.make("g", nodes, {"x": TensorType((2, 3)), "e": TensorType((2, 0))}, ("y", "z"), {})


def test_tensors_without_elements_need_no_steps():
    graph = parts_without_elements()
    assert kept(graph) == ""
    assert not any(g.obstacle for g in partition(graph.optimize()))


def three_factors() -> Graph:
    node = Node("n", "Einsum", ("x", "v", "w"), ("y",), {"equation": "ab,bc,cd->ad"})
    return Graph.make("g", [node], {"x": TensorType((2, 3))}, ("y",), {"v": sample(3, 4), "w": sample(4, 5)})


def test_the_mutation_is_noticed():
    where = "workbench.graph.ops.math.einsum:Einsum.decompose"
    assert_noticed(
        Mutation("decompose", where, "a label of later operands is summed", "*operands[2:]", "", (three_factors,))
    )
