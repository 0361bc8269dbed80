"""What counters of the processor have counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted in each call, by the event's name, and why the other events were not.

    Attributes
    ----------
    values : tuple of (str, float)
        Events in one call, of all threads.
    why_not : tuple of (str, str)
        Events that could not be counted, and the reason.
    """

    values: tuple[tuple[str, float], ...] = ()
    why_not: tuple[tuple[str, str], ...] = ()
