"""Drawings of the model, each worked out when it is first looked at and then kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from workbench.analysis import network, pass_network
from workbench.arguments import shown
from workbench.errors import UsageError
from workbench.graph.graph import Graph
from workbench.graph.passes.explain import PassReport, Report
from workbench.graph.tasks import Task
from workbench.session.core.identity_cache import IdentityCache
from workbench.session.state.statistics import rounded

MOST = 24
"""Drawings that are kept: those that were looked at last."""

GIVEN_OPTIMISED = (
    "The model was changed after its passes had run, so what they did is not known; open it as optimize() returns it."
)


class Drawings:
    """What can be looked at of a model. Any thread may ask: one thing is worked out after the other.

    Parameters
    ----------
    graph : Graph
        Optimised.
    tasks : sequence of Task
    """

    def __init__(self, graph: Graph, tasks: Sequence[Task]) -> None:
        self.graph, self.origin, self.tasks = graph, graph.origin, tuple(tasks)
        self._drawn = IdentityCache(MOST)
        self._report: Report | None = None
        self._lock = threading.RLock()  # the lane of drawings, that of exports and a cell may ask at once

    def network(self, level: str, expanded: Sequence[str]) -> dict[str, Any]:
        """Return the columns of `workbench.analysis.network`."""
        # `network` itself says which levels there are
        return self._draw(
            (shown(level), *sorted(expanded)),
            lambda: network(self.graph, self.tasks, level=level, expanded=expanded).columns(),  # type: ignore[arg-type]
        )

    def side(self, at: int, side: str, expanded: Sequence[str]) -> dict[str, Any]:
        """Return the columns of `workbench.analysis.pass_network`."""
        report = self.report()
        return self._draw(
            (shown(at), shown(side), *sorted(expanded)),
            lambda: pass_network(report, at, side, expanded=expanded).columns(),  # type: ignore[arg-type]
        )

    def _draw(self, made_of: tuple[str, ...], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        with self._lock:
            return self._drawn.of(made_of, make)

    def report(self) -> Report:
        """Return what every pass did; raises "graph.optimised" where the model before them is not known."""
        if self.origin is None:
            raise UsageError("graph.optimised", GIVEN_OPTIMISED)
        with self._lock:
            if self._report is None:
                self._report = self.origin.explain()
            return self._report

    def passes(self) -> dict[str, Any]:
        """Return a row for each pass, or why there is none."""
        if self.origin is None:
            return {"passes": [], "why": GIVEN_OPTIMISED}
        return {"passes": [_row(p) for p in self.report().passes], "why": ""}


def _row(p: PassReport) -> dict[str, Any]:
    return {
        "name": p.name, "doc": p.doc, "before": p.nodes_before, "after": p.nodes_after, "removed": p.count("removed"),
        "added": p.count("added"), "changed": p.count("changed"), "kernels": p.kernels if p.rules else 0,
        "ms": rounded(1e3 * p.seconds, 3),
    }  # fmt: skip
