"""The state while a trace of MetaSchedule is followed: the schedule, and what the names of the trace stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from workbench.ir import Block
from workbench.logs.replays.ansor.unrolling import loops_to_unroll
from workbench.logs.replays.metaschedule.computation import Computation
from workbench.logs.replays.result import CannotReplay
from workbench.logs.replays.taking import Taking
from workbench.logs.tvm.metaschedule_trace import Instruction
from workbench.schedule.schedule import Schedule
from workbench.target import Target


class Following:
    """A schedule while a trace is followed, and what the names of the trace stand for: blocks, loops and numbers."""

    def __init__(self, computation: Computation, target: Target) -> None:
        self.taking = Taking(Schedule(computation.func, target))
        self.names: dict[str, Any] = {}
        self.pragmas: list[tuple[str, int]] = []
        self.scopes: dict[str, str] = {}
        self.untouched = dict(computation.loops)
        self.cuts: Mapping[str, Instruction] = {}
        self.aliases: dict[str, str] = {}

    def refuse(self, why: str) -> NoReturn:
        """Say why an instruction cannot be taken."""
        raise CannotReplay(why)

    def place_memory(self) -> None:
        """Say which memory copies are in, once they are placed: one that is not shared has to be inside of blocks."""
        for block, scope in self.scopes.items():
            try:
                self.taking.do("set_scope", self.of_block(block).buffer, scope)
            except CannotReplay:
                self.taking.note(f"what {block} writes is not in {scope} memory: iterations that run at once share it")
            self.taking.told(f"scope {scope}", f"what {block} writes is in {scope} memory")

    def unroll(self) -> None:
        """Unroll what the pragmas ask for; last, because a marked loop is cut no more."""
        schedule = self.taking.schedule
        for loop, most in self.pragmas:
            inside = [block.name for block in schedule.blocks if loop in self.taking.loops_of(block.name)]
            for name in loops_to_unroll(schedule.func, inside[0], most, loop) if inside else ():
                self.taking.do("unroll", name)
            self.taking.told(f"auto_unroll_max_step {most}", f"short loops inside {loop} are written out")

    # ----- names

    def block(self, name: Any) -> str:
        """Return the block that a name of the trace stands for."""
        found = self.names[name]
        if not isinstance(found, str):
            raise TypeError("not a block")
        return found

    def loop(self, name: Any) -> str:
        """Return the loop that a name of the trace stands for."""
        return self.block(name)

    def number(self, name: Any) -> Any:
        """Return a number: itself, or what a name of the trace stands for; None where the rest is meant."""
        if name is None or name == "None":
            return None
        return self.names[name] if isinstance(name, str) else name

    def give(self, one: Instruction, values: Sequence[Any]) -> None:
        """Give the results of an instruction their values."""
        if len(values) != len(one.outputs):
            self.refuse(f"it makes {len(one.outputs)}, and {len(values)} are there")
        self.names.update(zip(one.outputs, values, strict=True))

    def of_block(self, name: str) -> Block:
        """Return a block of the schedule."""
        return self.taking.schedule.func.block(name)[0]

    def paths(self) -> list[list[str]]:
        """Return the loops around each block, outermost first."""
        return [self.taking.loops_of(block.name) for block in self.taking.schedule.blocks]

    def consumers(self, name: str) -> list[str]:
        """Return the blocks that read what a block writes."""
        own = self.of_block(name)
        found = [b for b in self.taking.schedule.blocks if b.name != name and _reads(b, own.buffer)]
        return [block.name for block in found]

    def producers(self, name: str) -> list[str]:
        """Return the blocks that write what a block reads."""
        own = self.of_block(name)
        return [b.name for b in self.taking.schedule.blocks if b.name != name and _reads(own, b.buffer)]


def _reads(block: Block, buffer: str) -> bool:
    return any(load.buffer == buffer for load in block.loads())
