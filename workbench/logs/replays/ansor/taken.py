"""A schedule while it is built from a record's steps, and which step of the record each of its steps is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from workbench.errors import ScheduleError
from workbench.ir import Block, For
from workbench.logs.replays.ansor.apart import fuse_some
from workbench.logs.replays.ansor.program import Iterator, Mark, Program, Stage
from workbench.logs.replays.ansor.steps import Step
from workbench.logs.replays.result import CannotReplay, ReplayStep
from workbench.schedule.primitive import Primitive
from workbench.schedule.schedule import Schedule

T = TypeVar("T")


class Taken:
    """A schedule while it is built, and which step of the record each of its steps is for."""

    def __init__(self, schedule: Schedule, program: Program) -> None:
        self.schedule, self.program = schedule, program
        self.taken: dict[int, list[Primitive]] = {}
        self.remarks: dict[int, list[str]] = {}
        marks = (a for stage in program.stages for a in stage.actions if isinstance(a, Mark))
        self.device = any(mark.what.startswith(("blockIdx", "threadIdx")) for mark in marks)

    def told(self, steps: Sequence[Step]) -> list[ReplayStep]:
        """What each step of the record became."""
        return [
            ReplayStep(
                step.number, step.text,
                "; ".join([self.program.words.get(step.number, ""), *self.remarks.get(step.number, [])]),
                tuple(self.taken.get(step.number, ())),
            )
            for step in steps
        ]  # fmt: skip

    def _do(self, step: Step | None, primitive: str, *args: Any) -> Any:
        """Take a step of the schedule, for a step of the record."""
        try:
            found = getattr(self.schedule, primitive)(*args)
        except ScheduleError as error:
            self._refuse(step, f"{primitive} is not legal here: {error.message} [{error.code}]")
        self.taken.setdefault(-1 if step is None else step.number, []).append(self.schedule.trace[-1])
        return found

    def _refuse(self, step: Step | None, why: str) -> NoReturn:
        raise CannotReplay(why if step is None else f"step {step.number} {step.text}: {why}")

    def _remark(self, step: Step, words: str) -> None:
        said = self.remarks.setdefault(step.number, [])
        if words not in said:
            said.append(words)

    def _block(self, stage: Stage) -> tuple[Block, tuple[For, ...]]:
        return self.schedule.func.block(stage.block)

    def _adopt(self, stage: Stage, roots: Sequence[Iterator]) -> None:
        """Give the iterators of a stage's axes the loops of its block."""
        if stage.block in ("", "?"):
            return
        block, path = self._block(stage)
        names = [lp.name for lp in path]
        for root, bind in zip(roots, block.binds, strict=False):
            loop = bind.single_var()
            root.loops = (loop,) if loop in names else ()

    def _extent(self, loop: str) -> int:
        found = self.schedule.func.loop(loop)[0].extent
        assert isinstance(found, int)  # a record has no open numbers
        return found

    def _one_loop(self, iterator: Iterator, step: Step) -> str | None:
        """The loop of an iterator; those that were fused become one now. None where it runs once."""
        long = [n for n in iterator.loops if self._extent(n) != 1]
        if len(iterator.loops) > 1 and self.device:
            try:
                iterator.loops = self.taken_by(step.number, lambda: fuse_some(self.schedule, iterator.loops))
            except ScheduleError as error:
                self._refuse(step, f"fuse is not legal here: {error.message} [{error.code}]")
            if len(iterator.loops) > 1:
                self._remark(step, "loops of which an index has parts stay apart, each a dimension of its own")
        elif len(long) == 1 < len(iterator.loops):
            iterator.loops = tuple(long)
        elif len(iterator.loops) > 1:
            iterator.loops = (self._do(step, "fuse", *iterator.loops),)
        return iterator.loops[0] if iterator.loops else None

    def taken_by(self, number: int, take: Callable[[], T]) -> T:
        """Take steps of the schedule, as many as it needs, for a step of the record."""
        before = len(self.schedule.trace)
        found = take()
        self.taken.setdefault(number, []).extend(self.schedule.trace[before:])
        return found
