"""Algebraic simplification: declared rules, each of which says what equals what."""

from __future__ import annotations

from workbench.graph.graph import Graph
from workbench.graph.passes.base import graph_pass
from workbench.graph.passes.rules.algebra import ALGEBRA
from workbench.graph.passes.rules.patterns import PATTERNS
from workbench.graph.passes.rules.rewriting import Rule, apply_rules
from workbench.graph.passes.rules.views import MOVES, VIEWS

#: All rules in the order in which they are tried on a node.
RULES: dict[str, Rule] = {**VIEWS, **PATTERNS, **ALGEBRA, **MOVES}


@graph_pass("simplify")
def simplify(graph: Graph) -> Graph:
    """Leave out, or say more cheaply, what algebra allows: neutral elements, limits of limits, chains of views."""
    return apply_rules(graph, RULES.values(), "simplify")
