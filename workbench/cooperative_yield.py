"""Long work in the background gives way: it calls `pause` after every small step and waits there for others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_here = threading.local()


def pause() -> None:
    """Let others go first in a thread that works under `giving_way`; do nothing in any other."""
    wait = getattr(_here, "wait", None)
    if wait is not None:
        wait()


@contextmanager
def giving_way(wait: Callable[[], object]) -> Iterator[None]:
    """Make `pause` call this in the calling thread."""
    before = getattr(_here, "wait", None)
    _here.wait = wait
    try:
        yield
    finally:
        _here.wait = before
