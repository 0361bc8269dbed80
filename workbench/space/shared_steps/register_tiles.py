"""Register tiles: extents worth trying, limits on them, and longer axes that good tiles divide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from workbench.ir import Block, Dim, Func
from workbench.ir.poly import product
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Hole, Schedule
from workbench.schedule.holes import divisors
from workbench.schedule.size_limits import VECTOR_LIMIT
from workbench.space.shared_steps.block_queries import (
    axis_of,
    choices_of,
    fills_registers,
    is_padding,
    operands,
    producers,
)

#: Vector instructions that an unrolled body may have: compile time grows with it, speed does not (a 7x7 convolution
#: with 588 took 1.6 times as long as with fewer, `test_advice`). Chosen, not measured otherwise.
MAX_BODY = 256
#: Registers of the widest vectorised loop. Chosen, not measured; `bench_suite` and `bench_space` tell what comes of it.
MAX_VECTORS = 8
#: Vectors at a time along an axis that has no divisors. Chosen, not measured; `bench_suite` and `bench_space` tell what
#: comes of it.
AT_ONCE = 4
#: Share of an axis that may be added for a better register tile. Chosen, not measured; `bench_suite` and `bench_space`
#: tell what comes of it.
WASTE = 0.07
#: Iterations that may be added: every tile that fits the registers divides one of so many.
FAR = 512
#: Times the speed that a better tile has to promise. Chosen, not measured.
GAIN = 1.01
#: Rows below which a copy of what they read does not pay. Chosen, not measured; `bench_suite` and `bench_space` tell
#: what comes of it.
MIN_ROWS = 32

#: What has to be at least 0, with its label; a wish is dropped where nothing fulfils it.
Limit: TypeAlias = tuple[str, Dim, bool]


def open_factors(count: int, choices: tuple[int, ...] | None = None) -> list[Hole]:
    """Holes for so many factors of a loop; `choices` are those of the innermost one."""
    return [*(Hole() for _ in range(count - 1)), Hole() if choices is None else Hole(choices=choices)]


def vector_choices(extent: int, machine: Machine) -> tuple[int, ...]:
    """Extents worth vectorising: divisors in whole registers; where there are none, those with a small rest, or the
    whole axis.
    """
    lanes = machine.lanes
    short = [d for d in divisors(extent) if d <= 2 * MAX_VECTORS * lanes]
    whole = tuple(d for d in short if d % lanes == 0 and d <= MAX_VECTORS * lanes)
    if whole:
        return whole
    half = tuple(d for d in short if 2 * d % lanes == 0)
    if half:
        return half
    long = tuple(d for d in short if d >= lanes)
    return long or ((extent,) if extent <= VECTOR_LIMIT else (short[-1],))


# --------------------------------------------------------------------------------------------------------------- limits


def tile_limits(func: Func, tile: Sequence[str], machine: Machine, inside: Dim, broken: int = 0) -> Iterator[Limit]:
    """A tile of results with one operand beside it fits the registers, and its code stays small.

    Parameters
    ----------
    func : Func
    tile : sequence of str
        Its loops; the last one is vectorised, the other ones are unrolled.
    machine : Machine
    inside : int or polynomial
        Terms of the sum that are written out for each result.
    broken : int
        Lanes that the vectors of the last loop take beyond its own iterations.
    """
    *rows, vector = (func.loop(n)[0].extent for n in tile)
    many, held = product(rows), vector + broken
    room = (machine.registers - 1) * machine.lanes
    wide = all(2 * (c + broken) > room for c in choices_of(func, tile[-1]))  # a prime: nothing fits
    yield "the register tile and its operands fit the registers", room - many * held - held, wide
    yield "the unrolled body stays small", MAX_BODY * machine.lanes - many * held * inside, False


def parallel_limits(func: Func, loops: Iterable[str], machine: Machine, shared_out: bool = True) -> Iterator[Limit]:
    """Enough parallel blocks for all threads, and to share them out evenly: wishes."""
    if machine.threads > 1:
        tasks = product(func.loop(n)[0].extent for n in loops)
        yield "there is work for every thread", tasks - machine.threads, True
        if shared_out:
            yield "tasks can be shared out evenly", tasks - 4 * machine.threads, True


def broken_lanes(func: Func, loop: str, machine: Machine) -> int:
    """Lanes that a vector loop takes in registers beyond its own iterations, on average."""
    return 0 if fills_registers(func, loop, machine) else machine.lanes // 2


# ---------------------------------------------------------------------------------------------------------- longer axes


def longer(func: Func, before: str | None, last: str, machine: Machine) -> dict[str, int]:
    """Loops of a register tile that no good tile divides -> better extents.

    Whole vectors along the last one, and as many rows as the registers hold along the one before.
    """
    old = {name: extent_of(func, name) for name in (before, last) if name is not None}
    rows = old[before] if before is not None else 1
    wide = best_width(old[last], rows, machine)
    new = {before: best_rows(rows, wide, machine), last: wide}
    return {name: size for name in old if (size := new[name]) != old[name]}


def extent_of(func: Func, loop: str) -> int:
    """Iterations of a loop that is not cut yet."""
    extent = func.loop(loop)[0].extent
    assert isinstance(extent, int)
    return extent


def best_width(extent: int, rows: int, machine: Machine) -> int:
    """Whole vectors that hold `extent`, with a divisor that suits the registers and this number of rows."""
    lanes = machine.lanes
    if extent % lanes == 0 or extent <= lanes:
        return extent
    least: int = -(-extent // lanes) * lanes
    sizes: list[int] = [least, *range(least + lanes, _near(extent).stop, lanes)]
    promised = {w: max(tile_speed(r, w, machine) for r in _near(rows)) / w for w in sizes}
    return next(w for w in sizes if promised[w] == max(promised.values()))


def _near(extent: int) -> range:
    return range(extent, extent + min(int(extent * WASTE), FAR) + 1)


def best_rows(extent: int, wide: int, machine: Machine) -> int:
    """Extent from `extent` on whose divisors give the best register tile, what is wasted taken off."""
    best, found = tile_speed(extent, wide, machine) * GAIN, extent
    for size in _near(extent)[1:]:
        value = tile_speed(size, wide, machine) * extent / size
        if value > best:
            best, found = value, size
    return found


def tile_speed(extent: int, wide: int, machine: Machine) -> float:
    """Share of the peak that the best register tile may reach: loads and loop overhead per multiply-add count."""
    best = 0.0
    for rows in (r for r in range(1, min(extent, machine.registers) + 1) if extent % r == 0):
        for vectors in range(1, MAX_VECTORS + 1):
            tile = rows * vectors
            if wide % (vectors * machine.lanes) == 0 and tile + vectors < machine.registers:
                best = max(best, 1.0 / (1.0 + 0.1 * (rows + vectors) / tile + 0.5 / tile))
    return best


def to_copy(func: Func, block: Block, axis: str | None, all_of_them: bool) -> list[str]:
    """Operands that the last axis moves: inputs, and where that axis is padded temporaries too, need room for zeros.

    Constants get theirs ahead of time.
    """
    found = dict.fromkeys(ld.buffer for ld in operands(block) if any(axis in x.vars for x in ld.index))
    made = {b.buffer for b in producers(func, block) if is_padding(b)}
    roles = ("input", "temp") if all_of_them else ("input",)
    return [b for b in found if b not in made and func.buffer(b).role in roles and len(func.buffer(b).shape) > 1]


def lengthen(s: Schedule, name: str, sizes: Mapping[str, int], copied: Iterable[str]) -> list[str]:
    """Pad the axes of these loops, after copying operands that need room for zeros; returns the copies."""
    copies = [str(s.cache_read(name, buffer)) for buffer in copied]
    block, _ = s.func.block(name)
    for loop, size in sizes.items():
        s.pad(name, axis_of(block, loop), size)
    return copies
