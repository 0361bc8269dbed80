"""Notes of the status line: what has to be said beside the content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.log.conditions import CACHES, mixed, unlike
from workbench.session.core.protocol import error_json

if TYPE_CHECKING:
    from workbench.session.state.session_state import SessionState

NO_PROGRAM_HINT = "pass the model and the log together: Workbench(model, log=path)"


def note(level: str, text: str, code: str, hint: str = "", where: Sequence[str] = ()) -> dict[str, Any]:
    """Return a note of the status line."""
    return {"level": level, "text": text, "code": code, "hint": hint, "where": list(where)}


def error_note(error: BaseException) -> dict[str, Any]:
    """Return the note that says what went wrong."""
    data = error_json(error)
    return note("error", data["message"], data["code"], data["hint"], data["where"])


def first_note(state: SessionState) -> dict[str, Any] | None:
    """Return what has to be said about the subject at once."""
    if state.opened.kind == "log" and not state.infos:
        return note("info", "The log holds no trials", "log.empty", "tune first, or choose other rows of the table")
    if state.opened.kind == "log":
        return note("info", "The log does not hold the program", "log.no_program", NO_PROGRAM_HINT)
    if missing := state.target.missing_here():
        text = f"This machine cannot run code for this target: it lacks {', '.join(missing)}"
        return note("warn", text, "target.host", "schedules can be made, but not measured here")
    return conditions_note(state)


def conditions_note(state: SessionState) -> dict[str, Any] | None:
    """Return which times of the log cannot be compared with each other or with what is measured here."""
    records = state.stats.records
    told = mixed(records) or [unlike(CACHES[state.constants], records)]
    hint = "tune it again in a new log to compare them"
    return note("warn", "; ".join(told), "session.conditions", hint) if any(told) else None
