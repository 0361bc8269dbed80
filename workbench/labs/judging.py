"""Judges answers and work: every prediction and goal becomes a `Finding`. Nothing here is timed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench import markup
from workbench.arguments import is_a, real, shown
from workbench.errors import UsageError, WorkbenchError, did_you_mean
from workbench.labs.display import Finding
from workbench.labs.exercise import Answer, Exercise, Goal, Nest, Prediction, Setting, Work, said, valued
from workbench.labs.quantities import close, other_unit, readings, rounded, with_unit, without_words
from workbench.schedule import Schedule

if TYPE_CHECKING:
    from workbench.runtime.results.measurement import Measurement

#: A number of NumPy, as it writes itself.
_NUMPY = re.compile(r"\bnp\.(?:u?int|float|bool|str)\w*\(([^()]*)\)")
#: Characters of an answer.
_LONGEST = 200


def accepted(p: Prediction, value: object, setting: Setting) -> Answer:
    """Return an answer as it is kept: a number, a text with a unit, or one of the choices.

    Raises
    ------
    UsageError
        "lab.prediction" for what cannot be an answer to the question.
    """
    if isinstance(value, str) and len(value) > _LONGEST:
        raise UsageError("lab.prediction", f"An answer has at most {_LONGEST} characters, not {len(value)}", [p.name])
    if isinstance(valued(p.answer, setting), str):
        word = {True: "yes", False: "no"}.get(value) if isinstance(value, bool) else value
        if p.choices and isinstance(word, int | float):
            word = str(word)
        if isinstance(word, list | tuple) and all(isinstance(part, str) for part in word):
            word = ", ".join(word)
        text = " ".join(is_a(p.name, word, str, "write it in quotes", "lab.prediction").split())
        same = [c for c in p.choices if _bare(c) == _bare(text)]
        if p.choices and not same:
            hint = did_you_mean(text, p.choices, "choices")
            raise UsageError("lab.prediction", f"{shown(text)} is none of the answers to choose from", [p.name], hint)
        return same[0] if same else text
    number = without_words(value, p.unit, said(p.question, setting)) if isinstance(value, str) else value
    if not isinstance(number, str):
        number = real(p.name, number, code="lab.prediction")
    readings(number, p.unit)
    return number


def answer_text(p: Prediction, value: Answer) -> str:
    """Return an answer as it is shown: a share without a unit may be one of 1, so it gets none."""
    bare = p.unit.strip() in ("%", "percent") and not isinstance(value, str) and abs(value) <= 1
    return value if isinstance(value, str) else with_unit(value, "" if bare else p.unit)


def judged(p: Prediction, value: Answer | None, setting: Setting) -> Finding:
    """Judge one answer; a typical wrong one gets its own hint."""
    if value is None:
        text = f"{p.name}: you have not said yet what you expect. {said(p.question, setting)}"
        return Finding(None, text, p.points)
    told, right = f"{p.name}: {answer_text(p, value)}", valued(p.answer, setting)
    taken = _same(p, value, right)
    if taken is not None:
        if isinstance(taken, float) and _odd(p, value, taken):
            bare = value if isinstance(value, str) else f"{value:,.6g}"
            told = f"{p.name}: {bare} (taken as {with_unit(taken, p.unit)})"
        return Finding(True, f"{told} is right.", p.points)
    for k, slip in enumerate(p.misconceptions):
        if _same(p, value, valued(slip.says, setting), literally=True) is not None:
            return Finding(False, f"{told} is not it. {said(slip.hint, setting)}", p.points, f"{p.name}[{k}]")
    if _rounded(p, value, right):
        return Finding(True, f"{told} is right.", p.points)
    word, hint = "is not it.", said(p.wrong, setting)
    if not isinstance(right, str):
        wanted = readings(right, p.unit)[0]
        word = "is too small." if readings(value, p.unit)[0] < wanted else "is too large."
        if meant := other_unit(value, p.unit, wanted, p.within):
            hint = f"In {meant} the number would be right."
    return Finding(False, f"{told} {word} {hint}".rstrip(), p.points)


def _odd(p: Prediction, value: Answer, taken: float) -> bool:
    """Whether a number was not taken as it stands."""
    return not close(readings(value, p.unit)[0], taken, 1e-9)


def _same(p: Prediction, value: Answer, other: Answer, literally: bool = False) -> Answer | None:
    """The reading of a value that is the other one, or None."""
    if isinstance(other, str) and not _is_number(p, other):
        return value if _words(value) == _words(other) else None
    wanted = readings(other, p.unit)[0]
    found = readings(value, p.unit)[: 1 if literally else None]
    return next((r for r in found if close(r, wanted, p.within)), None)


def _bare(choice: str) -> str:
    """A choice without blanks and capitals: ``m=4`` is ``m = 4``."""
    return "".join(choice.casefold().split())


def _rounded(p: Prediction, value: Answer, right: Answer) -> bool:
    """Whether a number is the right one, rounded; where none may be off there is nothing to round."""
    if not p.within or (isinstance(right, str) and not _is_number(p, right)):
        return False
    return rounded(readings(value, p.unit)[0], readings(right, p.unit)[0])


def _words(answer: Answer) -> list[str]:
    """The names in an answer: ``i, k, j`` and ``(i k j)`` are the same."""
    return re.findall(r"[^\s,;()\[\]'\"]+", str(answer).casefold())


def _is_number(p: Prediction, text: str) -> bool:
    try:
        return bool(readings(text, p.unit))
    except UsageError:
        return False


# ----------------------------------------------------------------------------------------------------------- the work


def judged_work(exercise: Exercise, work: Work | None, setting: Setting) -> list[Finding]:
    """Judge what the student made, None for nothing yet: each goal, and the result of a nest."""
    goals = exercise.goals
    if work is None:
        kept = "The nest is still as it was. " if isinstance(exercise.work, Nest) else ""
        return [Finding(None, f"{kept}{said(g.text, setting)}", g.points) for g in goals]
    if isinstance(work, Schedule) and not work.is_concrete:
        names = ", ".join(h.name for h in work.holes) or "a choice"
        first = Finding(False, f"The nest is not complete: {names} is still open. Fill it before you check.")
        return [first, *(Finding(False, said(g.text, setting), g.points) for g in goals)]
    return _earned([_reached(g, work, setting) for g in goals], exercise, setting)


def start_of(exercise: Exercise, setting: Setting) -> Schedule | None:
    """Return the nest as it starts, on its own; None where the work is none."""
    if not isinstance(exercise.work, Nest):
        return None
    start = exercise.work.start(setting)
    return start if isinstance(start, Schedule) else Schedule(start, setting.target)


def _earned(found: list[Finding], exercise: Exercise, setting: Setting) -> list[Finding]:
    """Leave out goals that the nest reaches as it starts, as long as no other one is reached: any step would give
    their points.
    """
    good = [goal for goal, f in zip(exercise.goals, found, strict=True) if f.good]
    start = start_of(exercise, setting) if 0 < len(good) < len(found) else None
    if start is None or not all(_reached(goal, start, setting).good for goal in good):
        return found
    told = "It was so at the start, and counts together with another goal."
    return [replace(f, good=None, text=f"{f.text} {told}") if f.good else f for f in found]


def _reached(goal: Goal, work: Work, setting: Setting) -> Finding:
    try:
        good, text = goal.reached(work, setting)
    except NotImplementedError:  # what a notebook begins with
        return Finding(None, f"{said(goal.text, setting)} Your function is not written yet.", goal.points)
    except Exception as error:  # a function of the student's, or a nest of a form that nobody thought of
        told = error.message.rstrip(".") if isinstance(error, WorkbenchError) else str(error)
        reason = f"{type(error).__name__}: {markup.last_line(told, 'no reason is given')}"
        if isinstance(error, WorkbenchError) and error.hint:
            reason += f" ({error.hint})"
        what = (
            "This nest has a form that cannot be judged here:" if isinstance(work, Schedule) else "Your function raised"
        )
        good, text = False, f"{said(goal.text, setting)} {what} {reason}{_line_of(error, work)}"
    return Finding(bool(good), _NUMPY.sub(r"\1", str(text)), goal.points)


def _line_of(error: Exception, work: Callable[..., object]) -> str:
    """Where in the student's function it happened."""
    code, at = getattr(work, "__code__", None), error.__traceback__
    line = 0
    while at is not None and code is not None:
        if at.tb_frame.f_code is code:
            line = at.tb_lineno - code.co_firstlineno + 1
        at = at.tb_next
    return f" (line {line} of the function)." if line else "."


def right_result(done: Measurement) -> Finding:
    """Say whether a nest computes what it has to."""
    reason = markup.last_line(done.error, "no reason is known")
    return Finding(done.ok, "The nest computes the right result." if done.ok else f"The nest does not run: {reason}")
