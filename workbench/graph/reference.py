"""Run a graph with NumPy, node by node: slow and obvious, the oracle for everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.errors import ShapeError, did_you_mean
from workbench.graph.evaluation import evaluate
from workbench.graph.graph import Array, Graph, Node, TensorType
from workbench.graph.operator_call import Call


def run_reference(graph: Graph, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
    """Compute tensors of a graph.

    Parameters
    ----------
    graph : Graph
    feeds : mapping
        One array per graph input, with the input's shape and dtype.
    outputs : sequence of str, optional
        Tensors to return, intermediate ones included; the graph's outputs by default.

    Returns
    -------
    dict of str to array

    Raises
    ------
    ShapeError
        "shape.name" for an input that is unknown or missing, "shape.mismatch" for one that does not fit.
    """
    wanted = list(graph.outputs if outputs is None else outputs)
    for name in wanted:
        graph.type(name)
    values: dict[str, Array] = dict(graph.constants)
    values.update(_checked(graph, feeds))
    return interpret(graph.nodes, values, wanted)


def interpret(nodes: Sequence[Node], values: Mapping[str, Any], outputs: Sequence[str]) -> dict[str, Any]:
    """Compute tensors from nodes in topological order and the values of everything that they read from outside.

    Values may also be lists (sequences) or None (absent); those have no type.
    """
    known: dict[str, Any] = dict(values)
    last = {i: k for k, n in enumerate(nodes) for i in n.inputs}
    for k, node in enumerate(nodes):
        args = [known[i] if i else None for i in node.inputs]
        types = tuple(TensorType(a.shape, a.dtype.name) if isinstance(a, np.ndarray) else None for a in args)
        call = Call(node, types, tuple(args))
        known.update({o: v for o, v in zip(node.outputs, evaluate(call, *args), strict=False) if o})
        for i in node.inputs:
            if last.get(i) == k and i not in outputs:
                known.pop(i, None)
    return {name: known[name] for name in outputs}


def _checked(graph: Graph, feeds: Mapping[str, Array]) -> dict[str, Array]:
    for name in feeds:
        if name not in graph.inputs:
            raise ShapeError(
                "shape.name", f"The graph has no input {name!r}.", (name,), did_you_mean(name, graph.inputs, "inputs")
            )
    out: dict[str, Array] = {}
    for name, t in graph.input_types().items():
        if name not in feeds:
            raise ShapeError("shape.name", f"The input {name!r} is missing.", (name,), f"it is {t}")
        a = np.asarray(feeds[name])
        if a.shape != t.shape or a.dtype.name != t.dtype:
            raise ShapeError(
                "shape.mismatch", f"The input {name!r} is {a.dtype}{list(a.shape)}, expected {t}.", (name,)
            )
        out[name] = a
    return out
