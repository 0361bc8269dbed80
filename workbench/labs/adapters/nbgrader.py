"""A lab as an assignment of nbgrader: a source notebook with cells to fill in, cells that give points, and the course.

nbgrader takes the solutions away (``nbgrader generate_assignment``), runs what students hand in and reads the points
from the value of the last line of each cell that gives points (``nbgrader autograde``). Everything that is not to be
filled in is locked: nbgrader puts the released text back before it runs a submission.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.labs.plan import LabPlan
from workbench.labs.sources.editions import as_text, notebook, notebook_cell, with_marked_solutions
from workbench.labs.sources.names import checked
from workbench.labs.sources.percent import Cell

CONFIG = "nbgrader_config.py"

_COURSE = """\
# Course of nbgrader, made by 'workbench labs new DIR --nbgrader'. Run nbgrader in this folder:
#   nbgrader generate_assignment 02_tiling      makes release/02_tiling from source/02_tiling
#   nbgrader autograde 02_tiling                grades what lies in submitted/STUDENT/02_tiling
#   nbgrader export                             writes grades.csv
c = get_config()
c.CourseDirectory.course_id = "schedules"
# What a student starts from stands above each solution, so nothing takes the solution's place.
c.ClearSolutions.code_stub = {"python": ""}
c.ExecutePreprocessor.timeout = 300
"""


def assignment(plan: LabPlan, cells: Sequence[Cell]) -> dict[str, str]:
    """Return the files of an assignment by their path in the course.

    Parameters
    ----------
    plan : LabPlan
    cells : sequence of Cell
        The lab's source.
    """
    exercises, made = checked(plan, cells), []
    for cell in with_marked_solutions(cells, "### BEGIN SOLUTION", "### END SOLUTION"):
        fill_in = "stub" in cell.tags
        about: dict[str, Any] = {"nbgrader": _metadata(cell.name, solution=fill_in)} if cell.code else {}
        made.append(notebook_cell(cell, **about))
        if exercise := exercises.get(cell.name):
            made.append(_points_cell(exercise.name, exercise.points, cell))
    text = as_text(notebook(made, lab=plan.name, edition="nbgrader"))
    return {CONFIG: _COURSE, f"source/{plan.file_name}/{plan.file_name}.ipynb": text}


def _points_cell(exercise: str, points: int, after: Cell) -> dict[str, Any]:
    text = f"# Points for this exercise, of {points}; the cell is locked.\nlabs.judged(lab, {exercise!r})"
    name = after.name.removesuffix("-check") + "-points"
    cell = Cell(name, True, text, frozenset(), after.line)
    return notebook_cell(cell, nbgrader=_metadata(name, solution=False, points=points))


def _metadata(name: str, solution: bool, points: int | None = None) -> dict[str, Any]:
    grade = {} if points is None else {"points": points}
    return {
        "grade": points is not None, "grade_id": name, "locked": not solution, "schema_version": 3,
        "solution": solution, "task": False, **grade,
    }  # fmt: skip
