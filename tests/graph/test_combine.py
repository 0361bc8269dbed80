"""Parallel products become one, and products read and write through transpositions and slices."""

from __future__ import annotations

import numpy as np
import pytest
from graph.checks import kept
from graph.nets import conv, random_feeds
from graph.small import net, weights

import workbench as wb
from workbench.graph import Graph, Node, partition, run_reference
from workbench.graph.passes.combine_parallel import combine_parallel, why_not
from workbench.graph.passes.rules.rewriting import Site


def attention(batch: int = 2, rows: int = 6, heads: int = 3, size: int = 4, bias: bool = True) -> Graph:
    """Queries, keys and values by three products of one input, then attention in heads."""
    width = heads * size
    nodes, constants = [], {"heads": np.array([batch, rows, heads, size]), "rows": np.array([batch, rows, width])}
    for k, n in enumerate("qkv"):
        constants |= {f"w{n}": weights(8, width, seed=k), f"b{n}": weights(width, seed=k + 7)}
        nodes.append(Node(f"m{n}", "MatMul", ("x", f"w{n}"), (f"{n}0",)))
        nodes.append(Node(f"a{n}", "Add", (f"{n}0", f"b{n}") if bias else (f"{n}0", f"{n}0"), (f"{n}1",)))
        nodes.append(Node(f"r{n}", "Reshape", (f"{n}1", "heads"), (f"{n}2",)))
        perm = (0, 2, 3, 1) if n == "k" else (0, 2, 1, 3)
        nodes.append(Node(f"t{n}", "Transpose", (f"{n}2",), (f"{n}3",), {"perm": perm}))
    nodes += [
        Node("qk", "MatMul", ("q3", "k3"), ("s0",)),
        Node("soft", "Softmax", ("s0",), ("s1",), {"axis": -1}, "", 13),
        Node("pv", "MatMul", ("s1", "v3"), ("o0",)),
        Node("to", "Transpose", ("o0",), ("o1",), {"perm": (0, 2, 1, 3)}),
        Node("ro", "Reshape", ("o1", "rows"), ("y",)),
    ]
    return net(nodes, constants, (batch, rows, 8))


def test_attention_is_one_product_and_no_copy():
    graph = attention()
    assert not kept(graph)
    assert [g.description.split(" ")[0] for g in partition(graph.optimize()) if not g.view] == [
        "dense", "slice", "softmax", "slice"
    ]  # fmt: skip
    kernels = [g for g in partition(graph.optimize()) if not g.view]
    assert "matmul 2x3x6x4 · 2x3x4x6" in kernels[1].description
    assert kernels[3].description.endswith("+ transpose")
    assert kernels[0].description == "dense 12x8→36 + bias"


@pytest.mark.parametrize("size", [(1, 5, 2, 3), (3, 4, 1, 8), (2, 1, 4, 2)])
def test_compiled_attention(size):
    graph = attention(*size)
    feeds = random_feeds(graph)
    got = wb.compile(graph).run(feeds)["y"]
    np.testing.assert_allclose(got, run_reference(graph, feeds)["y"], rtol=1e-4, atol=1e-4)


def parallel(*after: Node, ops=("MatMul", "MatMul"), shapes=((4, 6), (4, 8)), outputs=("y", "z"), **attrs) -> Graph:
    nodes = [
        Node(n, op, ("x", f"w{n}"), (f"t{n}",), attrs if n == "b" else {}) for n, op in zip("ab", ops, strict=True)
    ]
    constants = {f"w{n}": weights(*s, seed=k) for k, (n, s) in enumerate(zip("ab", shapes, strict=True))}
    return net([*nodes, *after], {**constants, "k": weights(6, 3), "l": weights(8, 3)}, (5, 4), outputs)


READ = (Node("c", "MatMul", ("ta", "k"), ("y",)), Node("d", "MatMul", ("tb", "l"), ("z",)))

