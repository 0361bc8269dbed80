"""Operators that are made of others: as these, which are compiled and fused like all."""

from __future__ import annotations

from collections import Counter

from workbench.graph.graph import Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import opdef
from workbench.graph.passes.base import graph_pass, replace_each

#: Rounds: what an operator is made of may be made of others again.
_ROUNDS = 3


@graph_pass("decompose")
def decompose(graph: Graph) -> Graph:
    """Write operators that are made of others as these: a rearrangement as views and transpositions, for example."""

    def written(editor: GraphEditor, node: Node) -> list[Node] | None:
        steps = Steps(now, editor, node)
        return steps.nodes if opdef(node).decompose(steps.call, steps) else None

    def note(nodes: list[Node]) -> str:
        return "decompose: wrote " + ", ".join(f"{n} {op}" for op, n in Counter(x.op for x in nodes).items())

    now = graph
    for _ in range(_ROUNDS):
        before, now = now, replace_each(now, written, "made of other operators", note)
        if now is before:
            break
    return now
