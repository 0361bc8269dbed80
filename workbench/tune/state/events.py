"""What a tuning session tells while it runs: events as they happen, and snapshots of where it stands."""

from __future__ import annotations

import queue
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from workbench.log import Command, Comparison, NetworkTime, Record, Round
from workbench.tune.state.run_end import End

State = Literal["idle", "running", "paused", "stopping", "done", "cancelled", "failed"]
FINAL: tuple[State, ...] = ("done", "cancelled", "failed")
"""States that a session does not leave any more."""

EventKind = Literal["state", "round", "trial", "compare", "best", "command", "network", "seed", "warning"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes
    ----------
    kind : str
        ``state`` (the session's state changed, see `message`), ``round`` (a batch for `task` ended), ``trial``
        (`record` is in the log), ``compare`` (`line` is a comparison: see `message` for who won), ``best`` (`record` is
        the best of its task so far), ``command`` (`line` says what became of it), ``seed`` (`message` says what the
        search of `task` starts from), ``network`` (the whole network was measured), ``warning``.
    line : Comparison, Round, Command or None
        The line of the log that the event is about, where it is no trial.
    elapsed_s : float
        Tuning time of the log, in seconds.
    """

    kind: EventKind
    elapsed_s: float
    message: str = ""
    task: str | None = None
    record: Record | None = None
    line: Comparison | Round | Command | None = None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One line of the task table.

    Attributes
    ----------
    state : str
        waiting, tuning, measured, resting, no result, exhausted, given up (see `reason`) or skipped.
    reason : str
        Why the task would get the next trials, or why not.
    spread, confidence : float or None
        Relative spread of the best trial's repeats, and how sure its last comparison was that it is the best.
    compared : int
        Comparisons that were made.
    trial, origin : int or None, str
        Number of the best trial, and who proposed it.
    rounds : int
        Rounds that the task had: in each, a batch of candidates is proposed and measured.
    quality : float or None
        Rank correlation of the model's predictions with the measurements that came after them.
    """

    id: int
    key: str
    name: str
    weight: int
    latency_ms: float | None
    gflops: float | None
    trials: int
    failed: int
    untuned_ms: float | None
    state: str
    reason: str = ""
    spread: float | None = None
    confidence: float | None = None
    compared: int = 0
    quality: float | None = None
    trial: int | None = None
    origin: str = ""
    rounds: int = 0
    sure: str = ""
    corrected: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a session has come.

    Attributes
    ----------
    trials, total : int, int or None
        Trials in the log and the budget in trials (None when only time limits the session).
    elapsed_s, eta_s : float, float or None
        Tuning time of the log, and the expected rest of it.
    fraction : float
        Share of the budget that is used, 0 to 1.
    rate : float
        Trials a second in this run.
    """

    trials: int
    total: int | None
    elapsed_s: float
    eta_s: float | None
    fraction: float
    rate: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where a session stands: everything that the terminal table and the widgets show.

    Attributes
    ----------
    end : str
        Why the run ended, see `workbench.tune.state.run_end`; "" while it has not.
    waiting : int
        Candidates that somebody has added and that were not measured so far.
    network : NetworkTime or None
        The whole network, as it was measured last.
    untimed : str
        Why it cannot be measured; "" where it can, or is none.
    """

    state: State
    rows: tuple[TaskRow, ...]
    progress: Progress
    total_ms: float | None
    untuned_ms: float | None
    next_id: int | None
    end: End = ""
    waiting: int = 0
    network: NetworkTime | None = None
    untimed: str = ""


class Subscription:
    """A bounded queue of events; iterate it until the session has ended."""

    def __init__(self, size: int = 10_000) -> None:
        self._queue: queue.Queue[Event | None] = queue.Queue(size)

    def put(self, event: Event | None) -> None:
        """Add an event; when nobody reads, the oldest one gives way."""
        while True:
            try:
                self._queue.put_nowait(event)
                return
            except queue.Full:
                try:
                    self._queue.get_nowait()
                except queue.Empty:
                    continue

    def __iter__(self) -> Iterator[Event]:
        while (event := self._queue.get()) is not None:
            yield event


class EventBus:
    """Fans events out to callbacks and iterators.

    Callbacks run in the tuning thread, so they should only take note and return. One that raises is dropped with a
    warning; it never harms the session.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[Event], object]] = []
        self._queues: weakref.WeakSet[Subscription] = weakref.WeakSet()  # who stops iterating lets go of the events
        self._closed = False

    def subscribe(self, callback: Callable[[Event], object]) -> Callable[[], None]:
        """Call `callback` with every event from now on; returns the function that ends this."""
        with self._lock:
            self._callbacks.append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return unsubscribe

    def __iter__(self) -> Iterator[Event]:
        subscription = Subscription()
        with self._lock:
            if self._closed:
                subscription.put(None)
            else:
                self._queues.add(subscription)
        return iter(subscription)

    def publish(self, event: Event) -> None:
        """Hand an event to everybody."""
        with self._lock:
            callbacks, queues = tuple(self._callbacks), tuple(self._queues)
        for subscription in queues:
            subscription.put(event)
        for callback in callbacks:
            try:
                callback(event)
            except (Exception, SystemExit) as error:  # `sys.exit` in a callback would end the thread that measures
                self._drop(callback, event, error)

    def _drop(self, callback: Callable[[Event], object], event: Event, error: BaseException) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
        message = f"an event callback raised {type(error).__name__}: {error}; it is not called again"
        try:
            warnings.warn(message, RuntimeWarning, stacklevel=4)
        except RuntimeWarning:  # warnings are errors here: the others hear of it, and the run goes on
            self.publish(Event("warning", event.elapsed_s, message))

    def close(self) -> None:
        """End every iterator."""
        with self._lock:
            self._closed = True
            queues = tuple(self._queues)
        for subscription in queues:
            subscription.put(None)
