"""Constant folding, and dropping what does nothing."""

from __future__ import annotations

from ..edit import GraphEditor
from ..graph import Graph, Node
from ..infer import make_call
from ..limits import FOLD_BYTES
from ..opdef import evaluate, opdef
from .base import graph_pass


@graph_pass("fold_constants")
def fold_constants(graph: Graph) -> Graph:
    """Compute what depends on constants only."""
    editor = GraphEditor(graph)
    kept: list[Node] = []
    for node in graph.nodes:
        known = opdef(node).by_type or all(not i or i in editor.constants for i in node.inputs)
        large = any(o and graph.types[o].nbytes > FOLD_BYTES for o in node.outputs)
        if not known or large or opdef(node).random:
            kept.append(node)
            continue
        args = [editor.constants.get(i) for i in node.inputs]
        values = evaluate(make_call(node, graph.types, editor.constants), *args)
        if any(node.outputs[len(values) :]):
            kept.append(node)
            continue
        editor.constants.update({o: v for o, v in zip(node.outputs, values, strict=False) if o})
    count = len(graph.nodes) - len(kept)
    if not count:
        return graph
    editor.nodes = kept
    return editor.finish(f"fold_constants: computed {count} nodes ahead of time")


@graph_pass("drop_identities")
def drop_identities(graph: Graph) -> Graph:
    """Drop nodes whose result is their input: Identity, Dropout, conversions and reshapes to the same, sums of one."""
    editor = GraphEditor(graph)
    idle = [n.name for n in graph.nodes if does_nothing(graph, n)]
    count = 0
    for name in idle:
        node = next(n for n in editor.nodes if n.name == name)  # as the ones dropped before have left it
        if removable(node, editor.outputs, {o for n in editor.nodes for o in n.outputs}):
            editor.forward(node.outputs[0], node.inputs[0])
            count += 1
    return editor.finish(f"drop_identities: dropped {count} nodes") if count else graph


def removable(node: Node, outputs: list[str], produced: set[str]) -> bool:
    """Whether a node that does nothing can go: not when an output would be an input, or two outputs would be one."""
    return node.outputs[0] not in outputs or (node.inputs[0] in produced and node.inputs[0] not in outputs)


def does_nothing(graph: Graph, node: Node) -> bool:
    """Whether the (first) output of a node equals its first input and no other output is used."""
    if not node.inputs or not node.inputs[0]:
        return False
    consumers = graph.consumers()
    if any(o in consumers or o in graph.outputs for o in node.outputs[1:] if o):
        return False
    if node.op in ("Identity", "Dropout"):
        return True
    if graph.types[node.inputs[0]] != graph.types[node.outputs[0]]:
        return False
    if node.op == "Transpose":
        perm = node.attrs.get("perm")
        return isinstance(perm, tuple) and list(perm) == sorted(perm)
    return (
        opdef(node).view or node.op == "Cast" or (node.op in ("Sum", "Max", "Min", "Concat") and len(node.inputs) == 1)
    )
