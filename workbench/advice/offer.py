"""Steps that are offered together: shown as one label, sent back as one command, taken with some steps taken back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from workbench.advice.step_text import gain_text, named, phrase, say
from workbench.analysis import Estimate
from workbench.schedule import Schedule
from workbench.schedule.primitive import Primitive


@dataclass(frozen=True, slots=True)
class Offer:
    """Steps that were tried on a copy and are worth it; its text is the label.

    Attributes
    ----------
    steps : tuple of Primitive
        In their order; each is legal after those before it.
    gain : float
        How many times as fast the schedule is after all of them; 0 for what stands in the place of a refused step.
    estimate : Estimate or None
        Of the schedule after all of them, in the place of a refused step; None where a choice of structure is open.
    without : tuple of int
        Steps of the schedule that are taken back before them, by their places in its trace.
    back : str
        What is taken back, in words.
    says : str
        The steps in fewer words than one by one; "" where they are short.
    """

    steps: tuple[Primitive, ...]
    gain: float = 0.0
    estimate: Estimate | None = None
    without: tuple[int, ...] = ()
    back: str = ""
    says: str = ""

    def __str__(self) -> str:
        return f"{self.back}{self.words}" + (f" ≈ {gain_text(self.gain)}×" if self.gain else "")

    @property
    def length(self) -> int:
        """How much there is to read: what is named together counts as two steps at most."""
        return min(len(self.steps), 2) if self.says else len(self.steps)

    @property
    def words(self) -> str:
        """The steps, without what is taken back."""
        if not self.gain:
            return ", then ".join(map(say, self.steps))
        return self.says or " + ".join(map(phrase, self.steps))

    @property
    def row(self) -> str:
        """Loop (or statement, ``stmt:BLOCK``) that the first step is about."""
        args = self.steps[0].args
        if "block" in args:
            return f"stmt:{args['block']}"
        named = args.get("loop") or args.get("loops") or ""
        return str((named[-1] if self.steps[0].name == "reorder" else named[0]) if isinstance(named, tuple) else named)

    def taken(self, schedule: Schedule) -> Schedule:
        """Return a schedule after the steps."""
        after = replayed(schedule, self.without) if self.without else schedule.copy()
        for step in self.steps:
            after.apply(step)
        return after

    def to_json(self) -> dict[str, Any]:
        """Return what a front end shows and sends back."""
        first, *rest = (step.to_json() for step in self.steps)
        told = {"row": self.row} if self.gain else {"est": self.estimate and self.estimate.to_json()["ms"]}
        back = {"without": list(self.without)} if self.without else {}
        return {"step": first, "then": rest, "label": str(self), **told, **back}


MARKS = ("vectorize", "unroll", "parallel")
"""Steps that say how loops run; a loop that has been told is in the way of steps that would change it."""


def marking(schedule: Schedule, loops: Collection[str]) -> tuple[int, ...]:
    """Return the places in the trace of the steps that said how loops run: as vectors, unrolled, on several cores."""
    marked = {name for name in loops if any(lp.name == name and lp.kind != "serial" for lp in schedule.loops)}
    return tuple(
        k for k, step in enumerate(schedule.trace) if step.name in MARKS and not marked.isdisjoint(named(step))
    )


def replayed(schedule: Schedule, without: Collection[int]) -> Schedule:
    """Return a schedule with all steps but some; raises what the first step does that is not legal without them."""
    after = schedule.prefix(min(without, default=len(schedule.trace)))
    for k, step in enumerate(schedule.trace):
        if k >= len(after.trace) and k not in without:
            after.apply(step)
    return after
