"""What has happened to one task: its trials, its champion, who is still to be compared with it.

A new best is claimed only after a comparison that it won. Until then a trial that undercuts the champion is *pending*.
Where comparisons are switched off, or a log is older than they are, the least latency counts; and where they fail round
after round, it counts in the end too, because nothing is to wait for ever. That is not hidden: see `unsettled`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.runtime.contest import ratio

if TYPE_CHECKING:
    from workbench.tune.lines import Comparison
    from workbench.tune.record import Record

DOUBT = 0.98
"""A loser that took less than so much of the champion's time may not have lost."""

PLAY_OFF = "play-off"
"""Reason of the comparisons that are long enough to settle what the brief ones of a round leave open."""

INSIDE = "inside the network"
"""Reason of comparisons in runs of the whole network, of a task's last candidates: their times are of another place."""

NEAR = 1.02
"""A loser of a brief comparison that took at most so many times as long as the winner is one for the play-off."""

PATIENCE = 3
"""Rounds that trials wait for a comparison that cannot be made, before the least latency counts."""

RIVAL = 1.1
"""A trial so many times slower than the champion's is no rival of it in a play-off."""


GIVEN = ("manual", "default")
"""Origins of trials that may stand in the log before any run: a search's proposal, or a round's end, makes a round."""


