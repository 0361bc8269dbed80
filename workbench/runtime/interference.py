"""Whether other programs disturbed a measurement.

A kernel on several threads is timed by the wall clock, which counts what others do. But the system knows for every
thread of this process how long it ran and how long it was ready to run and had no core. A repetition in which all
threads ran all the time was not disturbed by another program: on a machine with three times as many busy threads as
cores, the median of such repetitions is 5 % above the fastest one, that of all others 80 %.
"""

from __future__ import annotations

import contextlib
import os
import time

_TASKS = "/proc/self/task"

#: A thread that waits for a core less than this part of the time is not disturbed.
_WAITED = 0.01

#: Threads that run for this part of the time together are all there.
_RAN = 0.93


class Interference:
    """Watches the threads of this process; to be used from one thread.

    Parameters
    ----------
    threads : int
        Threads that a kernel uses.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._files: dict[int, int] = {}
        self._waited = self._ran = self._began = 0

    def refresh(self) -> None:
        """Look which threads there are now."""
        try:
            present = {int(name) for name in os.listdir(_TASKS)}
        except (OSError, ValueError):
            present = set()  # not Linux: nobody knows
        for gone in set(self._files) - present:
            os.close(self._files.pop(gone))
        for new in present - set(self._files):
            with contextlib.suppress(OSError):
                self._files[new] = os.open(f"{_TASKS}/{new}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Close the files."""
        while self._files:
            os.close(self._files.popitem()[1])

    def begin(self) -> None:
        """Begin with a stretch of work."""
        self._waited, self._ran, self._began = self._waiting(), self._running(), time.perf_counter_ns()

    def absent(self) -> bool:
        """Whether nobody interfered since `begin` or the last call; True where the system does not tell."""
        waited, ran, began = self._waited, self._ran, self._began
        self.begin()
        if not self._files:
            return True
        passed, ran = max(1, self._began - began), self._ran - ran
        if self._waited - waited > _WAITED * passed:
            return False
        return ran >= _RAN * self._threads * passed or not self._queued()

    def _waiting(self) -> int:
        """Nanoseconds for which threads waited in line."""
        total = 0
        for file in self._files.values():
            with contextlib.suppress(OSError, ValueError, IndexError):
                total += int(os.pread(file, 96, 0).split()[1])
        return total

    def _running(self) -> int:
        """Nanoseconds for which threads ran."""
        total = 0
        for thread in self._files:
            with contextlib.suppress(OSError):
                total += time.clock_gettime_ns(_clock_of(thread))
        return total

    def _queued(self) -> bool:
        """Whether a thread waits in line now: it is counted as waiting only when its turn comes."""
        for thread, clock in ((t, _clock_of(t)) for t in self._files):
            with contextlib.suppress(OSError):
                before = time.clock_gettime_ns(clock)
                with open(f"{_TASKS}/{thread}/stat", "rb") as file:
                    ready = file.read().rsplit(b")", 1)[-1].split()[:1] == [b"R"]
                if ready and time.clock_gettime_ns(clock) == before:
                    return True
        return False


def _clock_of(thread: int) -> int:
    """Number of the clock of a thread's processor time."""
    return (~thread << 3) | 6
