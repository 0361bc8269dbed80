"""What has to be said of a session's input when it is opened: an empty log, a foreign target, mixed conditions."""

from __future__ import annotations

from typing import Any

from workbench.codegen.backend import backend_for
from workbench.log.conditions import CACHES, mixed, unlike
from workbench.session.core.notifications import NO_PROGRAM_HINT, note
from workbench.session.state.session_state import SessionState


def first_note(state: SessionState) -> dict[str, Any] | None:
    """Return what has to be said about the subject at once."""
    if state.opened.kind == "log" and not state.infos:
        return note("info", "The log holds no trials", "log.empty", "tune first, or choose other rows of the table")
    if state.opened.kind == "log":
        return note("info", "The log does not hold the program", "log.no_program", NO_PROGRAM_HINT)
    if missing := state.target.missing_here():
        text = f"This machine cannot run code for this target: it lacks {', '.join(missing)}"
        return note("warn", text, "target.host", "schedules can be made, but not measured here")
    if problem := backend_for(state.target).run_problem(state.target):
        hint = "schedules can be made, but not measured here"
        return note("warn", problem.message, problem.code, f"{hint}; {problem.hint}" if problem.hint else hint)
    # times of the log that cannot be compared with each other, or with what is measured here
    records = state.stats.records
    told = mixed(records) or [unlike(CACHES[state.constants], records)]
    hint = "tune it again in a new log to compare them"
    return note("warn", "; ".join(told), "session.conditions", hint) if any(told) else None
