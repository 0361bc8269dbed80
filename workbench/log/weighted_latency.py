"""Times of tasks put together: a task counts as often as the model calls it."""

from __future__ import annotations

from collections.abc import Sequence

Calls = Sequence[tuple[int, float | None]]
"""Weight and latency of each task; None where it is not known."""


def total(calls: Calls) -> float | None:
    """Return the time of all tasks together; None when there is none, or one without a latency."""
    parts = [None if latency is None else weight * latency for weight, latency in calls]
    known = [p for p in parts if p is not None]
    return sum(known) if parts and len(known) == len(parts) else None


def shares(calls: Calls) -> list[float | None]:
    """Return what each task takes of the time of all, 0 to 1; while that is not known, None: no guess."""
    whole = total(calls)
    return [None if latency is None or not whole else weight * latency / whole for weight, latency in calls]
