"""Padding that becomes part of what reads it, and padding that must not."""

from __future__ import annotations

import numpy as np
import pytest
from graph.checks import kept
from graph.nets import conv
from graph.small import net, weights

from workbench.graph import Graph, Node
from workbench.graph.passes.fold_pads import PADS

INF = float("inf")


def padded(reader: Node, pads=(0, 0, 1, 2, 0, 0, 3, 0), value=0.0, before: str = "", mode="constant") -> Graph:
    nodes = [Node("b", before, ("x",), ("t",))] if before else []
    nodes += [
        Node("p", "Pad", ("t" if before else "x",), ("p",), {"pads": pads, "value": value, "mode": mode}, "", 9),
        reader,
    ]
    return net(nodes, {"w": weights(5, 4, 3, 4)})


def pool(op: str, **attrs) -> Node:
    return Node("o", op, ("p",), ("y",), {"kernel_shape": (4, 4), **attrs}, "", 12)


TAKEN = {
    "pad_before_conv": [
        padded(conv("o", "p", "w", "y")),
        padded(conv("o", "p", "w", "y", strides=(2, 2), pads=(2, 0, 1, 1), dilations=(2, 1))),
        padded(conv("o", "p", "w", "y", auto_pad="SAME_UPPER", strides=(2, 2))),
        padded(conv("o", "p", "w", "y", auto_pad="VALID")),
    ],
    "pad_before_max_pool": [
        padded(pool("MaxPool", strides=(2, 1)), value=-INF),
        padded(pool("MaxPool", pads=(1, 1, 0, 0)), (0, 0, 2, 1, 0, 0, 3, 1), -INF),
        padded(pool("MaxPool"), before="Relu"),
        padded(pool("MaxPool"), before="Sigmoid", value=-1.0),
    ],
    "pad_before_average_pool": [
        padded(pool("AveragePool", strides=(2, 1))),
        padded(pool("AveragePool", count_include_pad=1, pads=(0, 1, 0, 2)), (0, 0, 2, 1, 0, 0, 3, 1)),
    ],
    "double_pad": [
        net([Node("a", "Pad", ("x",), ("t",), {"pads": (0, 1, 2, 0, 0, 0, 0, 3), "value": 2.0}, "", 9),
             Node("b", "Pad", ("t",), ("y",), {"pads": (0, 0, 1, 1, 1, 0, 0, 1), "value": 2.0}, "", 9)]),
    ],
}  # fmt: skip

LEFT = [
    padded(conv("o", "p", "w", "y"), value=1.0),
    padded(conv("o", "p", "w", "y"), (0, 0, 1, 1, 1, 0, 0, 0)),
    padded(conv("o", "p", "w", "y"), mode="edge"),
    padded(pool("MaxPool")),
    padded(pool("MaxPool"), (0, 0, 4, 0, 0, 0, 0, 0), -INF),
    padded(pool("MaxPool"), before="Relu", value=0.5),
    padded(pool("MaxPool", dilations=(2, 2)), before="Relu"),
    padded(pool("MaxPool", ceil_mode=1, strides=(2, 2)), value=-INF),
    padded(pool("AveragePool", pads=(1, 1, 1, 1))),
    padded(pool("AveragePool"), value=1.0),
    padded(pool("AveragePool", ceil_mode=1, strides=(3, 3))),
    padded(conv("o", "p", "w", "y"), (0, 0, -1, 2, 0, 0, 1, 1)),
    padded(pool("MaxPool"), (0, 0, -1, 0, 0, 0, 1, 0), -INF),
    padded(pool("AveragePool"), (0, 0, 0, 0, 0, 0, 0, -1)),
    net([Node("a", "Pad", ("x",), ("t",), {"pads": (0, 0, -1, 0, 0, 0, 0, 0), "value": 2.0}, "", 9),
         Node("b", "Pad", ("t",), ("y",), {"pads": (0, 0, 2, 0, 0, 0, 0, 0), "value": 2.0}, "", 9)]),
    net([Node("a", "Pad", ("x",), ("t",), {"pads": (1,) * 8, "value": 2.0}, "", 9),
         Node("b", "Pad", ("t",), ("y",), {"pads": (1,) * 8, "value": 1.0}, "", 9)]),
]  # fmt: skip


def test_every_rule_has_a_network():
    assert set(TAKEN) == set(PADS)


@pytest.mark.parametrize(("rule", "k"), [(r, k) for r, cases in TAKEN.items() for k in range(len(cases))])
def test_the_pad_is_taken_in(rule, k):
    graph = TAKEN[rule][k]
    after = graph.optimize(["fold_pads"])
    assert len(after.nodes) == len(graph.nodes) - 1
    assert f"{rule} 1" in after.history[0]
    assert not kept(graph, ["fold_pads"])


@pytest.mark.parametrize("k", range(len(LEFT)))
def test_the_pad_stays(k):
    assert LEFT[k].optimize(["fold_pads"]) is LEFT[k]


def test_a_pad_that_others_read_stays_for_them():
    nodes = [
        Node("p", "Pad", ("x",), ("p",), {"pads": (0, 0, 1, 1, 0, 0, 1, 1)}, "", 9),
        conv("c", "p", "w", "y"),
        Node("s", "Sigmoid", ("p",), ("z",)),
    ]
    graph = net(nodes, {"w": weights(5, 4, 3, 3)}, outputs=("y", "z"))
    assert sorted(n.op for n in graph.optimize(["fold_pads"]).nodes) == ["Conv", "Pad", "Sigmoid"]
    assert not kept(graph)
    assert np.prod(graph.types["y"].shape) == 5 * 36
