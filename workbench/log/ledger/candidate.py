"""A program of a task and all that is known of its time."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from workbench.log.lines import Comparison
from workbench.log.record import Record

AGREES = 1.05
"""A time is borne out by another one that is at most so many times as long. Chosen; ``docs/ledger.md`` has examples."""

Sure: TypeAlias = Literal["compared", "again", "once", "disturbed"]
"""How a number is known: its trial won a comparison, was timed several times, once, or never undisturbed."""

SURE: dict[str, str] = {
    "compared": "won a comparison",
    "again": "timed several times",
    "once": "timed once",
    "disturbed": "disturbed while it was timed",
}
"""The same in words."""

Place: TypeAlias = tuple[int, int]
"""Log and number of a trial: numbers mean something within one log."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best of a task, or another one: its trial, what is told of it in milliseconds, and how that is known."""

    record: Record
    ms: float
    sure: Sure


@dataclass(slots=True, eq=False)
class Candidate:
    """A program of a task, on one machine and with one state of the caches, and all that is known of its time.

    Attributes
    ----------
    number : int
        Running number.
    record : Record
        Its first trial that was not disturbed; its first one where all were.
    place : tuple
        Log and number of that trial.
    alone : list
        Milliseconds of its trials, and whether they were undisturbed.
    times, disturbed : list of float
        All its times, of comparisons too, in ascending order; those that were disturbed.
    met, won : bool
        Whether it took part in a comparison, and won one.
    """

    number: int
    record: Record
    place: Place
    alone: list[tuple[float, bool]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    met: bool = False
    won: bool = False

    def take(self, ms: float, clean: bool) -> None:
        """Take the time of a trial in."""
        self.alone.append((ms, clean))
        bisect.insort(self.times if clean else self.disturbed, ms)

    def meet(self, line: Comparison, trial: int) -> None:
        """Take its time in a comparison in; one that failed there does not bear out what it took before.

        A comparison inside the network has repeats, and no time of the kernel alone.
        """
        self.met = self.met or line.clean
        at = line.trials.index(trial)
        ms = line.latency_ms[at] if at < len(line.latency_ms) else 0.0
        if math.isnan(ms):
            ms = math.inf if not any(line.costs_ms[at : at + 1]) else 0.0
        if ms > 0.0:
            bisect.insort(self.times if line.clean else self.disturbed, ms)

    def reset(self) -> None:
        """Forget all comparisons."""
        self.times, self.disturbed = (sorted(ms for ms, clean in self.alone if clean is told) for told in (True, False))
        self.met = self.won = False

    @property
    def broken(self) -> float | None:
        """The least time, where no other one bears it out."""
        return self.times[0] if len(self.times) > 1 and self.times[1] > AGREES * self.times[0] else None

    @property
    def ms(self) -> float:
        """The least time that another one bears out; else the second least, or the only one.

        So it can rise once: when the second time does not bear out the first one.
        """
        return self.times[self.broken is not None] if self.times else self.disturbed[0]

    @property
    def proven(self) -> bool:
        """Whether it was timed more than once."""
        return self.met or (len(self.alone) > 1 and sum(clean for _, clean in self.alone) > 1)

    @property
    def sure(self) -> Sure:
        """How its number is known."""
        if not self.times:
            return "disturbed"
        return "compared" if self.won else "again" if self.proven else "once"

    def told(self, ms: float) -> Best:
        """Return what is told of it, given its number; one that failed when it was timed again is told by its time."""
        return Best(self.record, ms if math.isfinite(ms) else min((*self.times, *self.disturbed)), self.sure)


def identity(record: Record, place: Place) -> tuple[Any, ...]:
    """What tells candidates of a task apart; a trial that does not say its program stands for itself."""
    return (record.program or place, record.target, record.host, record.warmth)
