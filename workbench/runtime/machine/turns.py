"""A turn at measuring, where a queue is set up: for processes of several users of one machine.

The environment variable ``WORKBENCH_MEASUREMENT_QUEUE`` names the folder of the queue (`queue_line`). Without it there
are no turns, and nothing of this costs anything. A turn that has lasted for long is given away between two repetitions.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from typing import TypeVar

from workbench import queue_settings
from workbench.locks import in_forked_child
from workbench.queue_settings import Settings
from workbench.runtime.machine.queue_line import History, MeasurementQueue, Tell, Waiting
from workbench.runtime.thread_pool.placement import confined

T = TypeVar("T")


class Turn:
    """A turn at measuring, held from `take` to `end`; without a queue, nothing at all.

    Attributes
    ----------
    waited_s : float
        Seconds that were waited for it altogether.
    cores : frozenset of int
        Processors that it is to run on; empty: where it likes.
    """

    def __init__(self, queue: MeasurementQueue | None) -> None:
        self._queue, self._file = queue, -1
        self.waited_s = 0.0
        declared = Settings() if queue is None else queue_settings.settings(queue.where)
        self.cores, self._turn_s = declared.cores, declared.turn_s
        self._began = self._looked = 0.0

    def take(self) -> None:
        """Wait for it."""
        queue = self._queue
        if queue is None:
            return
        file = queue.open_turn()
        try:
            self.waited_s += queue.wait(file, announce)
            self._began = self._looked = time.monotonic()
            history, now = History.read(file), time.time()
            holder = {"user": queue.user, "process": os.getpid(), "since": now}
            History(holder, history.last | {queue.user: now}, history.seconds).write(file)
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def end(self) -> None:
        """Give it away; harmless when it is not held."""
        if self._queue is None or self._file < 0:
            return
        file, self._file = self._file, -1
        try:
            history = History.read(file)
            seconds = time.monotonic() - self._began
            History(None, history.last, (*history.seconds, round(seconds, 4))).write(file)
            self._queue.end(file)
        finally:
            os.close(file)

    def again(self) -> None:
        """Give it away, and wait for the next one."""
        self.end()
        self.take()

    def due(self) -> bool:
        """Whether it has lasted for long, and others wait."""
        now = time.monotonic()
        if self._queue is None or now - self._began < self._turn_s or now - self._looked < self._turn_s / 10:
            return False
        self._looked = now
        return bool(self._queue.tickets())


_turns = threading.local()


@in_forked_child
def _after_fork() -> None:
    """The turn is the parent's."""
    _turns.held = None


@contextlib.contextmanager
def turn() -> Iterator[Turn]:
    """A turn at measuring for this thread; inside another one, that one.

    Raises
    ------
    RunError
        ``run.queue`` where the folder cannot be used.
    """
    held: Turn | None = getattr(_turns, "held", None)
    if held is not None:
        yield held
        return
    where = queue_settings.folder()
    taken = Turn(None if where is None else MeasurementQueue(where))
    taken.take()
    _turns.held = taken
    try:
        yield taken
    finally:
        _turns.held = None
        taken.end()


def check() -> None:
    """Raise what `turn` would, without waiting for one."""
    where = queue_settings.folder()
    if where is not None:
        queue_settings.settings(where)
        queue = MeasurementQueue(where)
        os.close(queue.open_turn())
        with queue.place(), confined(queue_settings.measuring_cores()):
            pass


_listener: ContextVar[Tell | None] = ContextVar("listener", default=None)


def hear(tell: Tell) -> Token[Tell | None]:
    """Let a listener be told where the measurements of this thread stand in the line, rather than print it.

    What a thread lets others do for it is of its context, and told to the same one.
    """
    return _listener.set(tell)


def hear_while_alive(owner: T, tell: Callable[[T, Waiting], None]) -> None:
    """Let a listener be told for as long as it lives, without keeping it alive."""
    known = weakref.ref(owner)

    def heard(waiting: Waiting) -> None:
        if (listener := known()) is not None:
            tell(listener, waiting)

    hear(heard)


def announce(waiting: Waiting) -> None:
    """Tell who listens to this thread."""
    (_listener.get() or _print)(waiting)


#: So many seconds nobody is told on the screen.
_SHORT_S = 0.5
_printed = ""


def _print(waiting: Waiting) -> None:
    """Write it over the last line: in a notebook among the results of the cell, elsewhere beside them."""
    global _printed
    if waiting.ahead and waiting.waited_s < _SHORT_S:
        return
    notebook = type(sys.stdout).__module__.startswith("ipykernel")
    text = str(waiting) if waiting.ahead or (notebook and _printed) else ""
    if text or _printed:
        file = sys.stdout if notebook else sys.stderr
        print(f"\r{text.ljust(len(_printed))}", end="" if text else "\r", file=file, flush=True)
    _printed = text if waiting.ahead else ""