APART = {
    "a part that is an output": parallel(READ[0], outputs=("y", "tb")),
    "a part that an element-wise operator reads": parallel(READ[0], Node("d", "Relu", ("tb",), ("z",))),
    "other operators": parallel(*READ, ops=("MatMul", "Gemm")),
    "other attributes": parallel(*READ, ops=("Gemm", "Gemm"), transA=0),
}


def test_products_whose_parts_are_read_in_place():
    graph = parallel(*READ)
    after = combine_parallel(graph)
    assert sorted(n.op for n in after.nodes) == ["MatMul", "MatMul", "MatMul", "Slice", "Slice"]
    assert not kept(graph, ["combine_parallel"])
    assert [g.description for g in partition(graph.optimize())] == [
        "matmul 5x4 · 4x14", "slice + matmul 5x6 · 6x3", "slice + matmul 5x8 · 8x3"
    ]  # fmt: skip


@pytest.mark.parametrize("case", APART)
def test_what_stays_apart(case):
    assert combine_parallel(APART[case]) is APART[case]


def test_the_reason_is_a_sentence():
    graph = APART["a part that an element-wise operator reads"]
    assert why_not(Site(graph), graph.nodes[1]) == "MatMul b: its part would have to be copied"
    assert not why_not(Site(graph), graph.nodes[0])


def branches(widths=(16, 24, 16), tails=("Relu", "Relu", ""), kernels=(1, 1, 1), outputs=("y",)) -> Graph:
    """Convolutions of one input, each followed by another one, joined at the end; a fourth goes there at once."""
    nodes, constants = [conv("d", "x", "wd", "od")], {"wd": weights(4, 4, 1, 1)}
    for k, (n, width) in enumerate(zip("abc", widths, strict=True)):
        constants |= {f"w{n}": weights(width, 4, kernels[k], kernels[k], seed=k), f"b{n}": weights(width, seed=k + 9)}
        nodes.append(conv(n, "x", f"w{n}", f"t{n}", f"b{n}", pads=(kernels[k] // 2,) * 4))
        if tails[k]:
            nodes.append(Node(f"r{n}", tails[k], (f"t{n}",), (f"u{n}",)))
        constants[f"v{n}"] = weights(4, width, 3, 3, seed=k + 4) / width
        nodes.append(conv(f"{n}2", f"u{n}" if tails[k] else f"t{n}", f"v{n}", f"o{n}", pads=(1, 1, 1, 1)))
    nodes.append(Node("cat", "Concat", ("od", "oa", "ob", "oc"), ("y",), {"axis": 1}))
    return net(nodes, constants, outputs=outputs)


@pytest.mark.parametrize(
    ("how", "convs"),
    [
        ({}, 6),  # a and b, with their Relu; c has none, d goes to the concatenation
        ({"tails": ("Relu",) * 3}, 5),
        ({"tails": ("", "", "")}, 5),
        ({"tails": ("Relu", "Sigmoid", "")}, 7),
        ({"kernels": (1, 3, 1)}, 7),
        ({"widths": (16, 8, 16)}, 7),
        ({"outputs": ("y", "ua")}, 7),
    ],
)
def test_branches(how, convs):
    graph = branches(**how)
    assert sum(n.op == "Conv" for n in combine_parallel(graph).nodes) == convs
    assert not kept(graph, ["combine_parallel"])
    assert not kept(graph)


def test_parts_of_branches_are_no_copies():
    groups = partition(branches().optimize())
    assert not [g.description for g in groups if g.func is not None and g.description.startswith("slice")]
    feeds = random_feeds(branches())
    got = wb.compile(branches()).run(feeds)["y"]
    np.testing.assert_allclose(got, run_reference(branches(), feeds)["y"], rtol=1e-4, atol=1e-4)


def test_convolutions_whose_parts_would_be_copied_stay():
    nodes = [conv("a", "x", "w1", "p"), conv("b", "x", "w2", "q"), Node("c", "Concat", ("p", "q"), ("y",), {"axis": 1})]
    graph = net(nodes, {"w1": weights(3, 4, 1, 1), "w2": weights(5, 4, 1, 1)})
    assert combine_parallel(graph) is graph
