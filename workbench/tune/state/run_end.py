"""Why a tuning run ended, and the words for it: one declaration for the loop, the terminal and every panel."""

from __future__ import annotations

from typing import Literal

End = Literal["", "budget", "resting", "exhausted", "stopped", "cancelled", "failed"]
"""Why a run ended; "" while it has not.

``budget``: trials or time are used up; ``resting``: no task gains any more (``early_end``); ``exhausted``: there is
nothing left to measure; ``stopped`` and ``cancelled``: somebody asked for it; ``failed``: an error.
"""

RAN_THROUGH: tuple[End, ...] = ("budget", "resting", "exhausted")
"""Ends that a run comes to by itself: nothing of it is left."""


def end_word(state: str, end: End) -> str:
    """Return the state of a run as one word, which tells whether it ran through or was stopped."""
    return "stopped" if end == "stopped" else state


def end_text(end: End, of: str = "every task", given_up: bool = False) -> str:
    """Say why a run ended before its budget was used; "" where there is nothing to explain.

    Parameters
    ----------
    of : str
        What was tuned.
    given_up : bool
        Whether tasks were given up.
    """
    if end == "exhausted":
        return f"every candidate of {of}{' that was not given up' if given_up else ''} has been measured"
    return "no task has gained anything in its last rounds, so all of them rest" if end == "resting" else ""


def waiting_text(count: int, log: str | None) -> str:
    """Say that candidates which somebody has added were not measured before the end; "" for none."""
    if not count:
        return ""
    told = f"{_added(count)} {'was' if count == 1 else 'were'} not measured"
    return (
        told
        if log is None
        else f"{told}; a run that goes on with {log} measures {'it' if count == 1 else 'them'} first"
    )


def goes_first(count: int) -> str:
    """Say what a run that goes on with a log measures first; "" where nothing waits."""
    return f"{_added(count)} {'is' if count == 1 else 'are'} measured first" if count else ""


def _added(count: int) -> str:
    return f"{count} candidate{'' if count == 1 else 's'} added by hand"
