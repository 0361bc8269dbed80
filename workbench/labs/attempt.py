"""An exercise in the hands of a student: show, predict, do, check, hint, solution."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench import markup
from workbench.arguments import whole
from workbench.errors import UsageError, did_you_mean
from workbench.labs.candidates import Candidate, OwnNest, function_of
from workbench.labs.display import SOLVED, UNATTEMPTED, Finding, Item, Shown, Verdict
from workbench.labs.exercise import Answer, Exercise, Nest, Prediction, Setting, Work, said, valued
from workbench.labs.judging import accepted, answer_text, judged, judged_work, right_result, start_of
from workbench.labs.plan import LabSettings
from workbench.labs.progress.journal import Event
from workbench.labs.progress.standing import Standing
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule

if TYPE_CHECKING:
    from workbench.runtime.results.measurement import Measurement
    from workbench.target import Target


#: Kinds of targets whose time on the clock says nothing about the device.
_SIMULATED = ("cpu-simt", "vta")
_NO_MORE = "\n\nWho has seen a solution gets no more points for this exercise."
#: Characters of a function's source that are kept.
_LONGEST_SOURCE = 20_000


class Attempt:
    """One exercise and what has been said and done about it so far.

    Attributes
    ----------
    exercise : Exercise
    setting : Setting
        The machine, and the sizes of this student: ``attempt.setting["n"]``.
    schedule : Schedule
        The nest to work on, where the work is a nest; take steps on it, or show it with
        ``wb.Workbench(attempt.schedule)``.
    verdict : Verdict or None
        What the last ``check()`` found.
    """

    def __init__(
        self,
        exercise: Exercise,
        setting: Setting,
        settings: LabSettings | None = None,
        record: Callable[[Event], object] = lambda event: None,
        siblings: Mapping[str, Attempt] = MappingProxyType({}),
    ) -> None:
        self.exercise, self.setting = exercise, setting
        self._settings = settings or LabSettings()
        self._record, self._siblings = record, siblings
        self._standing = Standing(self._settings.hint_cost)
        self._start = start_of(exercise, setting)
        self._schedule = None if self._start is None else self._start.copy()
        self._function: Callable[..., Any] | None = None
        self.verdict: Verdict | None = None

    @property
    def schedule(self) -> Schedule:
        """The nest to work on.

        Raises
        ------
        UsageError
            "lab.schedule" where the exercise is not about a nest.
        """
        if self._schedule is None:
            raise UsageError("lab.schedule", f"Exercise '{self.exercise.name}' is not about a nest", ())
        return self._schedule

    @shown_legibly
    def __repr__(self) -> str:
        asked = {p.name: p for p in self.exercise.predictions}
        told = ", ".join(f"{name} = {answer_text(asked[name], value)}" for name, value in self._said.items())
        return f"<exercise {self.exercise.name}: {self.state}; you said: {told or 'nothing yet'}>"

    def _repr_html_(self) -> str:
        """What was answered so far, and what is open; `show` has the whole exercise."""
        rows = tuple(Item(p.name, self._told(p) or "open") for p in self.exercise.predictions)
        lists = (("You said", rows),) if rows else ()
        state = f" · best check: {self.state}" if self.attempts else ""
        return Shown(f"{self.exercise.title}{state}", "", lists)._repr_html_()

    @property
    def state(self) -> str:
        """What the best ``check()`` found, or that a solution was looked at before the exercise was solved."""
        return self._standing.state

    @property
    def points(self) -> float:
        """Points of the best check before a solution was shown, less what hints cost."""
        return self._standing.points

    def summary(self) -> dict[str, object]:
        """Return where this exercise stands as plain data, as a hand-in has it."""
        return self._standing.to_json()

    @property
    def _said(self) -> dict[str, Answer]:
        return self._standing.said

    def restore(self, events: Iterable[Event]) -> None:
        """Take over what was done when the lab was open before; answers that do not fit any more are left out."""
        asked = {p.name: p for p in self.exercise.predictions}
        for event in events:
            self._standing.take(event, event.data.get("points", 0), event.data.get("state", UNATTEMPTED))
        for name, value in list(self._said.items()):
            try:
                accepted(asked[name], value, self.setting)
            except (KeyError, UsageError):
                del self._said[name]

    def _happened(self, kind: str, **data: object) -> None:
        event = Event(kind, self.exercise.name, data)
        self._record(event)
        self._standing.take(event, event.data.get("points", 0), event.data.get("state", UNATTEMPTED))

    @property
    def attempts(self) -> int:
        """Checks of something that had been begun."""
        return self._standing.attempts

    @property
    def hints(self) -> int:
        """Hints that were looked at."""
        return self._standing.hints

    def show(self) -> Shown:
        """Say what is asked, and what has been answered so far."""
        asked = tuple(
            Item(p.name, said(p.question, self.setting), _wanted(p), self._told(p)) for p in self.exercise.predictions
        )
        goals = tuple(
            Item("", said(g.text, self.setting), markup.plural(g.points, "point")) for g in self.exercise.goals
        )
        lists = tuple(part for part in (("Predict", asked), ("Then reach", goals)) if part[1])
        return Shown(self.exercise.title, said(self.exercise.task, self.setting), lists)

    def _told(self, p: Prediction) -> str:
        return answer_text(p, self._said[p.name]) if p.name in self._said else ""

    def predict(self, **answers: object) -> Attempt:
        """Say what you expect: a number (with a unit in quotes, ``"512 MiB"``) or a name.

        A later answer takes the place of an earlier one; None leaves what was said before as it is.

        Raises
        ------
        UsageError
            "lab.prediction" for a name that is not asked for, or a value of the wrong kind; the other ones are kept.
        """
        kept: dict[str, Answer] = {}
        wrong: list[UsageError] = []
        for name, value in answers.items():
            try:
                if value is not None:
                    kept[name] = accepted(self._asked(name), value, self.setting)
            except UsageError as error:
                error.where = error.where or (name,)
                wrong.append(error)
        if any(self._said.get(name) != value for name, value in kept.items()):
            self._happened("predict", answers=kept)
        if wrong:
            raise wrong[0]
        return self

    def _asked(self, name: str) -> Prediction:
        known = {p.name: p for p in self.exercise.predictions}
        if name not in known:
            hint = did_you_mean(name, known, "asked for")
            raise UsageError("lab.prediction", f"Nothing called '{name}' is asked for here", [name], hint)
        return known[name]

    def reset(self) -> Attempt:
        """Start again from the nest as it was: all steps are taken back, what you predicted stays.

        The schedule stays the same object, so that a widget which shows it follows.
        """
        if self._start is not None:
            self.schedule.undo(len(self.schedule.trace))
            for step in self._start.trace:
                self.schedule.apply(step)
        self._function = self.verdict = None
        return self

    def hint(self, n: int | None = None) -> Shown:
        """Return hint `n` (from 1 on), or the next one; each is more concrete than the one before.

        Raises
        ------
        UsageError
            "lab.hint" when there is no hint of that number.
        """
        hints = self.exercise.hints
        number = min(self._standing.hints + 1, len(hints)) if n is None else whole("n", n, code="lab.hint")
        if number > len(hints):
            text = f"There are {len(hints)} hints here, so there is none with number {number}"
            raise UsageError("lab.hint", text, [self.exercise.name], "solution() shows a solution")
        if number > self._standing.hints:
            self._happened("hint", number=number)
        cost = self._settings.hint_cost
        price = f" (each costs {cost:g} of a point)" if cost else ""
        return Shown(f"Hint {number} of {len(hints)}{price}", said(hints[number - 1], self.setting))

    def solution(self) -> Solution:
        """Return one solution, to read; its ``apply()`` carries it out here. From now on the exercise gives no points.

        Raises
        ------
        UsageError
            "lab.mode" where the lab's settings keep solutions off.
        """
        if not self._settings.solutions:
            raise UsageError("lab.mode", "Solutions are off in this lab", [self.exercise.name], "hint() gives a hint")
        if not self._standing.shown:
            self._happened("solution")
        return _solution(self)

    def check(self, work: Work | None = None) -> Verdict:
        """Say what is right and what is still missing.

        Parameters
        ----------
        work : Schedule or function, optional
            Yours. By default what the exercise's variable (``s``) is bound to where you call this, if that is a
            schedule of the same function; otherwise `Attempt.schedule`. The verdict says which one was judged.
        """
        names: Mapping[str, object] = {}
        if work is None:
            frame = sys._getframe(1)
            names = {**frame.f_globals, **frame.f_locals}
        return self._check(work, names)

    def _check(self, work: Work | None, names: Mapping[str, object]) -> Verdict:
        answers = [judged(p, self._said.get(p.name), self.setting) for p in self.exercise.predictions]
        tried = [(*self._verdict(answers, one), one.work) for one in self._candidates(work, names)]
        best: Any
        self.verdict, done, best = max(tried, key=lambda one: one[0].points)  # the first of equal ones
        if self.verdict.state != UNATTEMPTED:
            slips = [f.slip for f in self.verdict.findings if f.slip]
            reached = sum(f.points for f in self.verdict.findings[len(answers) :] if f.good)
            points, state = self.verdict.points, self.verdict.state
            kept = recorded_work(best)
            self._happened("check", work=kept, points=points, reached=reached, state=state, slips=slips)
            if self.attempts > 1 and points < self.points:
                note = f"Your best check counts: {self.points:g} of {self.verdict.possible} points."
                self.verdict = replace(self.verdict, notes=(*self.verdict.notes, note))
        if done is not None:
            self.verdict = replace(self.verdict, notes=(*self.verdict.notes, *self._timed(best, done)))
        return self.verdict

    def _timed(self, yours: Schedule, done: Measurement) -> list[str]:
        """What the clock says, for interest only; of what solves the exercise, beside the lab's own solution."""
        if not done.ok or self._target(yours).kind in _SIMULATED:
            return []
        notes = [f"Measured on this machine: {_time(done)} (not part of the score)."]
        work, start = self.exercise.work, start_of(self.exercise, self.setting)
        if self.verdict and isinstance(work, Nest) and start is not None and done.clean and done.ms:
            work.solve(start, self.setting)
            other = done if start.trace == yours.trace else start.measure()
            if other is not done and other.clean and other.ms:
                share = done.ms / other.ms
                verb = "faster than" if share < 0.9 else "slower than" if share > 1.1 else "as fast as"
                notes.append(f"Yours is {verb} the lab's own solution, which takes {other.ms:.3g} ms here.")
        return notes

    def _target(self, work: Work | None) -> Target:
        """Where work runs."""
        return work.target if isinstance(work, Schedule) and work.target else self.setting.target

    def _verdict(self, answers: list[Finding], candidate: Candidate) -> tuple[Verdict, Measurement | None]:
        work, notes = candidate.work, [candidate.note] if candidate.note else []
        findings, done = [*answers, *judged_work(self.exercise, work, self.setting)], None
        machine = self._target(work)
        if isinstance(work, Schedule) and work.is_concrete and (lacking := machine.missing_here()):
            notes.append(f"It did not run: this machine lacks {', '.join(lacking)}. Steps keep the result.")
        elif isinstance(work, Schedule) and work.is_concrete:
            done = work.measure()
            if not done.ok:  # then nothing that the nest reaches counts
                findings = [*answers, *(replace(f, good=None) for f in findings[len(answers) :])]
            findings.append(right_result(done))
        return Verdict(self.exercise.title, tuple(findings), tuple(notes)), done

    def _candidates(self, given: Work | None, names: Mapping[str, object]) -> list[Candidate]:
        """What may be judged: what is given, or what the variable is bound to and what the exercise has."""
        work = self.exercise.work
        if isinstance(work, Nest):
            assert self._start is not None
            every = {name: other._schedule for name, other in self._siblings.items()}
            own = OwnNest(self.exercise.name, work.name, self._start, self.schedule, every)
            return own.candidates(given, names)
        return [Candidate(None)] if work is None else function_of(work, given, names, self._function)


