"""Graph passes: a module for each, which declares it with `graph_pass`; `pipeline` says in which order they run."""

from __future__ import annotations

from workbench.graph.passes.base import Pass, because, find_pass, graph_pass, passes, run_pass, select_passes
from workbench.graph.passes.explain import Change, PassReport, Report, explain
from workbench.graph.passes.pipeline import (
    DEFAULT,
    ORDER,
    PRECISIONS,
    finished,
    list_passes,
    optimized,
    order_of,
    run_passes,
    suited,
)

__all__ = [
    "DEFAULT",
    "ORDER",
    "PRECISIONS",
    "Change",
    "Pass",
    "PassReport",
    "Report",
    "because",
    "explain",
    "find_pass",
    "finished",
    "graph_pass",
    "list_passes",
    "optimized",
    "order_of",
    "passes",
    "run_pass",
    "run_passes",
    "select_passes",
    "suited",
]
