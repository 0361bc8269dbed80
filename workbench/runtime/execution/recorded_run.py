"""Runs of a network in motion: what each call and each thread did when, beside runs without a clock in between."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.arguments import whole
from workbench.runtime.buffers import Array
from workbench.runtime.execution.profile import Profile, make_profile
from workbench.runtime.execution.timeline import Recording, joined, record
from workbench.runtime.machine.interference import timing

if TYPE_CHECKING:
    from workbench.runtime.execution.executable import Executable
    from workbench.runtime.networks.execution_plan import ExecutablePlan

#: Share of the run that calls together may take beyond what they usually do in one that counts as undisturbed. Chosen.
DISTURBED = 0.2

#: So many times as many turns as were asked for are taken at most, until none that counts was disturbed. Chosen.
PATIENCE = 3

#: A recording that is to end after some seconds has so many turns at least: the fewest by which a comparison of ranks
#: may be sure of anything.
LEAST_TURNS = 7


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """Runs that were recorded, and the one of them that is drawn: of those that nothing disturbed the one whose calls
    take what they usually do.

    Attributes
    ----------
    plan : ExecutablePlan
        What ran; of a network for a range of sizes, that of the size.
    profile : Profile
        Of all runs, one row per call.
    recording : Recording
        All runs.
    run : int
        Number of the one that is drawn.
    plain_ms : tuple of float
        Milliseconds of the runs without a clock between the calls, each shortly before the recorded one at its place.
    why_not : str
        What kept the threads from running in most of the runs; empty where nothing did.
    """

    plan: ExecutablePlan
    profile: Profile
    recording: Recording
    run: int
    plain_ms: tuple[float, ...] = ()
    why_not: str = ""

    @property
    def stamps(self) -> Array:
        """Nanoseconds before each call of the run and after the last one, from its beginning; shape (calls + 1,)."""
        row: Array = self.recording.stamps[self.run]
        out: Array = row - row[0]
        return out

    @property
    def calls_ns(self) -> Array:
        """What each call takes in which at least one thread computes, shape (calls,)."""
        return np.diff(self.stamps) - self.gaps_ns

    @property
    def interrupted(self) -> int:
        """Number of the call that something else interrupted for longest in the run; -1 where nothing did.

        It took longer than it usually does by a fifth of all calls or more.
        """
        spent = np.diff(self.recording.stamps, axis=1)
        usual = _usual(spent)
        more = spent[self.run] - usual
        call = int(np.argmax(more))
        return call if more[call] > DISTURBED * usual.sum() else -1

    @property
    def gaps_ns(self) -> Array:
        """What each call of the drawn run takes before, between and after its parallel regions: no thread computes
        there.

        A call without a parallel region computes from its beginning to its end, and has no gap.
        """
        out: Array = self.each_gap_ns[self.run]
        return out

    @property
    def each_gap_ns(self) -> Array:
        """The same of all runs, shape (runs, calls)."""
        stamps, regions = self.recording.stamps, self.recording.regions
        starts, ends = stamps[:, :-1].ravel(), stamps[:, 1:].ravel()
        region, thread = np.nonzero(self.recording.work[:, :, 3])
        begin = regions[region, 0]
        place = np.searchsorted(starts, begin, "right") - 1
        inside = (place >= 0) & (begin <= ends[place])
        place, part = place[inside], self.recording.work[region[inside], thread[inside]]
        order = np.argsort(place, kind="stable")
        found, first = np.unique(place[order], return_index=True)
        gaps = np.zeros(len(starts), np.int64)
        for k, mine in zip(found, np.split(order, first[1:]), strict=False):
            gaps[k] = max(0, int(ends[k] - starts[k]) - _covered(part[mine, 0], part[mine, 1]))
        return gaps.reshape(len(stamps), -1)

    @property
    def has_gaps(self) -> bool:
        """Whether gaps can be seen: some call has a parallel region, which begins later than the call."""
        return len(self.recording.regions) > 0

    def work(self) -> tuple[Array, Array, Array, Array, Array]:
        """Return what threads did in the run: thread, call, begin, end and time in tasks (ns) of each stretch.

        A call without a parallel region is one stretch of thread 0.
        """
        calls, begin, end = self._spans()
        thread, _, busy = self._parts()
        alone = np.setdiff1d(np.arange(len(self.stamps) - 1), calls)
        stamps = self.stamps
        found = (
            np.concatenate([thread, np.zeros_like(alone)]),
            np.concatenate([calls, alone]),
            np.concatenate([begin, stamps[alone]]),
            np.concatenate([end, stamps[alone + 1]]),
            np.concatenate([busy, stamps[alone + 1] - stamps[alone]]),
        )
        order = np.argsort(found[2], kind="stable")
        return tuple(column[order] for column in found)  # type: ignore[return-value]

    def _parts(self) -> tuple[Array, Array, Array]:
        """Thread, region and time in tasks of each thread's part in a region of the run."""
        begin, row = self.recording.regions[:, 0], self.recording.stamps[self.run]
        inside = np.flatnonzero((begin >= row[0]) & (begin <= row[-1]))
        work = self.recording.work[inside]
        region, thread = np.nonzero(work[:, :, 3])
        return thread, inside[region], work[region, thread, 2]

    def _spans(self) -> tuple[Array, Array, Array]:
        """Call, begin and end of each thread's part in a region of the run, in nanoseconds from its beginning."""
        thread, region, _ = self._parts()
        part, row = self.recording.work[region, thread], self.recording.stamps[self.run]
        calls = np.searchsorted(row, self.recording.regions[region, 0], "right") - 1
        return np.clip(calls, 0, len(row) - 2), part[:, 0] - row[0], part[:, 1] - row[0]


