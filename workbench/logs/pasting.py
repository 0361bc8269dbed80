"""`parse`: logs that were pasted as text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.arguments import is_a
from workbench.logs.opening import open_sources
from workbench.logs.source import GivenBytes
from workbench.logs.tuning_log import TuningLog


class PastedText(GivenBytes):
    """A text as what an importer reads from.

    Parameters
    ----------
    text : str
        The text; an indent that all lines have is left out.
    hints : mapping
        As for `LogSource`.
    """

    def __init__(self, text: str, hints: Mapping[str, Any] | None = None) -> None:
        lines = textwrap.dedent("\n".join(text.splitlines())).strip("\n")
        super().__init__(f"{lines}\n".encode(errors="backslashreplace"), Path("pasted text"), hints)


def parse(text: str, format: str | None = None, **hints: Any) -> TuningLog:
    """Return the log that a pasted text is: a printed table, JSON lines, a table with commas.

    Parameters
    ----------
    text : str
        The text, with whatever stands around it: prompts, progress bars, other lines of the program.
    format : str, optional
        Name of a format (`workbench.logs.IMPORTERS`); without it, the contents tell.
    **hints
        As for `open`.

    Raises
    ------
    LogError
        ``log.unknown_format`` where it is no log that is known here; ``log.columns`` for a table of one's own whose
        columns nobody has named yet.
    UsageError
        ``usage.log_format`` for a format that is not known.
    """
    return open_sources([PastedText(is_a("text", text, str), hints)], format)
