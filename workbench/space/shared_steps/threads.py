"""Steps that share out loops to the blocks of a grid and their threads."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.machine_model.machine_parameters import Gpu
from workbench.schedule import Hole, Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps.register_tiles import extent_of

#: Threads of a block where the number of results leaves the choice, and from which on no more loops are taken. Chosen,
#: not measured.
USUAL, LEAST = 256, 32


def share_out(s: Schedule, names: Sequence[str], gpu: Gpu) -> tuple[list[str], list[str], str]:
    """Take the innermost loops for threads, as many as a block may have, and leave the others to the grid.

    A loop that is too long is cut, as one of its divisors says; where it has none that will do, with a rest.

    Returns
    -------
    tuple
        Loops for the grid, loops for threads, and what was done in words.
    """
    grid, threads, many = list(names), list[str](), 1
    usual = min(USUAL, gpu.threads)
    while grid and many < LEAST:
        size = extent_of(s.func, grid[-1])
        if many * size <= usual:
            threads.insert(0, grid.pop())
            many *= size
            continue
        loop, room = grid.pop(), gpu.threads // many
        sizes = tuple(d for d in divisors(size) if many * d >= LEAST and d <= room)
        near = min(1 << (size - 1).bit_length(), max(1, usual // many))
        outer, inner = s.split(loop, [Hole(), Hole(choices=sizes)]) if sizes else s.split(loop, [None, near], "guard")
        return [*grid, outer], [inner, *threads], f"{loop} is shared out to threads{'' if sizes else ', with a rest'}"
    return grid, threads, f"{' and '.join(threads)} are threads"


def fused(s: Schedule, names: Sequence[str]) -> str:
    """One loop in the place of several that lie inside each other."""
    return str(s.fuse(*names)) if len(names) > 1 else names[0]
