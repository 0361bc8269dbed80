"""Follows the files of a log while they grow and somebody looks."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.logs.explorer.subject import Subject

if TYPE_CHECKING:
    from workbench.logs.explorer.explorer import Explorer

EVERY_S = 1.0
"""Seconds between two looks at the files. Chosen: a tuner measures a few configurations in that time."""

PATIENCE_S = 30.0
"""Seconds after which a page that has not said that it is looked at is not: it says so every ten seconds."""

SHARE = 0.2
"""Share of the time that may go into following: a large log takes longer to show again, so that is done less often."""

Stamp = tuple[tuple[int, int], ...]


class Follower:
    """Looks whether the files of a log have changed, and renews the explorer. Use it from the explorer's thread."""

    def __init__(self, subject: Subject, explorer: Explorer) -> None:
        self._subject, self._explorer = subject, explorer
        self._stamp = self._files()
        self._seen = 0.0
        self._next = 0.0
        explorer.live = self._words()

    def seen(self) -> None:
        """Take note that somebody looks."""
        self._seen = time.monotonic()

    def close(self) -> None:
        """Follow no more."""
        self._seen = float("-inf")
        self._subject.close()

    def look(self) -> float | None:
        """Take up what is new; returns the seconds after which to look again, None where nobody looks."""
        now = time.monotonic()
        if now - self._seen > PATIENCE_S:
            return None
        if now < self._next:
            return self._next - now
        stamp = self._files()
        words = self._words()
        if stamp != self._stamp:
            self._stamp = stamp
            self._renew()
        self._explorer.live = words
        spent = time.monotonic() - now
        self._next = now + max(EVERY_S, spent / SHARE)
        return self._next - time.monotonic() if self._next > time.monotonic() else 0.0

    def _renew(self) -> None:
        try:
            fresh = self._explorer.log.refresh()
        except WorkbenchError:
            return  # the file is gone or being replaced; what was read of it stays on show
        if fresh:
            self._explorer.renew(self._explorer.log)

    def _words(self) -> str:
        session = self._subject.session
        return "" if session is None else f"the run is {session.state}"

    def _files(self) -> Stamp:
        found = []
        for path in self._subject.log.paths:
            try:
                told = os.stat(path)
            except OSError:
                found.append((-1, -1))
            else:
                found.append((told.st_size, told.st_mtime_ns))
        return tuple(found)
