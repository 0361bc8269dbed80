"""A schedule under the steps of a foreign record: what each step became, and the reason where one is not legal here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from workbench.errors import ScheduleError
from workbench.ir import For
from workbench.logs.replays.result import CannotReplay, ReplayStep
from workbench.schedule.primitive import Primitive
from workbench.schedule.schedule import Schedule
from workbench.schedule.size_limits import UNROLL_LIMIT, VECTOR_LIMIT

ALONE = "Threads that copy together inside their own loops have no match here: each copies what it reads."


class Taking:
    """A schedule, the steps of the record so far, and what differs from the record.

    Attributes
    ----------
    schedule : Schedule
        Moves on with each step.
    steps : list of ReplayStep
        What was taken.
    notes : list of str
        In what the schedule differs from the record.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.steps: list[ReplayStep] = []
        self.notes: list[str] = []
        self._open: list[Primitive] = []

    def do(self, primitive: str, *args: Any) -> Any:
        """Take a step of the schedule for the step of the record that `told` names afterwards.

        Raises
        ------
        CannotReplay
            Where it is not legal.
        """
        try:
            found = getattr(self.schedule, primitive)(*args)
        except ScheduleError as error:
            shown = ", ".join(map(repr, args))
            text = f"{primitive}({shown}) is not legal here: {error.message} [{error.code}]"
            raise CannotReplay(text, self.steps) from None
        self._open.append(self.schedule.trace[-1])
        return found

    def told(self, theirs: str, words: str, number: int | None = None) -> None:
        """Say of which step of the record the steps since the last call are."""
        place = len(self.steps) if number is None else number
        self.steps.append(ReplayStep(place, theirs, words, tuple(self._open)))
        self._open = []

    def note(self, text: str) -> None:
        """Say once in what the schedule differs."""
        if text not in self.notes:
            self.notes.append(text)

    def loop(self, name: str) -> For:
        """Return a loop."""
        return self.schedule.func.loop(name)[0]

    def extent(self, name: str) -> int:
        """Return how often a loop runs."""
        extent = self.loop(name).extent
        assert isinstance(extent, int)
        return extent

    def cut(self, loop: str, factors: Sequence[int]) -> list[str]:
        """Split a loop by the factors of a knob; the outermost follows from the extent, and may be cut short."""
        inner = [int(factor) for factor in factors[1:]]
        total, extent = math.prod(inner), self.extent(loop)
        if total < 1:
            raise CannotReplay(f"a split by {list(factors)} makes no sense")
        outer = -(-extent // total)
        return list(self.do("split", loop, [outer, *inner], *([] if outer * total == extent else ["guard"])))

    def buffer_of(self, block: str) -> str:
        """Return the name of what a block writes."""
        return self.schedule.func.block(block)[0].buffer

    def axes_of(self, block: str, kind: str) -> list[str]:
        """Return the names of the axes of a block that are of a kind: S of the result, R reduced."""
        return [it.name for it in self.schedule.func.block(block)[0].iters if it.kind == kind]

    def reads_of(self, block: str) -> list[str]:
        """Return the names of what a block reads, in order, without what it writes."""
        found = self.schedule.func.block(block)[0]
        return list(dict.fromkeys(load.buffer for load in found.loads() if load.buffer != found.buffer))

    def loops_of(self, block: str) -> list[str]:
        """Return the names of the loops around a block, outermost first."""
        return [loop.name for loop in self.schedule.func.block(block)[1]]

    def order(self, *loops: str) -> None:
        """Put loops into an order where they are not in it."""
        if len(loops) < 2:
            return
        blocks = [path for _, path in _paths(self.schedule) if loops[-1] in path]
        now = [name for name in blocks[0] if name in loops] if blocks else []
        if now != list(loops):
            self.do("reorder", *loops)

    def vectorize(self, loop: str) -> None:
        """Run a loop as vectors, the longest that there are where it is longer; one that runs once stays."""
        extent = self.extent(loop)
        if extent == 1:
            return
        if extent > VECTOR_LIMIT:
            most = max(n for n in range(1, VECTOR_LIMIT + 1) if extent % n == 0)
            if most == 1:
                self.note(f"a loop of {extent} is not run as vectors: {VECTOR_LIMIT} is the longest here")
                return
            self.note(
                f"a loop of {extent} runs as {extent // most} vectors of {most}: {VECTOR_LIMIT} is the longest here"
            )
            loop = self.do("split", loop, [None, most])[1]
        self.do("vectorize", loop)

    def unroll(self, *loops: str) -> None:
        """Write loops out, the innermost first, as far as the copies of the body are not too many."""
        for loop in reversed(loops):
            if self.extent(loop) == 1:
                continue
            try:
                self.do("unroll", loop)
            except CannotReplay:
                self.note(f"a loop of {self.extent(loop)} is not unrolled: more than {UNROLL_LIMIT} copies in all")
                return

    def parallel(self, *loops: str) -> None:
        """Run loops on several cores; innermost ones that run once are left out."""
        while loops and self.extent(loops[-1]) == 1:
            loops = loops[:-1]
        if loops:
            self.do("parallel", *loops)


def _paths(schedule: Schedule) -> list[tuple[str, list[str]]]:
    return [(b.name, [loop.name for loop in schedule.func.block(b.name)[1]]) for b in schedule.blocks]
