"""Chains of reshapes and transpositions, shortened."""

from __future__ import annotations

from workbench.graph.graph import Graph
from workbench.graph.passes.base import graph_pass
from workbench.graph.passes.rules.rewriting import apply_rules
from workbench.graph.passes.rules.views import VIEWS


@graph_pass("simplify_views")
def simplify_views(graph: Graph) -> Graph:
    """Join reshapes of reshapes and transpositions of transpositions, and drop those that cancel."""
    return apply_rules(graph, VIEWS.values(), "simplify_views")
