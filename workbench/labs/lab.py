"""A lab that a student has open: its exercises by name, the student's sizes, and where each exercise stands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from workbench.arguments import is_a, path
from workbench.errors import did_you_mean
from workbench.exercise_mode import NAMES, keep_off
from workbench.labs.attempt import Attempt
from workbench.labs.display import Report, Shown
from workbench.labs.plan import LabPlan, plans
from workbench.labs.progress.hand_in import written
from workbench.labs.progress.journal import Event, Journal, first_seal
from workbench.labs.progress.lab_file import LabFile, read_lab_file
from workbench.labs.progress.ownership import claimed, taken_up
from workbench.target import Target


def open_lab(name: str, target: Target | None = None, folder: str | os.PathLike[str] = ".") -> Lab:
    """Open a lab for who sits here.

    Where ``lab.json`` stands in the folder, it says who that is and what may be used, and what is done is kept in
    ``NAME.progress.jsonl`` beside it; where that is missing, what was handed in is taken up. Without ``lab.json``
    nothing is written, and the sizes are those of who studies alone.

    Parameters
    ----------
    name : str
        ``"tiling"``; `plans` has them all.
    target : Target, optional
        One core of this machine by default, or as many as the lab says.
    folder : path
        Of the notebook; the current one by default.

    Raises
    ------
    UsageError
        "lab.unknown" for a lab that there is not.
    InputError
        "lab.file" or "lab.progress" for a file in the folder that cannot be used.
    """
    plan, place = plans().find(name), Path(path("folder", folder))
    return Lab(plan, target, read_lab_file(place), place)


def _taken_up(file: LabFile, lab: str, kept: Path) -> LabFile:
    taken_up(lab, kept, kept.with_name(f"{lab}.handin.json"))
    return claimed(file, kept)


class Lab:
    """The exercises of one lab, by name: ``lab.traffic``, or in order: ``for attempt in lab``.

    Attributes
    ----------
    plan : LabPlan
    target : Target
    file : LabFile
    settings : LabSettings
    folder : Path
    journal : Journal
    """

    def __init__(
        self, plan: LabPlan, target: Target | None = None, file: LabFile | None = None, folder: Path | None = None
    ) -> None:
        self.plan, self.folder = plan, folder or Path()
        kept = None if file is None else self.folder / f"{plan.name}.progress.jsonl"
        self.file = LabFile() if file is None or kept is None else _taken_up(file, plan.name, kept)
        self.target = Target.host(threads=plan.threads) if target is None else is_a("target", target, Target)
        self.settings = self.file.settings_of(plan.settings)
        self.journal = Journal(
            kept, self.file.key, first_seal(self.file.key, plan.name, self.student, self.file.course)
        )
        self._attempts: dict[str, Attempt] = {}
        for e in plan.exercises:
            setting = e.setting_of(self.student, self.target)
            self._attempts[e.name] = Attempt(e, setting, self.settings, self.journal.append, self._attempts)
        events = self.journal.events
        for name, attempt in self._attempts.items():
            attempt.restore(event for event in events if event.exercise == name)
        keep_off([name for name in NAMES if not getattr(self.settings, name)], plan.title)
        opened = {"lab": plan.name, "student": self.student, "target": str(self.target)}
        self.journal.append(Event("open", data={**opened, "settings": asdict(self.settings)}))

    @property
    def student(self) -> str:
        """Who works here; empty for nobody in particular."""
        return self.file.student

    def __getattr__(self, name: str) -> Attempt:
        attempts: dict[str, Attempt] = self.__dict__.get("_attempts", {})
        if name in attempts:
            return attempts[name]
        raise AttributeError(f"this lab has no exercise {name!r}; {did_you_mean(name, attempts, 'exercises')}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._attempts})

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._attempts.values())

    def __repr__(self) -> str:
        return repr(self.report())

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    @property
    def points(self) -> float:
        """Points of all exercises so far."""
        return sum(a.points for a in self)

    def hand_in(self) -> Shown:
        """Write ``NAME.handin.json``, which a lecturer checks with ``labs.verify``: what was done, signed.

        Raises
        ------
        InputError
            "lab.hand_in" where the file cannot be written.
        """
        file = written(self)
        text = f"{file.name} is written: {self.points:g} of {self.plan.points} points. Hand in this file{self._until}."
        return Shown(f"Hand-in of {self.plan.title}", text)

    @property
    def _until(self) -> str:
        due = self.file.due_at(self.plan.name)
        return f", until {due:%A, %Y-%m-%d, %H:%M}" if due else ""

    def report(self) -> Report:
        """Return where each exercise stands: its best ``check()``."""
        rows = tuple(
            (a.exercise.name, a.exercise.title, a.state, a.points, a.exercise.points, a.attempts, a.hints) for a in self
        )
        facts = (self.student, f"{self.points:g} of {self.plan.points} points")
        note = f"Hand in with `lab.hand_in()`{self._until}." if self.file.course else ""
        return Report(self.plan.title, tuple(filter(None, facts)), self.points / self.plan.points, rows, note)
