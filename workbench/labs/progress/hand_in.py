"""The file that a student hands in: everything that was done in a lab, and a signature."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import workbench
from workbench.arguments import path as checked_path
from workbench.errors import InputError
from workbench.files import replace_file
from workbench.labs.progress.journal import MOST_BYTES, canonical, same_hash, signed
from workbench.log.objects import line_object

if TYPE_CHECKING:
    from workbench.labs.lab import Lab

#: Characters of a name, a target, a signature.
_LONGEST = 1000
FORMAT = "workbench-lab-hand-in/1"


@dataclass(frozen=True, slots=True)
class HandIn:
    """What a hand-in says; nothing of it has been checked yet.

    Attributes
    ----------
    lab, student, course, target : str
    events : list
        Sealed events as plain data.
    data : dict
        All of the file but the signature: also points, and the state of each exercise.
    signature : str
    """

    lab: str
    student: str
    course: str
    target: str
    events: list[Any]
    data: Mapping[str, Any]
    signature: str

    def signed_with(self, key: str) -> bool:
        """Whether the signature is that of the contents under a key."""
        return same_hash(self.signature, signed(key, canonical(self.data)))


def _is_line(word: str) -> bool:
    """Whether a text can stand in a report as it is."""
    return len(word) <= _LONGEST and word.isprintable()


def contents(lab: Lab) -> dict[str, Any]:
    """Return what a lab hands in, without its signature."""
    return {
        "format": FORMAT,
        "version": workbench.__version__,
        "lab": lab.plan.name,
        "student": lab.student,
        "course": lab.file.course,
        "target": str(lab.target),
        "settings": asdict(lab.settings),
        "made": round(time.time(), 1),
        "points": lab.points,
        "possible": lab.plan.points,
        "exercises": {a.exercise.name: a.summary() for a in lab},
        "events": lab.journal.lines,
    }


def written(lab: Lab) -> Path:
    """Write the hand-in of a lab and return its path."""
    data = contents(lab)
    path = lab.folder / f"{lab.plan.name}.handin.json"
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        whole = {**data, "signature": signed(lab.file.key, canonical(data))}
        made.write_text(json.dumps(whole) + "\n", encoding="utf-8")
        replace_file(made, path)
    except OSError as error:
        text = f"The hand-in cannot be written: {error.strerror or error}"
        raise InputError("lab.hand_in", text, [str(path)]) from error
    return path


def read_hand_in(path: str | os.PathLike[str]) -> HandIn:
    """Read the file that a student handed in.

    Raises
    ------
    InputError
        "lab.hand_in" for what is no hand-in, or one of another version.
    """
    file = Path(checked_path("path", path))
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError("lab.hand_in", f"The file cannot be read: {error.strerror or error}", [str(file)]) from error
    data = None if len(content) > MOST_BYTES else line_object(content)
    if data is None:
        raise InputError("lab.hand_in", "This is no hand-in", [str(file)], "lab.hand_in() writes one")
    if data.get("format") != FORMAT:
        text = "This is no hand-in of this version of the workbench"
        raise InputError("lab.hand_in", text, [str(file)], f"its format has to be {FORMAT}")
    words = [data.get(name) for name in ("lab", "student", "course", "target", "signature")]
    events = data.get("events")
    if not all(isinstance(word, str) and _is_line(word) for word in words) or not isinstance(events, list):
        raise InputError("lab.hand_in", "The hand-in is damaged", [str(file)], "have it handed in again")
    lab, student, course, target, signature = map(str, words)
    del data["signature"]
    return HandIn(lab, student, course, target, events, data, signature)
