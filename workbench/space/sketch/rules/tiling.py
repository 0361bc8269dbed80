"""Rules for reductions: longer axes, register and cache tiles, and the marks of their loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.ir import Block, For, Func, Select
from workbench.ir.expr import walk
from workbench.ir.poly import product
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.shared_steps import placement, register_tiles
from workbench.space.shared_steps.block_queries import (
    axis_loops,
    axis_of,
    choices_of,
    has_reuse,
    lane_axis,
    missing_axes,
    operands,
    rows_of,
    suited,
    vectorisable,
)
from workbench.space.sketch.rule_table import Draft, Skip, rule, tiled, untouched
from workbench.space.sketch.tile_structure import Structure

#: Iterations of the innermost sums up to which they are written out. Chosen, not measured; `bench_suite` and
#: `bench_space` tell what comes of it.
SMALL_REDUCTION = 4
#: Iterations of a sum from which on it is tried in panels. Chosen, not measured; `bench_suite` and `bench_space` tell
#: what comes of it.
LONG_REDUCTION = 64
#: Forms that are tried when no structure is asked for: the second one where operands are reused.
SIMPLE, PANELS = Structure("SSRS"), Structure("SSRSRS")
#: Shares of what the padded tile promises: below the first, extents are not tried as they are; below the second, the
#: padded tile comes first. Chosen, not measured; `bench_suite` and `bench_space` tell what comes of it.
HOPELESS, BETTER = 0.45, 0.9


@rule("lengthen", after="lanes", about=untouched)
def lengthen(draft: Draft, machine: Machine, block: Block) -> list[Draft]:
    """Pad the axes of a register tile that no good tile divides: whole vectors along the last one, and as many rows as
    the registers hold along the one before.

    What is read beyond the end is zero, and what is computed there is thrown away. The better of the two comes first;
    where the extents as they are leave only single rows or broken vectors, there is no variant without.
    """
    if not has_reuse(block) or not vectorisable(draft.func, block):
        raise Skip("only a reduction with reused operands has a register tile to fill")
    loops = [lp for lp in axis_loops(draft.func, block, "S") if isinstance(lp.extent, int) and lp.extent > 1]
    if not loops or any(not d.plain for ld in operands(block) for x in ld.index for d, _ in x.terms):
        raise Skip("its accesses take an axis apart")
    machine = suited(machine, draft.func, block)
    was = {lp.name: int(lp.extent) for lp in loops[-2:]}  # type: ignore[arg-type]
    *before, last = was
    sizes = register_tiles.longer(draft.func, before[0] if before else None, last, machine)
    if not sizes:
        raise Skip("good register tiles divide its extents")
    copied = register_tiles.to_copy(draft.func, block, axis_of(block, last), last in sizes)
    if copied and rows_of(block) < register_tiles.MIN_ROWS:
        raise Skip(f"what fewer than {register_tiles.MIN_ROWS} rows share is not worth a copy with room for zeros")
    s = draft.schedule.copy()
    copies = register_tiles.lengthen(s, block.name, sizes, copied)
    text = ", ".join(f"{loop} {was[loop]} -> {size}" for loop, size in sizes.items())
    reason = f"no good register tile divides {block.name} as it is: {text}"
    padded = draft.change("lengthen", reason, s, blocks=[block.name], tag="longer")
    padded = replace(padded, copies=tuple(copies))
    share = _promise(was, last, machine) / _promise({**was, **sizes}, last, machine)
    same = draft.skip("lengthen", "this form keeps the extents as they are", block.name)
    return [padded] if share < HOPELESS else [padded, same] if share < BETTER else [same, padded]


def _promise(extents: dict[str, int], last: str, machine: Machine) -> float:
    """What tiles of these extents promise: half vectors, and those of the last rest, do half the work."""
    wide, rows = extents[last], next(iter(extents.values())) if len(extents) > 1 else 1
    if wide % machine.lanes == 0 or wide < machine.lanes:
        return register_tiles.tile_speed(rows, max(wide, machine.lanes), machine)
    halves = 2 * wide % machine.lanes == 0
    return (0.5 if halves else 0.3) * register_tiles.tile_speed(rows, machine.lanes, machine)


@rule("tile", after="lengthen", about=untouched)
def tile(draft: Draft, machine: Machine, block: Block) -> Iterator[Draft]:
    """Tile a reduction: parallel blocks, cache tiles, then the reduction around an unrolled and vectorised register
    tile (SSRS).

    Operands that are reused also get a second form, in which the longest reduction axis is cut into panels that stay
    in cache (SSRSRS). A structure that is asked for takes the place of both.
    """
    if lane_axis(block) is None:
        raise Skip("its results do not lie side by side")
    for form, axis in _forms(draft, block):
        yield _tile(draft, block, suited(machine, draft.func, block), form, axis)


def _forms(draft: Draft, block: Block) -> list[tuple[Structure, str | None]]:
    """Structures to try, with the axis to cut into panels where there is one."""
    wanted = draft.structure
    if wanted is not None:
        axis = _panel_axis(draft.func, block, 2) if wanted.reduction > 1 else None
        return [(wanted if axis is not None else wanted.without_panels(), axis)]
    axis = _panel_axis(draft.func, block, LONG_REDUCTION) if has_reuse(block) else None
    return [(SIMPLE, None), *([(PANELS, axis)] if axis is not None else [])]


def _panel_axis(func: Func, block: Block, least: int) -> str | None:
    """Longest reduction loop, if it has at least so many iterations."""
    loops = [lp for lp in axis_loops(func, block, "R") if isinstance(lp.extent, int) and lp.extent >= least]
    return max(loops, key=lambda lp: int(lp.extent)).name if loops else None  # type: ignore[arg-type]


def _tile(draft: Draft, block: Block, machine: Machine, form: Structure, panel: str | None) -> Draft:
    s = draft.schedule.copy()
    loops = axis_loops(draft.func, block, "S")
    batch = _batch(block, loops)
    spatial, groups, phases = _cut_digits(s, block, [lp for lp in loops if lp.name not in batch])
    groups = [*batch, *groups]
    reduction = axis_loops(draft.func, block, "R")
    levels = form.spatial
    parts = [_split_spatial(s, lp, levels, machine, last=lp is spatial[-1]) for lp in spatial]
    cut = tuple(s.split(panel, register_tiles.open_factors(form.reduction))) if panel is not None else ()
    slides = _sliding(block, reduction)
    inner_red = [cut[-1] if lp.name == panel else lp.name for lp in sorted(reduction, key=lambda lp: lp.name == slides)]
    at = [[p[k] for p in parts if len(p) > 1] for k in range(levels)]
    single = [p[0] for p in parts if len(p) == 1] + groups
    _order(s, form, at, [single, phases], [*([n] for n in cut[:-1]), inner_red])
    # Without reuse (depthwise) the taps of the kernel are all the work there is between loading and storing.
    short = SMALL_REDUCTION if has_reuse(block) or len(missing_axes(block)) < 2 else 4 * SMALL_REDUCTION
    if slides in inner_red:
        short = max(short, int(s.func.loop(slides)[0].extent))  # type: ignore[arg-type]
    *rows, vector = at[-1]
    broken = register_tiles.broken_lanes(s.func, vector, machine)
    fitting = register_tiles.MAX_BODY * machine.lanes // (min(choices_of(s.func, vector)) + broken)
    small = _small_reductions(s.func, inner_red, min(short, fitting))
    taps = _deciding(s.func, block.name, phases, inner_red)
    inside = list(dict.fromkeys([*small, *taps]))
    text = "every operand is reused along another axis" if has_reuse(block) else "a reduction with a vectorisable axis"
    new = draft.change("tile", f"{block.name}: {text}; {form.text}", s, block.name, tag=form.text)
    new = replace(
        new,
        main=block.name,
        outer=(*single, *at[0]),
        middle=(*phases, *(n for level in at[1 : form.before] for n in level)),
        tile=tuple(at[-1]),
        panels=cut[:-1],
        unrolled=(*rows, *inside, *(phases if taps else ())),
    )
    terms = product(s.func.loop(n)[0].extent for n in inside)
    # Rows that slide, and the weights of all that they belong to, take the other half of the registers.
    machine_of_tile = replace(machine, registers=machine.registers // 2) if slides in inside else machine
    new = new.limited(register_tiles.tile_limits(s.func, at[-1], machine_of_tile, terms, broken))
    return new.limited(register_tiles.parallel_limits(s.func, [*single, *at[0]], machine))


def _batch(block: Block, spatial: Sequence[For]) -> list[str]:
    """Loops along which no operand is reused, though others are: a tile of several iterations would share nothing."""
    reused: set[str | None] = set().union(*missing_axes(block).values())
    if not has_reuse(block) or any(not d.plain for ld in operands(block) for x in ld.index for d, _ in x.terms):
        return []
    return [lp.name for lp in spatial[:-1] if lp.extent != 1 and axis_of(block, lp.name) not in reused]


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
    forms = [x.subst(block.env) for ld in operands(block) for x in ld.index]
    for lp in spatial:
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


def _sliding(block: Block, reduction: Sequence[For]) -> str:
    """The sum along which a window slides over rows of a tile, where lanes share weights and all sums are a window's.

    Written out inside of the others, it loads each row once for all results that it belongs to.
    """
    lane, spatial = lane_axis(block), {it.name for it in block.iters if it.kind == "S" and it.extent != 1}
    sums = {axis_of(block, lp.name): lp.name for lp in reduction if lp.extent != 1}
    forms = [x for ld in operands(block) for x in ld.index if x.vars & spatial]
    along = {a: x for x in forms for a in x.vars & sums.keys()}
    if not has_reuse(block) or along.keys() != sums.keys():
        return ""
    dense = (a for a, x in along.items() if lane not in x.vars and all(x.coefficient(b) == 1 for b in x.vars & spatial))
    return next((sums[a] for a in dense), "")


def _split_spatial(s: Schedule, lp: For, levels: int, machine: Machine, last: bool) -> tuple[str, ...]:
    if lp.extent == 1:
        return (lp.name,)
    choices = register_tiles.vector_choices(lp.extent, machine) if last and isinstance(lp.extent, int) else None
    return tuple(s.split(lp.name, register_tiles.open_factors(levels, choices)))


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


@rule("mark", after="pointwise", about=tiled)
def mark(draft: Draft, machine: Machine, block: Block) -> list[Draft]:
    """Unroll and vectorise the register tile, and run the outer blocks in parallel."""
    s = draft.schedule.copy()
    placement.mark(s, draft.unrolled, draft.tile[-1])
    if machine.threads > 1:
        s.parallel(*draft.outer)
    several = f" and {', '.join(draft.outer)} in parallel" if machine.threads > 1 else ""
    return [draft.change("mark", f"{draft.tile[-1]} is contiguous: lanes{several}", s)]
