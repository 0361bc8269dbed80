"""Factors and shifts around products with constant weights, and products of batches of rows as one matrix."""

from __future__ import annotations

import numpy as np
import pytest
from graph.checks import kept
from graph.nets import conv
from graph.small import net, weights

from workbench.graph import Graph, Node


def c(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(0.5, 1.5, shape).astype("f4")


def dense(*after: Node, before: tuple[Node, ...] = (), source: str = "x", shape=(3, 4), **constants) -> Graph:
    """A Gemm from x to t (weights stored transposed, with bias) and what surrounds it."""
    gemm = Node("g", "Gemm", (source, "w", "b"), ("t" if after else "y",), {"transB": 1})
    return net([*before, gemm, *after], {"w": weights(5, 4), "b": weights(5), **constants}, shape)


def mat(*after: Node, shape=(2, 3, 4), n=6, **constants) -> Graph:
    return net([Node("m", "MatMul", ("x", "w"), ("t",)), *after], {"w": weights(4, n), **constants}, shape)


def spatial(*after: Node, before: tuple[Node, ...] = (), source: str = "x", w=(5, 4, 3, 3), **attrs) -> Graph:
    constants = {"w": weights(*w), "k": c(4, 1, 1), "h": c(1, 4, 1, 1), "two": np.float32(2.0), "five": c(5, 1, 1)}
    return net([*before, conv("g", source, "w", "t" if after else "y", **attrs), *after], constants)


def node(op: str, *names: str) -> Node:
    """The last name is the result."""
    return Node(f"{op}.{names[-1]}", op, names[:-1], names[-1:])


FOLDED = {
    "columns": (dense(node("Mul", "t", "k", "u"), node("Add", "h", "u", "v"), node("Sub", "v", "one", "y"),
                      k=c(5), h=c(1, 5), one=np.float32(3.0)), ["Gemm"]),
    "a quotient": (dense(node("Div", "t", "k", "y"), k=c(5)), ["Gemm"]),
    "a factor behind views": (
        mat(Node("r", "Reshape", ("t", "s"), ("u",)), Node("p", "Transpose", ("u",), ("v",), {"perm": (0, 2, 1, 3)}),
            node("Mul", "v", "two", "y"), s=np.array([2, 3, 2, 3]), two=np.float32(2.5)),
        ["MatMul", "Reshape", "Transpose"],
    ),
    "a column of a product of batches": (mat(node("Mul", "t", "k", "y"), k=c(6)), ["MatMul"]),
    "before a product": (
        dense(before=(node("Mul", "x", "k", "u"), node("Add", "u", "h", "v")), source="v", k=c(4), h=c(1, 4)), ["Gemm"]
    ),
    "before a padded convolution": (
        spatial(before=(node("Mul", "x", "k", "v"),), source="v", pads=(1, 1, 1, 1)), ["Conv"]
    ),
    "a shift before a convolution": (
        spatial(before=(node("Mul", "k", "x", "u"), node("Sub", "u", "h", "v")), source="v"), ["Conv"]
    ),
    "a number before groups": (
        spatial(before=(node("Div", "x", "two", "v"),), source="v", w=(4, 1, 3, 3), group=4), ["Conv"]
    ),
    "a factor behind a convolution": (spatial(node("Mul", "t", "five", "y")), ["Conv"]),
}  # fmt: skip

LEFT = {
    "rows of a product": dense(node("Mul", "t", "k", "y"), k=c(3, 1)),
    "a shift of a product without bias": mat(node("Add", "t", "k", "y"), k=c(6)),
    "a column behind views": mat(Node("r", "Reshape", ("t", "s"), ("u",)), node("Mul", "u", "k", "y"),
                                 s=np.array([2, 3, 2, 3]), k=c(3)),
    "a shift before padding": spatial(before=(node("Add", "x", "h", "v"),), source="v", pads=(1, 1, 1, 1)),
    "channels before groups": spatial(before=(node("Mul", "x", "k", "v"),), source="v", w=(4, 1, 3, 3), group=4),
    "a tensor over a constant": dense(node("Div", "k", "t", "y"), k=c(5)),
    "a quotient by zero": dense(node("Div", "t", "k", "y"), k=np.zeros(5, "f4")),
    "alpha": net([Node("g", "Gemm", ("x", "w"), ("t",), {"alpha": 2.0}), node("Mul", "t", "k", "y")],
                 {"w": weights(4, 5), "k": c(5)}, (3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("case", FOLDED)
def test_folded(case):
    graph, left = FOLDED[case]
    assert sorted(n.op for n in graph.optimize(["fold_scale"]).nodes) == sorted(left)
    assert not kept(graph, ["fold_scale"])


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("case", LEFT)
def test_left_as_it_is(case):
    assert LEFT[case].optimize(["fold_scale"]) is LEFT[case]


def test_what_others_read_is_left_as_it_is():
    both = [node("Mul", "t", "k", "y"), node("Sigmoid", "t", "z")]
    graph = net([Node("m", "MatMul", ("x", "w"), ("t",)), *both], {"w": weights(4, 5), "k": c(5)}, (3, 4), ("y", "z"))
    assert graph.optimize(["fold_scale"]) is graph
    graph = graph.with_outputs(["t", "y"])
    assert graph.optimize(["fold_scale"]) is graph


def scores(*first: Node, shape=(2, 3, 4)) -> Graph:
    """Nodes from x to q, and a product of q with z."""
    nodes = [*first, Node("p", "MatMul", ("q", "z"), ("t",)), node("Add", "t", "m", "y")]
    return net(nodes, {"two": np.float32([[2.5]]), "k": c(4)}, shape, z=(2, 4, 5), m=(3, 5))


def test_a_number_goes_behind_a_product_of_two_tensors():
    graph = scores(node("Mul", "two", "x", "q"))
    after = graph.optimize(["fold_scale"])
    assert [n.op for n in after.nodes] == ["MatMul", "Mul", "Add"]
    assert not kept(graph, ["fold_scale"])
    turned = scores(
        node("Div", "x", "two", "u"), Node("v", "Transpose", ("u",), ("q",), {"perm": (0, 2, 1)}), shape=(2, 4, 3)
    )
    assert [n.op for n in turned.optimize(["fold_scale"]).nodes] == ["Transpose", "MatMul", "Div", "Add"]
    assert not kept(turned, ["fold_scale"])


def test_both_operands_are_scaled_by_one_number():
    nodes = [node("Mul", "x", "two", "a"), node("Mul", "z", "two", "b"), node("MatMul", "a", "b", "y")]
    graph = net(nodes, {"two": np.float32(1.5)}, (3, 4), z=(4, 5))
    assert not kept(graph)
    assert [n.op for n in graph.optimize(["fold_scale", "simplify"]).nodes] == ["MatMul", "Mul"]


@pytest.mark.parametrize(
    "graph",
    [
        scores(node("Mul", "x", "k", "q")),
        net([node("Mul", "x", "two", "a"), node("MatMul", "a", "a", "y")], {"two": np.float32(1.5)}, (4, 4)),
        net([node("Mul", "x", "two", "a"), node("MatMul", "a", "z", "y"), node("Relu", "a", "w")],
            {"two": np.float32(1.5)}, (4, 4), ("y", "w"), z=(4, 4)),
    ],
)  # fmt: skip
def test_what_is_no_number_or_is_read_elsewhere_stays_before(graph):
    assert graph.optimize(["fold_scale"]) is graph


# ---- rows of batches ----


def block(batch: int = 2, rows: int = 3) -> Graph:
    """Product, bias, residual, normalisation, product, softmax."""
    nodes = [
        Node("m1", "MatMul", ("x", "w1"), ("a",)),
        Node("a1", "Add", ("b1", "a"), ("b",)),
        Node("r1", "Add", ("b", "x"), ("c",)),
        Node("n1", "LayerNormalization", ("c", "s", "h"), ("d",), {"axis": -1, "epsilon": 1e-3}, "", 17),
        Node("m2", "MatMul", ("d", "w2"), ("e",)),
        Node("e2", "Mul", ("e", "half"), ("f",)),
        Node("s2", "Softmax", ("f",), ("y",), {"axis": 2}, "", 13),
    ]
    constants = {"w1": weights(8, 8), "b1": weights(1, 1, 8), "s": c(8), "h": c(8), "w2": weights(8, 5),
                 "half": np.full((1, 1, 1), 0.5, "f4")}  # fmt: skip
    return net(nodes, constants, (batch, rows, 8))


def test_batches_of_rows_are_one_matrix():
    graph = block()
    assert not kept(graph, ["flatten_products"])
    after = graph.optimize(["flatten_products", "simplify_views", "common_subexpressions", "canonicalize"])
    assert [n.op for n in after.nodes] == [
        "Reshape", "Gemm", "Add", "LayerNormalization", "MatMul", "Mul", "Softmax", "Reshape",
    ]  # fmt: skip
    assert {after.types[n.outputs[0]].shape for n in after.nodes[1:-1]} == {(6, 8), (6, 5)}


def test_the_same_kernels_for_all_batches_of_as_many_rows():
    tasks = [{t.key for t in _tasks(block(*size))} for size in ((2, 6), (4, 3), (1, 12))]
    assert tasks[0] == tasks[1] == tasks[2]


def _tasks(graph):
    from workbench.graph import extract_tasks

    return extract_tasks(graph)


def test_operands_that_differ_from_row_to_row_stay_where_they_are():
    nodes = [Node("m", "MatMul", ("x", "w"), ("a",)), Node("n", "Add", ("a", "z"), ("y",))]
    graph = net(nodes, {"w": weights(8, 5)}, (2, 3, 8), z=(3, 5))
    assert [n.op for n in graph.optimize(["flatten_products"]).nodes] == ["Reshape", "MatMul", "Reshape", "Add"]
    assert not kept(graph, ["flatten_products"])
    rows = net(nodes, {"w": weights(8, 5), "z": weights(3, 1)}, (2, 3, 8))
    assert [n.op for n in rows.optimize(["flatten_products"]).nodes] == ["Reshape", "MatMul", "Reshape", "Add"]
    assert not kept(rows, ["flatten_products"])
