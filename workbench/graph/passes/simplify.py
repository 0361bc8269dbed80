"""Algebraic simplification: declared rules, each of which says what equals what."""

from __future__ import annotations

from ..graph import Graph
from .algebra import ALGEBRA
from .base import graph_pass
from .patterns import PATTERNS
from .rewriting import Rule, apply_rules
from .viewing import MOVES, VIEWS

#: All rules in the order in which they are tried on a node.
RULES: dict[str, Rule] = {**VIEWS, **PATTERNS, **ALGEBRA, **MOVES}


@graph_pass("simplify")
def simplify(graph: Graph) -> Graph:
    """Leave out, or say more cheaply, what algebra allows: neutral elements, limits of limits, chains of views."""
    return apply_rules(graph, RULES.values(), "simplify")
