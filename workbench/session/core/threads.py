"""Threads that exist while there is work: the session's own, and one for each kind of work that takes long."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from workbench.cooperative_yield import giving_way

IDLE_S = 1.0
"""Seconds that a thread waits for more work before it ends."""

BURST_S = 0.06
"""Seconds of work in a row after which what has changed is shown, even if more work waits."""

SLICE_S = 0.004
"""Seconds that a lane works before it hands over the interpreter: less than Python gives a thread, for a fair share."""

PATIENCE_S = 0.1
"""Seconds that a lane waits for a busy session; then it works beside it for as long, so that it comes to an end."""

_log = logging.getLogger(__name__)


class Worker:
    """Runs jobs one after the other, in a thread that is started on demand.

    Parameters
    ----------
    between : callable
        Called in the thread whenever no job waits (or jobs have kept it busy for `BURST_S`). Returns the seconds after
        which it wants to be called again, or None.
    begin : callable
        Called first in each thread.
    """

    def __init__(
        self, name: str, between: Callable[[], float | None], begin: Callable[[], object] = lambda: None
    ) -> None:
        self._name, self._between, self._begin = name, between, begin
        self._jobs: deque[tuple[Callable[[], None], bool]] = deque()
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        #: Set while nobody waits for what this worker does.
        self.idle = threading.Event()
        self.idle.set()

    def put(self, job: Callable[[], None], awaited: bool = False) -> bool:
        """Add a job, which must not raise; False (and nothing is done) after `close`.

        While one is there that is `awaited` by somebody, and until all are done, `idle` is not set.
        """
        with self._condition:
            if self._closed:
                return False
            self._jobs.append((job, awaited))
            if awaited:
                self.idle.clear()
            if self._thread is None or not self._thread.is_alive():  # a fork of the process has no threads
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._condition.notify_all()
            return True

    def here(self) -> bool:
        """Whether the caller runs in this worker's thread."""
        return threading.current_thread() is self._thread

    def close(self, timeout: float) -> None:
        """Let the job in hand end and drop the others."""
        with self._condition:
            self._closed = True
            self._jobs.clear()
            self.idle.set()
            thread = self._thread
            self._condition.notify_all()
        if thread is not None and not self.here():
            thread.join(timeout)

    def _run(self) -> None:
        self._begin()
        wake: float | None = None
        began: float | None = None
        while (job := self._next(wake)) is not None:
            began = began or time.monotonic()
            _guarded(job)
            if not self._jobs or time.monotonic() - began > BURST_S:
                wake, began = self._tick(), None
                self._rest()

    def _rest(self) -> None:
        with self._condition:
            if not any(awaited for _, awaited in self._jobs):
                self.idle.set()

    def _tick(self) -> float | None:
        try:
            return self._between()
        except Exception:
            _log.exception("a session could not show what has changed")
            return None

    def _next(self, wake: float | None) -> Callable[[], None] | None:
        """Wait for a job; an empty one when it is time for `between`; None when the thread is to end."""
        with self._condition:
            if not self._jobs:
                self.idle.set()
            end = time.monotonic() + (IDLE_S if wake is None else wake)
            while not self._jobs and not self._closed:
                left = end - time.monotonic()
                if left <= 0 and wake is not None:
                    return _nothing
                if left <= 0:
                    break
                self._condition.wait(left)
            if self._jobs and not self._closed:
                return self._jobs.popleft()[0]
            self._thread = None
            return None


def _nothing() -> None:
    """Stand in for a job when only the time has come."""


def _guarded(job: Callable[[], None]) -> None:
    try:
        job()
    except Exception:
        _log.exception("a job of a session failed")


class Turn:
    """What a lane does between two steps: it lets the session's thread go first, and the kernel's own.

    They share one interpreter: beside a thread that never stops, each command would take at least twice as long.
    """

    def __init__(self, idle: threading.Event) -> None:
        self._idle = idle
        self._next = self._again = 0.0

    def __call__(self) -> None:
        now = time.monotonic()
        if not self._idle.is_set() and now >= self._again:
            if not self._idle.wait(PATIENCE_S):
                self._again = time.monotonic() + PATIENCE_S
        elif now >= self._next:
            time.sleep(0)  # whoever waits for the interpreter gets it now
            self._next = time.monotonic() + SLICE_S


class Lane:
    """A thread of its own for work that takes long; of each kind only the newest request waits.

    Work that calls `workbench.cooperative_yield.pause` gives way while `idle` is not set.
    """

    def __init__(self, name: str, idle: threading.Event, begin: Callable[[], object] = lambda: None) -> None:
        self._turn = Turn(idle)
        self._waiting: dict[str, Callable[[], None]] = {}
        self._lock = threading.Lock()
        self._running = ""
        self._worker = Worker(name, lambda: None, begin)

    def submit(self, kind: str, work: Callable[[], None]) -> Callable[[], None] | None:
        """Ask for `work`; returns the waiting work of the same kind whose place it took."""
        with self._lock:
            dropped = self._waiting.get(kind)
            self._waiting[kind] = work
        self._worker.put(self._one)
        return dropped

    def pending(self, kind: str) -> bool:
        """Whether work of this kind waits or runs."""
        with self._lock:
            return kind in self._waiting or kind == self._running

    def _one(self) -> None:
        with self._lock:
            if not self._waiting:
                return
            self._running = next(iter(self._waiting))
            work = self._waiting.pop(self._running)
        try:
            with giving_way(self._turn):
                work()
        finally:
            with self._lock:
                self._running = ""

    def close(self) -> None:
        """Drop what waits; what runs ends by itself and is not waited for."""
        with self._lock:
            self._waiting.clear()
        self._worker.close(0.0)


class Lanes:
    """Lanes by name, each made when it is first wanted; `idle` is set while nobody waits for the session.

    `begin` is called first in each thread.
    """

    def __init__(self, idle: threading.Event, begin: Callable[[], object] = lambda: None) -> None:
        self._idle, self._begin = idle, begin
        self._lanes: dict[str, Lane] = {}
        self._lock = threading.Lock()
        self._closed = False

    def lane(self, name: str) -> Lane:
        """Return the lane of this name; after `close` one that does nothing."""
        with self._lock:
            if name not in self._lanes:
                self._lanes[name] = Lane(f"workbench-session-{name}", self._idle, self._begin)
                if self._closed:
                    self._lanes[name].close()
            return self._lanes[name]

    def close(self) -> None:
        """Close every lane."""
        with self._lock:
            self._closed = True
            lanes = tuple(self._lanes.values())
        for lane in lanes:
            lane.close()


class Call:
    """A command that somebody waits for."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.error: BaseException | None = None

    def end(self, error: BaseException | None) -> None:
        """Let go of who waits."""
        if not self.event.is_set():
            self.error = error
            self.event.set()
