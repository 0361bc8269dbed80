"""Networks on graphs: features of nodes, and edges as pairs of nodes, from the first row to the second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.zoo.builder import Builder, Value

#: Name of the number of edges, which is open.
EDGES = "E"
#: Width of the hidden layer.
HIDDEN = {"gcn": 16, "graphsage": 128}


def gcn(b: Builder, shape: Sequence[int], classes: int) -> None:
    """Kipf and Welling 2016: every node takes the sum over its neighbours, each divided by the root of both degrees."""
    x, edges = _ends(b, shape)
    degree = b.op("Add", [_summed(b, edges, None, shape[0], 1), _one(b)], (shape[0], 1), mean=5.0, var=1.0)
    share = b.op("Reciprocal", [b.op("Sqrt", [degree], degree.shape)], degree.shape, mean=0.5, var=0.05)
    for k, width in enumerate((HIDDEN["gcn"], classes)):
        x = b.activation(x) if k else x
        x = b.mul(b.dense(x, width, bias=False), share)
        x = b.expected(b.mul(b.add(x, _summed(b, edges, x, shape[0], width)), share), 0.0, 0.3)
        shift = b.weight(np.zeros(width, np.float32), "bias")
        x = b.op("Add", [x, shift], x.shape)
    b.output(b.softmax(x))


def graphsage(b: Builder, shape: Sequence[int], classes: int) -> None:
    """Hamilton et al. 2017: a layer of a node's own features, and one of the mean over its neighbours."""
    x, edges = _ends(b, shape)
    degree = b.op("Max", [_summed(b, edges, None, shape[0], 1), _one(b)], (shape[0], 1), mean=4.0, var=1.0)
    for k, width in enumerate((HIDDEN["graphsage"], classes)):
        x = b.activation(x) if k else x
        total = _summed(b, edges, x, shape[0], x.size(1))
        mean = b.op("Div", [total, degree], x.shape, mean=x.mean, var=0.3 * x.var)
        x = b.add(b.dense(x, width, bias=False), b.dense(mean, width))
    b.output(b.softmax(x))


def _ends(b: Builder, shape: Sequence[int]) -> tuple[Value, tuple[Value, Value]]:
    """Features, and the two ends of all edges."""
    x = b.input("features", shape)
    edges = b.input("edges", (2, EDGES), "int64")
    ends = [b.op("Gather", [edges, b.weight(np.array(k, np.int64), "end", False)], (EDGES,), axis=0) for k in (0, 1)]
    return x, (ends[0], ends[1])


def _one(b: Builder) -> str:
    return b.weight(np.ones((1, 1), np.float32), "one", trained=False)


def _summed(b: Builder, edges: tuple[Value, Value], x: Value | None, nodes: int, width: int) -> Value:
    """For every node the sum of a tensor's rows over the edges that end there; without a tensor, their number."""
    start, end = edges
    axis = b.weight(np.array([1], np.int64), "axis", trained=False)
    places = b.op("Unsqueeze", [end, axis], (EDGES, 1))
    zeros = b.weight(np.zeros((nodes, width), np.float32), "zeros", trained=False)
    if x is None:
        count = b.op("Shape", [places], (2,))
        rows = b.op("Expand", [_one(b), count], (EDGES, 1), mean=1.0, var=0.0)
    else:
        rows = b.op("Gather", [x, start], (EDGES, width), axis=0)
    return b.op("ScatterND", [zeros, places, rows], (nodes, width), mean=0.0, var=1.0, reduction="add")
