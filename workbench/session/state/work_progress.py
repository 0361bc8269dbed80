"""How far work in steps is, and what the last one has found."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Answer = TypeVar("Answer")


class Cancelled(Exception):
    """Ends work between two of its steps."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkProgress(Generic[Answer]):
    """Work that is not begun, under way or at its end.

    Attributes
    ----------
    step : str
        What it does now; "" while none runs.
    at, of : int
        Number of that step, from 1, and how many there are.
    error : dict or None
        Why the last one gave no answer, as `error_json` writes it.
    answer : object or None
        What the last one that came to its end has found.
    cancelled : Event
        Set when it is to end.
    """

    step: str = ""
    at: int = 0
    of: int = 0
    error: dict[str, Any] | None = None
    answer: Answer | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def to_json(self) -> dict[str, Any]:
        """How far it is, and why the last one failed."""
        return {"step": self.step, "at": self.at, "of": self.of, "error": self.error}
