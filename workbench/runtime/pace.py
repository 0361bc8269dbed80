"""How fast the processor computes at this moment.

A processor changes its clock, and how many vector instructions it lets through, with heat, with power and with what its
other cores do, also those of other virtual machines: by a fifth within seconds on a quiet machine. No account of the
system tells. So between repetitions a few microseconds of nothing but arithmetic are timed.
"""

from __future__ import annotations

import statistics
from collections import deque

from workbench.runtime.peaks import Arithmetic
from workbench.target import Target

#: A speed that differs by this part from the usual one is not the usual one.
OFF = 0.02

#: What is usual comes from so many measurements; and so many make it known.
KEPT, KNOWN = 41, 3

#: A look takes the fastest of so many runs of so many nanoseconds: the first one finds its code evicted.
_RUNS, _RUN_NS = 3, 2000.0


class Pace:
    """The speed of arithmetic beside measurements that follow each other."""

    def __init__(self) -> None:
        self._kernel: Arithmetic | None = None
        self._past: deque[float] = deque(maxlen=KEPT)
        self._now: list[float] = []

    def look(self) -> float:
        """Return the speed at this moment over the usual one."""
        if self._kernel is None:
            self._kernel = Arithmetic(Target.host())
            self._kernel.last(_RUN_NS)
        speed = self._kernel.gflops(_RUNS)
        self._now.append(speed)
        return speed / statistics.median(self._past if len(self._past) >= KNOWN else self._now[-KEPT:])

    def conclude(self) -> None:
        """End a measurement: the next one is compared with it, too."""
        if self._now:
            self._past.append(statistics.median(self._now))
        self._now = []


def off(pace: float) -> str:
    """Say that a speed over the usual one is not the usual one; empty where it is."""
    if abs(pace - 1.0) <= OFF:
        return ""
    which = "below" if pace < 1.0 else "above"
    return f"the processor ran {100 * abs(pace - 1.0):.0f} % {which} its usual speed"
