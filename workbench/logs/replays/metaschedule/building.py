"""A trace of MetaSchedule, instruction by instruction, on our schedule of the same computation."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.errors import WorkbenchError
from workbench.logs.importer import UNREADABLE
from workbench.logs.replays.metaschedule.computation import Computation
from workbench.logs.replays.metaschedule.following import Following
from workbench.logs.replays.metaschedule.fused_cut import fused_and_cut
from workbench.logs.replays.metaschedule.instructions import HANDLERS, REFUSED
from workbench.logs.replays.result import CannotReplay
from workbench.logs.replays.taking import Taking
from workbench.logs.tvm.metaschedule_trace import Instruction
from workbench.target import Target


def build(computation: Computation, instructions: Sequence[Instruction], target: Target) -> Taking:
    """Follow a trace.

    Parameters
    ----------
    computation : Computation
        What the module computes.
    instructions : sequence of Instruction
        The trace with its decisions.
    target : Target
        What the schedule is for.

    Raises
    ------
    CannotReplay
        At an instruction that has no counterpart, or is not legal here.
    """
    following = Following(computation, target)
    following.cuts = fused_and_cut(instructions)
    for number, one in enumerate(instructions):
        _follow(following, number, one)
    following.place_memory()
    following.unroll()
    return following.taking


def _follow(following: Following, number: int, one: Instruction) -> None:
    handler = HANDLERS.get(one.kind)
    steps = following.taking.steps
    try:
        if handler is None:
            following.refuse(REFUSED.get(one.kind, "it has no counterpart here"))
        words = handler(following, one)
    except CannotReplay as refused:
        raise CannotReplay(f"instruction {number} {one}: {refused.reason}", steps) from None
    except WorkbenchError as error:
        raise CannotReplay(f"instruction {number} {one}: {error.message} [{error.code}]", steps) from None
    except UNREADABLE as error:
        why = f"instruction {number} {one.kind} has another form ({type(error).__name__})"
        raise CannotReplay(why, steps) from None
    following.taking.told(str(one), words, number)
