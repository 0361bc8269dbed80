"""The time of the whole network, measured while its tasks are tuned.

The sum of its kernels is no time of a network: they were timed alone. So a run compiles the network with the best
schedules so far, and once more with the default ones, and times the two in turns: when every task has a time, when the
sum has become much smaller, and at the end. What came out is a line of the log. The times of the calls inside the
network say how much a task matters (`TaskScheduler.place`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.errors import RunError, WorkbenchError
from workbench.graph.passes import optimized
from workbench.graph.tasks import partition
from workbench.log import Database
from workbench.log.ledger.network import UNSTEADY
from workbench.network.compile import make_plan
from workbench.network.kernels import make_kernels
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.network_worker import measure_networks
from workbench.tune.constants import NetworkRuns

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.graph.group import Group
    from workbench.log import Comparison, Record
    from workbench.runtime.execution.alternating_runs import PlanTime
    from workbench.runtime.networks.execution_plan import ExecutablePlan
    from workbench.target import Target


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
    given_up : str
        Why the network is not measured again.
    going_on : callable
        Whether a measurement is to go on; what is stopped is measured another time.
    elapsed_s : callable
        Seconds that the run has taken so far; a short run is not timed for long.
    """

    def __init__(self, graph: Graph, target: Target) -> None:
        self._graph, self._target = graph, target
        self._groups: tuple[Group, ...] = ()
        self._untuned: ExecutablePlan | None = None
        self._spent = self.cost_s = 0.0
        self._last: float | None = None  # sum of the kernels when it was last measured
        self._again = False  # that was disturbed
        self.given_up = ""
        self.going_on: Callable[[], bool] = lambda: True
        self.elapsed_s: Callable[[], float] = lambda: math.inf

    def due(self, sum_ms: float, elapsed_s: float) -> bool:
        """Whether it is time to measure: the kernels that are tuned take `sum_ms`, and the run began so long ago."""
        if self.given_up:
            return False
        if self._last is None:
            return True
        return sum_ms < NetworkRuns.FASTER * self._last and self._spent + self.cost_s <= NetworkRuns.MOST * elapsed_s

    def stale(self, sum_ms: float) -> bool:
        """Whether something has become faster since the last measurement, or that was disturbed."""
        return not self.given_up and (self._again or sum_ms != self._last)

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
            Fields of a `workbench.log.lines.NetworkTime`; empty where somebody has stopped it (`going_on`).

        Raises
        ------
        WorkbenchError
            What compiling raises, and ``run.network`` for everything else; the network is not measured again then.
        """
        begin = time.perf_counter()
        try:
            with _told():
                known = Database(records, comparisons)
                untuned, tuned = self._untuned_plan(), self._plan(known)
                found = self._timed([untuned, tuned], NetworkRuns.LEAST_S, NetworkRuns.SECONDS)
        except WorkbenchError as error:
            self.given_up = f"{error.message} [{error.code}]"
            raise
        if not found:
            return {}
        before, now = found
        self.cost_s = time.perf_counter() - begin
        self._spent, self._last = self._spent + self.cost_s, sum_ms
        self._again = any(time.why_not or (time.spread or 0.0) >= UNSTEADY for time in found)
        return {
            "measured_ms": now.ms, "untuned_ms": before.ms, "spread": now.spread, "untuned_spread": before.spread,
            "clean": not (now.why_not or before.why_not), "why_not": now.why_not or before.why_not,
            "at_least_ms": now.at_least_ms, "inside_ms": inside_ms(tuned, now.calls_ms), "threads": tuned.threads,
            "alone_ms": _alone_ms(known, str(self._target)),
        }  # fmt: skip

    def compare(
        self, finalists: Mapping[str, Sequence[int]], best: Mapping[str, int], records: Sequence[Record]
    ) -> dict[str, Contest]:
        """Time the last few candidates of tasks inside the network.

        Parameters
        ----------
        finalists : mapping of str to sequence of int
            Task key -> trial of its best candidate, and trials that may be better.
        best : mapping of str to int
            Task key -> trial of its best candidate, of all tasks that have one.
        records : sequence of Record
            All trials.

        Returns
        -------
        dict of str to Contest
            Task key -> contest of the finalists, in their order; empty where somebody has stopped it (`going_on`).

        Raises
        ------
        WorkbenchError
            As `measure`; one of the candidates may be the reason, so the network may be measured all the same.
        """
        begin = time.perf_counter()
        plans = []
        with _told():
            for k in range(max(map(len, finalists.values()))):
                # Every task has its next candidate in the next plan: their calls are timed one by one.
                chosen = {key: trials[min(k, len(trials) - 1)] for key, trials in finalists.items()}
                wanted = set({**best, **chosen}.items())
                plans.append(self._plan(Database(r for r in records if (r.task_key, r.trial) in wanted)))
            times = self._timed(plans, NetworkRuns.FINAL_LEAST_S, NetworkRuns.FINAL_SECONDS)
        self._spent += time.perf_counter() - begin
        if not times:
            return {}
        return {
            key: inside_contest(key, plans[: len(trials)], times[: len(trials)]) for key, trials in finalists.items()
        }

    def _timed(self, plans: Sequence[ExecutablePlan], least: float, most: float) -> tuple[PlanTime, ...]:
        """Time plans in turns, for as many seconds as suit a run that has lasted so long."""
        return measure_networks(plans, min(most, max(least, NetworkRuns.SHARE * self.elapsed_s())), self.going_on)

    def _untuned_plan(self) -> ExecutablePlan:
        if self._untuned is None:
            self._untuned = self._plan(Database())
        return self._untuned

    def _plan(self, database: Database) -> ExecutablePlan:
        if not self._groups:
            self._graph = optimized(self._graph, target=self._target)
            self._groups = tuple(partition(self._graph))
        kernels = make_kernels(self._groups, database, self._target)
        return make_plan(self._graph, self._groups, kernels, self._target.threads, str(self._target))


@contextmanager
def _told() -> Iterator[None]:
    """Tell of whatever goes wrong as of the network: a run of hours does not end because one number is not known."""
    from workbench.runtime.machine.blas_threads import quiet

    try:
        with quiet():
            yield
    except WorkbenchError:
        raise
    except Exception as error:
        text = f"the network could not be timed: {type(error).__name__}: {error}"
        raise RunError("run.network", text.rstrip(": ")) from error


def _alone_ms(known: Database, target: str) -> dict[str, float]:
    """Return what the schedules take alone that a plan is made with.

    The champion of a run may be another one for a while: a program that a person has measured, say, until something has
    won against it.
    """
    bests = {key: known.told_best(key, target) for key in known}
    return {key: best.ms for key, best in bests.items() if best is not None}


def inside_ms(plan: ExecutablePlan, calls_ms: Sequence[float]) -> dict[str, float]:
    """Return what a call of each task takes inside the network, in milliseconds: the mean over its calls."""
    calls: dict[str, list[float]] = {}
    for call, ms in zip(plan.calls, calls_ms, strict=bool(calls_ms)):
        if call.task:
            calls.setdefault(call.task, []).append(ms)
    return {key: math.fsum(each) / len(each) for key, each in calls.items()}


def inside_contest(key: str, plans: Sequence[ExecutablePlan], times: Sequence[PlanTime]) -> Contest:
    """Return the contest of the kernels that a task has in several plans, timed inside the network in turns."""
    rows = list(zip(*(time.rounds_ms for time in times), strict=True))
    clean = [row for row in rows if all(row)]
    costs = [tuple(inside_ms(plan, row[k])[key] for row in clean) for k, plan in enumerate(plans)]
    enough = len(clean) >= NetworkRuns.ENOUGH
    why_not = "" if enough else next((time.why_not for time in times if time.why_not), "too few turns")
    return Contest(measurements=tuple(Measurement(status="ok", costs_ms=each, why_not=why_not) for each in costs))
