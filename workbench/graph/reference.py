"""Run a graph with NumPy, node by node: slow and obvious, the oracle for everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import ShapeError, did_you_mean
from .graph import Array, Graph
from .infer import make_call
from .opdef import opdef


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
    last = {i: n.name for n in graph.nodes for i in n.inputs}
    for node in graph.nodes:
        args = [values[i] if i else None for i in node.inputs]
        call = make_call(node, graph.types, values)
        value = np.asarray(opdef(node).reference(call, *args))
        values[node.outputs[0]] = value
        for i in node.inputs:
            if last.get(i) == node.name and i not in wanted:
                values.pop(i, None)
    return {name: values[name] for name in wanted}


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
