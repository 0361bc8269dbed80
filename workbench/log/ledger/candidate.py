"""A program of a task and all that is known of its time."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from workbench.log.lines import Comparison
from workbench.log.record import Record

AGREES = 1.05
"""A time is borne out by another one that is at most so many times as long. Chosen; ``docs/ledger.md`` has examples."""

MODES = 1.25
"""Times of a program that are more than so many times apart are no spread of one time: the machine was in another
state. Chosen; a kernel took 1.33 ms in most processes, and 2.2 in some.
"""

BY_HAND = "manual"
"""Origin of trials that a person has measured: with patience, and no search has chosen them for their times."""

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
    """The best of a task, or another one: its trial, what is told of it in milliseconds, how that is known, and all its
    undisturbed times, by itself and with those of comparisons.
    """

    record: Record
    ms: float
    sure: Sure
    alone: tuple[float, ...] = ()
    seen: tuple[float, ...] = ()

    @property
    def spread(self) -> float | None:
        """Twice the ± over the number: that of its trial, or more where other times of the same mode lie outside."""
        return covering(self.ms, self.record.spread, self.seen)


def of_one_mode(ms: float, other: float) -> bool:
    """Whether two times of a program are near enough to be a spread of one time."""
    return max(ms, other) <= MODES * min(ms, other)


def covering(ms: float, spread: float | None, seen: Sequence[float]) -> float | None:
    """Return a spread, twice the ± over the time, in which all times lie that were seen, but for other modes."""
    off = [abs(one - ms) for one in seen if of_one_mode(one, ms) and f"{one:.3g}" != f"{ms:.3g}"]
    return max(spread or 0.0, 2.0 * max(off) / ms) if off else spread


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
    own : list of float
        Times, in ascending order, of undisturbed trials by hand.
    times, disturbed : list of float
        All its times, of comparisons too, in ascending order; those that were disturbed.
    met, won : bool
        Whether it took part in a comparison, and won one.
    """

    number: int
    record: Record
    place: Place
    alone: list[tuple[float, bool]] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    met: bool = False
    won: bool = False

    def take(self, ms: float, clean: bool, origin: str = "") -> None:
        """Take the time of a trial in."""
        self.alone.append((ms, clean))
        if clean and origin == BY_HAND:
            bisect.insort(self.own, ms)
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
    def lucky(self) -> float | None:
        """The least time, where it is not the number."""
        return self.times[0] if len(self.times) > 1 and self.ms > self.times[0] else None

    @property
    def broken(self) -> float | None:
        """The least time, where it is not the number, and no other time bears it out."""
        return self.lucky if len(self.times) > 1 and self.times[1] > AGREES * self.times[0] else None

    @property
    def ms(self) -> float:
        """The second least time, or the only one: the least of many is a lucky draw where a search looked for it. So it
        rises when the second time comes; not when it is of another mode than most of its `own` times.
        """
        if not self.times:
            return self.disturbed[0]
        twice = self.times[min(1, len(self.times) - 1)]
        own = self.own[(len(self.own) - 1) // 2] if self.own and math.isfinite(self.times[-1]) else math.inf
        return own if twice > MODES * own else twice

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
        alone = tuple(sorted(took for took, clean in self.alone if clean))
        seen = tuple(took for took in self.times if math.isfinite(took))
        return Best(
            self.record, ms if math.isfinite(ms) else min((*self.times, *self.disturbed)), self.sure, alone, seen
        )


def identity(record: Record, place: Place) -> tuple[Any, ...]:
    """What tells candidates of a task apart; a trial that does not say its program stands for itself."""
    return (record.program or place, record.target, record.host, record.warmth)
