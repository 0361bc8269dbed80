"""Networks of a few nodes, one for each thing that a pass could get wrong."""

from __future__ import annotations

import numpy as np

from workbench.graph import Graph, Node, TensorType


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def net(nodes, constants=None, shape=(1, 4, 6, 6), outputs=("y",), **inputs) -> Graph:
    """Graph with the input x, and others by name."""
    given = {"x": TensorType(shape)} | {n: TensorType(s) for n, s in inputs.items()}
    return Graph.make("g", nodes, given, outputs, constants or {})


def inner_value_is_an_output() -> Graph:
    nodes = [
        Node("m", "MatMul", ("x", "w"), ("t",)),
        Node("r", "Relu", ("t",), ("u",)),
        Node("s", "Sigmoid", ("u",), ("y",)),
    ]
    return net(nodes, {"w": weights(4, 5)}, (3, 4), ("t", "u", "y"))
