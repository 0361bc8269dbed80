"""What LLVM makes of the loops that TVM gives it: our backends run the nest as it is and want to be told."""

from __future__ import annotations

from workbench.errors import ScheduleError
from workbench.ir import Affine, Digit, accesses
from workbench.logs.replays.ansor.unrolling import loops_to_unroll
from workbench.schedule.schedule import Schedule

STATEMENTS = 16
"""Statements, each of a vector, that LLVM writes out by itself. Chosen: its limit is 300 instructions for a loop."""


def as_llvm_does(schedule: Schedule) -> None:
    """Run innermost loops over neighbours as vectors, and write short loops out, as far as nothing is said of them."""
    for block in [b.name for b in schedule.blocks]:
        _, path = schedule.func.block(block)
        serial = [lp.name for lp in path if lp.extent != 1]
        if serial and neighbours(schedule, block, serial[-1]):
            schedule.vectorize(serial[-1])
    for block in [b.name for b in schedule.blocks]:
        for loop in loops_to_unroll(schedule.func, block, STATEMENTS):
            schedule.unroll(loop)


def neighbours(schedule: Schedule, block: str, loop: str) -> bool:
    """Whether iterations of a serial loop can be a vector: they write neighbours and read these or one element."""
    func = schedule.func
    if func.loop(loop)[0].kind != "serial":
        return False
    for access in accesses(func.block(block)[0]):
        moving = [k for k, x in enumerate(access.index) if loop in x.vars]
        if moving and (moving[-1:] != [len(access.index) - 1] or len(moving) > 1 or not _steps(access.index[-1], loop)):
            return False
        if access.is_write and not moving:
            return False
    try:
        schedule.copy().vectorize(loop)
    except ScheduleError:
        return False
    return True


def _steps(index: Affine, loop: str) -> bool:
    """Whether an index goes up by one with the loop."""
    return [(d, c) for d, c in index.terms if d.var == loop] == [(Digit(loop), 1)]
