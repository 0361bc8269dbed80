"""Points that are not taken from anybody's word: of a lab that is open, and of a notebook that was just run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.arguments import is_a
from workbench.errors import InputError, UsageError, did_you_mean
from workbench.labs.exercise import Function
from workbench.labs.lab import Lab
from workbench.labs.plan import LabPlan
from workbench.labs.progress.journal import unsealed
from workbench.labs.progress.verification import Grade, verify


def judged(lab: Lab, exercise: str) -> float:
    """Return the points of an exercise, judged anew from all that was done; for cells of other graders.

    Parameters
    ----------
    lab : Lab
    exercise : str
        Its name.

    Raises
    ------
    UsageError
        "lab.exercise" for one that the lab does not have.
    InputError
        "lab.progress" where the progress beside the notebook was edited.
    """
    names = [e.name for e in is_a("lab", lab, Lab).plan.exercises]
    if exercise not in names:
        text = f"Lab '{lab.plan.name}' has no exercise {exercise!r}"
        raise UsageError("lab.exercise", text, (), did_you_mean(exercise, names, "exercises"))
    if lab.journal.path is None:  # nothing was taken over from a file
        return next(attempt.points for attempt in lab if attempt.exercise.name == exercise)
    grade, lines = verify(lab.journal.path, executed=True), lab.journal.lines
    if grade.faults:
        text, place = f"The progress of this lab was edited: {grade.faults[0]}", [lab.journal.path.name]
        raise InputError("lab.progress", text, place, "hand in again without that file")
    opened = max((k for k, line in enumerate(lines) if line and line.get("kind") == "open"), default=0)
    return next(e.points for e in of_this_run(lab.plan, grade, lines[opened:]).exercises if e.name == exercise)


def of_this_run(plan: LabPlan, grade: Grade, lines: Sequence[dict[str, Any] | None]) -> Grade:
    """Count points for functions in Python only as far as these events give them: earlier ones are on trust."""
    functions = {e.name for e in plan.exercises if isinstance(e.work, Function)}
    best: dict[str, float] = dict.fromkeys(functions, 0.0)
    events, _ = unsealed("", "", lines)  # seals are what `verify` has looked at
    for event in events:
        if event.kind == "check" and event.exercise in best:
            best[event.exercise] = max(best[event.exercise], event.data["points"])
    exercises = tuple(replace(e, points=min(e.points, best.get(e.name, e.points))) for e in grade.exercises)
    return replace(grade, exercises=exercises, points=sum(e.points for e in exercises))
