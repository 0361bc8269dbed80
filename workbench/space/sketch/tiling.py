"""Rules for reductions: register tiles, cache tiles, and marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.expr import Select, walk
from workbench.ir.func import Func
from workbench.ir.poly import product
from workbench.ir.stmt import Block, For
from workbench.machine_model.parameters import Machine
from workbench.schedule.primitives.annotation import VECTOR_LIMIT
from workbench.space.sketch.analysis import (
    axis_loops,
    choices_of,
    fills_registers,
    has_reuse,
    main_block,
    missing_axes,
    operands,
    suited,
    vectorisable,
    whole_loops,
)
from workbench.space.sketch.base import Draft, rule
from workbench.space.sketch.structure import Structure

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Unrolled vector instructions that a body may have: compile time grows with it, speed does not.
MAX_BODY = 256
#: Reductions of at most this many values inside are unrolled.
SMALL_REDUCTION = 4
#: The widest vectorised loop, in vector registers.
MAX_VECTORS = 8
#: Shorter reductions are not worth panels.
LONG_REDUCTION = 64
#: Forms that are tried when no structure is asked for: the second one where operands are reused.
SIMPLE, PANELS = Structure("SSRS"), Structure("SSRSRS")


@rule("tile", after="lengthen")
def tile(draft: Draft, machine: Machine) -> Iterator[Draft]:
    """Tile a reduction: parallel blocks, cache tiles, then the reduction around an unrolled and vectorised register
    tile (SSRS).

    Operands that are reused also get a second form, in which the longest reduction axis is cut into panels that stay
    in cache (SSRSRS). A structure that is asked for takes the place of both.
    """
    block = main_block(draft.func, draft.focus)
    if block is None:
        yield draft.skip("tile", "nothing is reduced")
    elif block.name in draft.done:
        yield draft.skip("tile", "another rule has scheduled it", block.name)
    elif not vectorisable(draft.func, block):
        yield draft.skip("tile", _why_not(draft.func, block), block.name)
    else:
        machine = suited(machine, draft.func, block)
        for k, (form, axis) in enumerate(_forms(draft, block)):
            try:
                yield _tile(draft, block, machine, form, axis)
            except ScheduleError as e:  # an axis that the accesses cut in a way that tiles would not respect
                if k == 0:
                    yield draft.skip("tile", e.message, block.name)
                return


def _forms(draft: Draft, block: Block) -> list[tuple[Structure, str | None]]:
    """Structures to try, with the axis to cut into panels where there is one."""
    wanted = draft.structure
    if wanted is not None:
        axis = _panel_axis(draft.func, block, 2) if wanted.reduction > 1 else None
        return [(wanted if axis is not None else wanted.without_panels(), axis)]
    axis = _panel_axis(draft.func, block, LONG_REDUCTION) if has_reuse(block) else None
    return [(SIMPLE, None), *([(PANELS, axis)] if axis is not None else [])]


def _why_not(func: Func, block: Block) -> str:
    return (
        "its results do not lie side by side" if whole_loops(func, block) else "its loops have been scheduled already"
    )


def _tile(draft: Draft, block: Block, machine: Machine, form: Structure, panel: str | None) -> Draft:
    s = draft.schedule.copy()
    spatial, groups, phases = _cut_digits(s, block, axis_loops(draft.func, block, "S"))
    reduction = axis_loops(draft.func, block, "R")
    levels = form.spatial
    parts = [_split_spatial(s, lp, levels, machine, last=lp is spatial[-1]) for lp in spatial]
    cut = tuple(s.split(panel, _open(form.reduction))) if panel is not None else ()
    inner_red = [cut[-1] if lp.name == panel else lp.name for lp in reduction]
    at = [[p[k] for p in parts if len(p) > 1] for k in range(levels)]
    single = [p[0] for p in parts if len(p) == 1] + groups
    _order(s, form, at, [single, phases], [*([n] for n in cut[:-1]), inner_red])
    # Without reuse (depthwise) the taps of the kernel are all the work there is between loading and storing.
    short = SMALL_REDUCTION if has_reuse(block) or len(missing_axes(block)) < 2 else 4 * SMALL_REDUCTION
    fitting = MAX_BODY * machine.lanes // (min(choices_of(s.func, at[-1][-1])) + _broken(s.func, at[-1][-1], machine))
    small = _small_reductions(s.func, inner_red, min(short, fitting))
    taps = _deciding(s.func, block.name, phases, inner_red)
    unrolled = at[-1][:-1] + list(dict.fromkeys([*small, *taps]))
    text = "every operand is reused along another axis" if has_reuse(block) else "a reduction with a vectorisable axis"
    new = draft.change("tile", f"{block.name}: {text}; {form.text}", s, block.name, tag=form.text)
    outer, innermost = (*single, *at[0]), tuple(at[-1])
    middle = (*phases, *(n for level in at[1 : form.before] for n in level))
    new = replace(
        new,
        main=block.name,
        outer=outer,
        middle=middle,
        tile=innermost,
        panels=cut[:-1],
        unrolled=(*unrolled, *(phases if taps else ())),
    )
    return _tile_limits(new, at, machine, unrolled)


def _order(s: Schedule, form: Structure, at: list[list[str]], first: list[list[str]], sums: list[list[str]]) -> None:
    """Bring the loops into the order of the structure; `first` goes around and behind the blocks outside."""
    order, spatial, reduction = [*first[0]], iter(at), iter(sums)
    for k, letter in enumerate(form.text):
        order += next(spatial if letter == "S" else reduction)
        order += first[1] if k == 0 else []
    s.reorder(*order)


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
    from workbench.schedule.holes import divisors

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


def _open(count: int) -> list[object]:
    from workbench.schedule import Hole

    return [Hole() for _ in range(count)]


def _tile_limits(d: Draft, at: list[list[str]], machine: Machine, unrolled: Sequence[str]) -> Draft:
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


def _panel_axis(func: Func, block: Block, least: int) -> str | None:
    """Longest reduction loop, if it has at least so many iterations."""
    loops = [lp for lp in axis_loops(func, block, "R") if isinstance(lp.extent, int) and lp.extent >= least]
    return max(loops, key=lambda lp: int(lp.extent)).name if loops else None  # type: ignore[arg-type]


@rule("mark", after="pointwise")
def mark(draft: Draft, machine: Machine) -> list[Draft]:
    """Unroll and vectorise the register tile, and run the outer blocks in parallel."""
    if draft.main is None:
        return [draft.skip("mark", "no block is tiled")]
    s = draft.schedule.copy()
    for name in draft.unrolled:
        s.unroll(name)
    s.vectorize(draft.tile[-1])
    if machine.threads > 1:
        s.parallel(*draft.outer)
    several = f" and {', '.join(draft.outer)} in parallel" if machine.threads > 1 else ""
    return [draft.change("mark", f"{draft.tile[-1]} is contiguous: lanes{several}", s)]
