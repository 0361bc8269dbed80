"""Wait for what another thread or process does: a test asserts that it happens, never how soon."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Longer than any machine needs, however busy: only what never happens takes so long.
PATIENCE_S = 100.0


def until(condition: Callable[[], object], seconds: float = PATIENCE_S, every_s: float = 0.01) -> None:
    """Wait until `condition` holds; fail when it does not."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(every_s)
