"""What waits to be used again: memory of runs and of their outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")

#: So many takes between two looks at how much nobody needed.
#: Chosen, not measured.
SEASON = 64


class FreeList(Generic[T]):
    """Things that wait to be used again; what nobody took in a season is dropped.

    There is no lock: lists add and remove elements in one step, and a count that two threads change at once only moves
    the end of a season.

    Parameters
    ----------
    waiting : iterable
        What is there at first.
    most : float
        So many wait at most; others are dropped at once.
    """

    def __init__(self, waiting: Iterable[T] = (), most: float = math.inf) -> None:
        self.waiting = list(waiting)
        self.most = most
        self._takes = self._unused = 0

    def take(self) -> T | None:
        """Return what was given last; None where nothing waits."""
        try:
            taken = self.waiting.pop()
        except IndexError:
            taken = None
        if (left := len(self.waiting)) < self._unused:
            self._unused = left
        self._takes += 1
        if self._takes >= SEASON:
            del self.waiting[: self._unused]
            self._takes, self._unused = 0, len(self.waiting)
        return taken

    def give(self, thing: T) -> None:
        """Let a thing wait."""
        if len(self.waiting) < self.most:
            self.waiting.append(thing)
