"""Proposers: declared functions that propose steps against a reason, or for a refused step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

from workbench.errors import WorkbenchError
from workbench.ir import Block, For, Func, blocks
from workbench.schedule import Schedule
from workbench.schedule.legality import reduction_loops, spatial_loops
from workbench.schedule.primitive import Primitive, registry
from workbench.target import Target

ELSE = "{}, else"
"""Key of the proposers of a reason or a refusal that are asked where the others found nothing."""

Way: TypeAlias = tuple[Primitive, ...]
Recipe: TypeAlias = "partial[str]"
"""Takes steps on a schedule and says which, in a few words; raises where one is not legal."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Steps that nobody has judged yet.

    Attributes
    ----------
    steps : tuple of Primitive
        What to take; empty where `recipe` takes the steps.
    without : tuple of int
        Places in the trace of the steps that are taken back before.
    back : str
        What is taken back, in words.
    """

    steps: Way = ()
    recipe: Recipe | None = None
    without: tuple[int, ...] = ()
    back: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """What two proposals of the same steps have in common."""
        made = self.recipe and (self.recipe.func, self.recipe.args, tuple(self.recipe.keywords.items()))
        return self.steps, made, self.without

    def take(self, schedule: Schedule) -> str:
        """Take the steps; return them in fewer words than one by one, "" where they are short."""
        if self.recipe is not None:
            return self.recipe(schedule)
        for step in self.steps:
            schedule.apply(step)
        return ""


Proposals: TypeAlias = "Iterator[Way | Recipe | Proposal]"
Make: TypeAlias = "Callable[[Case], Proposals]"

_PROPOSERS: dict[str, list[Make]] = {}


def proposer(*answers: str) -> Callable[[Make], Make]:
    """Declare a proposer by what it answers to: codes of reasons, codes of refusals, or refused primitives."""

    def declare(make: Make) -> Make:
        for answer in answers:
            _PROPOSERS.setdefault(answer, []).append(make)
        return make

    return declare


def proposals(case: Case, *answers: str) -> Iterator[Proposal]:
    """Yield what is proposed by those who answer to the first of some codes that anybody answers to."""
    for make in next((_PROPOSERS[answer] for answer in answers if answer in _PROPOSERS), ()):
        try:
            for one in make(case):
                yield one if isinstance(one, Proposal) else Proposal(*((one,) if isinstance(one, tuple) else ((), one)))
        except WorkbenchError:  # a name is gone: it cannot even be put together
            continue


def step_of(name: str, *args: object) -> Primitive:
    """Return a step by the name of its primitive."""
    return registry[name].make(*args)


class Place:
    """Where a statement stands: the loops around it."""

    def __init__(self, func: Func, block: str, target: Target) -> None:
        self.func, self.target = func, target
        self.block, self.path = func.block(block)
        self.names = [lp.name for lp in self.path]
        self.spatial = set(spatial_loops(self.block))
        self.sums = [lp.name for lp in self.path if lp.name not in self.spatial and lp.extent != 1]
        self.lanes = target.lanes(func.buffer(self.block.buffer).dtype)
        self.serial = [lp for lp in self.path if lp.kind == "serial" and lp.extent != 1]

    @cached_property
    def free(self) -> list[For]:
        """Serial loops over results, innermost first."""
        return [lp for lp in reversed(self.serial) if lp.name in self.spatial]

    def after(self, name: str) -> list[str]:
        """Loops inside of one."""
        return self.names[self.names.index(name) + 1 :]


class Case:
    """What steps are proposed for.

    Parameters
    ----------
    schedule : Schedule
    target : Target
    row : str
        The loop (or statement, ``stmt:BLOCK``) that it is about; of a refused step the last loop that it names.
    block : str
        The statement that takes the time, for a reason.
    step : Primitive, optional
        What was refused.
    """

    def __init__(
        self, schedule: Schedule, target: Target, row: str = "", block: str = "", step: Primitive | None = None
    ) -> None:
        self.schedule, self.target, self.block, self.step = schedule, target, block, step
        self.row = row if step is None else _loop_of(step)
        self.func: Func = schedule.func

    @cached_property
    def at(self) -> Place:
        """Where the statement stands that takes the time."""
        return Place(self.func, self.block, self.target)

    @property
    def refused(self) -> Primitive:
        """The refused step."""
        assert self.step is not None
        return self.step

    @property
    def args(self) -> Mapping[str, Any]:
        """Arguments of the refused step."""
        return self.refused.args

    @property
    def path(self) -> list[For]:
        """Loops around the loop and the loop itself, outermost first."""
        loop, outer = self.func.loop(self.row)
        return [*outer, loop]

    @property
    def inside(self) -> list[Block]:
        """Blocks that the loop holds."""
        return [block for block, _ in blocks((self.func.loop(self.row)[0],))]

    @property
    def reduces(self) -> bool:
        """Whether the loop carries a reduction."""
        return any(self.row in reduction_loops(block) for block in self.inside)


def _loop_of(step: Primitive) -> str:
    for value in (step.args.get("loop"), step.args.get("loops"), step.args.get("first")):
        if value:
            return str(value[-1] if isinstance(value, tuple) else value)
    return ""
