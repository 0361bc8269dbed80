"""Events of a lab in the order in which they happened, each sealed together with the one before it.

A line of the file is one JSON object. Its ``seal`` is a keyed hash of the line and of the seal before it: who edits,
removes or moves a line has to seal all that follow anew. Lines that are cut off at the end leave no trace.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.arguments import real
from workbench.errors import InputError, WorkbenchError
from workbench.files import locked
from workbench.log.objects import line_object

#: Bytes that are read of a file.
MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a student did.

    Attributes
    ----------
    kind : str
        "open" (the lab), "predict", "hint", "solution" or "check".
    exercise : str
        Empty for the lab as a whole.
    data : dict
        What belongs to it, as JSON.
    at : float
        Seconds since 1970.
    """

    kind: str
    exercise: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    at: float = field(default_factory=lambda: round(time.time(), 1))

    def to_json(self) -> dict[str, Any]:
        """Return the event as plain data."""
        return {"kind": self.kind, "exercise": self.exercise, "data": dict(self.data), "at": self.at}


def signed(key: str, *parts: str) -> str:
    """Return a keyed hash of texts: HMAC with SHA-256."""
    return hmac.new(key.encode(), "\0".join(parts).encode(errors="surrogatepass"), hashlib.sha256).hexdigest()


def same_hash(said: str, right: str) -> bool:
    """Whether a file says the right hash; what it says may be any text."""
    return hmac.compare_digest(said.encode(errors="surrogatepass"), right.encode())


def canonical(data: object) -> str:
    """Return JSON in one form."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def first_seal(key: str, lab: str, student: str, course: str) -> str:
    """Return what stands before the first event."""
    return signed(key, lab, student, course)


def seal(key: str, before: str, event: Mapping[str, Any]) -> str:
    """Return the seal of an event's plain data."""
    return signed(key, before, canonical(event))


def unsealed(key: str, before: str, lines: Iterable[object]) -> tuple[list[Event], list[str]]:
    """Return the events of sealed lines, and what is wrong with them in sentences."""
    events, faults = [], []
    for number, line in enumerate(lines, 1):
        found = _event(line)
        if found is None or not isinstance(line, dict):
            faults.append(f"Event {number} cannot be read.")
            continue
        if not same_hash(str(line["seal"]), seal(key, before, found.to_json())):
            faults.append(f"Event {number} was changed, or one before it was changed, removed or put in.")
        before = str(line["seal"])
        events.append(found)
    return events, faults


def _event(line: object) -> Event | None:
    """An event as it was written; None for anything else."""
    if not isinstance(line, dict) or set(line) != {"kind", "exercise", "data", "at", "seal"}:
        return None
    kind, exercise, data, at = (line[name] for name in ("kind", "exercise", "data", "at"))
    if not isinstance(exercise, str) or not isinstance(data, dict) or not _fits(kind, data):
        return None
    return Event(kind, exercise, data, at) if _is_number(at) else None


def _fits(kind: object, data: Mapping[str, Any]) -> bool:
    """Whether an event has the data of its kind."""
    if kind == "predict":
        answers = data.get("answers")
        return isinstance(answers, dict) and all(map(_is_answer, answers.values()))
    if kind == "hint":
        return type(data.get("number")) is int and data["number"] > 0
    if kind == "check":
        slips, words = data.get("slips"), isinstance(data.get("state"), str)
        numbers = all(type(data.get(name)) is int for name in ("points", "reached"))
        return isinstance(slips, list) and all(isinstance(s, str) for s in slips) and words and numbers
    return kind == "solution" or (kind == "open" and all(isinstance(data.get(n), str) for n in ("lab", "target")))


def _is_answer(value: object) -> bool:
    return isinstance(value, str) or _is_number(value)


def _is_number(value: object) -> bool:
    """Whether it can be computed with: a file may have whole numbers of any length."""
    try:
        real("a number", value)
    except WorkbenchError:
        return False
    return True


class Journal:
    """The events of one student in one lab; written to a file where there is one.

    Parameters
    ----------
    path : Path, optional
        File of JSON lines; without one, events are kept as long as the lab is open.
    key : str
        What is sealed with.
    first : str
        The seal before the first event.
    """

    def __init__(self, path: Path | None, key: str, first: str) -> None:
        self.path, self.key, self._first = path, key, first
        self.lines: list[dict[str, Any] | None] = []
        if path is not None:
            self.lines = read_lines(path)

    @property
    def events(self) -> list[Event]:
        """Every event that can be read."""
        return unsealed(self.key, self._first, self.lines)[0]

    def append(self, event: Event) -> None:
        """Add an event; it is in the file when this returns.

        Raises
        ------
        InputError
            "lab.progress" where the file cannot be written.
        """
        if self.path is None:
            self._seal(event)
            return
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                with locked(file):  # the same lab may be open in another notebook
                    self.lines = read_lines(self.path)
                    start = b"" if self._ended(file) else b"\n"  # half a line of a process that was killed
                    os.write(file, start + canonical(self._seal(event)).encode() + b"\n")
            finally:
                os.close(file)
        except OSError as error:
            raise _unusable(self.path, "written", error) from error

    @staticmethod
    def _ended(file: int) -> bool:
        end = os.lseek(file, 0, os.SEEK_END)
        return end == 0 or (os.lseek(file, end - 1, os.SEEK_SET) >= 0 and os.read(file, 1) == b"\n")

    def _seal(self, event: Event) -> dict[str, Any]:
        before = next((str(line.get("seal")) for line in reversed(self.lines) if line), self._first)
        line = {**event.to_json(), "seal": seal(self.key, before, event.to_json())}
        self.lines.append(line)
        return line


def read_lines(path: Path) -> list[dict[str, Any] | None]:
    """Return the lines of a progress file, None for a damaged one; nothing where there is no file.

    Raises
    ------
    InputError
        "lab.progress" for a file that cannot be read or is too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unusable(path, "read", error) from error
    if len(content) > MOST_BYTES:
        raise InputError("lab.progress", f"A progress file has at most {MOST_BYTES >> 20} MiB", [str(path)])
    return [line_object(line) for line in content.splitlines() if line.strip()]


def _unusable(path: Path, done: str, error: OSError) -> InputError:
    return InputError("lab.progress", f"The progress cannot be {done}: {error.strerror or error}", [str(path)])
