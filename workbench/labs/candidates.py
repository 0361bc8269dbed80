"""What ``check()`` judges: the work that is given to it, what the exercise's variable is bound to, or its own nest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.arguments import is_a, shown
from workbench.errors import UsageError
from workbench.labs.exercise import Function, Work
from workbench.schedule import Schedule

_UNBOUND = object()


class Candidate(NamedTuple):
    """Work that may be judged, None for nothing yet; and what has to be said where it is judged."""

    work: Work | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class OwnNest:
    """The nest of an exercise: as it starts, as it is now, the variable for it, and the nests of all exercises."""

    exercise: str
    variable: str
    start: Schedule
    schedule: Schedule
    every: Mapping[str, Schedule | None]

    def candidates(self, given: Work | None, names: Mapping[str, object]) -> list[Candidate]:
        """Return what may be judged of a schedule that is given, or of the names that are bound.

        Raises
        ------
        UsageError
            "lab.schedule" for a schedule of another function, "usage.type" for anything else that is given.
        """
        name = f"lab.{self.exercise}.schedule"
        other = f"Judged: your schedule, which is another one than {name}."
        if given is not None:
            found = self._same(given)
            return [Candidate(found, "" if found is self.schedule else other)]
        bound = names.get(self.variable, _UNBOUND)
        if bound is self.schedule:
            own = Candidate(self.schedule)
        elif why := self._why_not(bound):
            own = Candidate(self.schedule, f"Judged: {name}, because {why}.")
        else:
            own = Candidate(self.schedule, f"Judged: {name}, which reaches more than `{self.variable}`.")
            return [c for c in (Candidate(bound, other), own) if self._touched(c.work)] or [Candidate(None)]
        return [own if self._touched(self.schedule) else Candidate(None, own.note)]

    def _touched(self, schedule: Work) -> bool:
        return bool(schedule.trace != self.start.trace)

    def _why_not(self, bound: object) -> str:
        """Why what the variable is bound to cannot be judged; empty where it can."""
        s = f"`{self.variable}`"
        if bound is _UNBOUND:
            return f"nothing is called {s} here"
        if not isinstance(bound, Schedule):
            return f"{s} is no schedule, but of type {type(bound).__name__}"
        left = next((name for name, schedule in self.every.items() if bound is schedule), "")
        if left:
            return f"{s} is still lab.{left}.schedule"
        return "" if bound.base == self.start.base else f"{s} is a schedule of another function"

    def _same(self, schedule: Work) -> Schedule:
        found = is_a("schedule", schedule, Schedule, "give the Schedule that you worked on")
        if found.base != self.start.base:
            hint = f"start from lab.{self.exercise}.schedule"
            text = "This schedule is of another function than the exercise is about"
            raise UsageError("lab.schedule", text, (), hint)
        return found


def function_of(
    work: Function, given: Work | None, names: Mapping[str, object], kept: Callable[..., Any] | None
) -> list[Candidate]:
    """Return the function to judge: what is given, what its name is bound to, or what was kept of a solution.

    Raises
    ------
    UsageError
        "lab.function" for what cannot be called.
    """
    found = given if given is not None else names.get(work.name, kept)
    if found is None:
        return [Candidate(None, f"Nothing is called `{work.name}` here.")]
    if not callable(found):
        text = f"{work.name} has to be a function, not {shown(found)}"
        raise UsageError("lab.function", text, [work.name], f"def {work.name}(...):")
    return [Candidate(found)]
