"""Names of cells that belong to an exercise: ``traffic-show``, ``-predict``, ``-do`` and ``-check``."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.errors import InputError
from workbench.labs.exercise import Exercise
from workbench.labs.plan import LabPlan
from workbench.labs.sources.percent import Cell

PARTS = ("show", "predict", "do", "check")
"""What a cell of an exercise is for; ``show`` and ``check`` are there for each exercise."""


def cell_name(exercise: Exercise, part: str) -> str:
    """Return the name of an exercise's cell."""
    return f"{exercise.name.replace('_', '-')}-{part}"


def checked(plan: LabPlan, cells: Sequence[Cell]) -> dict[str, Exercise]:
    """Return the exercises of a lab by the names of the cells in which they are checked.

    Raises
    ------
    InputError
        "lab.source" where an exercise is never shown or never checked.
    """
    names = {cell.name for cell in cells}
    for exercise in plan.exercises:
        for part in ("show", "check"):
            if cell_name(exercise, part) not in names:
                text = f"Exercise '{exercise.name}' has no cell '{cell_name(exercise, part)}'"
                raise InputError("lab.source", text, [f"{plan.file_name}.py"], "each exercise is shown and checked")
    return {cell_name(exercise, "check"): exercise for exercise in plan.exercises}
