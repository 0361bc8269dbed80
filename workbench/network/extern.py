"""A user's own function in the place of a node."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.arguments import is_a
from workbench.errors import UsageError
from workbench.graph import Graph
from workbench.graph.as_loaded import require_as_loaded
from workbench.graph.evaluation import evaluate
from workbench.graph.graph import Array, TensorType
from workbench.graph.ops.extern import Implementation, extern_node
from workbench.graph.type_inference import make_call

#: How far results may be from those of the operator, as a share of their largest.
_TOLERANCE = 1e-3
#: Class of the functions that `ctypes` finds in libraries, and of those that it makes.
_OF_C: type = ctypes.CFUNCTYPE(None).__bases__[0]


def extern(graph: Graph, node: str, function: Callable[..., Any], *, name: str = "") -> Graph:
    """Let a function of Python or C compute a node.

    Parameters
    ----------
    graph : Graph
        As `load_onnx` returns it.
    node : str
        Name of the node. It has to stand alone: nothing is fused with it.
    function : callable
        ``function(*inputs)`` returns the array of the output, or a sequence of arrays where there are several. Inputs
        are arrays in the node's order, weights among them. A function of `ctypes` is called as
        ``void f(void **buffers)`` with the addresses of the inputs and then of the outputs, each contiguous.
    name : str, optional
        What tables call it; its own name by default.

    Returns
    -------
    Graph
        `compile` and everything else take it. It cannot be written as ONNX.

    Raises
    ------
    ModelError
        "model.unknown_node", "model.optimised", and "model.dynamic_shape" for lengths that are open.
    UsageError
        "usage.extern" where the results for random inputs are not those of the node's operator.
    """
    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    require_as_loaded(graph, "given a function")
    found = graph.node(is_a("node", node, str))
    if not callable(function):
        raise UsageError("usage.extern", "What computes a node has to be a function", [node])
    outputs = tuple(o for o in found.outputs if o)
    types = tuple(graph.types[o] for o in outputs)
    inputs = tuple(i for i in found.inputs if i)
    called = _of_c(function, types) if isinstance(function, _OF_C) else _of_python(function)
    label = name or getattr(function, "__name__", type(function).__name__)
    rng = np.random.default_rng(0)
    drawn = {i: graph.constants[i] if i in graph.constants else _drawn(rng, graph.types[i]) for i in inputs}
    call = make_call(found, graph.types, graph.constants)
    want = evaluate(call, *(drawn.get(i) for i in found.inputs))
    got = called(*(drawn[i] for i in inputs))
    _compare(node, label, got, [v for v, o in zip(want, found.outputs, strict=False) if o], types)
    made = extern_node(found.name, inputs, outputs, Implementation(label, called, types))
    nodes = [made if n is found else n for n in graph.nodes]
    return graph.rebuilt(nodes, graph.constants, graph.outputs, f"extern: {label} computes {node}")


def _of_python(function: Callable[..., Any]) -> Callable[..., Sequence[Array]]:
    def run(*arrays: Array) -> Sequence[Array]:
        found = function(*arrays)
        return tuple(map(np.asarray, found if isinstance(found, tuple | list) else (found,)))

    return run


def _of_c(function: Any, types: Sequence[TensorType]) -> Callable[..., Sequence[Array]]:
    def run(*arrays: Array) -> Sequence[Array]:
        given = [np.ascontiguousarray(a) for a in arrays]
        results = [np.empty(t.shape, t.dtype) for t in types]
        function((ctypes.c_void_p * (len(given) + len(results)))(*(a.ctypes.data for a in (*given, *results))))
        return results

    return run


def _drawn(rng: np.random.Generator, t: TensorType) -> Array:
    if np.dtype(t.dtype).kind == "f":
        return rng.standard_normal(t.shape).astype(t.dtype)
    return rng.integers(0, 2, t.shape).astype(t.dtype)


def _compare(node: str, label: str, got: Sequence[Array], want: Sequence[Array], types: Sequence[TensorType]) -> None:
    shapes = [TensorType(tuple(a.shape), a.dtype.name) for a in got]
    if tuple(shapes) != tuple(types):
        given, expected = (", ".join(map(str, some)) or "nothing" for some in (shapes, types))
        text = f"{label} gives {given} for {node!r}, not {expected}"
        raise UsageError("usage.extern", text, [node])
    if wrong := difference(got, want):
        raise UsageError("usage.extern", f"Results of {label} are not those of the node {node!r}: {wrong}", [node])


def difference(got: Sequence[Array], want: Sequence[Array]) -> str:
    """How results differ, in words; "" where they are near."""
    for a, b in zip(got, want, strict=True):
        if a.dtype.kind not in "fc":
            if not np.array_equal(a, b):
                return "they are not equal"
            continue
        size = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        if not np.allclose(a, b, rtol=_TOLERANCE, atol=_TOLERANCE * size, equal_nan=True):
            return f"by up to {np.nanmax(np.abs(a - b)):.3g}, where the largest is {size:.3g}"
    return ""
