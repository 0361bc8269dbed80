"""Judges a hand-in anew: steps are replayed, answers and goals judged. What it says about points is only compared."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from workbench import markup
from workbench.arguments import path as checked_path
from workbench.errors import InputError, UsageError, WorkbenchError
from workbench.labs.display import OPEN, SOLVED
from workbench.labs.exercise import Exercise, Function, Setting
from workbench.labs.judging import accepted, judged, judged_work, start_of
from workbench.labs.plan import LabPlan, LabSettings, plans
from workbench.labs.progress.hand_in import HandIn, read_hand_in
from workbench.labs.progress.journal import Event, canonical, first_seal, read_lines, unsealed
from workbench.labs.progress.lab_file import LabFile, nearest_lab_file, settings_from
from workbench.labs.progress.ownership import named
from workbench.labs.progress.standing import Standing
from workbench.memoize import remembered_by_value
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule
from workbench.target import Target

#: Checks of one exercise that are replayed.
_MOST_CHECKS = 2000
_NO_KEY = "Seals cannot be checked: no lab.json with a key is beside it or above it."


@dataclass(frozen=True, slots=True)
class ExerciseGrade:
    """What one exercise is worth.

    Attributes
    ----------
    name, title, state : str
    points : float
        Judged anew.
    possible : int
    attempts, hints : int
    solution : bool
        Whether a solution was looked at.
    slips : tuple of str
        Misconceptions that were recognised, ``"naive[0]"`` for the first of prediction ``naive``.
    minutes : float
        From the first to the last event, without pauses of more than ten minutes.
    on_trust : int
        Points for a function in Python that were only read from the file: the notebook has to be run to see them.
    """

    name: str
    title: str
    state: str
    points: float
    possible: int
    attempts: int
    hints: int
    solution: bool
    slips: tuple[str, ...]
    minutes: float
    on_trust: int


@dataclass(frozen=True, slots=True)
class Grade:
    """What a student reached in a lab, judged anew.

    Attributes
    ----------
    lab, student, course, target : str
    points, possible : float, int
    exercises : tuple of ExerciseGrade
    faults : tuple of str
        What does not fit together: an edit, a foreign signature, points that the work does not give.
    """

    lab: str
    student: str
    course: str
    target: str
    points: float
    possible: int
    exercises: tuple[ExerciseGrade, ...]
    faults: tuple[str, ...]

    @property
    def genuine(self) -> bool:
        """Whether nothing was found that speaks against it."""
        return not self.faults

    def to_json(self) -> dict[str, Any]:
        """Return the grade as plain data."""
        return {**asdict(self), "genuine": self.genuine}

    @shown_legibly
    def __repr__(self) -> str:
        head = f"{self.lab}, {self.student or 'nobody in particular'}: {self.points:g} of {self.possible} points"
        rows = [f"  {e.name}: {e.state}, {e.points:g} of {e.possible} points" for e in self.exercises]
        return "\n".join([head, *rows, *(f"  ✗ {fault}" for fault in self.faults)])

    def _repr_html_(self) -> str:
        names = ("exercise", "state", "points", "of", "checks", "hints", "min")
        columns = [markup.Column(name, number=k > 1) for k, name in enumerate(names)]
        rows = [
            (e.title, e.state, f"{e.points:g}", e.possible, e.attempts, e.hints, f"{e.minutes:.0f}")
            for e in self.exercises
        ]
        head = f"{self.student or 'nobody in particular'}: {self.points:g} of {self.possible} points"
        faults = [markup.line(markup.bad(fault)) for fault in self.faults]
        return markup.page(markup.heading(self.lab, head), *faults, markup.table(columns, rows))


def verify(path: str | os.PathLike[str], key: str | None = None, executed: bool = False) -> Grade:
    """Judge a hand-in, or the progress file of a lab (``.jsonl``), anew.

    Parameters
    ----------
    path : path
    key : str, optional
        What it has to be signed with; that of the nearest ``lab.json``, beside it or above it, by default.
    executed : bool
        Whether the notebook was run just now by who grades it: then points for functions in Python are believed.

    Raises
    ------
    InputError
        "lab.hand_in", "lab.progress" for what cannot be read at all. What can be read and is wrong is a fault.
    UsageError
        "lab.unknown" for a lab that there is not.
    """
    file = Path(checked_path("path", path))
    beside = nearest_lab_file(file.parent)
    if key is None:
        key = beside.key if beside else ""
    decided = beside.settings if beside else None
    if file.suffix == ".jsonl":
        return _Judge(_of_progress(file, beside or LabFile()), key, decided, executed).grade
    found = read_hand_in(file)
    judge = _Judge(found, key, decided, executed)
    wrong = () if found.signed_with(key) else ("The signature is not that of this hand-in and key.",)
    unsigned = () if _NO_KEY in judge.grade.faults else wrong
    if edition := _other_edition(found.data, judge.right):
        return replace(judge.grade, faults=(*unsigned, edition))
    return replace(judge.grade, faults=(*unsigned, *judge.grade.faults, *_differences(found.data, judge.right)))


def _of_progress(file: Path, beside: LabFile) -> HandIn:
    """The events of a progress file, as they would be handed in."""
    lines = read_lines(file)
    opened = next((line for line in lines if line and line.get("kind") == "open"), {}).get("data")
    lab = opened.get("lab") if isinstance(opened, dict) else None
    if not isinstance(lab, str):
        raise InputError("lab.progress", "This is no progress of a lab", [str(file)])
    return HandIn(lab, named(beside, lines).student, beside.course, "", lines, {}, "")


def _other_edition(data: Mapping[str, Any], right: Mapping[str, Any]) -> str:
    """A sentence where a hand-in has other exercises or points than the lab has here: all else follows from that."""
    said = data.get("exercises")
    if isinstance(said, dict) and set(said) == set(right["exercises"]) and data.get("possible") == right["possible"]:
        return ""
    version = markup.shortened(str(data.get("version")), 20)
    return f"It has other exercises or points than this lab: judge it with the workbench that wrote it ({version})."


def _differences(data: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """What a hand-in says and its events do not give."""
    said, follows = data.get("exercises"), right["exercises"]
    said = said if isinstance(said, dict) else {}
    wrong = [n for n in right if n != "exercises" and canonical(data.get(n)) != canonical(right[n])]
    wrong += [f"exercise {n}" for n in {**follows, **said} if canonical(said.get(n)) != canonical(follows.get(n))]
    names = ", ".join(markup.shortened(name, 60) for name in wrong)
    return [f"What is said of {names} does not follow from the events."] if wrong else []


class _Judge:
    """Judges the sealed events of a lab.

    Attributes
    ----------
    grade : Grade
    right : dict
        What a hand-in with these events has to say.
    """

    def __init__(self, found: HandIn, key: str, decided: Mapping[str, Any] | None, executed: bool) -> None:
        plan = plans().find(found.lab)
        events, faults = unsealed(key, first_seal(key, plan.name, found.student, found.course), found.events)
        if faults and not key:  # who has no key cannot say that something was edited
            faults = [_NO_KEY]
        opened = [e for e in events if e.kind == "open"]
        faults += _oddities(plan, found.student, events)
        said = [e.data.get("settings") for e in opened]
        settings = _as_said(said) if decided is None else settings_from({**asdict(plan.settings), **decided})
        if any(one != asdict(settings) for one in said):
            faults.append("The lab was opened with other settings than those of the course.")
        replays = [_Replay(plan.name, e, found.student, settings, executed, faults) for e in plan.exercises]
        grades = tuple(replay.grade(events) for replay in replays)
        target, points = opened[-1].data["target"] if opened else "", sum(g.points for g in grades)
        self.grade = Grade(plan.name, found.student, found.course, target, points, plan.points, grades, tuple(faults))
        self.right = {
            "target": target, "settings": asdict(settings), "points": points, "possible": plan.points,
            "exercises": {replay.exercise.name: replay.standing.to_json() for replay in replays},
        }  # fmt: skip


def _oddities(plan: LabPlan, student: str, events: Sequence[Event]) -> list[str]:
    """What cannot be where a lab was worked on."""
    known, opened = {e.name for e in plan.exercises}, [e for e in events if e.kind == "open"]
    odd = {
        "The events do not begin with the opening of the lab.": not events or events[0].kind != "open",
        "Events of another lab are among them.": any(e.data["lab"] != plan.name for e in opened),
        "The lab was opened under another name.": any(e.data.get("student", student) != student for e in opened),
        "The clock of the events goes back.": any(after.at < before.at - 1 for before, after in pairwise(events)),
        "Events of an exercise that the lab does not have are among them.": any(
            e.exercise not in known for e in events if e.kind != "open"
        ),
    }
    return [text for text, there in odd.items() if there]


def _as_said(said: Sequence[object]) -> LabSettings:
    """Return the settings that a lab says it was opened with first."""
    try:
        return settings_from(said[0]) if said and isinstance(said[0], dict) else LabSettings()
    except WorkbenchError:
        return LabSettings()


class _Replay:
    """Judges the events of one exercise in their order."""

    def __init__(
        self, lab: str, exercise: Exercise, student: str, settings: LabSettings, executed: bool, faults: list[str]
    ) -> None:
        self.lab, self.exercise, self.student, self.executed, self.faults = lab, exercise, student, executed, faults
        self.standing = Standing(settings.hint_cost)
        self.setting: Setting | None = None
        self.judged: dict[str, tuple[int, bool]] = {}
        self.on_trust = 0

    def grade(self, events: Sequence[Event]) -> ExerciseGrade:
        """Fold all events."""
        own = [e for e in events if e.exercise == self.exercise.name]
        for event in [e for e in events if e.kind == "open" or e.exercise == self.exercise.name]:
            if event.kind == "open":
                self._open(event)
            elif event.kind == "check":
                self._check(event)
            elif self._possible(event):
                self.standing.take(event)
        s = self.standing
        return ExerciseGrade(
            self.exercise.name, self.exercise.title, s.state, s.points, self.exercise.points, s.attempts, s.hints,
            s.shown, tuple(s.slips), _minutes(own), self.on_trust,
        )  # fmt: skip

    def _open(self, event: Event) -> None:
        try:
            self.setting = self.exercise.setting_of(self.student, Target(event.data["target"]))
        except WorkbenchError:
            self._fault("The target of the lab cannot be read.")

    def _possible(self, event: Event) -> bool:
        """Whether a student could have caused the event."""
        if event.kind == "hint" and event.data["number"] > len(self.exercise.hints):
            return self._fault("A hint was taken that there is not.")
        if event.kind != "predict" or self.setting is None:
            return True
        asked = {p.name: p for p in self.exercise.predictions}
        try:
            for name, value in event.data["answers"].items():
                accepted(asked[name], value, self.setting)
        except (KeyError, UsageError):
            return self._fault("An answer was given that cannot be one.")
        return True

    def _check(self, event: Event) -> None:
        if self.setting is None or self.standing.attempts >= _MOST_CHECKS:
            self._fault("There is a check that cannot be replayed.")
            return
        said = self.standing.said
        answers = [judged(p, said.get(p.name), self.setting) for p in self.exercise.predictions]
        reached, whole = self._reached(event, self.setting)
        points = sum(f.points for f in answers if f.good) + reached
        state = SOLVED if whole and all(f.good for f in answers) else OPEN
        if (points, state) != (event.data["points"], event.data["state"]):
            number, told = self.standing.attempts + 1, event.data["points"]
            self._fault(f"Check {number} is said to be worth {told} points, and is worth {points}.")
        slips = [f.slip for f in answers if f.slip]
        event = Event(event.kind, event.exercise, {**event.data, "slips": slips}, event.at)
        self.standing.take(event, points, state)

    def _reached(self, event: Event, setting: Setting) -> tuple[int, bool]:
        """Points that the work gives, and whether it reaches everything."""
        most, said = sum(g.points for g in self.exercise.goals), event.data["reached"]
        if isinstance(self.exercise.work, Function):
            reached = max(0, min(said, most))
            if not self.executed:
                self.on_trust = max(self.on_trust, reached)
            return reached, reached == most
        work = event.data.get("work")
        name = canonical([str(setting.target), work])
        if name not in self.judged:
            self.judged[name] = self._replayed(work, setting)
        reached, whole = self.judged[name]
        if said == 0 and reached:  # it did not run where the student worked
            return 0, False
        return reached, whole

    def _replayed(self, work: object, setting: Setting) -> tuple[int, bool]:
        try:
            words = (str(setting.target), canonical(dict(setting.variant)), canonical(work))
            return _replayed(self.lab, self.exercise.name, *words)
        except WorkbenchError as error:
            self._fault(f"The steps of check {self.standing.attempts + 1} cannot be replayed: {error.message}.")
            return 0, False

    def _fault(self, text: str) -> bool:
        self.faults.append(f"{self.exercise.name}: {text}")
        return False


@remembered_by_value(1024)
def _replayed(lab: str, exercise: str, target: str, variant: str, steps: str) -> tuple[int, bool]:
    """Points of these steps, and whether they reach everything. Many students hand in the same ones."""
    one = next(e for e in plans().find(lab).exercises if e.name == exercise)
    setting, work = Setting(Target(target), json.loads(variant)), json.loads(steps)
    start = start_of(one, setting)
    if work is None or start is None:
        return 0, start is None
    if not isinstance(work, list):
        raise UsageError("lab.hand_in", "steps have to be a list")
    schedule = Schedule.from_json(start.base, work, start.target or setting.target)
    found = judged_work(one, None if schedule.trace == start.trace else schedule, setting)
    return sum(f.points for f in found if f.good), all(f.good for f in found)


def _minutes(events: Sequence[Event]) -> float:
    """Time between events, without long pauses."""
    pauses = (after.at - before.at for before, after in pairwise(events))
    return round(sum(p for p in pauses if 0 <= p <= 600) / 60, 1)
