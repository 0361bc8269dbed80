"""What an exercise is: questions with their typical wrong answers, work with goals that are counted, hints, a solution.

Everything that depends on the machine or on the student's sizes is a function of a `Setting`::

    Prediction("naive", "MiB loaded from B?", lambda at: at["n"] ** 3 * 4 / 2**20, "MiB", (
        Misconception(lambda at: at["n"] ** 2 * 4 / 2**20, "That is how much B holds. How often is it gone through?"),
    ))
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.ir import Func
    from workbench.schedule import Schedule
    from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Setting:
    """What texts, answers and goals depend on.

    Attributes
    ----------
    target : Target
        Of the student; a hand-in holds it, so that a lecturer's machine judges by it.
    variant : dict of str to int
        The student's sizes, drawn from what the exercise declares; ``setting["n"]`` is one of them.
    """

    target: Target
    variant: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> int:
        return self.variant[name]

    @property
    def lanes(self) -> int:
        """Elements of float32 in one vector register."""
        return self.target.lanes("float32")

    @property
    def registers(self) -> int:
        """Vector registers."""
        return self.target.vector_registers


Answer: TypeAlias = "float | str"
Text: TypeAlias = "str | Callable[[Setting], str]"
Value: TypeAlias = "Answer | Callable[[Setting], Answer]"
#: What is judged: a `Schedule`, or the student's function.
Work: TypeAlias = Any
Reached: TypeAlias = "Callable[[Work, Setting], tuple[bool, str]]"


@dataclass(frozen=True, slots=True)
class Misconception:
    """A wrong answer that people give, and what helps who gives it.

    Parameters
    ----------
    says : number, str or callable of Setting
        The wrong answer, in the unit of the question.
    hint : str or callable of Setting
        One or two sentences that help on and do not give the answer away.
    """

    says: Value
    hint: Text


@dataclass(frozen=True, slots=True)
class Prediction:
    """A number or a name that the student says before trying.

    Parameters
    ----------
    name : str
        Keyword of ``predict(...)``.
    question : str or callable of Setting
        What is asked, as one sentence.
    answer : number, str or callable of Setting
    unit : str
        Of a number: ``"MiB"``, ``"%"``, ``"cycles"``, ``"GFLOP/s"``, or empty. Answers may have another unit of the
        same kind.
    misconceptions : tuple of Misconception
    choices : tuple of str
        What may be answered, where the answer is a name.
    wrong : str or callable of Setting
        What helps where no misconception is recognised.
    within : float
        Share of the answer by which a number may be off; 0 where numbers next to each other are both plausible.
    points : int
    """

    name: str
    question: Text
    answer: Value
    unit: str = ""
    misconceptions: tuple[Misconception, ...] = ()
    choices: tuple[str, ...] = ()
    wrong: Text = ""
    within: float = 0.02
    points: int = 1


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that has to be the case for the student's work; counted or computed, never timed.

    Parameters
    ----------
    text : str or callable of Setting
        What is to be reached, as one sentence.
    reached : callable
        (work, setting) -> (whether it is reached, what is the case now as one sentence). The work is a concrete
        `Schedule` or the student's function; what a function raises is told to the student.
    points : int
    """

    text: Text
    reached: Reached
    points: int = 1


@dataclass(frozen=True, slots=True)
class Nest:
    """Work on a schedule, which has to compute the right result as well.

    Parameters
    ----------
    start : callable of Setting
        Returns the function that the student schedules; or a `Schedule` with steps, which the student repairs.
    solve : callable
        (schedule as it starts, setting): takes the steps of one solution.
    name : str
        Variable of the notebook that is judged, as it is bound when ``check()`` is called.
    """

    start: Callable[[Setting], Func | Schedule]
    solve: Callable[[Schedule, Setting], object]
    name: str = "s"


@dataclass(frozen=True, slots=True)
class Function:
    """Work on a function in Python: a rule, a template, a pass, a search, a query on a log.

    Parameters
    ----------
    name : str
        Name of the student's function in the notebook, as it is bound when ``check()`` is called.
    solution : callable
        One that reaches all goals; its source is shown as the solution.
    """

    name: str
    solution: Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """One exercise: everything that is particular to it.

    Parameters
    ----------
    name, title : str
        Attribute of the lab, and heading.
    task : str or callable of Setting
        What to think about and what to do; paragraphs have an empty line between them.
    predictions : tuple of Prediction
    work : Nest or Function, optional
        None where there are questions only.
    goals : tuple of Goal
        What the work has to reach; at least one where there is work.
    hints : tuple of str or callable of Setting
        From a nudge to nearly the answer.
    why : str or callable of Setting
        Why the answers are right and the solution is one.
    variants : dict of str to tuple of int
        Sizes to draw from for each student; who studies alone has the first of each. Exercises of a lab that declare
        the same draw the same.
    """

    name: str
    title: str
    task: Text
    predictions: tuple[Prediction, ...] = ()
    work: Nest | Function | None = None
    goals: tuple[Goal, ...] = ()
    hints: tuple[Text, ...]
    why: Text
    variants: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.hints:
            raise UsageError("lab.exercise", f"Exercise '{self.name}' needs at least one hint", [self.name])
        if bool(self.goals) != (self.work is not None):
            raise UsageError("lab.exercise", f"Exercise '{self.name}' needs work with goals, or neither", [self.name])

    @property
    def points(self) -> int:
        """Points for all predictions and goals."""
        return sum(p.points for p in self.predictions) + sum(g.points for g in self.goals)

    def setting_of(self, student: str, target: Target) -> Setting:
        """Return the setting of a student; an empty name has the first of all sizes."""
        return Setting(target, {name: _drawn(student, name, sizes) for name, sizes in self.variants.items()})

    def settings(self, target: Target) -> list[Setting]:
        """Every variant that a student can have."""
        return [
            Setting(target, dict(zip(self.variants, sizes, strict=True))) for sizes in product(*self.variants.values())
        ]


def _drawn(student: str, name: str, sizes: tuple[int, ...]) -> int:
    """A student's size: the same on every day, and in every exercise that declares the same sizes."""
    if not student:
        return sizes[0]
    key = f"{student}\0{name}\0{sizes}".encode(errors="surrogatepass")
    return sizes[int.from_bytes(hashlib.sha256(key).digest()[:8], "big") % len(sizes)]


def said(text: Text, setting: Setting) -> str:
    """Return a text for this setting."""
    return text if isinstance(text, str) else text(setting)


def valued(value: Value, setting: Setting) -> Answer:
    """Return an answer for this setting."""
    return value(setting) if callable(value) else value
