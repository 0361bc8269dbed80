"""Rules for reductions that leave vectors or cores idle: they reduce in several places and add up afterwards."""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import ScheduleError
from workbench.ir import Block, For
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps.block_queries import (
    axis_loops,
    epilogue,
    lane_axis,
    loop_of_axis,
    loops_inside,
    operands,
    points,
    role,
    suited,
)
from workbench.space.shared_steps.register_tiles import open_factors, parallel_limits
from workbench.space.sketch.rule_table import Draft, Skip, rule, untouched

#: Vectors of results for each core below which a long reduction is cut: sums wait for their last addition, four cycles
#: at two a cycle. Chosen, not measured; `bench_suite` and `bench_space` tell what comes of it.
BUSY = 8
#: Terms below which a reduction is not worth a second step. Chosen, not measured; `bench_suite` and `bench_space` tell
#: what comes of it.
LONG = 256
#: Chunks of a reduction: what is added up afterwards stays small. Chosen, not measured.
MOST_CHUNKS = 256
#: Results that are reduced side by side in vectors: registers limit them. Chosen, not measured; `bench_suite` and
#: `bench_space` tell what comes of it.
SIDE_BY_SIDE = 8


@rule("rfactor", after="strips", about=untouched)
def rfactor(draft: Draft, machine: Machine, block: Block) -> list[Draft]:
    """Cut a long reduction with few results into chunks that are reduced at the same time, and add them up afterwards.

    The chunks are one more axis of the result: cores share them out, and several are in registers at once.
    """
    machine = suited(machine, draft.func, block)
    results, terms = (points(replace(block, iters=tuple(it for it in block.iters if it.kind == k))) for k in "SR")
    loops = {lp: lp.extent for lp in axis_loops(draft.func, block, "R") if isinstance(lp.extent, int)}
    longest = max(loops, key=lambda lp: loops[lp], default=None)
    side = machine.lanes if lane_axis(block) is not None else 1  # else the terms fill the vectors
    busy = BUSY * side * machine.threads
    if results >= busy:
        raise Skip(f"{results} results keep vectors and cores busy")
    if longest is None or terms < LONG or len(divisors(loops[longest])) < 3:
        raise Skip("its reduction is short, or cannot be cut")
    s = draft.schedule.copy()
    chunk = _chunks(s, block, longest, machine)
    name = str(s.rfactor(chunk, 0))
    reason = f"{results} results of {terms} terms each: {longest.name} is cut into chunks"
    made = draft.change("rfactor", reason, s, blocks=[block.name, name], tag="rfactor")
    made = replace(made, focus=name).limit("the chunks are few", MOST_CHUNKS - s.func.loop(chunk)[0].extent)
    if results == 1:
        return [made]
    same = draft.skip("rfactor", "this form reduces in one go", block.name)
    return [made, same] if 2 * results < busy else [same, made]


def _chunks(s: Schedule, block: Block, longest: For, machine: Machine) -> str:
    """Cut the longest loop of a reduction; returns the one over chunks."""
    axis = _contiguous(block) if lane_axis(block) is None else None
    ends = axis is not None and block.env[axis[0]].single_var() == longest.name  # vectors are parts of this axis, too
    lane = _lane(axis[1], machine) if axis is not None and ends else 1
    chunk, *_ = s.split(longest.name, [*open_factors(2), *([lane] if lane > 1 else [])])
    return str(chunk)


def _lane(extent: int, machine: Machine) -> int:
    """The largest part of a register that divides an extent."""
    return max(d for d in divisors(extent) if d <= machine.lanes)


def _contiguous(block: Block) -> tuple[str, int] | None:
    """Reduction axis along which the operands are contiguous, with its extent; the longest one."""
    extents = {it.name: it.extent for it in block.iters if it.kind == "R"}
    found = [v for ld in operands(block) if ld.index for v in ld.index[-1].vars if ld.index[-1].coefficient(v) == 1]
    sizes = {v: n for v in found if isinstance(n := extents.get(v), int)}
    return max(sizes.items(), key=lambda x: x[1], default=None)