def _covered(begin: Array, end: Array) -> int:
    """Length of what is in at least one of these stretches."""
    reached, total = -(1 << 62), 0
    for start, stop in sorted(zip(begin.tolist(), end.tolist(), strict=True)):
        total += max(0, stop - max(start, reached))
        reached = max(reached, stop)
    return total


class _Turns:
    """Networks that run in turns with the same inputs."""

    def __init__(self, networks: Sequence[Executable], inputs: Mapping[str, Any] | None) -> None:
        given = {s.name: a for s, a in zip(networks[0].inputs, networks[0].draw_inputs(), strict=True)}
        self.chosen = [network._of(given if inputs is None else dict(inputs)) for network in networks]
        self.plain: list[list[float]] = [[] for _ in networks]
        self.found: list[list[Recording]] = [[] for _ in networks]
        self.threads = [1] * len(networks)
        self.calm: list[bool] = []
        self._reasons: list[str] = []

    def take(self, warmup: int) -> None:
        """Run each once without and once with the clock; every second time in the opposite order."""
        numbers, calm = range(len(self.chosen)), True
        for k in numbers if len(self.calm) % 2 == 0 else reversed(numbers):
            network, feeds = self.chosen[k]
            with network.measuring(feeds) as context, timing(context.pool) as watch:
                for _ in range(warmup):  # here, so that the threads are awake, too
                    context.walk()
                watch.begin()
                self.plain[k] += context.time(1, 1)
                self.found[k].append(record(context, network.plan, 1))
                if not watch.absent():
                    calm = False
                    self._reasons.append(watch.reason())
                self.threads[k] = context.lent
        self.calm.append(calm)

    def counted(self, runs: int) -> list[int]:
        """Numbers of the turns that count, in order: of those that nothing disturbed, and of others as many as it
        needs.
        """
        order = sorted(range(len(self.calm)), key=lambda turn: not self.calm[turn])
        return sorted(order[:runs])

    def result(self, runs: int, roofline: bool) -> list[RecordedRun]:
        """What came out, a run for each network."""
        turns = self.counted(runs)
        disturbed = sum(not self.calm[turn] for turn in turns)
        why_not = self._reasons[-1] if disturbed > len(turns) // 2 else ""
        return [self._recorded(k, turns, roofline, why_not) for k in range(len(self.chosen))]

    def _recorded(self, k: int, turns: Sequence[int], roofline: bool, why_not: str) -> RecordedRun:
        network, threads = self.chosen[k][0], self.threads[k]
        recording = joined([self.found[k][turn] for turn in turns])
        plain = tuple(self.plain[k][turn] for turn in turns)
        limits = network.limits(threads) if roofline else None
        profile = make_profile(network.plan, recording.stamps, plain, threads, limits)
        return RecordedRun(network.plan, profile, recording, _typical(recording), plain, why_not)


def record_in_turns(
    networks: Sequence[Executable],
    inputs: Mapping[str, Any] | None = None,
    *,
    runs: int = 5,
    warmup: int = 2,
    roofline: bool = True,
    seconds: float = math.inf,
) -> list[RecordedRun]:
    """Record several networks with the same inputs in turns: each time one run without and one with the clock.

    Turns in which something else took cores away are taken again, for a while.

    Parameters
    ----------
    networks : sequence of Executable
    inputs, runs, warmup, roofline
        As for `Executable.record`.
    seconds : float
        After so many seconds it ends with fewer runs, though not with fewer than `LEAST_TURNS`.

    Returns
    -------
    list of RecordedRun
        One for each network; runs at the same place were taken in the same turn.

    Raises
    ------
    UsageError
        ``usage.repeat``.
    """
    whole("runs", runs, code="usage.repeat")
    whole("warmup", warmup, least=0, code="usage.repeat")
    taken = _Turns(networks, inputs)
    end = time.perf_counter() + seconds
    for turn in range(PATIENCE * runs):
        taken.take(1 if turn else warmup)
        if sum(taken.calm) >= runs or (turn + 1 >= min(runs, LEAST_TURNS) and time.perf_counter() > end):
            break
    return taken.result(runs, roofline)


def _usual(spent: Array) -> Array:
    """What each call takes when nothing interrupts it: the lower quartile of its runs."""
    out: Array = np.quantile(spent, 0.25, axis=0)
    return out


def _typical(recording: Recording) -> int:
    """Return the number of the run whose calls are nearest to their medians, over the runs without a disturbance; over
    all runs where each has one.

    What a call takes beyond its median, or below it, counts: so the sum is near its median, and no call stands out.
    """
    spent = np.diff(recording.stamps, axis=1)
    usual = _usual(spent)
    calm = np.clip(spent - usual, 0, None).sum(axis=1) <= DISTURBED * usual.sum()
    counted = spent[calm] if calm.any() else spent
    distance = np.abs(spent - np.median(counted, axis=0)).sum(axis=1)
    return int(np.argmin(np.where(calm | ~calm.any(), distance, np.inf)))
