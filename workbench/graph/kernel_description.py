"""What a kernel is called, in words that a person understands: ``conv2d 3x3 64→64 @56x56 + bias + relu``."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.graph.evaluation import ROUNDED
from workbench.graph.graph import Graph, Node
from workbench.graph.opdef import opdef
from workbench.graph.type_inference import make_call


def main_node(nodes: Sequence[Node]) -> Node:
    """The node that a kernel is about: the first that is more than element-wise."""
    return next((n for n in nodes if opdef(n).fusion != "injective"), nodes[0])


def describe(graph: Graph, nodes: Sequence[Node]) -> str:
    """Description of the kernel that computes `nodes` (in topological order)."""
    main = main_node(nodes)
    at = nodes.index(main)
    result = graph.types[next(o for o in main.outputs if o)]
    head = opdef(main).words(make_call(main, graph.types, graph.constants), result)
    before, after = ([opdef(n).word for n in part] for part in (nodes[:at], nodes[at + 1 :]))
    halved = any(i and graph.types[i].dtype == "bfloat16" for i in main.inputs)
    rounded = ["round"] if any(ROUNDED in n.attrs for n in nodes) else []
    return " + ".join([*before, f"{head} bfloat16" if halved else head, *after, *rounded])
