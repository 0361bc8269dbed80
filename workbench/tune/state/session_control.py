"""The state machine of a session: who pauses, resumes and ends it, from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workbench.tune.state.events import State
from workbench.tune.state.run_end import End


class SessionControl:
    """The session's state machine; the loop asks `proceed` between trials."""

    def __init__(self, changed: Callable[[State], None]) -> None:
        self.state: State = "idle"
        self.end: End = ""
        self._condition = threading.Condition()
        self._changed = changed
        self._paused_s = 0.0
        self._paused_at: float | None = None

    def move(self, state: State, *, only_from: tuple[State, ...], end: End = "") -> bool:
        """Change the state if it is one of `only_from`; return whether it was changed.

        Parameters
        ----------
        end : str
            Why a run is done that nobody has stopped.
        """
        with self._condition:
            if self.state not in only_from:
                return False
            if self._paused_at is not None:
                self._paused_s += time.monotonic() - self._paused_at
                self._paused_at = None
            if state == "paused":
                self._paused_at = time.monotonic()
            if state == "done":
                self.end = "stopped" if self.state in ("idle", "stopping") else end
            elif state in ("cancelled", "failed"):
                self.end = state
            self.state = state
            self._condition.notify_all()
        self._changed(state)
        return True

    @property
    def running(self) -> bool:
        """Whether work goes on now: nobody has paused or ended it."""
        return self.state == "running"

    @property
    def state_and_end(self) -> tuple[State, End]:
        """State and end as of one moment."""
        with self._condition:
            return self.state, self.end

    def proceed(self) -> bool:
        """Wait while paused; False once the session is to end."""
        with self._condition:
            while self.state == "paused":
                self._condition.wait()
            return self.state == "running"

    @property
    def cancelled(self) -> bool:
        """Whether the trial in flight is to be thrown away."""
        return self.state == "cancelled"

    @property
    def paused_s(self) -> float:
        """Seconds spent paused so far."""
        with self._condition:
            now = time.monotonic() - self._paused_at if self._paused_at is not None else 0.0
            return self._paused_s + now
