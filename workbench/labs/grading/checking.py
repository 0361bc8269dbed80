"""Grades a notebook: it runs in a fresh kernel; what the run and the student's own progress say is judged anew."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.arguments import path as as_path
from workbench.errors import InputError
from workbench.labs.exercise import Function
from workbench.labs.grading.judging_anew import of_this_run
from workbench.labs.grading.running import Fault, executed, read_notebook
from workbench.labs.plan import LabPlan, plans
from workbench.labs.progress.hand_in import read_hand_in
from workbench.labs.progress.journal import read_lines
from workbench.labs.progress.lab_file import LONGEST, LabFile, read_lab_file
from workbench.labs.progress.verification import ExerciseGrade, Grade, verify

SECONDS = 300.0
"""Time for a notebook where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a notebook is worth.

    Attributes
    ----------
    file : str
    grade : Grade
        Judged anew; its faults speak against the student's progress or settings.
    faults : tuple of Fault
        Cells that failed.
    seconds : float
        How long the run took.
    """

    file: str
    grade: Grade
    faults: tuple[Fault, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return plain data: that of the grade, ``file``, ``faults`` of cells, ``doubts`` about the progress.

        ``own_word`` names exercises with points for functions, which the notebook's kernel has judged: it runs what the
        student wrote, also where that changes the package.
        """
        work = {e.name: e.work for e in plans().find(self.grade.lab).exercises}
        own_word = [e.name for e in self.grade.exercises if e.points and isinstance(work[e.name], Function)]
        told = self.grade.to_json()
        doubts = told.pop("faults")
        took = round(self.seconds, 1)
        faults = [{"cell": fault.cell, "text": fault.text} for fault in self.faults]
        return {"file": self.file, **told, "doubts": doubts, "faults": faults, "own_word": own_word, "seconds": took}


def check_notebook(path: str | os.PathLike[str], seconds: float = SECONDS, course: LabFile | None = None) -> Checked:
    """Run a notebook of a lab and grade it.

    It runs in a copy, with ``lab.json`` and the lab's progress from beside it; neither changes.

    Parameters
    ----------
    path : path
    seconds : float
        Time for the run.
    course : LabFile, optional
        The lecturer's: key and settings are taken from it, the student from the file beside the notebook, or from
        the hand-in there.

    Raises
    ------
    InputError
        "lab.notebook" where there is no notebook, or one of no lab; "lab.file", "lab.progress" for a file beside it
        that cannot be read.
    """
    file = Path(as_path("path", path))
    plan, own = lab_of(file), read_lab_file(file.parent) or LabFile()
    student = own.student or _handed_in_by(file.parent / f"{plan.name}.handin.json")
    used = replace(own if course is None else course, student=student)
    progress = f"{plan.name}.progress.jsonl"
    before, began = len(read_lines(file.parent / progress)), time.monotonic()
    with executed(file, (progress,), seconds, prepare=used.write) as (folder, faults):
        took = time.monotonic() - began
        if not (folder / progress).exists():
            faults.append(Fault("", f"Nothing opened the lab: labs.open({plan.name!r}) did not run"))
            return Checked(str(file), _nothing(plan, used), tuple(faults), took)
        grade = verify(folder / progress, executed=True)
        grade = of_this_run(plan, grade, read_lines(folder / progress)[before:])
    return Checked(str(file), grade, tuple(faults), took)


def lab_of(path: Path) -> LabPlan:
    """Return the lab of a notebook, by what its metadata say, or by its name.

    Raises
    ------
    InputError
        "lab.notebook" for one of no lab.
    """
    about = read_notebook(path).metadata.get("workbench")
    said = about.get("lab") if isinstance(about, dict) else None
    for plan in plans().values():
        if said == plan.name or (said is None and path.stem == plan.file_name):
            return plan
    hint = "'workbench labs new' writes notebooks of labs"
    raise InputError("lab.notebook", f"'{path}' is a notebook of no lab", [str(path)], hint)


def _handed_in_by(path: Path) -> str:
    """Who a hand-in says it is of; nobody where there is none."""
    return read_hand_in(path).student[:LONGEST] if path.exists() else ""


def settled(grade: Grade, ran: Grade) -> Grade:
    """Return the grade of a hand-in with points for functions as a run of its notebook shows them."""
    seen = {e.name: e.points for e in ran.exercises}
    exercises = tuple(
        replace(e, points=min(e.points, seen[e.name]), on_trust=0) if e.on_trust else e for e in grade.exercises
    )
    return replace(grade, exercises=exercises, points=sum(e.points for e in exercises))


def _nothing(plan: LabPlan, used: LabFile) -> Grade:
    exercises = tuple(
        ExerciseGrade(e.name, e.title, "not attempted", 0.0, e.points, 0, 0, False, (), 0.0, 0) for e in plan.exercises
    )
    return Grade(plan.name, used.student, used.course, "", 0.0, plan.points, exercises, ())
