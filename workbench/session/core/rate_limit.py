"""How often patches go out."""

from __future__ import annotations

BURST = 3
PER_SECOND = 5.0
"""Three at once, then five a second: never more than eight in any second."""

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
