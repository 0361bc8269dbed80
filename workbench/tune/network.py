"""The time of the whole network, measured while its tasks are tuned.

The sum of its kernels is no time of a network: they were timed alone. So a run compiles the network with the best
schedules so far, and once more with the default ones, and times the two in turns: when every task has a time, when the
sum has become much smaller, and at the end. What came out is a line of the log. The times of the calls inside the
network say how much a task matters (`TaskScheduler.place`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.tune.database import Database

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.graph.group import Group
    from workbench.runtime.network_time import PlanTime
    from workbench.runtime.plan import ExecutablePlan
    from workbench.target import Target
    from workbench.tune.lines import Comparison
    from workbench.tune.record import Record

MUCH = 0.9
"""The network is measured again when the sum of its kernels is less than so much of what it was."""

SHARE = 0.1
"""The most of a run's time so far that measuring the network may take before its end."""

SECONDS = 1.0
"""Time for the runs of one measurement."""


class NetworkTimer:
    """Measures a network with default schedules and with the best ones.

    Parameters
    ----------
    graph : Graph
        Optimised or not.
    target : Target
        What it is compiled for, and with how many threads it runs.

    Attributes
    ----------
    cost_s : float
        Seconds that the last measurement took.
    """

    def __init__(self, graph: Graph, target: Target) -> None:
        self._graph, self._target = graph, target
        self._groups: tuple[Group, ...] = ()
        self._untuned: ExecutablePlan | None = None
        self._spent = self.cost_s = 0.0
        self._last: float | None = None  # sum of the kernels when it was last measured
        self.given_up = False

    def due(self, sum_ms: float, elapsed_s: float) -> bool:
        """Whether it is time to measure: the kernels that are tuned take `sum_ms`, and the run began so long ago."""
        if self.given_up:
            return False
        if self._last is None:
            return True
        return sum_ms < MUCH * self._last and self._spent + self.cost_s <= SHARE * elapsed_s

    def stale(self, sum_ms: float) -> bool:
        """Whether something has become faster since the last measurement."""
        return not self.given_up and sum_ms != self._last

    def measure(self, records: Sequence[Record], comparisons: Sequence[Comparison], sum_ms: float) -> dict[str, Any]:
        """Measure the network.

        Parameters
        ----------
        records, comparisons
            What is known so far.
        sum_ms : float
            What the kernels that are tuned take, see `due`.

        Returns
        -------
        dict
            Fields of a `workbench.tune.lines.NetworkTime`.

        Raises
        ------
        WorkbenchError
            ``run.network`` and what compiling raises; the network is not measured again then.
        """
        from workbench.runtime.network_time import measure_networks
        from workbench.runtime.quiet import quiet

        begin = time.perf_counter()
        try:
            with quiet():
                untuned = self._untuned_plan()
                tuned = self._plan(Database(records, comparisons))
                before, now = measure_networks([untuned, tuned], SECONDS)
        except WorkbenchError:
            self.given_up = True
            raise
        self.cost_s = time.perf_counter() - begin
        self._spent, self._last = self._spent + self.cost_s, sum_ms
        return {
            "measured_ms": now.ms, "untuned_ms": before.ms, "spread": now.spread,
            "clean": not (now.why_not or before.why_not), "why_not": now.why_not or before.why_not,
            "at_least_ms": now.at_least_ms, "inside_ms": inside_ms(tuned, now), "threads": tuned.threads,
        }  # fmt: skip

    def _untuned_plan(self) -> ExecutablePlan:
        if self._untuned is None:
            self._untuned = self._plan(Database())
        return self._untuned

    def _plan(self, database: Database) -> ExecutablePlan:
        from workbench.graph.passes import optimized
        from workbench.graph.tasks import partition
        from workbench.tune.compile import make_kernels, make_plan

        if not self._groups:
            self._graph = optimized(self._graph, ())
            self._groups = tuple(partition(self._graph))
        kernels = make_kernels(self._groups, database, self._target)
        return make_plan(self._graph, self._groups, kernels, self._target.threads, str(self._target))


def inside_ms(plan: ExecutablePlan, found: PlanTime) -> dict[str, float]:
    """Return what a call of each task takes inside the network, in milliseconds: the mean over its calls."""
    calls: dict[str, list[float]] = {}
    for call, ms in zip(plan.calls, found.calls_ms, strict=True):
        if call.task:
            calls.setdefault(call.task, []).append(ms)
    return {key: math.fsum(each) / len(each) for key, each in calls.items()}
