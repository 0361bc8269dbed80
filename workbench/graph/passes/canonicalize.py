"""One form for things that models write in several ways."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from workbench.graph.graph import Array, AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.opdef import opdef
from workbench.graph.operator_call import Call
from workbench.graph.ops.math.linear import Gemm
from workbench.graph.ops.math.reduce import Reduce
from workbench.graph.ops.nn.pool import pool_window
from workbench.graph.ops.nn.softmax import AlongAxis
from workbench.graph.passes.base import graph_pass, replace_each
from workbench.graph.type_inference import make_call
from workbench.ir.dtypes import is_float

#: Rows of a matrix that are transposed together. A large matrix takes a sixth of the time of all rows at once.
_BAND = 64


@graph_pass("canonicalize")
def canonicalize(graph: Graph) -> Graph:
    """Write poolings of whole images, flattening softmax, splits and products with constants in one way each."""

    def canonical(editor: GraphEditor, node: Node) -> list[Node] | None:
        rule = None if node.attrs.get("layout") else _RULES.get(node.op)  # a layout was chosen for the node as it is
        return rule(graph, editor, node) if rule is not None else None

    def note(nodes: list[Node]) -> str:
        return "canonicalize: rewrote " + ", ".join(f"{n} {op}" for op, n in Counter(x.op for x in nodes).items())

    return replace_each(graph, canonical, "", note)


def _call(graph: Graph, node: Node) -> Call:
    return make_call(node, graph.types, graph.constants)


def _average_pool(graph: Graph, editor: GraphEditor, node: Node) -> list[Node]:
    """AveragePool whose only window is the whole image."""
    win = pool_window(_call(graph, node))
    whole = win.kernel == win.size and not win.padded and all(o == 1 for o in win.out)
    return [replace(node, op="GlobalAveragePool", attrs={})] if whole else []


def _reduce_mean(graph: Graph, editor: GraphEditor, node: Node) -> list[Node]:
    """ReduceMean over all spatial axes of an image."""
    op = opdef(node)
    assert isinstance(op, Reduce)
    x, call = graph.types[node.inputs[0]], _call(graph, node)
    if x.rank < 3 or op.axes(call) != tuple(range(2, x.rank)) or not is_float(x.dtype):
        return []
    if call.get_int("keepdims", 1):
        return [replace(node, op="GlobalAveragePool", inputs=node.inputs[:1], attrs={})]
    pool = editor.make("GlobalAveragePool", node.inputs[:1], f"{node.outputs[0]}.pool")
    return [pool, editor.reshape(pool.outputs[0], graph.types[node.outputs[0]].shape, node.outputs[0], exact=True)]


def _softmax(graph: Graph, editor: GraphEditor, node: Node) -> list[Node]:
    """Softmax and its kin over several axes (before opset 13): over the rows of a matrix."""
    op, call = opdef(node), _call(graph, node)
    assert isinstance(op, AlongAxis)
    x, axes = graph.types[node.inputs[0]], op.axes(call)
    if node.version >= 13:
        return []
    if len(axes) == 1:
        return [replace(node, attrs={"axis": axes[0]}, version=18)]
    rows, cols = int(np.prod(x.shape[: axes[0]])), int(np.prod(x.shape[axes[0] :]))
    flat = editor.reshape(node.inputs[0], (rows, cols), f"{node.outputs[0]}.rows")
    soft = editor.make(node.op, flat.outputs, f"{node.outputs[0]}.{node.op.lower()}", {"axis": 1})
    return [flat, soft, editor.reshape(soft.outputs[0], x.shape, node.outputs[0], exact=True)]


def _gemm(graph: Graph, editor: GraphEditor, node: Node) -> list[Node]:
    """Gemm with constant weights: weights as [K, N] with the factor alpha in them, bias as a vector with beta in it."""
    call = _call(graph, node)
    w = graph.constants.get(node.inputs[1])
    if w is None or call.get_int("transA", 0):
        return []
    bias = graph.constants.get(node.inputs[2]) if call.has(2) else None
    if call.has(2) and bias is None:
        return []
    assert isinstance(opdef(node), Gemm)
    alpha, beta = np.asarray(call.get_float("alpha", 1.0), w.dtype), np.asarray(call.get_float("beta", 1.0), w.dtype)
    k_n = _turned(w) if call.get_int("transB", 0) else w
    k_n = k_n if alpha == 1 else k_n * alpha
    inputs = [node.inputs[0], editor.constant(f"{node.inputs[1]}.kn", k_n)]
    if bias is not None:
        value = np.asarray(bias * beta)
        if bias.ndim < 2 or len(bias) == 1:  # a bias that differs from row to row stays a matrix
            value = np.broadcast_to(value.reshape(-1), k_n.shape[1:])
        inputs.append(editor.constant(f"{node.inputs[2]}.n", value))
    plain = not node.attrs and bias is not None and bias.shape == (k_n.shape[1],)
    return [] if plain else [replace(node, inputs=tuple(inputs), attrs={})]


def _turned(w: Array) -> Array:
    """Transposition of a matrix, a band of rows at a time: a sixth of the time where the matrix is large."""
    out = np.empty(w.shape[::-1], w.dtype)
    for k in range(0, len(w), _BAND):
        out[:, k : k + _BAND] = w[k : k + _BAND].T
    return out


def _matmul(graph: Graph, editor: GraphEditor, node: Node) -> list[Node]:
    """Product of a matrix with constant weights, followed by the addition of a constant vector: a Gemm with bias."""
    w, x = graph.constants.get(node.inputs[1]), graph.types[node.inputs[0]]
    users = graph.consumers().get(node.outputs[0], [])
    if w is None or w.ndim != 2 or x.rank != 2 or node.outputs[0] in graph.outputs or len(users) != 1:
        return []
    add = users[0]
    bias = next((graph.constants[i] for i in add.inputs if i in graph.constants), None)
    if add.op != "Add" or bias is None or bias.size != w.shape[1] or bias.shape[-1:] != w.shape[1:]:
        return []
    if graph.types[add.outputs[0]] != graph.types[node.outputs[0]]:  # the constant has more dimensions
        return []
    vector = editor.constant(f"{add.outputs[0]}.bias", bias.reshape(-1))
    editor.nodes.remove(add)
    return [replace(node, op="Gemm", inputs=(*node.inputs, vector), outputs=add.outputs, version=18)]


def _split(graph: Graph, editor: GraphEditor, node: Node) -> list[Node]:
    """Split: one slice for each part."""
    axis, start, parts = _call(graph, node).get_int("axis", 0), 0, list[Node]()
    for out in node.outputs:
        if not out:  # how long an unused part is follows from the others only where all are equally long
            return []
        end = start + graph.types[out].shape[axis]
        attrs: dict[str, AttrValue] = {"starts": (start,), "ends": (end,), "axes": (axis,)}
        parts.append(replace(editor.make("Slice", node.inputs[:1], out, attrs, exact=True), version=9))
        start = end
    return parts


_RULES = {
    "Split": _split,
    "MatMul": _matmul,
    "AveragePool": _average_pool,
    "ReduceMean": _reduce_mean,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "Hardmax": _softmax,
    "Gemm": _gemm,
}
