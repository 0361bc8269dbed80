"""Times of whole networks whose runs alternate in one process: what a run takes, and where in it.

A sum of kernels that were timed alone is no time of a network: its kernels find other data in the caches, and a region
of threads begins while the last one ends. So the network itself is timed. Several plans of one network (untuned, and
with the best schedules so far) run in turns, so that a machine that changes its pace treats all of them alike.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.runtime.execution.executable import Executable
from workbench.runtime.machine import turns
from workbench.runtime.machine.interference import FEWEST, Interference, Repetitions, timing
from workbench.runtime.machine.turns import Turn
from workbench.runtime.networks.benchmark import warm_up
from workbench.runtime.networks.execution_plan import ExecutablePlan
from workbench.runtime.results.repetition_times import Times

#: A plan's turn lasts so many milliseconds, and its first run does not count: it finds another plan's data.
#: Chosen, not measured; `bench_trust` tells what comes of it (`promised`).
_TURN_MS = 20.0

#: So many undisturbed runs of each plan make its time, and so many milliseconds of them.
#: Chosen, not measured; `bench_trust` tells what comes of it (`promised`).
_LEAST, _LEAST_MS = 10, 150.0

#: Where other programs take cores away, so many times as long is waited for undisturbed runs.
#: Chosen, not measured.
PATIENCE = 4.0


@dataclass(frozen=True, slots=True)
class NetworkJob:
    """For a runner: time these plans of one network in turns, for about so many seconds."""

    plans: tuple[ExecutablePlan, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class PlanTime(Times):
    """What a plan takes.

    Parameters
    ----------
    costs_ms : tuple of float
        Milliseconds of each run: of the undisturbed ones, or of all where those are too few.
    rounds_ms : tuple of tuple of float
        For each turn that the plan had, milliseconds of each of its calls, inside the network; empty where the turn was
        disturbed. Those at the same place of several plans were timed shortly one after the other.
    why_not : str
        Why the times are not to be trusted; empty where nobody disturbed them.
    at_least_ms : float
        How long a run takes at least, where `why_not` says something.
    """

    costs_ms: tuple[float, ...]
    rounds_ms: tuple[tuple[float, ...], ...]
    why_not: str = ""
    at_least_ms: float = 0.0

    @property
    def calls_ms(self) -> tuple[float, ...]:
        """Median milliseconds of each call of the plan, inside the network; empty where all turns were disturbed."""
        known = [row for row in self.rounds_ms if row]
        return tuple(map(float, np.median(np.array(known), axis=0))) if known else ()


def time_in_turns(job: NetworkJob) -> tuple[PlanTime, ...]:
    """Time the plans in this process."""
    networks = [Executable(plan) for plan in job.plans]
    given = {spec.name: array for spec, array in zip(networks[0].inputs, networks[0].draw_inputs(), strict=True)}
    plans = [_Turn(network, given) for network in networks]
    with turns.turn() as turn:
        for plan in plans:
            plan.begin(job.seconds / (4 * len(plans)))
        _alternate(plans, job.seconds, turn)
    return tuple(plan.result() for plan in plans)


def _alternate(plans: list[_Turn], seconds: float, turn: Turn) -> None:
    """Run plans in turns for so many seconds; between two rounds others may measure."""
    begin = time.perf_counter() - turn.waited_s
    for round_ in itertools.count():
        for plan in plans if round_ % 2 == 0 else plans[::-1]:
            plan.run()
        spent = time.perf_counter() - turn.waited_s - begin
        if all(plan.enough for plan in plans) and spent >= seconds:
            break
        if spent >= PATIENCE * seconds and all(len(plan.found) for plan in plans):
            break
        if turn.due():
            turn.again()


class _Turn:
    """One plan among others."""

    def __init__(self, network: Executable, given: dict[str, Any]) -> None:
        self._network, self._given = network._of(given)
        self._rounds: list[tuple[float, ...]] = []
        self._each = math.inf
        self.found = Repetitions(Interference([]))

    def begin(self, seconds: float) -> None:
        """Warm up, for so many seconds at most."""
        with self._network.measuring(self._given) as context, timing(context.pool):
            warm_up(context.time, 1, seconds)

    @property
    def enough(self) -> bool:
        """Whether its time is known."""
        clean = self.found.clean
        return (len(clean) >= _LEAST and sum(clean) >= _LEAST_MS) or (len(clean) >= FEWEST and self._each >= _LEAST_MS)

    def run(self) -> None:
        """Run for a while; the calls are timed one by one in a run that does not count."""
        row = np.zeros(len(self._network.plan.calls) + 1, np.int64)
        with self._network.measuring(self._given) as context, timing(context.pool) as watch:
            if self._each < 2 * _TURN_MS:
                context.time(1, 1)
            watch.begin()
            context.walk(row)
            calm = watch.absent()
            found, end = Repetitions(watch), time.perf_counter() + _TURN_MS * 1e-3
            while not len(found) or time.perf_counter() < end:
                found.add(context.time(1, 1))
        self._rounds.append(tuple(map(float, np.diff(row) * 1e-6)) if calm else ())
        self.found.merge(found)
        self._each = (found.clean or found.noisy)[-1]

    def result(self) -> PlanTime:
        """What came out."""
        found = self.found
        return PlanTime(tuple(found.trusted), tuple(self._rounds), found.why_not, found.at_least_ms)
