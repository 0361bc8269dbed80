"""Whether steps are legal, tried on a copy of the schedule; the answer as a form reads it."""

from __future__ import annotations

from workbench.errors import WorkbenchError
from workbench.forms import Json
from workbench.schedule import Schedule
from workbench.schedule.legal_moves import Move, refused
from workbench.schedule.primitive import Primitive, from_json

AT_HAND = (".reduction", ".conflict")
"""Codes whose witness is sent along; of others it is searched for when somebody asks (question "witness")."""


def attempt(view: Schedule, *steps: Primitive) -> tuple[Move, Schedule | None, tuple[str, ...]]:
    """Take steps on a copy: the last of them, or the first that is not legal; the schedule after all of them if they
    are legal, and the names that they make.
    """
    after = view.copy()
    names: tuple[str, ...] = ()
    for step in steps:
        try:
            names += after.apply(step)
        except WorkbenchError as error:
            return refused(step, error), None, ()
    return Move(step.name, step.to_json()["args"], True, step), after, names


def verdict(view: Schedule, step: object) -> dict[str, Json]:
    """Answer the question "judge": whether a step is legal, why not, and which names it would make."""
    try:
        move, _, names = attempt(view, from_json(step))
    except WorkbenchError as error:  # not even a step
        return unfit(error)
    return {**verdict_json(move), "makes": list(names)}


def verdict_json(move: Move) -> dict[str, Json]:
    """Return what a form says about a step: whether it is legal, else why not."""
    said = move.to_json()
    return {name: said[name] for name in ("legal", "code", "reason", "hint", "where", "witness")}


def unfit(error: WorkbenchError) -> dict[str, Json]:
    """Say of something that is no step why it is none, in the form of a verdict."""
    return {
        "legal": False, "code": error.code, "reason": error.message, "hint": error.hint, "where": list(error.where),
        "witness": None, "makes": [],
    }  # fmt: skip


def at_hand(move: Move) -> dict[str, Json] | None:
    """Return the witness of a refused move where it takes no long search."""
    found = move.witness if move.code.endswith(AT_HAND) else None
    return None if found is None else found.to_json()
