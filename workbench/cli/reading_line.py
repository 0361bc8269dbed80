"""The line of a terminal that says how far the reading of a large log is."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from workbench.safe_text import legible_line

PER_SECOND = 10.0
"""Times a second at most that the line is written anew. Chosen: it moves, and a slow terminal keeps up."""


class ReadingLine:
    """Takes what `wb.logs.open` tells its ``progress``; writes to standard error where that is a terminal.

    Parameters
    ----------
    name : str
        What is read.
    """

    def __init__(self, name: str) -> None:
        self._name = legible_line(name)
        self._live = bool(getattr(sys.stderr, "isatty", lambda: False)())
        self._last = 0.0

    def __enter__(self) -> ReadingLine:
        return self

    def __call__(self, done: int, size: int) -> None:
        """Say how many bytes of how many were read."""
        now = time.monotonic()
        if self._live and now - self._last >= 1.0 / PER_SECOND:
            self._last = now
            share = min(1.0, done / max(1, size))
            sys.stderr.write(f"\rReading {self._name}: {share:4.0%} of {size / 1e6:,.0f} MB\x1b[K")  # erases the rest
            sys.stderr.flush()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
