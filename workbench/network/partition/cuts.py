"""Where a network may be cut: places that few tensors cross."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.graph import Graph
from workbench.graph.graph import Node

#: Tensors that may cross a cut, the network's inputs not counted: each is written and read once more.
_CROSSING = 2


def pieces(graph: Graph, costs: Mapping[str, float], most: int) -> list[tuple[Node, ...]]:
    """The nodes in order, in about so many pieces of equal cost.

    What stands before a node that costs a whole piece is one of its own: another runtime may take long for it.

    Parameters
    ----------
    graph : Graph
    costs : mapping of str to float
        Cost of nodes by name; 0 of others.
    most : int
        Pieces, about: a place that few tensors cross may be far, and those before costly nodes are not counted.
    """
    allowed = _places(graph)
    goal = sum(costs.values()) / most
    found: list[tuple[Node, ...]] = []
    start, cost = 0, 0.0
    for k, node in enumerate(graph.nodes, 1):
        own = costs.get(node.name, 0.0)
        if own >= goal and start < k - 1 and k - 1 in allowed:
            found.append(graph.nodes[start : k - 1])
            start, cost = k - 1, 0.0
        cost += own
        if k in allowed and (cost >= goal or k == len(graph.nodes)):
            found.append(graph.nodes[start:k])
            start, cost = k, 0.0
    return found


def without_known(graph: Graph) -> Graph:
    """The network without nodes that depend on constants alone: what they make crosses no cut.

    Weights that are stored as bytes stay so: how they are read is part of the products that compute with bytes.
    """
    if any(n.op == "DequantizeLinear" for n in graph.nodes):
        return graph
    found = graph.optimize(["fold_constants"])
    return found if found.nodes else graph


def _places(graph: Graph) -> set[int]:
    """Numbers of nodes behind which the network may be cut; its end is one."""
    last = {i: k for k, n in enumerate(graph.nodes, 1) for i in n.inputs if i}
    last |= dict.fromkeys(graph.outputs, len(graph.nodes) + 1)
    alive: set[str] = set()
    found = {len(graph.nodes)}
    for k, node in enumerate(graph.nodes, 1):
        alive |= {o for o in node.outputs if o}
        alive = {t for t in alive if last.get(t, 0) > k}
        if len(alive - set(graph.outputs)) <= _CROSSING:
            found.add(k)
    return found


def subgraph(graph: Graph, nodes: Sequence[Node], name: str) -> Graph:
    """Neighbouring nodes as a network of their own."""
    own = {n.name for n in nodes}
    made = {o for n in nodes for o in n.outputs if o}
    outside = {i for n in graph.nodes if n.name not in own for i in n.inputs} | set(graph.outputs)
    read = dict.fromkeys(i for n in nodes for i in n.inputs if i and i not in made)
    inputs = {i: graph.types[i] for i in read if i not in graph.constants}
    outputs = [o for n in nodes for o in n.outputs if o in outside]
    return Graph.make(name, nodes, inputs, outputs, {i: graph.constants[i] for i in read if i in graph.constants})
