"""Whether a number that was measured before comes out again, as far as such a question can be answered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from workbench.arguments import real
from workbench.errors import UsageError
from workbench.host import load_average
from workbench.runtime.results.comparison_words import UNKNOWN, as_fast
from workbench.runtime.results.measurement import Measurement
from workbench.safe_text import shown_legibly

Verdict: TypeAlias = Literal["same", "faster", "slower", "unclear", "failed"]

FLOOR = 0.08
"""By this much the fastest repetitions of two processes differ at least, however small their spreads: other pages of
memory, another clock. Six kernels, 25 measurements each on two cores with a load of 5: with both spreads on top, 0 to
5 % of the pairs were further apart (with 0.05 up to 11 %, with a fixed tenth and no spreads up to 15 %), but for one on
two threads, which a load of 5 halves.
"""

WIDEST = 0.5
"""A tolerance beyond this answers nothing: what agrees within it, agrees with most other numbers, too."""

ATTEMPTS = 3
"""Measurements before a number counts as slower: what disturbs a machine only ever adds to a time."""

BUSY = 0.25
"""Other programs that run on more than this part of the cores may be why a kernel is slower."""

SHARED = 2.0
"""So many times slower a kernel gets beside one busy program for each core: it shares cores, caches and memory."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A measurement beside the number that it should reproduce; printing it says what came of it.

    Attributes
    ----------
    found : Measurement
        The fastest of the attempts.
    ms, spread : float, float or None
        What was recorded.
    load : float
        Busy programs for each core of this machine while it measured, 0 where nobody knows of any.
    disturbed : str
        What disturbed the recorded measurement, if anything did: then it took `ms` at most.
    """

    found: Measurement
    ms: float
    spread: float | None = None
    load: float = 0.0
    disturbed: str = ""

    @property
    def ratio(self) -> float:
        """The time now over the recorded one."""
        return self.found.ms / self.ms

    @property
    def tolerance(self) -> float:
        """By how much the two may differ: both spreads, and what two runs of one kernel always differ by."""
        spreads = [UNKNOWN if s is None else s for s in (self.spread, self.found.spread)]
        return FLOOR + math.fsum(spreads)

    @property
    def verdict(self) -> Verdict:
        """What can be said: ``unclear`` where machine or record are too restless to tell."""
        if not self.found.ok:
            return "failed"
        if self.disturbed or not self.found.clean:
            return "unclear"
        if self._near(FLOOR):  # two fastest repetitions meet by chance on no machine, however restless
            return "same"
        if self._near(self.tolerance):
            return "same" if self.tolerance <= WIDEST else "unclear"
        if self.ratio < 1.0:
            return "faster"
        return "unclear" if self.load > BUSY and self.ratio < SHARED * (1.0 + self.load) else "slower"

    def _near(self, within: float) -> bool:
        return abs(math.log(self.ratio)) <= math.log1p(within)

    @property
    def exit_code(self) -> int:
        """0: the number came out again; 1: a slower one or none; 2: a faster one, or nobody can tell."""
        return {"same": 0, "slower": 1, "failed": 1}.get(self.verdict, 2)

    @shown_legibly
    def __str__(self) -> str:
        if not self.found.ok:
            return f"{self.found.status}: {self.found.error}"
        recorded = f"{self.ms:.5g} ms at most" if self.disturbed else _number(self.ms, self.spread)
        return f"measured {self._measured()}, recorded {recorded}: {self._said()}"

    def _measured(self) -> str:
        if self.found.clean:
            return _number(self.found.ms, self.found.spread)
        return f"at least {self.found.at_least_ms:.5g} ms ({self.found.ms:.5g} ms seen)"

    def _said(self) -> str:
        if not self.found.clean:
            return f"no verdict, because {self.found.why_not}; try again when the machine is quiet"
        if self.disturbed:
            return f"no verdict, because {self.disturbed} when it was recorded"
        within = f"±{100 * (FLOOR if self._near(FLOOR) else self.tolerance):.0f} %"
        if self.verdict == "same":
            return f"the same within {within}"
        if self.verdict == "faster":
            return (
                f"{as_fast(self.ratio)} as recorded, beyond {within}: the record was disturbed, or of another machine"
            )
        if self.verdict == "slower":
            return f"{as_fast(self.ratio)} than recorded, beyond {within}"
        busy = f"{self.load:.1f} busy programs for each core"
        if self._near(self.tolerance):
            return f"no verdict: {busy if self.load > BUSY else 'the times vary too much'} ({within})"
        return f"{100 * (self.ratio - 1.0):.0f} % slower than recorded, but the machine is busy ({busy}): no verdict"


def _number(ms: float, spread: float | None) -> str:
    return f"{ms:.5g} ms" + ("" if spread is None else f", spread {100 * spread:.2g} %")


def reproduce(
    measure: Callable[[], Measurement], ms: float, spread: float | None = None, disturbed: str = ""
) -> Reproduction:
    """Measure until a recorded number comes out again, at most `ATTEMPTS` times; the fastest undisturbed one counts.

    Raises
    ------
    UsageError
        ``usage.number`` for a recorded time or spread that is none.
    """
    real("ms", ms, above=0)
    if spread is not None and real("spread", spread) < 0:
        raise UsageError("usage.number", f"A spread cannot be negative, like {spread:g}", ("spread",))
    load = load_average() or 0.0  # before: later, our own work is in it
    best = Reproduction(measure(), ms, spread, load, disturbed)
    for _ in range(1, ATTEMPTS):
        if best.verdict not in ("slower", "unclear") or (disturbed and best.found.clean):
            break
        again = Reproduction(measure(), ms, spread, load, disturbed)
        best = min(best, again, key=lambda one: (not one.found.clean, one.found.ms))
    return best
