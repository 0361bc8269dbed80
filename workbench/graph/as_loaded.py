"""Graphs whose nodes may be changed by a caller: as they were loaded, of one size."""

from __future__ import annotations

from workbench.errors import ModelError
from workbench.graph.graph import Graph


def require_as_loaded(graph: Graph, what: str) -> None:
    """Refuse a graph that is optimised, or whose lengths are open: its nodes are not those that are compiled.

    Parameters
    ----------
    graph : Graph
    what : str
        What cannot be done to it, as in "cannot be pruned".

    Raises
    ------
    ModelError
        "model.optimised", "model.dynamic_shape", or as `Graph.typed`.
    """
    graph.typed()
    if graph.groups:
        text = f"The graph {graph.name!r} is optimised already, so it cannot be {what}."
        raise ModelError("model.optimised", text, (graph.name,), "give the graph as load_onnx returns it")
    if graph.dynamic:
        text = f"The network {graph.name!r} cannot be {what}: the lengths of {', '.join(graph.dynamic)} are open."
        raise ModelError("model.dynamic_shape", text, (graph.name,), "load it for one size: load_onnx(path, shapes)")
