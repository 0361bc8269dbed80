"""An exercise in the hands of a student: show, predict, do, check, hint, solution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.arguments import is_a, real, whole
from workbench.errors import UsageError, did_you_mean
from workbench.labs.display import Shown, Verdict, verdict
from workbench.labs.exercise import Answer, Exercise, Prediction, said
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule

if TYPE_CHECKING:
    from workbench.target import Target

#: Share by which numbers may be off: 63.9 MB is as good as 64. Chosen, not measured.
_CLOSE = 0.02


class Attempt:
    """One exercise and what has been said and done about it so far.

    Attributes
    ----------
    exercise : Exercise
    schedule : Schedule
        The nest to work on; take steps on it, or show it with ``wb.Workbench(attempt.schedule)``.
    """

    def __init__(self, exercise: Exercise, target: Target) -> None:
        self.exercise, self.target = exercise, target
        self.schedule = self._fresh()
        self._said: dict[str, Answer] = {}
        self._hints = 0
        self.verdict: Verdict | None = None

    def _fresh(self) -> Schedule:
        return Schedule(self.exercise.start(), self.target)

    @shown_legibly
    def __repr__(self) -> str:
        units = {p.name: p.unit for p in self.exercise.predictions}
        told = ", ".join(f"{name} = {_text(value, units[name])}" for name, value in self._said.items())
        return f"<exercise {self.exercise.name}: {self.state}; you said: {told or 'nothing yet'}>"

    @property
    def state(self) -> str:
        """What the last ``check()`` found, or that there was none."""
        return "not checked yet" if self.verdict is None else self.verdict.state

    def show(self) -> Shown:
        """Say what is asked, and what has been answered so far."""
        lines = [f"{p.name}: {p.question} {self._answer_text(p)}" for p in self.exercise.predictions]
        goals = [said(g.text, self.target) for g in self.exercise.goals]
        return Shown(
            self.exercise.title,
            said(self.exercise.task, self.target),
            (("Predict", tuple(lines)), ("Then reach", tuple(goals))),
        )

    def _answer_text(self, p: Prediction) -> str:
        value = self._said.get(p.name)
        return "" if value is None else f"(you said: {_text(value, p.unit)})"

    def predict(self, **answers: Answer | None) -> Attempt:
        """Say what you expect; None leaves a question open.

        Raises
        ------
        UsageError
            "lab.prediction" for a name that is not asked for, or a value of the wrong kind.
        """
        known = {p.name: p for p in self.exercise.predictions}
        for name, value in answers.items():
            if name not in known:
                hint = did_you_mean(name, known, "asked for")
                raise UsageError("lab.prediction", f"Nothing called '{name}' is asked for here", [name], hint)
            if value is None:
                self._said.pop(name, None)
            elif isinstance(known[name].answer(self.target), str):
                self._said[name] = is_a(name, value, str, "write it in quotes", "lab.prediction")
            else:
                self._said[name] = real(name, value, code="lab.prediction")
        return self

    def reset(self) -> Attempt:
        """Start again from the nest as it was: all steps are taken back, what you predicted stays.

        The schedule stays the same object, so that a widget which shows it follows.
        """
        self.schedule.undo(len(self.schedule.trace))
        self.verdict = None
        return self

    def hint(self, n: int | None = None) -> Shown:
        """Return hint `n` (from 1 on), or the next one; each is more concrete than the one before.

        Raises
        ------
        UsageError
            "lab.hint" when there is no hint of that number.
        """
        hints = self.exercise.hints
        number = min(self._hints + 1, len(hints)) if n is None else whole("n", n, code="lab.hint")
        if number > len(hints):
            text = f"There are {len(hints)} hints here, so there is none with number {number}"
            raise UsageError("lab.hint", text, [self.exercise.name], "solution() shows a solution")
        self._hints = max(self._hints, number)
        return Shown(f"Hint {number} of {len(hints)}", said(hints[number - 1], self.target))

    def solution(self) -> Solution:
        """Return one solution, to read; its ``apply()`` carries it out here."""
        done = self._fresh()
        self.exercise.solve(done)
        found = [(p, p.answer(self.target)) for p in self.exercise.predictions]
        lines = tuple(f"{p.name} = {_text(value, p.unit)}" for p, value in found)
        steps = "\n".join(step.to_python("s") for step in done.trace)
        return Solution(
            f"A solution of '{self.exercise.title}'",
            said(self.exercise.why, self.target),
            (("Answers", lines),),
            f"s = lab.{self.exercise.name}.schedule\n{steps}",
            attempt=self,
            answers={p.name: value for p, value in found},
            schedule=done,
        )

    def check(self, schedule: Schedule | None = None) -> Verdict:
        """Say what is right and what is still missing.

        Parameters
        ----------
        schedule : Schedule, optional
            Your own one of the same function; `Attempt.schedule` by default.
        """
        if schedule is not None:
            self.schedule = self._same(schedule)
        self.verdict = verdict(self.exercise, self.target, self._judged(), self.schedule)
        return self.verdict

    def _same(self, schedule: Schedule) -> Schedule:
        is_a("schedule", schedule, Schedule, "give the Schedule that you worked on")
        if schedule.base != self.exercise.start():
            hint = f"start from lab.{self.exercise.name}.schedule"
            raise UsageError(
                "lab.schedule", "This schedule is of another function than the exercise is about", (), hint
            )
        return schedule

    def _judged(self) -> list[tuple[Prediction, bool | None, str]]:
        """Every prediction with: right, wrong, or None for not said; and a sentence."""
        return [(p, *self._judge(p)) for p in self.exercise.predictions]

    def _judge(self, p: Prediction) -> tuple[bool | None, str]:
        value, right = self._said.get(p.name), p.answer(self.target)
        if value is None:
            return None, f"{p.name}: you have not said yet what you expect. {p.question}"
        told = f"{p.name}: {_text(value, p.unit)} "
        if isinstance(right, str) or isinstance(value, str):
            good, word = str(value).strip() == right, "is not it."
        else:
            good = abs(value - right) <= _CLOSE * abs(right)
            word = "is too small." if value < right else "is too large."
        return good, told + ("is right." if good else f"{word} {p.wrong(value, self.target)}".rstrip())


@dataclass(frozen=True, repr=False, kw_only=True)
class Solution(Shown):
    """One solution of an exercise: the answers, the steps and the reason."""

    attempt: Attempt
    answers: dict[str, Answer]
    schedule: Schedule

    def apply(self) -> Attempt:
        """Take over answers and steps, as if you had given them; what you did on the nest is taken back first."""
        self.attempt.exercise.solve(self.attempt.reset().schedule)
        return self.attempt.predict(**self.answers)


class Lab:
    """The exercises of one topic, by name: ``lab.traffic``, or in order: ``for attempt in lab``."""

    def __init__(self, title: str, exercises: tuple[Exercise, ...], target: Target | None = None) -> None:
        from workbench.target import Target

        self.title = title
        self.target = Target.host(threads=1) if target is None else is_a("target", target, Target)
        self._attempts = {e.name: Attempt(e, self.target) for e in exercises}

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

    def report(self) -> Shown:
        """Return where each exercise stands, as its last ``check()`` found it."""
        lines = [f"{a.exercise.name} ({a.exercise.title}): {a.state}" for a in self]
        return Shown(self.title, "", (("Exercises", tuple(lines)),))


def _text(value: Answer, unit: str) -> str:
    number = value if isinstance(value, str) else f"{value:,.6g}"
    return f"{number} {unit}".rstrip()
