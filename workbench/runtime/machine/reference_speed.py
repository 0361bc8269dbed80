"""How fast this machine is at the moment, beside what is usual: a reference loop beside measurements that take seconds.

The accounts of the system tell who had a core (`interference`), not how fast the core was: on a shared host other
virtual machines take memory bandwidth, the clock, or half of a core that two threads share. All kernels take longer
then, for seconds. So arithmetic and reads of memory are timed on each core that is used. What is usual is kept on disk.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.host import detect, machine
from workbench.runtime.machine.arithmetic_peak import Arithmetic
from workbench.target import Target, cache_dir, write_json

#: So much of the usual speed is not told of: it changes by that from run to run.
#: Chosen, not measured.
SLOW = 0.85

#: Looks that are kept, and the part of them that was slower than what is usual: slow phases may last for hours.
#: Chosen, not measured.
KEPT, USUAL = 200, 0.9

#: Nanoseconds of a run of arithmetic, bytes of a read of memory (more than most last levels), and runs, of which the
#: fastest counts. Chosen, not measured: a look takes about 20 ms a core.
_RUN_NS, _BYTES, _RUNS = 1e6, 64 << 20, 3


@dataclass(frozen=True, slots=True)
class Speed:
    """Of the slowest core: arithmetic in GFLOP/s, and reads of memory in GB/s."""

    clock: float
    memory: float

    def beside(self, usual: Speed) -> tuple[float, str]:
        """Return the speed over the usual one, and of what, whichever is the lower one."""
        return min((self.clock / usual.clock, "clock"), (self.memory / usual.memory, "memory"))


class Reference:
    """The reference loop.

    Parameters
    ----------
    cores : int
        On so many of the cores that this process may use.
    """

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._arithmetic = Arithmetic(Target.host())
        self._arithmetic.last(_RUN_NS)
        self._memory = np.ones(_BYTES // 8, np.int64)

    def look(self) -> Speed:
        """Time the loop on each core, one after the other."""
        found = [self._here()] if sys.platform != "linux" else self._on_each()
        return Speed(min(one.clock for one in found), min(one.memory for one in found))

    def _on_each(self) -> list[Speed]:
        allowed = os.sched_getaffinity(0)
        try:
            found = []
            for core in sorted(allowed)[: self._cores]:
                os.sched_setaffinity(0, {core})
                found.append(self._here())
            return found
        finally:
            os.sched_setaffinity(0, allowed)

    def _here(self) -> Speed:
        least = math.inf
        for _ in range(_RUNS):
            begin = time.perf_counter()
            self._memory.sum()
            least = min(least, time.perf_counter() - begin)
        return Speed(self._arithmetic.gflops(_RUNS), _BYTES / max(least, 1e-9) * 1e-9)


def usual(looks: Sequence[Speed]) -> Speed:
    """Return what is usual on this machine, by these looks and those that are kept; all are kept from now on."""
    path = cache_dir() / "reference-speed.json"
    known, here = _read(path), f"{machine()} {detect().model}"
    kept = [*known.get(here, ()), *([one.clock, one.memory] for one in looks)][-KEPT:]
    known[here] = kept
    write_json(path, known)
    clock, memory = np.quantile(np.array(kept, np.float64), USUAL, axis=0)
    return Speed(float(clock), float(memory))


def _read(path: Path) -> dict[str, list[list[float]]]:
    """Return the looks that are kept by machine; none where the file is missing or was changed by hand."""
    try:
        found: Any = json.loads(path.read_text("utf-8"))
        return {
            str(name): [[float(a), float(b)] for a, b in looks if min(float(a), float(b)) > 0.0]
            for name, looks in found.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
