"""Which cores the threads of a parallel region run on.

A worker that is woken by a thread which goes on running queues on that thread's core, and the system takes some
milliseconds to see that another one is free: two threads of a kernel then share one core while the other idles
(measured: every second process, for up to a second). So the cores that a process may use are dealt out, and every
thread of a pool keeps to its share. A share has as many cores as there are, so a thread still makes way for others
where it can.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from workbench.errors import RunError

_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


#: A caller changes its core so many seconds after the last time at the earliest: where it goes, others may be busy.
#: Chosen, not measured.
PART_S = 0.05


class Placement:
    """The shares of a pool's threads.

    Parameters
    ----------
    threads : int
        Number of threads, the caller's own included.

    Attributes
    ----------
    shares : tuple of frozenset of int
        Numbers of the processors of each thread; empty where the system does not place threads, or has fewer
        processors than the pool has threads.
    """

    def __init__(self, threads: int) -> None:
        known = hasattr(os, "sched_getaffinity") and threads > 1
        self._allowed = os.sched_getaffinity(0) if known else set()
        self.shares = deal(cores(self._allowed), threads) if known else ()
        self._own = frozenset({-1}).union(*self.shares[:1])
        self._parted = -math.inf

    def place(self, number: int, thread: threading.Thread) -> None:
        """Let a worker, thread `number` of its pool, keep to its share."""
        if self.shares and thread.native_id is not None:
            with contextlib.suppress(OSError):  # it has ended, or the system forbids it
                os.sched_setaffinity(thread.native_id, self.shares[number])

    @contextlib.contextmanager
    def caller(self) -> Iterator[None]:
        """The calling thread keeps to its share meanwhile."""
        before = self.enter()
        try:
            yield
        finally:
            self.leave(before)

    def part(self) -> None:
        """Let the calling thread leave a worker's core, now and then, and run where it likes from there on.

        It is not confined: where other programs are busy, it goes on wherever a core is free.
        """
        if not self.shares or _current_cpu() in self._own:
            return
        now = time.monotonic()
        if now - self._parted >= PART_S:
            self._parted = now
            self.leave(self.enter())

    def enter(self) -> set[int] | None:
        """Let the calling thread keep to its share; return what `leave` has to be given."""
        if not self.shares:
            return None
        before = os.sched_getaffinity(0)
        # A thread that was confined since keeps to what both allow, or to where it is.
        share = self.shares[0] if before == self._allowed else self.shares[0] & before
        if not share or share == before:
            return None
        try:
            os.sched_setaffinity(0, share)
        except OSError:
            return None
        return before

    def leave(self, before: set[int] | None) -> None:
        """Let the calling thread run where it could before `enter`."""
        if before is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, before)


@contextlib.contextmanager
def confined(processors: Iterable[int], members: Sequence[int] = ()) -> Iterator[None]:
    """The calling thread and others keep to a share of some processors each meanwhile; nothing happens without any.

    Parameters
    ----------
    processors : iterable of int
        Numbers of processors, also of those that this process was told to keep off.
    members : sequence of int
        The system's numbers of the other threads.

    Raises
    ------
    RunError
        ``run.queue_cores`` where the system does not let the process run there.
    """
    wanted = frozenset(processors)
    if not wanted or not hasattr(os, "sched_setaffinity"):
        yield
        return
    threads = (0, *members)
    shares = deal(cores(wanted), len(threads)) or (wanted,) * len(threads)
    before = [os.sched_getaffinity(thread) for thread in threads]
    try:
        try:
            for thread, share in zip(threads, shares, strict=True):
                os.sched_setaffinity(thread, share)
        except OSError as error:
            message = f"Measurements are to run on processors {sorted(wanted)}, which this process may not use"
            hint = "a container's `cpuset` has to have them; keep notebooks off them by `taskset`"
            raise RunError("run.queue_cores", message, (), hint) from error
        yield
    finally:
        for thread, former in zip(threads, before, strict=True):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, former)


def deal(cores: Sequence[Sequence[int]], threads: int) -> tuple[frozenset[int], ...]:
    """Deal processors out to threads.

    Parameters
    ----------
    cores : sequence of sequences of int
        The processors of each core.
    threads : int
        Those that want a share.

    Returns
    -------
    tuple of frozenset of int
        A share for each; whole cores where there are enough. Empty where there are fewer processors than threads.
    """
    if threads <= len(cores):
        return tuple(frozenset(cpu for core in cores[t::threads] for cpu in core) for t in range(threads))
    # First one of each core, then the others: neighbours in number are on cores of their own as long as possible.
    single = [core[k] for k in range(max(map(len, cores), default=0)) for core in cores if k < len(core)]
    return tuple(frozenset(single[t::threads]) for t in range(threads)) if threads <= len(single) else ()


def cores(allowed: Iterable[int]) -> list[tuple[int, ...]]:
    """Return the allowed processors of each core; each by itself where the system does not tell."""
    left = sorted(allowed)
    found: list[tuple[int, ...]] = []
    while left:
        together = {left[0], *_siblings(left[0])}
        found.append(tuple(cpu for cpu in left if cpu in together))
        left = [cpu for cpu in left if cpu not in together]
    return found


def _siblings(cpu: int) -> set[int]:
    out: set[int] = set()
    with contextlib.suppress(OSError, ValueError):
        for part in Path(_SIBLINGS.format(cpu)).read_text().strip().split(","):
            first, _, last = part.partition("-")
            out |= set(range(int(first), int(last or first) + 1))
    return out


def _current_cpu() -> int:
    """The processor that the calling thread runs on; -1 where the system does not tell."""
    return _getcpu()()


@functools.cache
def _getcpu() -> Callable[[], int]:
    try:
        return ctypes.CDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):
        return lambda: -1
