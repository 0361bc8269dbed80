"""Proposers against what takes the time, by the code of the reason."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from workbench.advice.offer import marking
from workbench.advice.proposals import Case, Place, Proposal, Recipe, Way, proposer, step_of
from workbench.advice.register_tiles import tile, tile_longer
from workbench.advice.row_reductions import partial_sums, together
from workbench.advice.stage_placement import recipes
from workbench.ir import Block, For, Func
from workbench.ir.expr import loads
from workbench.schedule import Schedule
from workbench.schedule.nest_rewrites import fresh_names
from workbench.schedule.primitive import registry
from workbench.space.shared_steps.block_queries import axis_of
from workbench.space.shared_steps.placement import place_copy
from workbench.target import Target

#: Iterations of a loop up to which it is unrolled. Chosen, not measured; `bench_advice` tells what comes of it.
SHORT = 16

#: Vectors of a part that is split off a loop to run as vectors, the longest part first. Chosen, not measured;
#: `bench_advice` tells what comes of it.
VECTORS = (4, 2, 1)

#: A loop of more vectors than the registers divided by this is too long: they do not fit beside what they are made of.
#: Chosen, not measured; `bench_advice` tells what comes of it.
FULL = 4

#: Iterations of the parts that are split off a loop: for registers, and for a cache. Chosen, not measured;
#: `bench_advice` tells what comes of it.
TILES, BLOCKS = (8, 4), (64, 128)


def halves(func: Func, loop: str) -> tuple[str, str]:
    """Return the names of the two loops that a split makes."""
    outer, inner = fresh_names(func, [f"{loop}.0", f"{loop}.1"])
    return outer, inner


def innermost(func: Func, target: Target, block: Block, path: tuple[For, ...], loop: For) -> Iterator[Way]:
    """Yield the ways to run a loop, or as much of it as a vector holds, at the innermost place as vectors."""
    names = [lp.name for lp in path]
    after = names[names.index(loop.name) + 1 :]

    def there(name: str) -> Way:
        return (*((step_of("reorder", *after, name),) if after else ()), step_of("vectorize", name))

    lanes = target.lanes(func.buffer(block.buffer).dtype)
    found = parts(loop, lanes)
    if not found or not too_long(loop, lanes, target):
        yield there(loop.name)
        found = found[-1:]  # all of it fits: less is a vector
    for n in found:
        yield (step_of("split", loop.name, [None, n]), *there(halves(func, loop.name)[1]))


def too_long(loop: For, lanes: int, target: Target) -> bool:
    """Whether a loop makes far more vectors than registers hold beside what they are made of."""
    return isinstance(loop.extent, int) and loop.extent > lanes * (target.vector_registers // FULL)


def parts(loop: For, lanes: int) -> list[int]:
    """Return how long a part of a loop may be that runs as a few vectors, the longest first."""
    n = loop.extent
    return [k * lanes for k in VECTORS if lanes > 1 and isinstance(n, int) and n > k * lanes and n % (k * lanes) == 0]


@proposer("overhead")
def _written_out(case: Case) -> Iterator[Way]:
    """More of a loop in one go."""
    at, row = case.at, case.row
    yield (step_of("unroll", row),)
    for n in TILES:
        yield (step_of("split", row, [None, n]), step_of("unroll", halves(at.func, row)[1]))


@proposer("latency", "reload", "loads", "overhead")
def _unrolled(case: Case) -> Iterator[Way]:
    """The short loops inside of the sum written out: their results stay in registers while it goes on."""
    at, row = case.at, case.row
    inside = at.after(at.sums[0]) if at.sums else []
    short = [lp.name for lp in reversed(at.serial) if isinstance(lp.extent, int) and lp.extent <= SHORT]
    found = [name for name in short if name in inside or name == row]
    yield from ((step_of("unroll", name),) for name in found)
    if len(found) > 1:
        yield tuple(step_of("unroll", name) for name in found)


@proposer("cache")
def _blocked(case: Case) -> Iterator[Way]:
    """A part of a loop at a time: what it touches stays in the cache while the loops around it run."""
    at, row = case.at, case.row
    for lp in sorted(at.serial, key=lambda lp: lp.name != row):
        before = at.names[: at.names.index(lp.name)]
        for n in BLOCKS:
            if isinstance(lp.extent, int) and lp.extent > n and lp.extent % n == 0 and before:
                yield (step_of("split", lp.name, [None, n]), step_of("reorder", halves(at.func, lp.name)[0], *before))


@proposer("reload", "gather", "spill", "stride", "cache")
def _moved(case: Case) -> Iterator[Way]:
    """Another loop innermost, or a sum further in."""
    at = case.at
    for lp in at.free:
        if after := at.after(lp.name):
            yield (step_of("reorder", *after, lp.name),)
    for name in at.sums:
        after = at.after(name)
        for k in range(1, len(after) + 1):
            yield (step_of("reorder", *after[:k], name),)


@proposer("latency", "reload", "loads")
def _tiled(case: Case) -> Iterator[Way]:
    """A few results of a loop at once inside of the sum."""
    at = case.at
    if not at.sums:
        return
    for lp in at.free:
        for n in TILES:
            if not isinstance(lp.extent, int) or lp.extent < n or lp.extent % n:
                continue
            parted = lp.extent > n
            name = halves(at.func, lp.name)[1] if parted else lp.name
            first = (step_of("split", lp.name, [None, n]),) if parted else ()
            after = at.after(lp.name)
            upto = after[: after.index(at.sums[-1]) + 1] if at.sums[-1] in after else []
            yield (*first, *((step_of("reorder", *upto, name),) if upto else ()), step_of("unroll", name))


@proposer("reload", "spill")
def _stored(case: Case) -> Iterator[Way]:
    """Sums kept apart from the result."""
    at = case.at
    yield (step_of("cache_write", at.block.name),)
    if at.sums:
        yield (step_of("decompose_reduction", at.block.name, at.sums[0]),)


@proposer("scalar", "stride")
def _vectors(case: Case) -> Iterator[Way]:
    """Vectors of the loop, or of another one over results."""
    at, row = case.at, case.row
    for lp in sorted(at.free, key=lambda lp: lp.name != row):
        if not (too_long(lp, at.lanes, at.target) and parts(lp, at.lanes)):
            yield (step_of("vectorize", lp.name),)
        yield from innermost(at.func, at.target, at.block, at.path, lp)


@proposer("serial")
def _parallel(case: Case) -> Iterator[Way]:
    """Several cores: the outermost loops over results, or one that is brought there."""
    at = case.at
    outer = list(itertools.takewhile(lambda lp: lp.name in at.spatial and lp.kind == "serial", at.path))
    for k in range(1, min(len(outer), 3) + 1):
        yield (step_of("parallel", *(lp.name for lp in outer[:k])),)
    for lp in at.free if not outer else ():
        if before := at.names[: at.names.index(lp.name)]:
            yield (step_of("reorder", lp.name, *before), step_of("parallel", lp.name))


@proposer("guards")
def _padded(case: Case) -> Iterator[Way]:
    """Storage with its edges written out, so that nothing is left to test."""
    at = case.at
    yield from ((step,) for step in registry["pad"].candidates(at.func, at.target, at.block.name))


@proposer("spill")
def _remarked(case: Case) -> Iterator[Proposal]:
    """The mark of a loop that is too long for the registers taken back, and put on a part of it."""
    places = marking(case.schedule, [case.row])
    if len(places) == 1:
        mark = case.schedule.trace[places[0]].name
        for way in _parts_marked(case.at, case.row, mark):
            yield Proposal(way, without=places, back=f"{mark} {case.row} taken back: ")


def _parts_marked(at: Place, row: str, mark: str) -> Iterator[Way]:
    """A few vectors of a loop that was marked whole, inside of the sum; some results of a loop around beside them."""
    outer, inner = halves(at.func, row)
    before = at.names[: at.names.index(row)]
    sums = [name for name in at.sums if name in before]
    for n in parts(at.func.loop(row)[0], at.lanes):
        first, last = step_of("split", row, [None, n]), step_of(mark, inner)
        yield (first, *((step_of("reorder", outer, *before[before.index(sums[0]) :]),) if sums else ()), last)
        for lp in at.free if sums else ():
            between = before[before.index(lp.name) + 1 :] if lp.name in before else []
            tiles = [k for k in TILES if isinstance(lp.extent, int) and lp.extent > k and lp.extent % k == 0]
            for k in tiles if sums[0] in between else ():
                part = halves(at.func, lp.name)[1]
                order = (*(name for name in between if name not in sums), outer, *sums, part)
                yield (
                    first,
                    step_of("split", lp.name, [None, k]),
                    step_of("reorder", *order),
                    last,
                    step_of("unroll", part),
                )


@proposer("latency", "reload", "loads", "stride", "gather", "scalar, else")
def _registers(case: Case) -> Iterator[Recipe]:
    """Several results at once that stay in registers."""
    yield from (partial(make, block=case.block, target=case.target) for make in (tile, tile_longer))
    yield partial(partial_sums, name=case.block, target=case.target)


@proposer("gather")
def _packed(case: Case) -> Iterator[Way | Recipe]:
    """An operand whose lanes lie apart, stored in blocks of the vector; one that is no constant in a copy."""
    at = case.at
    lane = next((lp for lp in at.path if lp.kind == "vectorize"), None)
    if lane is None or not isinstance(lane.extent, int) or (axis := axis_of(at.block, lane.name)) is None:
        return
    before = at.names[: at.names.index(at.sums[0])] if at.sums else []
    for load in dict.fromkeys(loads(at.block.value)):
        dims = [d for d, index in enumerate(load.index) if axis in index.vars]
        if load.buffer == at.block.buffer or len(dims) != 1 or dims[0] == len(load.index) - 1:
            continue
        if at.func.buffer(load.buffer).role == "const":
            yield (step_of("transform_layout", load.buffer, dims[0], lane.extent),)
            continue
        made = partial(copied, block=case.block, buffer=load.buffer, dim=dims[0], width=lane.extent)
        yield from (partial(made, at=name) for name in ("", *before))


def copied(schedule: Schedule, block: str, buffer: str, dim: int, width: int, at: str) -> str:
    """Take a copy of an operand in blocks of the vector, made inside of a loop; return the steps in a few words."""
    place_copy(schedule, schedule.cache_read(block, buffer), dim, width, at)
    return f"copy {buffer} {f'inside {at}' if at else 'first'}, {width} lanes side by side"


@proposer("stage")
def _stage(case: Case) -> Iterator[Recipe]:
    """Another statement inlined, brought to where its data are, or run as vectors; all stages a few rows at a time."""
    block = case.row.removeprefix("stmt:")
    yield from recipes(case.schedule, block, case.target)
    yield partial(together, target=case.target)
    yield partial(partial_sums, name=block, target=case.target)


@proposer("cache")
def _stages(case: Case) -> Iterator[Recipe]:
    """The statement brought to where its data are."""
    yield from recipes(case.schedule, case.block, case.target)
