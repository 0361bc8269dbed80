"""Writes editions of labs to a folder. What is there already is never written over: somebody may have worked on it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from workbench.errors import InputError
from workbench.labs.adapters import nbgrader, otter
from workbench.labs.plan import LabPlan, plans
from workbench.labs.progress.lab_file import NAME, LabFile
from workbench.labs.sources import percent
from workbench.labs.sources.editions import Edition, as_text, edition_of
from workbench.labs.sources.percent import Cell
from workbench.labs.sources.sheet import sheet
from workbench.labs.sources.shipped import source_of
from workbench.labs.sources.slides import slides

Kind: TypeAlias = Literal["student", "instructor", "nbgrader", "otter"]


@dataclass(frozen=True, slots=True)
class Handout:
    """What is written of each lab.

    Attributes
    ----------
    kind : {"student", "instructor", "nbgrader", "otter"}
        The notebook: an edition, or what a grader makes editions from.
    about : LabFile
        What stands in ``lab.json``.
    slides, sheet : bool
        Whether there are slides and a sheet to print as well.
    """

    kind: Kind = "student"
    about: LabFile = field(default_factory=LabFile)
    slides: bool = False
    sheet: bool = False


@dataclass(frozen=True, slots=True)
class HandedOut:
    """One file: where it is, whether it was written now, and if not, why."""

    path: Path
    written: bool
    why: str = ""


def hand_out(handout: Handout, folder: Path, labs: Sequence[str] = ()) -> list[HandedOut]:
    """Write labs to a folder.

    Parameters
    ----------
    handout : Handout
    folder : Path
        Made where it is missing.
    labs : sequence of str
        Names; all of them where there are none.

    Raises
    ------
    UsageError
        "lab.unknown" for a lab that there is not.
    InputError
        "lab.not_a_folder" and "lab.unwritable".
    """
    chosen = [plans().find(name) for name in dict.fromkeys(labs)] or list(plans().values())
    files = {path: text for plan in chosen for path, text in _files(handout, plan)}
    beside = json.dumps(asdict(handout.about), indent=1) + "\n"
    files |= {f"{Path(path).parent}/{NAME}": beside for path in list(files) if path.endswith(".ipynb")}
    if folder.exists() and not folder.is_dir():
        raise InputError("lab.not_a_folder", f"'{folder}' is a file, not a folder", (str(folder),), "name a folder")
    try:
        return [_write(folder / path, text) for path, text in files.items()]
    except OSError as error:
        text = f"The labs cannot be written to '{folder}': {error.strerror or error}"
        raise InputError("lab.unwritable", text, (str(folder),), "name a folder that you may write to") from None


def source(plan: LabPlan) -> tuple[Cell, ...]:
    """Return the cells of a lab's source."""
    path = source_of(plan.file_name)
    return percent.read(path.read_text(encoding="utf-8"), path.name)


def _files(handout: Handout, plan: LabPlan) -> Iterator[tuple[str, str]]:
    cells = source(plan)
    if handout.kind == "nbgrader":
        yield from nbgrader.assignment(plan, cells).items()
    elif handout.kind == "otter":
        yield from otter.assignment(plan, cells).items()
    edition: Edition = "instructor" if handout.kind == "instructor" else "student"
    text = as_text(edition_of(cells, edition, plan.name))
    if handout.kind == edition:
        yield f"{plan.file_name}.ipynb", text
    if handout.slides:
        yield f"{plan.file_name}.slides.html", slides(plan, cells, edition, handout.about.student)
    if handout.sheet:
        yield f"{plan.file_name}.sheet.html", sheet(plan, cells, edition, handout.about.student)


def _write(path: Path, text: str) -> HandedOut:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        same = path.is_file() and path.read_bytes() == text.encode()
        if path.name == NAME:
            return HandedOut(path, False, "; its course, key, settings and dates stay: edit it to change them")
        return HandedOut(path, False, "" if same else "; it differs from what this version would write (rename yours)")
    return HandedOut(path, True)
