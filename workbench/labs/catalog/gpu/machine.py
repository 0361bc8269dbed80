"""What is counted of a nest for a GPU: threads, sectors of global memory, turns of banks, barriers."""

from __future__ import annotations

from math import prod

from workbench import markup
from workbench.codegen.gpu.module import GpuModule
from workbench.codegen.gpu.occupancy import WARP
from workbench.codegen.gpu.statistics import KernelStatistics, statistics
from workbench.codegen.gpu.warp_accesses import BANKS, SECTOR
from workbench.codegen.gpu.words import CUDA
from workbench.ir.poly import concrete
from workbench.labs.exercise import Goal, Setting
from workbench.schedule import Schedule
from workbench.target import Target

__all__ = ["BANKS", "COALESCED", "NO_CONFLICTS", "SECTOR", "SIMT", "WARP", "facts", "threads_of_a_block"]

#: Runs the threads of a GPU on this processor, one by one.
SIMT = Target("cpu-simt")


def facts(s: Schedule) -> tuple[KernelStatistics, ...]:
    """Return what is known of the kernels of a nest before they run."""
    return statistics(GpuModule(s.func, "kernel", CUDA, SIMT))


def threads_of_a_block(count: int) -> Goal:
    """Return the goal that a block has so many threads, and every element of the result one of its own."""

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        (found, *_) = facts(s)
        block, grid = prod(found.block), prod(found.grid)
        elements = prod(map(concrete, s.func.outputs[0].logical_shape()))
        told = f"{markup.plural(grid, 'block')} of {markup.plural(block, 'thread')}, for {elements:,} elements."
        return block == count and grid * block == elements, told

    return Goal(f"A block has {count} threads, and each element of the result has a thread.", reached)


def _coalesced(s: Schedule, at: Setting) -> tuple[bool, str]:
    found = [a for k in facts(s) for a in k.accesses if a.memory == "global"]
    if all(a.threads == 1 for a in found):
        return False, "No loop is bound to threads that lie side by side."
    worse = [a for a in found if a.transactions > a.least]
    told = "; ".join(
        f"{a.block} {'writes' if a.is_write else 'reads'} {a.buffer} in {a.transactions} sectors, {a.least} would do"
        for a in worse
    )
    return not worse, f"{told or 'Each warp touches as few sectors as hold what it needs'}."


#: A warp's accesses of global memory touch as few sectors as can be.
COALESCED = Goal(f"Each warp touches as few sectors of {SECTOR} bytes as can be, of every array.", _coalesced)


def _no_conflicts(s: Schedule, at: Setting) -> tuple[bool, str]:
    found = [a for k in facts(s) for a in k.accesses if a.memory == "shared"]
    if not found:
        return False, "Nothing lies in shared memory."
    worst = max(found, key=lambda a: a.transactions / a.least)
    verb = "writes" if worst.is_write else "reads"
    turns = f"{worst.block} {verb} {worst.buffer} in {markup.plural(worst.transactions, 'turn')} of the banks."
    return worst.transactions == worst.least, turns


#: No two threads of a warp want different words of one bank.
NO_CONFLICTS = Goal("No bank of shared memory makes threads of a warp wait for each other.", _no_conflicts)
