"""What has happened to one task: its rounds, what they brought, who is still to be compared with the best.

Who is best is the ledger's word (`workbench.log.ledger`). What is kept beside it is what a run needs to go on: the
*champion*, whom new trials are compared with, and those that are *pending* because they undercut it. Where comparisons
fail round after round, nothing waits for ever: the ledger's best is the champion then, by its latency alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.log import TaskLedger
from workbench.log.lines import INSIDE
from workbench.runtime.results.contest_statistics import ratio
from workbench.tune.constants import Comparisons

if TYPE_CHECKING:
    from workbench.log import Comparison, Record

PLAY_OFF = "play-off"
"""Reason of the comparisons that are long enough to settle what the brief ones of a round leave open."""

GIVEN = ("manual", "default")
"""Origins of trials that may stand in the log before any run: a search's proposal, or a round's end, makes a round."""


@dataclass(slots=True)
class TaskState:
    """What has happened to one task so far.

    Attributes
    ----------
    ledger : TaskLedger
        What the lines of the run say of the task.
    best_ms : float
        What the ledger tells of the champion.
    latest_ms : float
        The champion's latency in its latest comparison: what undercuts it, or its own trial, may be faster.
    history : list of float
        `best_ms` after each of its rounds; infinite while nothing was valid.
    savings : list of float
        Milliseconds that each round saved, never negative; infinite for the one with the first valid trial, unless
        one by hand or the default schedule's came before. A champion that is slower when it is timed again has lost
        nothing.
    champion : int
        Trial number of the best that is not pending; -1 while nothing was valid.
    valid : dict of int to float
        Latency of every valid trial by itself.
    pending : dict of int to float
        Trials that undercut the champion and were not compared with it yet.
    lost, doubted : set of int
        Trials that lost a comparison, and those that lost one although they seemed faster: they have a second one.
    default : int
        Trial number of the default schedule; -1 while it was not measured, or failed.
    beaten : bool
        Whether its last undisturbed comparison was won by another trial.
    compared, confidence : int, float or None
        Number of comparisons, and how sure the last one was that the champion is the faster one.
    waited : int
        Rounds that have begun since the last comparison while trials waited for one.
    promised : int
        Number of trials up to which the task goes before all others.
    """

    ledger: TaskLedger = field(default_factory=TaskLedger, compare=False)
    best_ms: float = math.inf
    latest_ms: float = 0.0
    history: list[float] = field(default_factory=list)
    savings: list[float] = field(default_factory=list)
    last_round: int = -1
    champion: int = -1
    valid: dict[int, float] = field(default_factory=dict)
    pending: dict[int, float] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    doubted: set[int] = field(default_factory=set)
    default: int = -1
    beaten: bool = False
    compared: int = 0
    confidence: float | None = None
    waited: int = 0
    promised: int = 0
    exhausted: bool = False

    @property
    def told_ms(self) -> float:
        """What the ledger tells of the best, which may wait for a comparison; infinite while nothing was valid."""
        return self.ledger.best.ms if self.ledger.best else math.inf

    @property
    def trials(self) -> int:
        """Number of its trials."""
        return self.ledger.trials

    @property
    def failed(self) -> int:
        """Number of those that failed."""
        return self.ledger.failures.total()

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
        self.ledger.take(record)
        if record.origin not in GIVEN:
            self.begin(record.round, confirm)
        if not record.ok or record.latency_ms is None:
            return
        self.valid.setdefault(record.trial, record.latency_ms)
        if record.origin == "default" and self.default < 0:
            self.default = record.trial
        if confirm is not False and self.champion >= 0 and record.latency_ms < self._limit:
            self.pending[record.trial] = record.latency_ms
        before = self.best_ms
        if self._follow():
            self._gain(before - self.best_ms)

    def _follow(self) -> bool:
        """Let the best that is not pending be the champion; whether that is another one than before."""
        found = self.ledger.best
        if found is not None and found.record.trial in self.pending:
            found = self.ledger.leader
        if found is None:
            return False
        self.best_ms = found.ms
        if found.record.trial == self.champion:
            return False
        self.champion, self.latest_ms, self.waited = found.record.trial, 0.0, 0
        self.valid.setdefault(self.champion, found.ms)
        self.pending = {t: v for t, v in self.pending.items() if v < self._limit}
        return True

    def begin(self, number: int, confirm: bool | None) -> None:
        """Count a round of a run, unless it is the one that is counted already; `confirm` as for `observe`."""
        if number == self.last_round:
            return
        self.waited = self.waited + 1 if self.pending else 0
        patience = 0 if confirm is False else 1 if confirm is None and not self.compared else Comparisons.PATIENCE
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
        best, before = self.ledger.best, self.best_ms
        if best is not None and self.pending.pop(best.record.trial, None) is not None and self._follow():
            self._gain(before - self.best_ms)

    @property
    def _limit(self) -> float:
        """What a trial has to undercut to be compared with the champion."""
        return max(self.valid[self.champion], self.latest_ms)

    def compare(self, line: Comparison) -> None:
        """Take a comparison into account; one without the champion, of a log that was merged, tells who has lost."""
        self.ledger.take(line)
        before, champion = self.best_ms, self.champion
        if line.winner not in self.valid or line.winner not in line.trials or not line.clean:
            return
        if self.default in line.trials:
            self.beaten = line.winner != self.default
        for trial in line.losers if champion not in line.trials else line.trials:
            self.pending.pop(trial, None)
        if champion not in line.trials:
            self.lost |= set(line.losers)
            self._follow()
            return
        self.compared += 1
        self.waited = 0
        self.lost |= {trial for trial in line.losers if line.reason in (PLAY_OFF, INSIDE) or not _near(line, trial)}
        self.lost.discard(line.winner)
        self._follow()
        self.latest_ms, gain = line.latency_of(self.champion) or 0.0, 0.0
        self.confidence = line.confidence
        if line.winner != champion:
            gain = before - self.best_ms if line.ratio is None else before * (1.0 - line.ratio)
        elif line.trials[0] == champion:  # else it has won against the default schedule
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
                self.pending[trial] = min(self.valid[trial], self.valid[self.champion] * (1.0 - 1e-9))

    @property
    def unbeaten(self) -> int | None:
        """The default schedule's trial, where it is not the champion, and no comparison says that it is slower."""
        return None if self.default in (-1, self.champion) or self.beaten else self.default

    def challengers(self, most: int) -> list[int]:
        """Return the fastest trials that are still to be compared with the champion."""
        return sorted(self.pending, key=lambda t: (self.pending[t], t))[:most]

    def rivals(self, most: int) -> list[int]:
        """Return the trials nearest to the champion's that have not lost to it, fastest first."""
        near = [t for t, ms in self.valid.items() if ms <= Comparisons.RIVAL * self.valid.get(self.champion, 0.0)]
        near = [t for t in near if t != self.champion and t not in self.lost]
        return sorted(near, key=lambda t: (self.valid[t], t))[:most]

    def others(self, most: int) -> list[int]:
        """Return the fastest trials but the champion's, however slow."""
        return sorted(self.valid.keys() - {self.champion}, key=lambda t: (self.valid[t], t))[:most]


def _near(line: Comparison, trial: int) -> bool:
    """Whether a loser was hardly slower than the winner."""
    costs = dict(zip(line.trials, line.costs_ms, strict=False))
    try:
        return bool(costs.get(trial)) and 0.0 < ratio(costs[trial], costs.get(line.winner, ())) < Comparisons.NEAR
    except (ValueError, ZeroDivisionError):
        return False


def _seems_faster(costs: Sequence[float], incumbent: Sequence[float]) -> bool:
    try:
        return ratio(costs, incumbent) < Comparisons.DOUBT
    except (ValueError, ZeroDivisionError):  # times that nobody has measured: the log was changed by hand
        return False
