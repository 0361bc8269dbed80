"""Networks of a few nodes, one for each thing that a pass could get wrong."""

from __future__ import annotations

import numpy as np
from graph.nets import conv

from workbench.graph import Graph, Node, TensorType


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def net(nodes, constants=None, shape=(1, 4, 6, 6), outputs=("y",), **inputs) -> Graph:
    """Graph with the input x, and others by name."""
    given = {"x": TensorType(shape)} | {n: TensorType(s) for n, s in inputs.items()}
    return Graph.make("g", nodes, given, outputs, constants or {})


def inner_value_is_an_output() -> Graph:
    nodes = [conv("c", "x", "w", "t"), Node("r", "Relu", ("t",), ("u",)), Node("s", "Sigmoid", ("u",), ("y",))]
    return net(nodes, {"w": weights(5, 4, 3, 3)}, outputs=("t", "u", "y"))
