"""Where a student stands in one exercise: the fold of its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.labs.display import SHOWN, SOLVED, UNATTEMPTED
from workbench.labs.exercise import Answer
from workbench.labs.progress.journal import Event


@dataclass(slots=True)
class Standing:
    """Where a student stands.

    Attributes
    ----------
    said : dict of str to number or str
        Answers, as they were last given.
    hints : int
        How many of the hints were looked at.
    shown : bool
        Whether a solution was looked at.
    attempts : int
        Checks of something that had been begun.
    points : float
        Of the best check before a solution was shown, less what hints had cost by then.
    slips : list of str
        Misconceptions that were recognised, in order, ``"naive[0]"``.
    found : str
        State that the best check found.
    work : object
        What the best check judged, as JSON.
    """

    hint_cost: float = 0.0
    said: dict[str, Answer] = field(default_factory=dict)
    hints: int = 0
    shown: bool = False
    attempts: int = 0
    points: float = 0.0
    slips: list[str] = field(default_factory=list)
    found: str = UNATTEMPTED
    work: object = None

    def take(self, event: Event, points: float = 0, state: str = UNATTEMPTED) -> None:
        """Fold one event of this exercise; `points` and `state` are what a check found."""
        if event.kind == "predict":
            self.said = {**self.said, **event.data["answers"]}
        elif event.kind == "hint":
            self.hints = max(self.hints, event.data["number"])
        elif event.kind == "solution":
            self.shown = True
        elif event.kind == "check":
            self._check(event, points, state)

    def _check(self, event: Event, points: float, state: str) -> None:
        self.attempts += 1
        self.slips += event.data["slips"]
        counted = max(0.0, points - self.hint_cost * self.hints)
        if counted >= self.points and not self.shown:
            self.points, self.found, self.work = counted, state, event.data.get("work")

    def to_json(self) -> dict[str, object]:
        """Return what a hand-in says of the exercise."""
        return {
            "state": self.state, "points": self.points, "attempts": self.attempts, "hints": self.hints,
            "solution": self.shown, "answers": self.said, "work": self.work,
        }  # fmt: skip

    @property
    def state(self) -> str:
        """What the best check found, or that a solution was shown before the exercise was solved."""
        return SHOWN if self.shown and self.found != SOLVED else self.found
