"""Rules for reductions: register tiles, cache tiles, and marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.func import Func
from workbench.ir.poly import product
from workbench.ir.stmt import Block, For
from workbench.schedule.primitives.annotation import VECTOR_LIMIT
from workbench.tune.machine import Machine
from workbench.tune.sketch.analysis import (
    has_reuse,
    loop_of_axis,
    main_block,
    missing_axes,
    operands,
)  # fmt: skip
from workbench.tune.sketch.base import Draft, rule

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Unrolled vector instructions that a body may have: compile time grows with it, speed does not.
MAX_BODY = 256
#: Reductions of at most this many values inside are unrolled.
SMALL_REDUCTION = 4
#: The widest vectorised loop, in vector registers.
MAX_VECTORS = 8


@rule("tile")
def tile(draft: Draft, machine: Machine) -> list[Draft]:
    """Tile a reduction: parallel blocks, cache tiles, then the reduction around an unrolled and vectorised register
    tile.

    Operands that are reused also get a second form, in which the longest reduction axis is cut into panels that stay
    in cache.
    """
    block = main_block(draft.func)
    if block is None or block.name in draft.done or not vectorisable(draft.func, block):
        return [draft]
    try:
        forms = [_tile(draft, block, machine, panels=False)]
        if has_reuse(block) and _panel_axis(draft.func, block) is not None:
            forms.append(_tile(draft, block, machine, panels=True))
    except ScheduleError:  # an axis that the accesses cut in a way that tiles would not respect
        return [draft]
    return forms


def _tile(draft: Draft, block: Block, machine: Machine, panels: bool) -> Draft:
    s = draft.schedule.copy()
    spatial, groups = _cut_groups(s, block, axis_loops(draft.func, block, "S"))
    reduction = axis_loops(draft.func, block, "R")
    levels = 4 if panels else 3
    parts = [_split_spatial(s, lp, levels, machine, last=lp is spatial[-1]) for lp in spatial]
    panel = _panel_axis(draft.func, block) if panels else None
    outer_red: list[str] = []
    inner_red: list[str] = []
    for lp in reduction:
        if lp.name == panel:
            a, b = s.split(lp.name, _open(2))
            outer_red.append(a)
            inner_red.append(b)
        else:
            inner_red.append(lp.name)
    at = [[p[k] for p in parts if len(p) > 1] for k in range(levels)]
    single = [p[0] for p in parts if len(p) == 1] + groups
    order = [*single, *at[0], *at[1], *outer_red, *(at[2] if panels else []), *inner_red, *at[-1]]
    s.reorder(*order)
    # Without reuse (depthwise) the taps of the kernel are all the work there is between loading and storing.
    short = SMALL_REDUCTION if has_reuse(block) or len(missing_axes(block)) < 2 else 4 * SMALL_REDUCTION
    fitting = MAX_BODY * machine.lanes // min(_choices(s.func, at[-1][-1]))
    unrolled = at[-1][:-1] + _small_reductions(s.func, inner_red, min(short, fitting))
    text = "every operand is reused along another axis" if has_reuse(block) else "a reduction with a vectorisable axis"
    form = "SSRSRS" if panels else "SSRS"
    new = draft.change("tile", f"{block.name}: {text}; {form}", s, block.name)
    outer, middle, innermost = (*single, *at[0]), tuple(at[1]), tuple(at[-1])
    new = replace(
        new,
        main=block.name,
        outer=outer,
        middle=middle,
        tile=innermost,
        panels=tuple(outer_red),
        unrolled=tuple(unrolled),
    )
    return _tile_limits(new, at, panels, machine, unrolled)


def _cut_groups(s: Schedule, block: Block, spatial: list[For]) -> tuple[list[For], list[str]]:
    """Cut axes where an access takes them apart (the groups of a convolution); returns what is left to tile, and the
    cuts.
    """
    kept: list[For] = []
    outer: list[str] = []
    env = block.env
    for lp in spatial:
        forms = [x.subst(env) for ld in operands(block) for x in ld.index]
        sizes = {d.lower for x in forms for d, _ in x.terms if d.var == lp.name and not d.plain and d.extent is None}
        if len(sizes) == 1 and lp.extent != 1:
            a, b = s.split(lp.name, [None, sizes.pop()])
            outer.append(a)
            kept.append(s.func.loop(b)[0])
        else:
            kept.append(lp)
    return kept, outer


def _split_spatial(s: Schedule, lp: For, levels: int, machine: Machine, last: bool) -> tuple[str, ...]:
    if lp.extent == 1:
        return (lp.name,)
    from workbench.schedule import Hole

    if not last:
        return tuple(s.split(lp.name, _open(levels)))
    assert isinstance(lp.extent, int)
    return tuple(s.split(lp.name, [*_open(levels - 1), Hole(choices=vector_choices(lp.extent, machine))]))


def vector_choices(extent: int, machine: Machine) -> tuple[int, ...]:
    """Extents worth vectorising: divisors in whole registers; where there are none, those with a small rest, or the
    whole axis.
    """
    lanes = machine.lanes
    divisors = [d for d in range(1, extent + 1) if extent % d == 0 and d <= 2 * MAX_VECTORS * lanes]
    whole = tuple(d for d in divisors if d % lanes == 0 and d <= MAX_VECTORS * lanes)
    if whole:
        return whole
    half = tuple(d for d in divisors if 2 * d % lanes == 0)
    if half:
        return half
    long = tuple(d for d in divisors if d >= lanes)
    return long or ((extent,) if extent <= VECTOR_LIMIT else (divisors[-1],))


def _open(count: int) -> list[object]:
    from workbench.schedule import Hole

    return [Hole() for _ in range(count)]


def _tile_limits(d: Draft, at: list[list[str]], panels: bool, machine: Machine, unrolled: Sequence[str]) -> Draft:
    """Registers, code size and parallelism as limits on the holes."""
    func = d.func
    tile = [func.loop(n)[0].extent for n in at[-1]]
    rows, vector = product(tile[:-1]), tile[-1]
    lanes, registers = machine.lanes, machine.registers
    padded = vector if _whole_registers(func, at[-1][-1], lanes) else vector + lanes // 2
    room = (registers - 1) * lanes
    wide = all(2 * c > room for c in _choices(func, at[-1][-1]))  # a prime: nothing fits
    d = d.limit("the register tile and its operands fit the registers", room - rows * padded - padded, wish=wide)
    small = product(func.loop(n)[0].extent for n in unrolled if n not in at[-1])
    d = d.limit("the unrolled body stays small", MAX_BODY * lanes - rows * padded * small)
    if machine.threads > 1:
        tasks = product(func.loop(n)[0].extent for n in at[0])
        d = d.limit("there is work for every thread", tasks - machine.threads, wish=True)
        d = d.limit("tasks can be shared out evenly", tasks - 4 * machine.threads, wish=True)
    return d


def _whole_registers(func: Func, loop: str, lanes: int) -> bool:
    return all(c % lanes == 0 for c in _choices(func, loop))


def _choices(func: Func, loop: str) -> tuple[int, ...]:
    """What the extent of a vectorised loop may be."""
    extent = func.loop(loop)[0].extent
    if isinstance(extent, int):
        return (extent,)
    return next((h.choices for h in func.holes if str(extent) == h.name and h.choices), (1,))


def _small_reductions(func: Func, names: Sequence[str], most: int) -> list[str]:
    """Innermost reduction loops that are too short to be worth a loop."""
    out: list[str] = []
    size = 1
    for name in reversed(names):
        extent = func.loop(name)[0].extent
        if not isinstance(extent, int) or extent * size > most:
            break
        size *= extent
        if extent > 1:
            out.append(name)
    return out


def axis_loops(func: Func, block: Block, kind: str) -> list[For]:
    """Loops of the spatial ("S") or reduction ("R") axes, those that run once first."""
    _, path = func.block(block.name)
    found = [loop_of_axis(block, path, it.name) for it in block.iters if it.kind == kind]
    loops = [lp for lp in found if lp is not None]
    longer = [lp for lp in loops if lp.extent != 1]
    return [lp for lp in loops if lp.extent == 1] + longer


def vectorisable(func: Func, block: Block) -> bool:
    """Every axis has a loop of its own, and the last spatial one is where the output is contiguous."""
    _, path = func.block(block.name)
    if any(loop_of_axis(block, path, it.name) is None for it in block.iters) or any(lp.kind != "serial" for lp in path):
        return False
    spatial = [it.name for it in block.iters if it.kind == "S" and it.extent != 1]
    return bool(spatial) and bool(block.index) and spatial[-1] in block.index[-1].vars


def _panel_axis(func: Func, block: Block) -> str | None:
    """Longest reduction loop, if cutting it can pay."""
    loops = [lp for lp in axis_loops(func, block, "R") if isinstance(lp.extent, int) and lp.extent >= 64]
    return max(loops, key=lambda lp: int(lp.extent)).name if loops else None  # type: ignore[arg-type]


@rule("mark")
def mark(draft: Draft, machine: Machine) -> list[Draft]:
    """Unroll and vectorise the register tile, and run the outer blocks in parallel."""
    if draft.main is None:
        return [draft]
    s = draft.schedule.copy()
    for name in draft.unrolled:
        s.unroll(name)
    s.vectorize(draft.tile[-1])
    if machine.threads > 1:
        s.parallel(*draft.outer)
    several = f" and {', '.join(draft.outer)} in parallel" if machine.threads > 1 else ""
    return [draft.change("mark", f"{draft.tile[-1]} is contiguous: lanes{several}", s)]
