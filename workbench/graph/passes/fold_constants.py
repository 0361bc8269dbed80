"""Constant folding, and dropping what does nothing."""

from __future__ import annotations

import numpy as np

from workbench.graph.evaluation import evaluate
from workbench.graph.graph import Array, Graph, Node
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
        args = [_value(graph, editor, i) for i in node.inputs]
        made = [graph.types[o] for o in node.outputs if o]
        known = opdef(node).by_type or all(a is not None for a, i in zip(args, node.inputs, strict=True) if i)
        taken = sum(t.nbytes for t in made)
        if not known and not any(t.size for t in made):
            editor.constants.update(
                {o: np.empty(graph.types[o].shape, graph.types[o].dtype) for o in node.outputs if o}
            )
            because("its result has no elements", node.name)
            continue
        if not known or taken > room or opdef(node).random:
            kept.append(node)
            continue
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


def _value(graph: Graph, editor: GraphEditor, x: str) -> Array | None:
    """Value of an input that is constant, or has no elements."""
    if not x or x in editor.constants or graph.types[x].size:
        return editor.constants.get(x)
    return np.empty(graph.types[x].shape, graph.types[x].dtype)


@graph_pass("drop_identities")
def drop_identities(graph: Graph) -> Graph:
    """Drop nodes whose result is their input: Identity, Dropout, conversions and reshapes to the same, sums of one."""
    return apply_rules(graph, [VIEWS["nothing_changes"]], "drop_identities")
