"""Rule for extents that no good tile divides: the tile's axes run a little further than there is data."""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import ScheduleError
from workbench.ir.func import Func
from workbench.ir.stmt import Block
from workbench.machine_model.parameters import Machine
from workbench.space.sketch.analysis import (
    axis_loops,
    axis_of,
    has_reuse,
    is_padding,
    main_block,
    operands,
    producers,
    rows_of,
    suited,
    vectorisable,
)
from workbench.space.sketch.base import Draft, rule
from workbench.space.sketch.packing import MIN_ROWS
from workbench.space.sketch.tiling import MAX_VECTORS

#: At most this share of an axis is worth adding for a better register tile.
WASTE = 0.07
#: Longest way to a better extent: every tile that fits the registers divides one of so many.
FAR = 512
#: With less than this share of what the padded tile promises, extents are not worth trying as they are.
HOPELESS = 0.45
#: A better tile has to promise at least this much.
GAIN = 1.01


@rule("lengthen", after="lanes")
def lengthen(draft: Draft, machine: Machine) -> list[Draft]:
    """Pad the axes of a register tile that no good tile divides: whole vectors along the last one, and as many rows as
    the registers hold along the one before.

    What is read beyond the end is zero, and what is computed there is thrown away. The better of the two comes first;
    where the extents as they are leave only single rows or broken vectors, there is no variant without.
    """
    block = main_block(draft.func, draft.focus)
    if block is None or block.name in draft.done or not has_reuse(block) or not vectorisable(draft.func, block):
        about = () if block is None else (block.name,)
        return [draft.skip("lengthen", "only a reduction with reused operands has a register tile to fill", *about)]
    loops = [lp for lp in axis_loops(draft.func, block, "S") if isinstance(lp.extent, int) and lp.extent > 1]
    if not loops or any(not d.plain for ld in operands(block) for x in ld.index for d, _ in x.terms):
        return [draft.skip("lengthen", "its accesses take an axis apart", block.name)]
    last, before = loops[-1], loops[-2] if len(loops) > 1 else None
    machine = suited(machine, draft.func, block)
    old = (int(before.extent) if before else 1, int(last.extent))  # type: ignore[arg-type]
    wide = best_width(old[1], old[0], machine)
    new = (best_rows(old[0], wide, machine) if before else 1, wide)
    if new == old:
        return [draft.skip("lengthen", "good register tiles divide its extents", block.name)]
    copied = to_copy(draft.func, block, axis_of(block, last.name), wide != old[1])
    if copied and rows_of(block) < MIN_ROWS:
        why = f"what fewer than {MIN_ROWS} rows share is not worth a copy with room for zeros"
        return [draft.skip("lengthen", why, block.name)]
    sizes = {lp.name: size for lp, size, was in zip((before, last), new, old, strict=True) if lp and size != was}
    try:
        padded = _lengthen(draft, block, sizes, copied)
    except ScheduleError as e:
        return [draft.skip("lengthen", e.message, block.name)]
    share = _promise(*old, machine) / _promise(*new, machine)
    same = draft.skip("lengthen", "this form keeps the extents as they are", block.name)
    return [padded] if share < HOPELESS else [padded, same] if share < 0.9 else [same, padded]


def best_width(extent: int, rows: int, machine: Machine) -> int:
    """Whole vectors that hold `extent`, with a divisor that suits the registers and this number of rows."""
    lanes = machine.lanes
    if extent % lanes == 0 or extent <= lanes:
        return extent
    least: int = -(-extent // lanes) * lanes
    sizes: list[int] = [least, *range(least + lanes, _near(extent).stop, lanes)]
    promised = {w: max(_good(r, w, machine) for r in _near(rows)) / w for w in sizes}
    return next(w for w in sizes if promised[w] == max(promised.values()))


def _near(extent: int) -> range:
    return range(extent, extent + min(int(extent * WASTE), FAR) + 1)


def best_rows(extent: int, wide: int, machine: Machine) -> int:
    """Extent from `extent` on whose divisors give the best register tile, what is wasted taken off."""
    best, found = _good(extent, wide, machine) * GAIN, extent
    for size in _near(extent)[1:]:
        value = _good(size, wide, machine) * extent / size
        if value > best:
            best, found = value, size
    return found


def _good(extent: int, wide: int, machine: Machine) -> float:
    """Share of the peak that the best register tile may reach: loads and loop overhead per multiply-add count."""
    best = 0.0
    for rows in (r for r in range(1, min(extent, machine.registers) + 1) if extent % r == 0):
        for vectors in range(1, MAX_VECTORS + 1):
            tile = rows * vectors
            if wide % (vectors * machine.lanes) == 0 and tile + vectors < machine.registers:
                best = max(best, 1.0 / (1.0 + 0.1 * (rows + vectors) / tile + 0.5 / tile))
    return best


def _promise(rows: int, wide: int, machine: Machine) -> float:
    """The same for extents as they are: half vectors, and those of the last rest, do half the work."""
    if wide % machine.lanes == 0 or wide < machine.lanes:
        return _good(rows, max(wide, machine.lanes), machine)
    halves = 2 * wide % machine.lanes == 0
    return (0.5 if halves else 0.3) * _good(rows, machine.lanes, machine)


def _lengthen(draft: Draft, block: Block, sizes: dict[str, int], copied: list[str]) -> Draft:
    s = draft.schedule.copy()
    copies = [s.cache_read(block.name, b) for b in copied]
    for loop, size in sizes.items():
        s.pad(block.name, axis_of(block, loop), size)
    text = ", ".join(f"{loop} {draft.func.loop(loop)[0].extent} -> {size}" for loop, size in sizes.items())
    reason = f"no good register tile divides {block.name} as it is: {text}"
    new = draft.change("lengthen", reason, s, blocks=[block.name], tag="longer")
    return replace(new, copies=tuple(copies))


def to_copy(func: Func, block: Block, axis: str | None, all_of_them: bool) -> list[str]:
    """Operands that the last axis moves: inputs, and where that axis is padded temporaries too, need room for zeros.

    Constants get theirs ahead of time.
    """
    found = dict.fromkeys(ld.buffer for ld in operands(block) if any(axis in x.vars for x in ld.index))
    made = {b.buffer for b in producers(func, block) if is_padding(b)}
    roles = ("input", "temp") if all_of_them else ("input",)
    return [b for b in found if b not in made and func.buffer(b).role in roles and len(func.buffer(b).shape) > 1]
