"""A lab as an assignment of Otter-Grader: the master notebook from which ``otter assign`` makes both of its folders.

Each exercise is a question with one test for each point, so that part of the points can be given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from workbench.labs.exercise import Exercise
from workbench.labs.plan import LabPlan
from workbench.labs.sources.editions import as_text, notebook, notebook_cell, with_marked_solutions
from workbench.labs.sources.names import checked
from workbench.labs.sources.percent import Cell


def assignment(plan: LabPlan, cells: Sequence[Cell]) -> dict[str, str]:
    """Return the files of an assignment: the master notebook by its path.

    Parameters
    ----------
    plan : LabPlan
    cells : sequence of Cell
        The lab's source.
    """
    exercises = checked(plan, cells)
    made = [_raw("assignment-config", _config(plan))]
    for cell in with_marked_solutions(cells, "# BEGIN SOLUTION NO PROMPT", "# END SOLUTION"):
        exercise = exercises.get(cell.name)
        made += [notebook_cell(cell)] if exercise is None else _question(exercise, cell)
    text = as_text(notebook(made, lab=plan.name, edition="otter"))
    return {f"{plan.file_name}/{plan.file_name}.ipynb": text}


def _config(plan: LabPlan) -> str:
    # JSON is YAML, and quotes whatever has to be quoted.
    options = {
        "name": plan.file_name, "strip_solutions_from_all_cells": True, "files": ["lab.json"], "export_cell": False,
        "requirements": ["schedule-workbench"],
    }  # fmt: skip
    return "# ASSIGNMENT CONFIG\n" + "\n".join(f"{key}: {json.dumps(value)}" for key, value in options.items())


def _question(exercise: Exercise, check: Cell) -> list[dict[str, Any]]:
    name = check.name.removesuffix("-check")
    begin = f"# BEGIN QUESTION\nname: {json.dumps(exercise.name)}\npoints: {exercise.points}"
    cells = [_raw(f"{name}-begin", begin), notebook_cell(check), _raw(f"{name}-tests", "# BEGIN TESTS")]
    for point in range(1, exercise.points + 1):
        test = notebook_cell(
            Cell(f"{name}-point-{point}", True, f"labs.judged(lab, {exercise.name!r}) >= {point}", frozenset(), 1)
        )
        value = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "True"}}
        cells.append({**test, "outputs": [value]})
    return [*cells, _raw(f"{name}-end-tests", "# END TESTS"), _raw(f"{name}-end", "# END QUESTION")]


def _raw(name: str, text: str) -> dict[str, Any]:
    return {"cell_type": "raw", "id": name, "metadata": {}, "source": text.splitlines(keepends=True)}
