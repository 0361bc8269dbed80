"""How fast the processor computes while a kernel runs.

A processor changes its clock, and how many vector instructions it lets through, with heat, with power and with what its
other cores do, also those of other virtual machines: by a tenth within seconds on a quiet machine. No account of the
system tells. So between repetitions a few microseconds of nothing but arithmetic are timed. How fast that is depends on
the power that the kernel takes, too, so what is usual is kept for each kernel.
"""

from __future__ import annotations

import statistics
from collections import OrderedDict, deque
from collections.abc import Hashable

from workbench.runtime.machine.arithmetic_peak import Arithmetic
from workbench.target import Target

#: A speed that differs by this part from the usual one is not the usual one.
#: Chosen, not measured. On a virtual machine with AVX-512 a kernel took 0.55 ms in one second and 0.60 in the next.
OFF = 0.03

#: What is usual comes from so many measurements of a kernel, and so many make it known; and of so many kernels.
#: Chosen, not measured.
KEPT, KNOWN, KERNELS = 41, 3, 256

#: Before it is known, it comes from so many looks of the measurement itself.
#: Chosen, not measured.
_LATEST = 101

#: A look takes the fastest of so many runs of so many nanoseconds: the first one finds its code evicted.
#: Chosen, not measured.
_RUNS, _RUN_NS = 3, 2000.0


class Pace:
    """The speed of arithmetic between the repetitions of kernels."""

    def __init__(self) -> None:
        self._arithmetic: Arithmetic | None = None
        self._kernels: OrderedDict[Hashable, deque[float]] = OrderedDict()
        self._past: deque[float] = deque()
        self._now: list[float] = []

    def begin(self, kernel: Hashable) -> None:
        """Begin with a measurement of a kernel."""
        if self._arithmetic is None:
            self._arithmetic = Arithmetic(Target.host())
            self._arithmetic.last(_RUN_NS)
        self._past, self._now = self._kernels.setdefault(kernel, deque(maxlen=KEPT)), []
        self._kernels.move_to_end(kernel)
        while len(self._kernels) > KERNELS:
            self._kernels.popitem(last=False)

    def look(self) -> float:
        """Return the speed at this moment over the usual one of the kernel."""
        assert self._arithmetic is not None, "it has begun"
        speed = self._arithmetic.gflops(_RUNS)
        self._now.append(speed)
        return speed / statistics.median(self._past if len(self._past) >= KNOWN else self._now[-_LATEST:])

    def conclude(self) -> None:
        """End the measurement: later ones of the kernel are compared with it."""
        if self._now:
            self._past.append(statistics.median(self._now))


def off(pace: float) -> str:
    """Say that a speed over the usual one is not the usual one; empty where it is."""
    if abs(pace - 1.0) <= OFF:
        return ""
    which = "below" if pace < 1.0 else "above"
    return f"the processor ran {100 * abs(pace - 1.0):.0f} % {which} its usual speed"
