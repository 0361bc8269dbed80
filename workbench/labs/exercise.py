"""What an exercise is: questions about numbers, goals that are counted, hints and a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.ir import Func
    from workbench.schedule import Schedule
    from workbench.target import Target

Answer: TypeAlias = "float | str"
Text: TypeAlias = "str | Callable[[Target], str]"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A number or a name that the student says before trying.

    Parameters
    ----------
    name : str
        Keyword of ``predict(...)``.
    question : str
        What is asked, as one sentence.
    answer : callable
        Target -> the right answer: a number, or a string such as the name of a loop.
    unit : str
        Of a number, for the display.
    wrong : callable, optional
        (what was said, target) -> one sentence that helps on without giving the answer away. A number gets "is too
        large" or "is too small" in front of it.
    """

    name: str
    question: str
    answer: Callable[[Target], Answer]
    unit: str = ""
    wrong: Callable[[Answer, Target], str] = field(default=lambda said, target: "")


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that has to be the case for the student's nest.

    Parameters
    ----------
    text : str or callable of Target
        What is to be reached, as one sentence.
    reached : callable
        (func, target) -> (whether it is reached, what is the case now as one sentence).
    """

    text: Text
    reached: Callable[[Func, Target], tuple[bool, str]]


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise: everything that is particular to it.

    Parameters
    ----------
    name, title : str
        Attribute of the lab, and heading.
    task : str or callable of Target
        What to think about and what to do.
    start : callable
        Makes the function that the student schedules.
    predictions : tuple of Prediction
    goals : tuple of Goal
    hints : tuple of str or callable of Target
        From a nudge to nearly the answer.
    solve : callable
        Takes the steps of one solution on a fresh schedule.
    why : str or callable of Target
        Why the solution is one.
    """

    name: str
    title: str
    task: Text
    start: Callable[[], Func]
    predictions: tuple[Prediction, ...]
    goals: tuple[Goal, ...]
    hints: tuple[Text, ...]
    solve: Callable[[Schedule], object]
    why: Text

    def __post_init__(self) -> None:
        if not self.hints or not self.goals:
            raise UsageError(
                "lab.exercise", f"Exercise '{self.name}' needs at least one hint and one goal", [self.name]
            )


def said(text: Text, target: Target) -> str:
    """Return a text for this machine."""
    return text if isinstance(text, str) else text(target)
