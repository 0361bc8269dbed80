"""Loops of a device that cannot become one, or be cut everywhere: an index has parts (``h // 2``, ``p % 49``) that have
to end where the loops do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from workbench.errors import ScheduleError
from workbench.ir import Affine, Block, Digit, Dim, Func
from workbench.schedule.schedule import Schedule

MOST_THREADS = 1024
"""Threads of a block that a device runs."""


def fuse_some(schedule: Schedule, loops: tuple[str, ...]) -> tuple[str, ...]:
    """Fuse neighbours among loops, as far as parts of an index allow; those that run once move inside.

    Returns
    -------
    tuple of str
        The loops that are left, outermost first; one that runs once only where all do.

    Raises
    ------
    ScheduleError
        Where loops cannot be fused for another reason.
    """
    try:
        return (schedule.fuse(*loops),)
    except ScheduleError as error:
        if error.code != "index.affine":
            raise
    long = tuple(name for name in loops if _extent(schedule, name) != 1)
    units = tuple(name for name in loops if name not in long)
    if units and long and (*long, *units) != loops:
        schedule.reorder(*long, *units)
    found: list[str] = []
    for name in long or loops:
        try:
            found[-1:] = [schedule.fuse(found[-1], name)] if found else [name]
        except ScheduleError:
            found.append(name)
    return tuple(found)


def split_near(schedule: Schedule, loop: str, size: int, ends: frozenset[int] = frozenset()) -> tuple[str, ...]:
    """Cut a loop into an outer and an inner part, the inner one as near to a size as parts of an index allow.

    Parameters
    ----------
    schedule : Schedule
    loop : str
    size : int
        Iterations that the inner part is to have.
    ends : frozenset of int
        Numbers of iterations after which a part of an index ends, beyond those of the loop's own blocks.

    Returns
    -------
    tuple of str
        The parts; the loop alone where it is the inner one as it is.
    """
    extent = _extent(schedule, loop)
    sizes = [n for n in range(2, min(extent, max(MOST_THREADS, size)) + 1) if extent % n == 0]
    sizes = [n for n in sizes if all(n % end == 0 or end % n == 0 for end in ends)]
    for n in sorted(sizes, key=lambda n: abs(math.log(n / size))):
        if n == extent:
            break
        try:
            outer, inner = schedule.split(loop, [extent // n, n])
        except ScheduleError:
            continue
        return outer, inner
    return (loop,)


def part_ends(func: Func, reader: str, loop: str, made: Sequence[str]) -> frozenset[int]:
    """Find after how many iterations of a loop the parts end that other blocks have of an axis that it drives.

    Parameters
    ----------
    func : Func
    reader : str
        Block inside the loop.
    loop : str
    made : sequence of str
        Blocks that compute what the reader reads.
    """
    found: set[int] = set()
    block, _ = func.block(reader)
    binds = {it.name: bind for it, bind in zip(block.iters, block.binds, strict=True)}
    for name in made:
        other, _ = func.block(name)
        for read in (ld for ld in block.loads() if ld.buffer == other.buffer):
            for own, at in zip(other.index, read.index, strict=True):
                bind = binds.get(str(at.single_var()), Affine())
                ends = _ends(other, str(own.single_var()))
                found.update(n for d, c in bind.terms if d.var == loop for n in _inside(d, c, ends))
    return frozenset(found)


def _inside(digit: Digit, factor: Dim, ends: Collection[int]) -> Iterator[int]:
    """Iterations of a loop after which ends of an axis come that one of its digits, times a factor, reaches."""
    if not (isinstance(digit.lower, int) and isinstance(factor, int)):
        return
    for end in ends:
        size = end // factor
        if end % factor == 0 and (not isinstance(digit.extent, int) or size < digit.extent):
            yield digit.lower * size


def _ends(block: Block, axis: str) -> set[int]:
    """Elements of an axis after which a part of it ends that the block reads at."""
    digits = {d for ld in block.loads() for x in ld.index for d, _ in x.terms if d.var == axis and not d.plain}
    ends = {end for d in digits for end in (d.lower, d.lower if d.extent is None else d.lower * d.extent)}
    return {end for end in ends if isinstance(end, int) and end > 1}


def _extent(schedule: Schedule, loop: str) -> int:
    extent = schedule.func.loop(loop)[0].extent
    assert isinstance(extent, int)  # a record has no open numbers
    return extent
