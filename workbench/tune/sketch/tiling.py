"""Rules for reductions: register tiles, cache tiles, and marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.expr import Select, walk
from workbench.ir.func import Func
from workbench.ir.poly import product
from workbench.ir.stmt import Block, For
from workbench.schedule.primitives.annotation import VECTOR_LIMIT
from workbench.tune.machine import Machine
from workbench.tune.sketch.analysis import (
    choices_of,
    fills_registers,
    has_reuse,
    loop_of_axis,
    main_block,
    missing_axes,
    operands,
    suited,
)
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
    machine = suited(machine, draft.func, block)
    try:
        forms = [_tile(draft, block, machine, panels=False)]
        if has_reuse(block) and _panel_axis(draft.func, block) is not None:
            forms.append(_tile(draft, block, machine, panels=True))
    except ScheduleError:  # an axis that the accesses cut in a way that tiles would not respect
        return [draft]
    return forms


def _tile(draft: Draft, block: Block, machine: Machine, panels: bool) -> Draft:
    s = draft.schedule.copy()
    spatial, groups, phases = _cut_digits(s, block, axis_loops(draft.func, block, "S"))
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
    order = [*single, *at[0], *phases, *at[1], *outer_red, *(at[2] if panels else []), *inner_red, *at[-1]]
    s.reorder(*order)
    # Without reuse (depthwise) the taps of the kernel are all the work there is between loading and storing.
    short = SMALL_REDUCTION if has_reuse(block) or len(missing_axes(block)) < 2 else 4 * SMALL_REDUCTION
    fitting = MAX_BODY * machine.lanes // (min(choices_of(s.func, at[-1][-1])) + _broken(s.func, at[-1][-1], machine))
    small = _small_reductions(s.func, inner_red, min(short, fitting))
    taps = _deciding(s.func, block.name, phases, inner_red)
    unrolled = at[-1][:-1] + list(dict.fromkeys([*small, *taps]))
    text = "every operand is reused along another axis" if has_reuse(block) else "a reduction with a vectorisable axis"
    form = "SSRSRS" if panels else "SSRS"
    new = draft.change("tile", f"{block.name}: {text}; {form}", s, block.name)
    outer, middle, innermost = (*single, *at[0]), (*phases, *at[1]), tuple(at[-1])
    new = replace(
        new,
        main=block.name,
        outer=outer,
        middle=middle,
        tile=innermost,
        panels=tuple(outer_red),
        unrolled=(*unrolled, *(phases if taps else ())),
    )
    return _tile_limits(new, at, panels, machine, unrolled)


def _cut_digits(s: Schedule, block: Block, spatial: list[For]) -> tuple[list[For], list[str], list[str]]:
    """Cut axes where accesses take them apart; returns what is left to tile, and the loops that are cut off.

    Of the groups of a convolution the channels inside a group are left, and the groups cut off. Where accesses also
    look at the remainder (the phases of a transposed convolution), these are cut off: each is a dense computation.
    """
    kept: list[For] = []
    groups: list[str] = []
    phases: list[str] = []
    env = block.env
    for lp in spatial:
        forms = [x.subst(env) for ld in operands(block) for x in ld.index]
        digits = {d for x in forms for d, _ in x.terms if d.var == lp.name and not d.plain}
        sizes = {d.lower for d in digits if d.extent is None}
        if len(sizes) != 1 or lp.extent == 1:
            kept.append(lp)
            continue
        size = sizes.pop()
        outer, inner = s.split(lp.name, [None, size])
        if lp is not spatial[-1] and any(d.lower == 1 and d.extent == size for d in digits):
            kept.append(s.func.loop(outer)[0])
            phases.append(inner)
        else:
            kept.append(s.func.loop(inner)[0])
            groups.append(outer)
    return kept, groups, phases


def _deciding(func: Func, name: str, phases: Sequence[str], reduction: Sequence[str]) -> list[str]:
    """Reduction loops that decide, together with the phases, which terms exist: unrolled, the others cost nothing."""
    block, _ = func.block(name)
    conds = [c for e in walk(block.value) if isinstance(e, Select) for c in e.conds]
    looked = {v for c in conds for v in c.form.subst(block.env).vars}
    if not phases or not looked or not looked <= {*phases, *reduction}:
        return []
    found = [n for n in reduction if n in looked]
    sizes = [func.loop(n)[0].extent for n in found]
    return found if all(isinstance(n, int) for n in sizes) and product(sizes) <= 4 * SMALL_REDUCTION else []  # type: ignore[operator]


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
    broken = _broken(func, at[-1][-1], machine)
    padded = vector + broken
    room = (registers - 1) * lanes
    wide = all(2 * (c + broken) > room for c in choices_of(func, at[-1][-1]))  # a prime: nothing fits
    d = d.limit("the register tile and its operands fit the registers", room - rows * padded - padded, wish=wide)
    small = product(func.loop(n)[0].extent for n in unrolled if n not in at[-1])
    d = d.limit("the unrolled body stays small", MAX_BODY * lanes - rows * padded * small)
    if machine.threads > 1:
        tasks = product(func.loop(n)[0].extent for n in at[0])
        d = d.limit("there is work for every thread", tasks - machine.threads, wish=True)
        d = d.limit("tasks can be shared out evenly", tasks - 4 * machine.threads, wish=True)
    return d


def _broken(func: Func, loop: str, machine: Machine) -> int:
    """Lanes that a vector loop takes in registers beyond its own iterations, on average."""
    return 0 if fills_registers(func, loop, machine) else machine.lanes // 2


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
