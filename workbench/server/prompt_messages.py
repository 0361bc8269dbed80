"""Messages between a page and its kernel leave at once.

The server writes several small messages for each that a kernel sends. As long as the system waits whether more comes
before it sends a small one, and the browser's system waits with its answer, each message of a kernel takes 40 ms more.
"""

from __future__ import annotations

import contextlib
from typing import Any


def prompt(connection: type[Any]) -> type[Any]:
    """Return a kernel's connection that does not wait."""

    class Prompt(connection):  # type: ignore[misc]
        def connect(self) -> Any:
            # A page that has gone, or a server of another kind, has no such socket; a kernel works without it.
            with contextlib.suppress(AttributeError, AssertionError):
                self.websocket_handler.set_nodelay(True)
            return super().connect()

    return Prompt
