"""Constant folding, and dropping what does nothing."""

from __future__ import annotations

from workbench.graph.evaluation import evaluate
from workbench.graph.graph import Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.opdef import opdef
from workbench.graph.passes.base import because, graph_pass
from workbench.graph.passes.rules.rewriting import apply_rules
from workbench.graph.passes.rules.views import VIEWS
from workbench.graph.size_limits import FOLD_BYTES, FOLD_GROWTH
from workbench.graph.type_inference import make_call


@graph_pass("fold_constants")
def fold_constants(graph: Graph) -> Graph:
    """Compute what depends on constants only, as long as they do not get much larger than what the model has."""
    editor = GraphEditor(graph)
    room = FOLD_BYTES + FOLD_GROWTH * sum(a.nbytes for a in graph.constants.values())
    kept: list[Node] = []
    for node in graph.nodes:
        known = opdef(node).by_type or all(not i or i in editor.constants for i in node.inputs)
        taken = sum(graph.types[o].nbytes for o in node.outputs if o)
        if not known or taken > room or opdef(node).random:
            kept.append(node)
            continue
        args = [editor.constants.get(i) for i in node.inputs]
        values = evaluate(make_call(node, graph.types, editor.constants), *args)
        if any(node.outputs[len(values) :]):
            kept.append(node)
            continue
        room -= taken
        because("all that it reads is constant", node.name)
        editor.constants.update({o: v for o, v in zip(node.outputs, values, strict=False) if o})
    count = len(graph.nodes) - len(kept)
    if not count:
        return graph
    editor.nodes = kept
    return editor.finish(f"fold_constants: computed {count} nodes ahead of time")


@graph_pass("drop_identities")
def drop_identities(graph: Graph) -> Graph:
    """Drop nodes whose result is their input: Identity, Dropout, conversions and reshapes to the same, sums of one."""
    return apply_rules(graph, [VIEWS["nothing_changes"]], "drop_identities")
