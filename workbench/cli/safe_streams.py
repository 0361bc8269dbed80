"""Standard streams that no command has to worry about: closed ones, full ones, and ones that know only ASCII."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

#: What takes the place of a character that the stream's encoding lacks; one for one, so that tables stay aligned.
_PLAIN = {"·": "*", "×": "x", "…": "~", "–": "-", "—": "-", "’": "'", "“": '"', "”": '"', "─": "-", "→": ">", "│": "|"}


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(c, "?") for c in error.object[error.start : error.end]), error.end


codecs.register_error("workbench.plain", _plain)


class Quiet:
    """A stream for progress and messages: when its reader has gone or its disk is full, the work goes on without it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        with contextlib.suppress(OSError, ValueError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def safe_streams() -> Iterator[None]:
    """Give the process three open streams that can write every character, until the block has ended."""
    _open_missing()
    before = sys.stderr
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="workbench.plain")
    quiet: Any = Quiet(sys.stderr)
    sys.stderr = quiet
    try:
        yield
    finally:
        if sys.stderr is quiet:
            sys.stderr = before


def _open_missing() -> None:
    """Open what the parent has closed, so that no file of ours gets the number of a standard stream."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    if sys.stdout is None:
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
