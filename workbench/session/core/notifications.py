"""Notes of the status line: what has to be said beside the content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.session.core.protocol import error_json

NO_PROGRAM_HINT = "pass the model and the log together: Workbench(model, log=path)"


def note(level: str, text: str, code: str, hint: str = "", where: Sequence[str] = ()) -> dict[str, Any]:
    """Return a note of the status line."""
    return {"level": level, "text": text, "code": code, "hint": hint, "where": list(where)}


def error_note(error: BaseException) -> dict[str, Any]:
    """Return the note that says what went wrong."""
    data = error_json(error)
    return note("error", data["message"], data["code"], data["hint"], data["where"])