@dataclass(frozen=True, repr=False, kw_only=True)
class Solution(Shown):
    """One solution of an exercise: the answers, the work and the reason."""

    attempt: Attempt
    answers: dict[str, Answer]
    work: Work | None

    def apply(self) -> Attempt:
        """Take over answers and work, as if you had given them; what you did on the nest is taken back first."""
        attempt = self.attempt.reset()
        if isinstance(attempt.exercise.work, Nest):
            attempt.exercise.work.solve(attempt.schedule, attempt.setting)
        attempt._function = self.work
        return attempt.predict(**self.answers)


def _solution(attempt: Attempt) -> Solution:
    exercise, setting, work = attempt.exercise, attempt.setting, attempt.exercise.work
    found = {p.name: valued(p.answer, setting) for p in exercise.predictions}
    lines = tuple(Item("", f"{p.name} = {answer_text(p, found[p.name])}") for p in exercise.predictions)
    code = ""
    answer: Work | None = None
    if isinstance(work, Nest):
        answer = done = start_of(exercise, setting)
        assert done is not None
        work.solve(done, setting)
        code = _steps_from(f"lab.{exercise.name}.schedule", attempt._start, done)
    elif work is not None:
        code, answer = inspect.getsource(work.solution), work.solution
    return Solution(
        f"A solution of '{exercise.title}'",
        said(exercise.why, setting) + ("" if attempt._standing.found == SOLVED else _NO_MORE),
        (("Answers", lines),) if lines else (),
        code,
        attempt=attempt,
        answers=found,
        work=answer,
    )


