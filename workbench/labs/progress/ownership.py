"""Who works in a folder: the name in ``lab.json``, else that of the progress there, else the one JupyterHub knows.

A grader may put its own ``lab.json``, which names nobody, in the place of a student's: progress says who it is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.labs.progress.hand_in import read_hand_in
from workbench.labs.progress.journal import canonical, read_lines
from workbench.labs.progress.lab_file import LONGEST, LabFile


def owner_of(lines: Sequence[dict[str, Any] | None]) -> str | None:
    """Return whom the first event that opened the lab names; None where no event says it."""
    opened = next((line for line in lines if line and line.get("kind") == "open"), {}).get("data")
    name = opened.get("student") if isinstance(opened, dict) else None
    return name if isinstance(name, str) and len(name) <= LONGEST and name.isprintable() else None


def named(file: LabFile, lines: Sequence[dict[str, Any] | None]) -> LabFile:
    """Return a lab file with the student's name, as far as it is known."""
    hub = os.environ.get("JUPYTERHUB_USER", "")[:LONGEST]
    return replace(file, student=file.student or owner_of(lines) or hub)


def taken_up(lab: str, progress: Path, hand_in: Path) -> None:
    """Where progress is lost, or stayed on another machine, take up that of the hand-in beside it.

    Parameters
    ----------
    lab : str
        Name of the lab; a hand-in of another one is none.
    progress, hand_in : Path

    Raises
    ------
    InputError
        "lab.hand_in" for a hand-in that cannot be read, "lab.progress" where its events cannot be written.
    """
    if progress.exists() or not hand_in.exists():
        return
    found = read_hand_in(hand_in)
    if found.lab != lab:
        return
    events = "".join(f"{canonical(event)}\n" for event in found.events)
    try:
        with progress.open("x", encoding="utf-8") as file:  # another notebook may have begun meanwhile
            file.write(events)
    except FileExistsError:
        return
    except OSError as error:
        text = f"The progress cannot be written: {error.strerror or error}"
        raise InputError("lab.progress", text, [progress.name]) from error


def claimed(file: LabFile, progress: Path) -> LabFile:
    """Return a lab file with the name of who goes on with this progress.

    Progress under another name in which nothing was done yet is taken away: the name was written after a first look.

    Raises
    ------
    InputError
        "lab.progress" for work of somebody else, whose sizes are other ones.
    """
    lines = read_lines(progress)
    found, owner = named(file, lines), owner_of(lines)
    if owner is None or owner == found.student:
        return found
    if all(line is not None and line.get("kind") == "open" for line in lines):
        progress.unlink(missing_ok=True)
        return found
    whose = f"'{owner}'" if owner else "nobody in particular"
    text = f"The progress in this folder is that of {whose}, and you work as '{found.student}'"
    hint = f"write the name that you began with as student into lab.json, or move {progress.name} away to begin anew"
    raise InputError("lab.progress", text, [progress.name], hint)
