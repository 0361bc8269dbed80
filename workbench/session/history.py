"""The steps of the schedule on show, those taken back included, with what each state measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.schedule import Schedule

from .measuring import Key, Result
from .stats import rounded


@dataclass(frozen=True, slots=True)
class View:
    """A schedule as it is at one moment: nobody else moves this copy."""

    schedule: Schedule
    keys: tuple[Key, ...]
    at: int

    @staticmethod
    def of(task: int, schedule: Schedule) -> View:
        """Look at a schedule that other threads may move."""
        copy = schedule.copy()
        texts = [str(step) for step in (*copy.trace, *copy.undone)]
        keys = tuple((task, "\n".join(texts[:k])) for k in range(len(texts) + 1))
        return View(copy, keys, len(copy.trace))

    @property
    def key(self) -> Key:
        """The state on show."""
        return self.keys[self.at]


def open_parts(schedule: Schedule) -> list[str]:
    """Name what is left open: numbers, and the fields of steps that hold choices."""
    chosen = [f"{field} of {step.name}" for step in schedule.trace for field in step.open_choices()]
    return [h.name for h in schedule.holes] + chosen


@dataclass(slots=True)
class History:
    """What is remembered of states, by trace: undo and redo find it again."""

    results: dict[Key, Result] = field(default_factory=dict)
    #: States that came from the tuner.
    tuned: set[Key] = field(default_factory=set)
    #: Selected row, to return to it.
    selected: dict[Key, str] = field(default_factory=dict)
    _holes: dict[Key, int] = field(default_factory=dict)

    def best(self, task: int) -> Result | None:
        """Return the fastest result of a task that was measured by hand."""
        found = [r for k, r in self.results.items() if k[0] == task and r.ms is not None and k not in self.tuned]
        return min(found, key=lambda r: r.ms or 0.0, default=None)

    def rows(self, view: View, doing: Mapping[Key, str]) -> list[dict[str, Any]]:
        """Return the rows; `doing` says which states are being measured or wait for it."""
        steps = [None, *view.schedule.trace, *view.schedule.undone]
        self._count_holes(view)
        out = []
        for k, (step, key) in enumerate(zip(steps, view.keys, strict=True)):
            result = self.results.get(key) or Result("")
            row = {
                "id": k,
                "text": "as written" if step is None else str(step),
                "primitive": "" if step is None else step.name,
                "ms": rounded(result.ms),
                "spread": rounded(result.spread, 3),
                "gflops": rounded(result.gflops),
                "status": doing.get(key, result.status),
                "error": result.error,
                "undone": k > view.at,
                "holes": self._holes[key],
                "by": "tuner" if key in self.tuned else "hand",
            }
            out.append(row)
        return out

    def _count_holes(self, view: View) -> None:
        """Count the open numbers of states that are new."""
        if all(key in self._holes for key in view.keys):
            return
        walk = view.schedule.copy().undo(view.at)
        for k, key in enumerate(view.keys):
            if k:
                walk.redo()
            self._holes[key] = len(open_parts(walk))
