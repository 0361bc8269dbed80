"""Layouts: in which order every tensor lies in memory, chosen for the whole network at once.

Generated code vectorises over channels, so convolutions and windows want channels last; other operators do not mind,
and some understand one order only. By what an operator declares it has a carrier (`carriers`, `axis_carrier`). An order
is carried from node to node as far as that goes (`layout_choice`). Nodes and transpositions have declared costs
(`costs`). The cheapest choice for the whole network is found by `variable_elimination`, and written. Reshapes and
the transpositions of the model are no obstacles: both leave memory as it is (`memory_order`), so a transposition is
only made where what lies in memory has to be in another order. What was decided, and why, is kept (`record`).
"""

from __future__ import annotations

from workbench.graph.graph import Graph
from workbench.graph.passes.base import because, graph_pass, keep_detail
from workbench.graph.passes.layout.layout_choice import cheapest, space
from workbench.graph.passes.layout.record import LayoutReport, NodeLayout, Transposition, report
from workbench.graph.passes.layout.write import write

__all__ = ["LayoutReport", "NodeLayout", "Transposition", "choose", "layout"]


@graph_pass("layout")
def layout(graph: Graph) -> Graph:
    """Choose in which order every tensor lies in memory, so that operators and transpositions cost least together."""
    return choose(graph)[0]


def choose(graph: Graph) -> tuple[Graph, LayoutReport]:
    """The graph in its cheapest layouts, and what was decided.

    Parameters
    ----------
    graph : Graph
        As the model has it. A graph in which nothing can be gained comes back as it is.

    Returns
    -------
    Graph
    LayoutReport
    """
    found = space(graph)
    chosen, solution = cheapest(found)
    if solution.cost >= found.price(found.as_model()):
        chosen = found.as_model()
        said = report(found, chosen, solution, [])
        keep_detail(said)
        return graph, said
    new, moves = write(graph, chosen)
    said = report(found, chosen, solution, moves)
    keep_detail(said)
    for n in said.nodes:
        because(n.reason, n.node)
    for m in said.moves:
        because(f"{m.tensor}: {m.source} -> {m.target}; {m.reason}", m.node)
    return new.replace(history=(*graph.history, f"layout: {said.summary}")), said