@dataclass(slots=True)
class TaskState:
    """What has happened to one task so far.

    Attributes
    ----------
    best_ms : float
        The champion's latency: the least of its own trial's and of those in its comparisons.
    measured_ms, latest_ms : float
        The champion's latency in its own trial and in its latest comparison: what undercuts one of them may be faster.
    place_ms : float
        The least latency of all that the champion stands before: what it has beaten, and what these have beaten. A
        trial that is not to be compared has to undercut that (`workbench.tune.ranking`).
    history : list of float
        `best_ms` after each of its rounds; infinite while nothing was valid.
    savings : list of float
        Milliseconds that each round saved, never negative; infinite for the one with the first valid trial, unless
        one by hand or the default schedule's came before. A champion that is slower when it is timed again has lost
        nothing.
    champion : int
        Trial number of the best; -1 while nothing was valid.
    valid, least : dict of int to float
        Latency of every valid trial, and the least one that is known of it, its comparisons included.
    pending : dict of int to float
        Trials that undercut the champion and were not compared with it yet.
    lost, doubted : set of int
        Trials that lost a comparison, and those that lost one although they seemed faster: they have a second one.
    compared, confidence : int, float or None
        Number of comparisons, and how sure the last one was that the champion is the faster one.
    waited : int
        Rounds that have begun since the last comparison while trials waited for one.
    unsettled : bool
        Whether the champion took the place of another one without a comparison.
    promised : int
        Number of trials up to which the task goes before all others.
    """

    trials: int = 0
    failed: int = 0
    best_ms: float = math.inf
    measured_ms: float = math.inf
    latest_ms: float = 0.0
    place_ms: float = math.inf
    history: list[float] = field(default_factory=list)
    savings: list[float] = field(default_factory=list)
    last_round: int = -1
    champion: int = -1
    valid: dict[int, float] = field(default_factory=dict)
    least: dict[int, float] = field(default_factory=dict)
    pending: dict[int, float] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    doubted: set[int] = field(default_factory=set)
    compared: int = 0
    confidence: float | None = None
    waited: int = 0
    unsettled: bool = False
    promised: int = 0
    exhausted: bool = False

    @property
    def rounds(self) -> int:
        """Number of rounds that the task has had."""
        return len(self.history)

    @property
    def stalled(self) -> int:
        """Number of rounds since the last one that made it faster by at least one per cent."""
        count = 0
        for k in range(len(self.history) - 1, 0, -1):
            if self.savings[k] == math.inf or self.savings[k] > 0.01 * self.history[k - 1]:
                return count
            count += 1
        return count

    def observe(self, record: Record, confirm: bool | None) -> None:
        """Take a trial into account.

        Parameters
        ----------
        confirm : bool or None
            Whether one that undercuts the champion has to win a comparison first; None for an older log that does not
            say so: then it has to as soon as there was one comparison.
        """
        self.trials += 1
        if record.origin not in GIVEN:
            self.begin(record.round, confirm)
        if not record.ok or record.latency_ms is None:
            self.failed += 1
            return
        ms = self.valid.setdefault(record.trial, record.latency_ms)
        self.least[record.trial] = min(ms, record.latency_ms, self.least.get(record.trial, ms))
        if confirm is not False and self.champion >= 0:
            if record.latency_ms < self._limit:
                self.pending[record.trial] = record.latency_ms
        elif record.latency_ms < self.place_ms:
            self._claim(record.trial)

    def begin(self, number: int, confirm: bool | None) -> None:
        """Count a round of a run, unless it is the one that is counted already; `confirm` as for `observe`."""
        if number == self.last_round:
            return
        self.waited = self.waited + 1 if self.pending else 0
        patience = 0 if confirm is False else 1 if confirm is None and not self.compared else PATIENCE
        if self.waited >= patience:
            self.settle()
        self.last_round = number
        self.savings.append(0.0)  # first: whoever looks on from another thread takes them by the history's length
        self.history.append(self.best_ms)

    def _gain(self, saved: float) -> None:
        """Note what the round on hand saved; before the first one there is none that could have."""
        if self.history:
            self.savings[-1] += max(0.0, saved)
            self.history[-1] = self.best_ms

    def settle(self) -> None:
        """Let the least latency count among those that wait for a comparison: nobody will make it."""
        fit = [trial for trial in self.pending if self.least[trial] < self.place_ms]  # the others have lost before
        if fit:
            self._claim(min(fit, key=lambda t: (self.least[t], t)))

    @property
    def _limit(self) -> float:
        """What a trial has to undercut to be compared with the champion."""
        return max(self.measured_ms, self.latest_ms)

    def _claim(self, trial: int) -> None:
        self.unsettled, self.waited = self.champion >= 0, 0
        ms = self.least[trial]
        saved = self.best_ms - ms
        self.champion, self.measured_ms, self.latest_ms = trial, self.valid[trial], 0.0
        self.place_ms = self.best_ms = ms
        self.pending = {t: v for t, v in self.pending.items() if v < ms}
        self._gain(saved)

    def compare(self, line: Comparison) -> None:
        """Take a comparison into account; one without the champion, of a log that was merged, tells who has lost."""
        if line.winner not in self.valid or line.winner not in line.trials:
            return
        for trial in line.trials:
            if trial in self.least:
                self.least[trial] = min(self.least[trial], line.latency_of(trial) or math.inf)
        if self.champion not in line.trials:
            self.lost |= set(line.losers)
            self.pending = {t: v for t, v in self.pending.items() if t not in line.losers}
            return
        self.compared += 1
        self.waited, self.unsettled = 0, False
        self.place_ms = min([self.place_ms, *(self.least[t] for t in line.trials if t in self.least)])
        self.lost |= {trial for trial in line.losers if line.reason in (PLAY_OFF, INSIDE) or not _near(line, trial)}
        self.lost.discard(line.winner)
        for trial in line.trials:
            self.pending.pop(trial, None)
        self.confidence = line.confidence
        before, gain = self.best_ms, 0.0
        self.best_ms, self.latest_ms = self.least[line.winner], line.latency_of(line.winner) or 0.0
        if line.winner != self.champion:
            gain = before - self.best_ms if line.ratio is None else before * (1.0 - line.ratio)
            self.champion, self.measured_ms = line.winner, self.valid[line.winner]
        else:
            self.confidence = None if line.confidence is None else 1.0 - line.confidence
            self._doubt(line)
        self.pending = {t: v for t, v in self.pending.items() if v < self._limit}
        self._gain(gain)

    def _doubt(self, line: Comparison) -> None:
        """Give those a second comparison that seemed faster, on a machine that was too restless to be sure of it."""
        for trial, costs in zip(line.trials, line.costs_ms, strict=False):
            if trial not in self.doubted and trial in self.valid and _seems_faster(costs, line.costs_ms[0]):
                self.doubted.add(trial)
                self.lost.discard(trial)
                self.pending[trial] = min(self.valid[trial], self.measured_ms * (1.0 - 1e-9))

    def challengers(self, most: int) -> list[int]:
        """Return the fastest trials that are still to be compared with the champion."""
        return sorted(self.pending, key=lambda t: (self.pending[t], t))[:most]

    def rivals(self, most: int) -> list[int]:
        """Return the trials nearest to the champion's that have not lost to it, fastest first."""
        near = [t for t, ms in self.valid.items() if ms <= RIVAL * self.measured_ms]
        near = [t for t in near if t != self.champion and t not in self.lost]
        return sorted(near, key=lambda t: (self.valid[t], t))[:most]


def _near(line: Comparison, trial: int) -> bool:
    """Whether a loser was hardly slower than the winner."""
    costs = dict(zip(line.trials, line.costs_ms, strict=False))
    try:
        return bool(costs.get(trial)) and 0.0 < ratio(costs[trial], costs.get(line.winner, ())) < NEAR
    except (ValueError, ZeroDivisionError):
        return False


def _seems_faster(costs: Sequence[float], incumbent: Sequence[float]) -> bool:
    try:
        return ratio(costs, incumbent) < DOUBT
    except (ValueError, ZeroDivisionError):  # times that nobody has measured: the log was changed by hand
        return False
