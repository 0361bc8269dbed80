"""The network of the lab: residual blocks in two stages, small enough that every pass takes milliseconds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from workbench.analysis.cache.levels import KIB
from workbench.graph import Graph, Node, TensorType, partition
from workbench.graph.graph import FusedNodes
from workbench.labs.exercise import Setting

#: Classes that the last layer tells apart.
CLASSES = 10


class _Layers:
    """Nodes and weights, added one layer after the other; each method returns the tensor that it makes."""

    def __init__(self, seed: int) -> None:
        self.nodes: list[Node] = []
        self.weights: dict[str, Any] = {}
        self.rng = np.random.default_rng(seed)

    def _weight(self, name: str, *shape: int, scale: float = 1.0) -> str:
        self.weights[name] = (scale * self.rng.standard_normal(shape)).astype("float32")
        return name

    def node(self, name: str, op: str, *inputs: str, **attrs: Any) -> str:
        self.nodes.append(Node(name, op, inputs, (f"{name}.y",), attrs))
        return f"{name}.y"

    def conv(self, name: str, x: str, channels: tuple[int, int], kernel: int = 3, stride: int = 1) -> str:
        """A convolution without bias, and the normalisation of its result."""
        fan = channels[0] * kernel**2
        w = self._weight(f"{name}.w", channels[1], channels[0], kernel, kernel, scale=(2 / fan) ** 0.5)
        y = self.node(name, "Conv", x, w, pads=(kernel // 2,) * 4, strides=(stride,) * 2)
        given = [self._weight(f"{name}.{part}", channels[1], scale=0.1) for part in ("scale", "bias", "mean")]
        self.weights[f"{name}.scale"] += 1
        self.weights[f"{name}.variance"] = self.rng.uniform(0.5, 1.5, channels[1]).astype("float32")
        return self.node(f"{name}_norm", "BatchNormalization", y, *given, f"{name}.variance", epsilon=1e-5)

    def block(self, name: str, x: str, cin: int, cout: int) -> str:
        """Two convolutions and the sum with what came in; where channels change, that goes through a convolution."""
        stride = 1 if cin == cout else 2
        y = self.node(f"{name}a_relu", "Relu", self.conv(f"{name}a", x, (cin, cout), stride=stride))
        y = self.conv(f"{name}b", y, (cout, cout))
        short = x if cin == cout else self.conv(f"{name}s", x, (cin, cout), 1, stride)
        return self.node(f"{name}_relu", "Relu", self.node(f"{name}_add", "Add", y, short))


@cache
def small_network(n: int, channels: int) -> Graph:
    """Return five residual blocks for images of n x n, with `channels` channels and then twice as many.

    Each normalisation is a node of its own, as in training.
    """
    net = _Layers(seed=n + channels)
    x = net.node("stem_relu", "Relu", net.conv("stem", "x", (3, channels)))
    for name in ("one", "two", "three"):
        x = net.block(name, x, channels, channels)
    x = net.block("four", x, channels, 2 * channels)
    x = net.block("five", x, 2 * channels, 2 * channels)
    flat = net.node("flat", "Flatten", net.node("pool", "GlobalAveragePool", x))
    last = [net._weight("last.w", CLASSES, 2 * channels, scale=0.1), net._weight("last.b", CLASSES, scale=0.1)]
    y = net.node("last", "Gemm", flat, *last, transB=1)
    return Graph.make("residual", net.nodes, {"x": TensorType((1, 3, n, n))}, [y], net.weights)


#: A kernel as the exercises have it: the tensors that it reads, and those that it writes.
Kernel: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...]]"


def kernels_of(graph: Graph) -> list[Kernel]:
    """Return the kernels of an optimised network in their order; views are none."""
    return [(k.inputs, k.outputs) for k in partition(graph) if not k.view]


def sizes_of(graph: Graph) -> dict[str, int]:
    """Return the bytes of every tensor, weights included."""
    return {name: kind.nbytes for name, kind in graph.types.items()}


def tensor_kib(at: Setting) -> float:
    """Return the KiB of a result of the first stage of a student's network."""
    return at["c"] * at["n"] ** 2 * 4 / KIB


def views_of(graph: Graph) -> dict[str, str]:
    """Return what every view of an optimised network is a view of."""
    return {k.outputs[0]: k.inputs[0] for k in partition(graph) if k.view}


@cache
def optimised(n: int, channels: int, *without: str) -> Graph:
    """Return the network after all passes but these and ``layout``, which would turn tensors round."""
    return small_network(n, channels).optimize(without=("layout", *without))


def with_kernels(graph: Graph, kernels: Iterable[Iterable[str]]) -> Graph:
    """Return the network with these kernels, each a list of names of nodes; each runs where its last node stands."""
    at = {node.name: k for k, node in enumerate(graph.nodes)}
    ordered = sorted((sorted(names, key=at.__getitem__) for names in kernels), key=lambda names: at[names[-1]])
    return graph.replace(groups=tuple(FusedNodes(tuple(names)) for names in ordered))