@rule("lanes", after="rfactor", about=untouched)
def lanes(draft: Draft, machine: Machine, block: Block) -> list[Draft]:
    """Reduce in vectors where results do not lie side by side but terms do: a convolution to one channel, a product of
    rows.

    Every result has a vector of partial results (``rfactor``), which is added up across its lanes when it is complete;
    several results are reduced side by side, and the stages behind take them from registers.
    """
    if lane_axis(block) is not None:
        raise Skip("its results lie side by side")
    machine = suited(machine, draft.func, block)
    axis = _contiguous(block)
    if axis is None:
        raise Skip("its terms do not lie side by side")
    lane = _lane(axis[1], machine)
    if 2 * lane < machine.lanes:
        raise Skip(f"{axis[1]} terms that lie side by side fill no vectors")
    try:
        return [_together(draft, machine, block, axis[0], lane)]
    except ScheduleError:  # accesses take an axis of the results apart, as those of a transposed convolution
        return [_apart(draft, block.name, axis[0], lane)]


def _partial_sums(s: Schedule, name: str, axis: str, lane: int) -> str:
    """Let a vector hold partial results of a block; returns the new block."""
    lp = loop_of_axis(*s.func.block(name), axis)
    assert lp is not None
    one = lp.name if lp.extent == lane else s.split(lp.name, [None, lane])[-1]
    return str(s.rfactor(one, -1))


def _apart(draft: Draft, name: str, axis: str, lane: int) -> Draft:
    """Vectors of partial results in a nest of their own, which are added up in another."""
    s = draft.schedule.copy()
    partial = _partial_sums(s, name, axis, lane)
    reason = f"terms of {name} lie side by side along {axis}: vectors of partial results, added up afterwards"
    return replace(draft.change("lanes", reason, s, blocks=[name, partial], tag="lanes"), focus=partial)


def _together(draft: Draft, machine: Machine, block: Block, axis: str, lane: int) -> Draft:
    """Vectors of partial results, their sums and the stage behind in one nest."""
    s, name = draft.schedule.copy(), block.name
    user = epilogue(s.func, block)
    follow = user.name if user is not None and role(s.func, block) == "temp" else None
    partial = _partial_sums(s, name, axis, lane)
    outer, middle, few = _results(s, follow or name)
    at = (*outer, *middle)[-1]
    if follow:
        s.compute_at(name, at)
    s.compute_at(partial, at)
    made, own = s.func.block(partial)[0], [lp.name for lp in loops_inside(s.func, partial, at)]
    tile = [lp for lp in own if lp in made.driving("S")]
    s.reorder(*(lp for lp in own if lp in made.driving("R")), *tile)
    for lp in dict.fromkeys([*(lp.name for lp in loops_inside(s.func, name, at)), *few]):
        s.unroll(lp)  # what is added up across the lanes: all results of a tile at once
    reason = f"terms of {name} lie side by side along {axis}, its results do not"
    new = draft.change("lanes", reason, s, name, partial, *([follow] if follow else []), tag="lanes")
    new = replace(new, main=partial, outer=tuple(outer), middle=tuple(middle), tile=(*tile,), unrolled=(*tile[:-1],))
    return new.limited(parallel_limits(s.func, outer, machine, shared_out=False))


def _results(s: Schedule, root: str) -> tuple[list[str], list[str], list[str]]:
    """Cut the loops over results: blocks, what is inside of them, and those that are reduced side by side."""
    block, path = s.func.block(root)
    spatial = [lp for lp in path if lp.name in block.driving("S")]
    sums = [lp.name for lp in path if lp.name in block.driving("R")]
    single = [lp.name for lp in spatial if lp.extent == 1]
    long = [lp for lp in spatial if lp.extent != 1]
    if not long:
        raise ScheduleError("sketch.results", "There is one result only.", (root,))
    parts = [s.split(lp.name, open_factors(2)) for lp in long[:-1]]
    several = tuple(d for d in divisors(n) if d <= SIDE_BY_SIDE) if isinstance(n := long[-1].extent, int) else None
    parts.append(s.split(long[-1].name, open_factors(3 if several else 2, several)))
    outer, middle = [*single, *(p[0] for p in parts)], [p[1] for p in parts]
    few = list(parts[-1][2:]) or [middle.pop()]  # the number of chunks is open, and so are its parts
    s.reorder(*outer, *middle, *sums, *few)
    return outer, middle, few