def _steps_from(name: str, start: Schedule | None, done: Schedule) -> str:
    """Python that takes a schedule as it starts to a solution."""
    before, after = () if start is None else start.trace, done.trace
    same = next(
        (k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    back = [f"s.undo({len(before) - same})"] if len(before) > same else []
    return "\n".join([f"s = {name}", *back, *(step.to_python("s") for step in after[same:])])


def _wanted(p: Prediction) -> str:
    """What an answer looks like, and what it is worth."""
    choices = ", ".join(f'"{choice}"' for choice in p.choices)  # a choice may have commas of its own
    form = f"one of {choices}" if choices else f"in {p.unit}" if p.unit else ""
    return ", ".join(part for part in (form, markup.plural(p.points, "point")) if part)


def recorded_work(work: Work | None) -> object:
    """Return work as it is kept: the steps of a schedule, the source of a function."""
    if work is None or isinstance(work, Schedule):
        return work if work is None else work.to_json()
    try:
        return {"source": inspect.getsource(work)[:_LONGEST_SOURCE]}
    except (OSError, TypeError):  # made by exec, or an object that can be called
        return {"source": ""}


def _time(done: Measurement) -> str:
    if done.clean:
        speed = f", {done.gflops:.3g} GFLOP/s" if done.flops else ""  # a copy does no arithmetic
        return f"{done.ms:.3g} ms{speed}"
    return f"at least {done.at_least_ms:.3g} ms, because {done.why_not}"
