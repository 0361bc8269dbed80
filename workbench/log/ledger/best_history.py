"""How it came about who is the best of a task."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Why: TypeAlias = Literal["", "lucky", "once", "conditions", "disturbed", "inside", "newer"]
"""Why the best became slower; see `Step.reason`."""


@dataclass(frozen=True, slots=True)
class Step:
    """From here on a task's best was another one, or another number was told of it.

    Attributes
    ----------
    nth, at : int
        How many trials the task, and the log, had had by then.
    elapsed_s : float
        Tuning time of the log.
    trial : int
        The best trial's number.
    ms : float
        What is told of it.
    why : str
        Why this is more than before; empty where it is not.
    of : int
        The trial that it was about before; -1 where there was none.
    was : float
        What was told before; infinite where nothing was.
    """

    nth: int
    at: int
    elapsed_s: float
    trial: int
    ms: float
    why: Why = ""
    of: int = -1
    was: float = math.inf

    @property
    def reason(self) -> str:
        """Why the number became larger, in words; empty where it did not."""
        trial, before = f"trial {self.trial}", f"trial {self.of} ({self.was:.4g} ms)"
        if self.why == "lucky":
            whose = "" if self.of == self.trial else f" of trial {self.of}"
            return f"measured again: {self.ms:.4g} ms, the first number{whose} was lucky ({self.was:.4g} ms)"
        if self.why == "once":
            return f"{before} was timed only once, and single times of this task did not hold"
        if self.why == "conditions":
            return f"{before} was timed under other conditions, {trial} as it should be"
        if self.why == "disturbed":
            return f"{before} was disturbed, {trial} was not"
        if self.why == "inside":
            alone = f"though alone that one is faster ({self.was:.4g} ms)"
            return f"in the network {trial} takes less time than trial {self.of}, {alone}"
        return f"of contradicting comparisons the newest counts: {trial}, not {before}" if self.why else ""


@dataclass(frozen=True, slots=True)
class After:
    """The best after a trial of a task and the comparisons behind it, and why it is slower than before, where it is."""

    trial: int
    ms: float
    why: str = ""
