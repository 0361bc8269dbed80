"""The current snapshot, the last one that was sent, the patch between them, and how often patches go out."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from workbench.session.core.protocol import Snapshot, delta, error_json

Message = dict[str, Any]
Deliver = Callable[[Message], object]

_log = logging.getLogger(__name__)


class Publisher:
    """Used in the session's thread, but for `snapshot` and `subscribe`, which may be used in any.

    Parameters
    ----------
    first : dict
        The slices of the first snapshot.
    compute : callable
        Returns the slices as they are now; what did not change is the same object as in those that it is given.

    Attributes
    ----------
    snapshot : Snapshot
        Replaced as a whole by `renew`.
    computed_at : float
        When the slices were last computed.
    urgent : bool
        Whether somebody waits for the next patch.
    """

    def __init__(self, first: dict[str, Any], compute: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        self._compute = compute
        self._lock = threading.Lock()
        self._subscribers: tuple[Deliver, ...] = ()
        self._rate = RateLimit()
        self._settled: list[tuple[str, BaseException | None]] = []
        self._stale = False
        self.urgent = False
        self.computed_at = 0.0
        self.snapshot = self._sent = Snapshot(1, first)

    def subscribe(self, callback: Deliver) -> Callable[[], None]:
        """Call `callback` with every patch; returns the function that ends this."""
        with self._lock:
            self._subscribers = (*self._subscribers, callback)

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers = tuple(s for s in self._subscribers if s is not callback)

        return unsubscribe

    def forget(self) -> None:
        """Tell nobody anything more."""
        with self._lock:
            self._subscribers = ()

    @property
    def watched(self) -> bool:
        """Whether anybody has subscribed."""
        return bool(self._subscribers)

    def changed(self, urgent: bool = True) -> None:
        """Take note that the slices have to be computed again, and whether somebody waits for them."""
        self._stale = True
        self.urgent = self.urgent or urgent

    def settle(self, id: str, error: BaseException | None) -> None:
        """Tell with the next patch how a command ended."""
        self._settled.append((id, error))

    def renew(self) -> None:
        """Replace the snapshot when something has changed."""
        if not self._stale:
            return
        self._stale = False
        self.computed_at = time.monotonic()
        old = self.snapshot
        slices = self._compute(old.slices)
        if any(slices[name] is not old.slices[name] and slices[name] != old.slices[name] for name in slices):
            self.snapshot = Snapshot(old.rev + 1, slices)

    @property
    def pending(self) -> bool:
        """Whether there is something to send."""
        return bool(self._settled) or self.snapshot is not self._sent

    def post(self, now: float) -> float | None:
        """Send a patch when it is time; returns how long one has to wait, None when there is none."""
        if not self.pending:
            self.urgent = False
            return None
        if (rest := self._rate.wait(now, self.urgent)) > 0.0:
            return rest
        self.send()
        return None

    def send(self) -> None:
        """Send what has changed since the last patch, if anything has."""
        if not self.pending:
            return
        settled, self._settled = self._settled, []
        old, new = self._sent, self.snapshot
        self._sent, self.urgent = new, False
        with self._lock:
            subscribers = self._subscribers
        if not subscribers:
            return
        message = {
            "t": "patch", "rev": new.rev, "base": old.rev, "ops": delta(old.slices, new.slices),
            "done": [id for id, error in settled if error is None],
            "failed": [{"id": id, "error": error_json(error)} for id, error in settled if error is not None],
        }  # fmt: skip
        self._rate.sent(time.monotonic())
        for callback in subscribers:
            hand_over(callback, message)


def hand_over(deliver: Deliver, message: Message) -> None:
    """Deliver a message; whoever cannot take it does no harm."""
    try:
        deliver(message)
    except Exception:
        _log.exception("a message of a session could not be delivered")


BURST = 3
"""Patches that may go out at once, before `PER_SECOND` holds them back."""

PER_SECOND = 5.0
"""Patches a second after a burst: never more than eight in any second, which a browser draws without falling behind."""

TUNING_GAP_S = 0.25
"""Least time between a patch and one that only tuning asks for."""


class RateLimit:
    """A bucket of tokens; `now` is always a time in seconds of a steady clock."""

    def __init__(self) -> None:
        self._tokens, self._at, self._sent = float(BURST), 0.0, float("-inf")

    def wait(self, now: float, urgent: bool) -> float:
        """Return how long a patch has to wait, in seconds; 0 when it may go."""
        tokens = min(float(BURST), self._tokens + (now - self._at) * PER_SECOND)
        rest = 0.0 if tokens >= 1.0 else (1.0 - tokens) / PER_SECOND
        return rest if urgent else max(rest, self._sent + TUNING_GAP_S - now)

    def sent(self, now: float) -> None:
        """Take note of a patch."""
        self._tokens = max(0.0, min(float(BURST), self._tokens + (now - self._at) * PER_SECOND) - 1.0)
        self._at = self._sent = now
