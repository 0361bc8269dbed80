"""One run of a network in motion: what each call and each thread did when, beside runs without a clock in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.arguments import whole
from workbench.runtime.buffers import Array
from workbench.runtime.execution.profile import Profile, make_profile
from workbench.runtime.execution.timeline import Recording, joined, record

if TYPE_CHECKING:
    from workbench.runtime.execution.executable import Executable
    from workbench.runtime.networks.execution_plan import ExecutablePlan

#: Share of the run that calls together may take beyond what they usually do in one that counts as undisturbed. Chosen.
DISTURBED = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """Runs that were recorded, and the one of them that stands for all: of those that nothing disturbed the one that is
    nearest to their median.

    Attributes
    ----------
    plan : ExecutablePlan
        What ran; of a network for a range of sizes, that of the size.
    profile : Profile
        Of all runs, one row per call.
    recording : Recording
        All runs.
    run : int
        Number of the one that is shown.
    """

    plan: ExecutablePlan
    profile: Profile
    recording: Recording
    run: int

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
        """What each call takes before, between and after its parallel regions: no thread computes there.

        A call without a parallel region computes from its beginning to its end, and has no gap.
        """
        spent = np.diff(self.stamps)
        calls, begin, end = self._spans()
        gaps = np.zeros(len(spent), np.int64)
        for k in np.unique(calls):
            mine = calls == k
            gaps[k] = max(0, int(spent[k]) - _covered(begin[mine], end[mine]))
        return gaps

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


def record_in_turns(
    networks: Sequence[Executable],
    inputs: Mapping[str, Any] | None = None,
    *,
    runs: int = 5,
    warmup: int = 2,
    roofline: bool = True,
) -> list[RecordedRun]:
    """Record several networks with the same inputs in turns: each time one run without and one with the clock.

    Parameters
    ----------
    networks : sequence of Executable
    inputs, runs, warmup, roofline
        As for `Executable.record`.

    Raises
    ------
    UsageError
        ``usage.repeat``.
    """
    whole("runs", runs, code="usage.repeat")
    whole("warmup", warmup, least=0, code="usage.repeat")
    given = {s.name: a for s, a in zip(networks[0].inputs, networks[0].draw_inputs(), strict=True)}
    chosen = [network._of(given if inputs is None else dict(inputs)) for network in networks]
    plain: list[list[float]] = [[] for _ in networks]
    found: list[list[Recording]] = [[] for _ in networks]
    threads = [1] * len(networks)
    for turn in range(runs):
        for k, (network, feeds) in enumerate(chosen):
            with network.measuring(feeds, 1 if turn else warmup) as context:
                plain[k] += context.time(1, 1)
                found[k].append(record(context, network.plan, 1))
                threads[k] = context.lent
    out = []
    for k, (network, _) in enumerate(chosen):
        recording = joined(found[k])
        limits = network.limits(threads[k]) if roofline else None
        profile = make_profile(network.plan, recording.stamps, plain[k], threads[k], limits)
        out.append(RecordedRun(network.plan, profile, recording, _least_disturbed(recording)))
    return out


def _usual(spent: Array) -> Array:
    """What each call takes when nothing interrupts it: the lower quartile of its runs."""
    out: Array = np.quantile(spent, 0.25, axis=0)
    return out


def _least_disturbed(recording: Recording) -> int:
    """Return the number of the run nearest to the median of those without a disturbance; of none, of the shortest."""
    spent = np.diff(recording.stamps, axis=1)
    usual, whole_ns = _usual(spent), spent.sum(axis=1)
    calm = np.clip(spent - usual, 0, None).sum(axis=1) <= DISTURBED * usual.sum()
    if not calm.any():
        return int(np.argmin(whole_ns))
    distance = np.abs(whole_ns - np.median(whole_ns[calm]))
    return int(np.argmin(np.where(calm, distance, np.inf)))
