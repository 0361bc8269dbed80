"""Chains of reshapes and transpositions, shortened."""

from __future__ import annotations

from dataclasses import replace

from ..edit import GraphEditor
from ..graph import Graph, Node
from ..infer import make_call
from ..opdef import opdef
from ..ops.tensor import Transpose
from .base import graph_pass
from .fold import does_nothing, removable


@graph_pass("simplify_views")
def simplify_views(graph: Graph) -> Graph:
    """Join reshapes of reshapes and transpositions of transpositions, and drop those that cancel."""
    count = 0
    while True:
        editor = GraphEditor(graph)
        if not _step(graph, editor):
            break
        count += 1
        graph = editor.finish()
    return graph.replace(history=(*graph.history, f"simplify_views: {count} steps")) if count else graph


def _step(graph: Graph, editor: GraphEditor) -> bool:
    """Apply the first rule that fits."""
    producers = graph.producers()
    for node in graph.nodes:
        if node.op in ("Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze") and does_nothing(graph, node):
            if not removable(node, editor.outputs, set(producers)):
                continue
            editor.forward(node.outputs[0], node.inputs[0])
            return True
        before = producers.get(node.inputs[0]) if node.inputs else None
        if before is None:
            continue
        if _is_view(node) and _is_view(before):
            out = node.outputs[0]
            editor.swap(node, [editor.reshape(before.inputs[0], graph.types[out].shape, out, exact=True)])
            return True
        if node.op == "Transpose" and before.op == "Transpose":
            first, second = _perm(graph, before), _perm(graph, node)
            joined = tuple(first[p] for p in second)
            editor.swap(node, [replace(node, inputs=before.inputs, attrs={"perm": joined})])
            return True
    return False


def _is_view(node: Node) -> bool:
    return opdef(node).view and not opdef(node).elementwise


def _perm(graph: Graph, node: Node) -> tuple[int, ...]:
    op = opdef(node)
    assert isinstance(op, Transpose)
    return op.perm(make_call(node, graph.types, graph.constants))
