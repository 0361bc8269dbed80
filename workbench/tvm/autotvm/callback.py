"""What a run writes and shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogFile:
    """Where trials are written."""

    name: str


@dataclass(frozen=True, slots=True)
class Bar:
    """That progress is shown."""


def log_to_file(name: str) -> LogFile:
    """Write trials to a file."""
    return LogFile(str(name))


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Bar:
    """Show the table of a run."""
    return Bar()
