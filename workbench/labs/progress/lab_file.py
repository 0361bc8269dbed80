"""The file ``lab.json`` in the folder of a student's notebooks: who the student is, and what the lecturer decided."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from workbench.arguments import path as checked_path
from workbench.arguments import real, shown
from workbench.errors import InputError, UsageError, WorkbenchError, did_you_mean
from workbench.files import replace_file
from workbench.labs.plan import LabSettings
from workbench.log.objects import line_object

NAME = "lab.json"
#: Characters of a student's or course's name.
LONGEST = 200
#: Bytes that are read of such a file.
_MOST = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LabFile:
    """Contents of ``lab.json``.

    Attributes
    ----------
    student : str
        Who works here; draws the sizes of exercises. Empty for whom the progress names, or JupyterHub, or nobody.
    course : str
    key : str
        What hand-ins are signed with; the same for the whole course.
    settings : dict
        Fields of `LabSettings` that the lecturer decided, for all labs in the folder.
    due : dict of str to str
        Until when a lab is to be handed in, by its name: ``"2027-03-12T18:00+01:00"``, without an offset the time of
        the machine that reads it.
    """

    student: str = ""
    course: str = ""
    key: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    due: Mapping[str, str] = field(default_factory=dict)

    def due_at(self, lab: str) -> datetime | None:
        """Until when a lab is to be handed in, in this machine's time; None where nothing is said."""
        return datetime.fromisoformat(self.due[lab]).astimezone() if lab in self.due else None

    def settings_of(self, own: LabSettings) -> LabSettings:
        """Return the settings of a lab: what was decided here, and its own for the rest."""
        return settings_from({**asdict(own), **self.settings})

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write the file into a folder and return its path; a file that is there is replaced."""
        path = Path(checked_path("folder", folder)) / NAME
        made = path.with_name(f".{NAME}.{os.getpid()}")
        made.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        replace_file(made, path)
        return path


def settings_from(data: Mapping[str, Any]) -> LabSettings:
    """Return settings from plain data.

    Raises
    ------
    UsageError
        "lab.settings" for a name that there is not, or a value of the wrong kind.
    """
    for name, value in data.items():
        if name not in LabSettings.__dataclass_fields__:
            hint = did_you_mean(name, LabSettings.__dataclass_fields__, "settings")
            raise UsageError("lab.settings", f"There is no setting {shown(name)} of a lab", [name], hint)
        if name == "hint_cost":
            if real(name, value, code="lab.settings") < 0:
                raise UsageError("lab.settings", "A hint cannot give points", [name])
        elif not isinstance(value, bool):
            raise UsageError("lab.settings", f"{name} has to be true or false, not {shown(value)}", [name])
    return LabSettings(**data)


def nearest_lab_file(folder: Path) -> LabFile | None:
    """Read ``lab.json`` of a folder, or of the nearest of the three above that has one."""
    for place in (folder, *folder.absolute().parents[:3]):
        if (found := read_lab_file(place)) is not None:
            return found
    return None


def read_lab_file(folder: str | os.PathLike[str]) -> LabFile | None:
    """Read ``lab.json`` of a folder; None where there is none.

    Raises
    ------
    InputError
        "lab.file" for one that cannot be read or does not say what it has to.
    """
    path = Path(checked_path("folder", folder)) / NAME
    try:
        with path.open("rb") as file:
            data = line_object(file.read(_MOST))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError("lab.file", f"{NAME} cannot be read: {error.strerror or error}", [str(path)]) from error
    hint = "`workbench labs new` writes one"
    if data is None:
        raise InputError("lab.file", f"{NAME} is no JSON object", [str(path)], hint)
    words = {name: data.get(name, "") for name in ("student", "course", "key")}
    settings, due = data.get("settings", {}), data.get("due", {})
    for name, value in words.items():
        if not isinstance(value, str) or len(value) > LONGEST or not value.isprintable():
            text = f"{name} in {NAME} has to be a text of at most {LONGEST} characters"
            raise InputError("lab.file", text, [str(path)], hint)
    if not isinstance(settings, dict):
        raise InputError("lab.file", f"settings in {NAME} have to be an object", [str(path)], hint)
    try:
        settings_from(settings)
    except WorkbenchError as error:
        raise InputError("lab.file", f"{NAME}: {error.message}", [str(path), *error.where], error.hint) from error
    if not isinstance(due, dict) or not all(map(_is_time, due.values())):
        text = f'due in {NAME} has to be an object of labs and times, "2027-03-12T18:00"'
        raise InputError("lab.file", text, [str(path)], hint)
    return LabFile(**words, settings=settings, due=due)


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value).astimezone())
    except (ValueError, OverflowError, OSError):
        return False
