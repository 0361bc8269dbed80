"""What a class handed in: found in a folder, judged anew, with the first wrong answers of each student."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.errors import UsageError, WorkbenchError
from workbench.labs.exercise import Exercise
from workbench.labs.grading.checking import check_notebook, settled
from workbench.labs.judging import answer_text, judged
from workbench.labs.plan import plans
from workbench.labs.progress.hand_in import read_hand_in
from workbench.labs.progress.journal import Event, first_seal, read_lines, unsealed
from workbench.labs.progress.lab_file import LabFile, read_lab_file
from workbench.labs.progress.verification import Grade, verify
from workbench.target import Target

#: Ends of names; a browser that has a file of this name already writes " (1)" or "-1" before the last dot.
_ENDINGS = (r"\.handin.{0,8}\.json", r"\.progress.{0,8}\.jsonl", r"\.ipynb")
#: Seconds since 1970 of the year 2200; a later time is no time.
_LAST = 7.26e9


@dataclass(frozen=True, slots=True)
class Submission:
    """One student's work on one lab.

    Attributes
    ----------
    file : str
        Its path in the class's folder.
    student : str
        Who it is; the name of the folder at the top where the file does not say it.
    grade : Grade
    wrong : dict of (exercise, prediction) to (answer, slip)
        The first wrong answer to each question, and the misconception that was recognised, or "".
    made : float
        When it was handed in, by the student's clock, or the last event, in seconds since 1970; 0 for a notebook.
    due : float
        When it had to be, 0 where nothing is said.
    began : str
        The seal of the first check: two who did not copy have other ones, as times go in.
    notes : tuple of str
        What a lecturer should know, and speaks against nobody.
    """

    file: str
    student: str
    grade: Grade
    wrong: dict[tuple[str, str], tuple[str, str]]
    made: float = 0.0
    due: float = 0.0
    began: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def late(self) -> float:
        """Hours after it was due, by the student's clock; 0 for what was in time."""
        return max(0.0, self.made - self.due) / 3600 if self.due else 0.0


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that could not be judged, and why."""

    file: str
    why: str


def submissions(folder: Path, course: LabFile | None, run: bool = False) -> Iterator[Submission | Unread]:
    """Yield what is in a folder and below it, in the order of names.

    A hand-in goes before the progress file beside it, and that before the notebook.

    Parameters
    ----------
    folder : Path
    course : LabFile, optional
        The lecturer's: key and settings of all; by default those of the ``lab.json`` beside each file.
    run : bool
        Whether notebooks are run of which there is nothing else, and those beside points that are on trust.
    """
    seen: dict[tuple[Path, str], str] = {}
    notebooks = {plan.file_name: plan.name for plan in plans().values()}
    for ending in _ENDINGS:
        for file in sorted(folder.rglob("*")):
            if not (found := re.fullmatch(f"(.+?){ending}", file.name)):
                continue
            lab = notebooks.get(found[1], "") if ending == _ENDINGS[2] else found[1]
            below = file.relative_to(folder)  # hidden below it: copies that Jupyter keeps
            hidden = any(part.startswith(".") for part in below.parts)
            if not lab or hidden or seen.setdefault((file.parent, lab), ending) != ending:
                continue
            shown = str(below)
            if ending == _ENDINGS[2] and not run:
                yield Unread(shown, "no hand-in is beside this notebook; --run runs it")
                continue
            try:
                yield _judged(file, shown, course, run)
            except WorkbenchError as error:
                yield Unread(shown, f"{error.message} [{error.code}]")


def _judged(file: Path, shown: str, course: LabFile | None, run: bool) -> Submission:
    own = read_lab_file(file.parent)
    made, began = 0.0, ""
    used = replace(course, student=own.student if own else "") if course else own or LabFile()
    wrong: dict[tuple[str, str], tuple[str, str]] = {}
    if file.suffix == ".ipynb":
        grade = check_notebook(file, course=course).grade
    else:
        with tempfile.TemporaryDirectory(prefix="workbench-report-") as place:  # beside the lecturer's settings
            copy = Path(shutil.copy(file, place))
            used.write(place)
            grade = verify(copy)
            wrong, made, began = _first_wrong(copy, grade, used), _made(copy), _began(copy)
        notebook = file.parent / f"{plans().find(grade.lab).file_name}.ipynb"
        if run and notebook.exists() and any(e.on_trust for e in grade.exercises):
            grade = settled(grade, check_notebook(notebook, course=course).grade)
    parts = Path(shown).parts
    student = grade.student or (parts[0] if len(parts) > 1 else file.parent.name)
    due = used.due_at(grade.lab)
    return Submission(shown, student, grade, wrong, made, due.timestamp() if due else 0.0, began)


def _lines(file: Path) -> list[Any]:
    return read_hand_in(file).events if file.suffix == ".json" else list(read_lines(file))


def _began(file: Path) -> str:
    checks = (line for line in _lines(file) if isinstance(line, dict) and line.get("kind") == "check")
    return str(next(checks, {}).get("seal", ""))


def _made(file: Path) -> float:
    """When a hand-in says that it was written, or when the last event of progress was."""
    if file.suffix == ".json":
        said = read_hand_in(file).data.get("made")
    else:
        said = next((line.get("at") for line in reversed(read_lines(file)) if line), 0.0)
    return float(said) if isinstance(said, int | float) and 0 <= said < _LAST else 0.0


def _first_wrong(file: Path, grade: Grade, used: LabFile) -> dict[tuple[str, str], tuple[str, str]]:
    events, _ = unsealed(used.key, first_seal(used.key, grade.lab, grade.student, grade.course), _lines(file))
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for exercise in plans().find(grade.lab).exercises:
        found |= _wrong_answers(exercise, grade.student, events)
    return found


def _wrong_answers(exercise: Exercise, student: str, events: list[Event]) -> dict[tuple[str, str], tuple[str, str]]:
    """Fold the events of one exercise; what was judged wrong first stays."""
    setting, said = None, {}
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for event in events:
        if event.kind == "open":
            setting = exercise.setting_of(student, Target(event.data["target"]))
        elif event.exercise == exercise.name and event.kind == "predict":
            said.update(event.data["answers"])
        elif event.exercise == exercise.name and event.kind == "check" and setting is not None:
            for p in exercise.predictions:
                with suppress(UsageError):  # what can be no answer is a fault of the grade
                    one = judged(p, said.get(p.name), setting)
                    if one.good is False:
                        found.setdefault((exercise.name, p.name), (answer_text(p, said[p.name]), one.slip))
    return found
