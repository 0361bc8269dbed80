"""Rules of GPUs for reductions whose operands are reused: tiles of blocks, virtual threads and threads (SSSRRSRS)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.codegen.constants import Device
from workbench.errors import ScheduleError
from workbench.ir import Block, Dim, Func, blocks, loops
from workbench.ir.compact_temporaries import compact
from workbench.ir.dtypes import itemsize
from workbench.ir.pipelines import fetched
from workbench.ir.poly import Poly, hole, normal, product
from workbench.machine_model.machine_parameters import Gpu, Machine
from workbench.schedule import Hole, Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps.block_queries import (
    axis_loops,
    axis_of,
    consumers,
    epilogue,
    has_reuse,
    is_padding,
    lane_axis,
    loops_inside,
    missing_axes,
    producers,
    role,
    whole_loops,
)
from workbench.space.shared_steps.register_tiles import extent_of, lengthen, to_copy
from workbench.space.shared_steps.threads import fused
from workbench.space.sketch.rule_table import Draft, Skip, rule

#: Neighbours that a thread computes, or steps of a sum, in the innermost tile: what wide loads take at once and more.
#: These, and the limits below, were chosen, not measured.
INNERMOST = (1, 2, 4, 8)
#: Elements of a wide load: 16 bytes of float32.
WIDE = (1, 2, 4)
#: Virtual threads, sums of a thread, and copies of a body that is written out, at most.
VTHREADS, SUMS, BODY = 8, 128, 1024
#: Registers of a thread besides its sums.
OTHER_REGISTERS = 32
#: Multiples to which long axes of results, or of a sum, are padded where they have few divisors, or none from this one
#: to eight times as much.
STEPS = {"S": 8, "R": 4}
#: Threads of a block, at least, where there are as many results.
THREADS = 64


@dataclass(slots=True)
class _Tiles:
    """The tiles of one reduction: hole names by level, and loops.

    Attributes
    ----------
    levels : dict
        Axis of the reduction -> names of its holes: virtual threads, threads, tile, innermost tile.
    depth : tuple of str
        Names of the holes of the sum inside of a fetch.
    grid : str
        Loop over the blocks of the grid.
    step : str
        Loop around the fetches of one panel of the sum.
    fetches : list of str
        Buffers in shared memory.
    """

    s: Schedule
    block: str
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    depth: tuple[str, ...] = ()
    grid: str = ""
    step: str = ""
    fetches: list[str] = field(default_factory=list)

    def threads(self) -> Dim:
        """Threads of a block."""
        return product(hole(names[1]) for names in self.levels.values())

    def level(self, k: int) -> Dim:
        """Iterations of a level of all axes."""
        return product(hole(names[k]) for names in self.levels.values())


@rule("gpu_tile", after="gpu_warp_tiles", on="gpu")
def gpu_tile(draft: Draft, machine: Machine) -> list[Draft]:
    """Tile each reduction whose operands are reused: blocks of the grid, virtual threads and threads, then the sum
    around a tile in registers (SSSRRSRS).

    What a block reads is fetched to shared memory by its threads together, panel by panel of the sum. An element-wise
    stage behind takes the sums from registers.
    """
    assert machine.gpu is not None
    for name in [b.name for b, _ in blocks(draft.func.body)]:
        block, _ = draft.func.block(name)
        try:
            draft = _tiled(draft, block, machine.gpu)
        except (Skip, ScheduleError) as e:
            draft = draft.skip("gpu_tile", e.message, name)
    return [draft]


def _tiled(draft: Draft, block: Block, gpu: Gpu) -> Draft:
    if not has_reuse(block):
        raise Skip("it is no reduction with operands that are reused")
    if not whole_loops(draft.func, block):
        raise Skip("another rule has scheduled it")
    s, name = draft.schedule.copy(), block.name
    longer = _lengthen(s, block)
    user = epilogue(s.func, block) if role(s.func, block) == "temp" else None
    cropped = consumers(s.func, s.func.block(name)[0]) if longer and user is None else []
    root = user.name if user is not None else cropped[0].name if len(cropped) == 1 else str(s.cache_write(name))
    tiles = _Tiles(s, name)
    levels = _cut_block(tiles)
    results = _cut_results(tiles, root)
    for buffer in dict.fromkeys(ld.buffer for ld, axes in missing_axes(s.func.block(name)[0]).items() if axes):
        _fetch(tiles, buffer)
    s = tiles.s
    _bind(s, tiles.grid, levels, results)
    s.set_scope(s.func.block(name)[0].buffer, "local")
    done = [b.name for b, path in blocks(s.func.body) if any(lp.name == tiles.grid for lp in path)]
    text = "".join(f"; {axis} is {size} long" for axis, size in longer.items())
    reason = f"{name}: operands are reused; SSSRRSRS, {', '.join(tiles.fetches) or 'nothing'} in shared memory{text}"
    return draft.change("gpu_tile", reason, s, *done, tag="SSSRRSRS").limited(_limits(tiles, gpu))


def _lengthen(s: Schedule, block: Block) -> dict[str, int]:
    """Pad axes that no good tile divides: threads take whole shares of them; returns the new extents by axis."""
    sizes, copied = dict[str, int](), dict[str, None]()
    for kind, step in STEPS.items():
        for lp in axis_loops(s.func, block, kind):
            size = extent_of(s.func, lp.name)
            some = divisors(size)
            if size > 2 * step and (len(some) < 4 or not any(step <= d <= 8 * step for d in some)):
                sizes[lp.name] = -(-size // step) * step
                copied |= dict.fromkeys(to_copy(s.func, block, axis_of(block, lp.name), True))
    trial = s.copy()
    try:
        lengthen(trial, block.name, sizes, copied)
    except ScheduleError:
        return {}
    made = {axis: sizes[lp] for lp in sizes if (axis := axis_of(block, lp)) is not None}
    lengthen(s, block.name, sizes, copied)
    return made


def _cut_block(tiles: _Tiles) -> dict[str, list[str]]:
    """Cut the loops of the reduction; returns those of virtual threads, of threads, and those that are written out."""
    s, (block, _) = tiles.s, tiles.s.func.block(tiles.block)
    spatial, sums = (axis_loops(s.func, block, kind) for kind in "SR")
    longest = max(sums, key=lambda lp: extent_of(s.func, lp.name))
    if longest.extent == 1:
        raise Skip("its sum has one term")
    first = [lp.name for lp in spatial if lp.extent == 1]
    parts: list[tuple[str, ...]] = []
    for lp in (lp for lp in spatial if lp.extent != 1):
        axis = axis_of(block, lp.name) or ""
        cut = s.split(lp.name, [Hole(), Hole(), Hole(), Hole(), Hole(choices=_choices(block, axis))])
        tiles.levels[axis] = tuple(str(s.func.loop(n)[0].extent) for n in cut[1:])
        parts.append(cut)
    step, middle, inside = s.split(longest.name, [Hole(), Hole(), Hole(choices=INNERMOST)])
    tiles.depth = tuple(str(s.func.loop(n)[0].extent) for n in (middle, inside))
    outer, virtual, threads, tile, near = ([p[k] for p in parts] for k in range(5))
    others = [lp.name for lp in sums if lp is not longest]
    s.reorder(*first, *outer, step, *threads, middle, *others, *virtual, *tile, inside, *near)
    tiles.grid, tiles.step = fused(s, [*first, *outer]), step
    return {"threadIdx.x": [fused(s, threads)], "vthread": [fused(s, virtual)], "unroll": [*tile, inside, *near]}


def _choices(block: Block, axis: str) -> tuple[int, ...]:
    return WIDE if axis == lane_axis(block) else INNERMOST


def _cut_results(tiles: _Tiles, root: str) -> dict[str, list[str]]:
    """Store the results in each block of the grid, with the threads that have computed them."""
    s, (block, _) = tiles.s, tiles.s.func.block(tiles.block)
    s.reverse_compute_at(root, tiles.grid)
    last, _ = s.func.block(root)
    own = {axis_of(last, lp.name): lp.name for lp in loops_inside(s.func, root, tiles.grid)}
    parts: list[tuple[str, ...]] = []
    for x, y in zip(block.index, last.index, strict=True):
        axis, loop = x.single_var(), own.get(y.single_var())
        if axis in tiles.levels and loop is None:
            raise Skip("its results are not stored axis by axis")
        if axis in tiles.levels and loop is not None:
            parts.append(s.split(loop, list(tiles.levels[axis])))
    virtual, threads, tile, near = ([p[k] for p in parts] for k in range(4))
    s.reorder(*virtual, *threads, *tile, *near)
    found = {"vthread": [fused(s, virtual)], "threadIdx.x": [fused(s, threads)], "unroll": [*tile, *near[:-1]]}
    return found | {"vectorize": near[-1:]}


def _fetch(tiles: _Tiles, buffer: str) -> None:
    """Let the threads of a block copy what one step of the sum reads to shared memory; leave it where that fails."""
    s = tiles.s.copy()
    block, _ = s.func.block(tiles.block)
    made = [b for b in producers(s.func, block) if b.buffer == buffer and is_padding(b)]
    alone = len(made) == 1 and role(s.func, made[0]) == "temp" and len(consumers(s.func, made[0])) == 1
    try:
        copy = made[0].name if alone else str(s.cache_read(tiles.block, buffer))
        s.compute_at(copy, tiles.step)
        threads, wide = _share_out(tiles, s, copy)
        s.bind(threads, "threadIdx.x")
        if wide is not None:
            s.vectorize(wide)
        kept = s.func.block(copy)[0].buffer
        s.set_scope(kept, "shared")
    except ScheduleError:
        return
    tiles.s = s
    tiles.fetches.append(kept)


def _share_out(tiles: _Tiles, s: Schedule, copy: str) -> tuple[str, str | None]:
    """Cut the loops of a copy by the holes that their extents are products of.

    The two innermost loops are shared out to as many threads as these holes say, neighbours to neighbours; what
    remains of them, and the other loops, each thread runs through.
    """
    own = [lp for lp in loops_inside(s.func, copy, tiles.step) if lp.extent != 1]
    near = {names[3] for names in tiles.levels.values()}
    shared = {names[1] for names in tiles.levels.values()} | {*tiles.depth} | near
    around, threads, wide = [lp.name for lp in own[:-2]], list[str](), None
    for lp in own[-2:]:
        names = _factors(lp.extent)
        if not names:
            threads.append(lp.name)
            continue
        last = next((n for n in names if lp is own[-1] and n in (tiles.depth[-1], *near)), None)
        many = [n for n in names if n in shared and n != last]
        rest, *cut = s.split(lp.name, [None, *many, *([last] if last is not None else [])])
        wide = cut.pop() if last is not None else wide
        around.append(rest)
        threads += cut
    if not threads:
        raise Skip("nothing to share out")
    s.reorder(*around, *threads, *([wide] if wide is not None else []))
    return fused(s, threads), wide


def _factors(extent: Dim) -> list[str]:
    """Holes that an extent is the product of; none where it is something else."""
    if not isinstance(extent, Poly) or len(extent.terms) != 1:
        return []
    mono, c = extent.terms[0]
    return [name for name, e in mono if e == 1] if c == 1 and all(e == 1 for _, e in mono) else []


def _bind(s: Schedule, grid: str, *nests: Mapping[str, Sequence[str]]) -> None:
    """Bind the loops of all levels, and write out the tiles."""
    s.bind(grid, "blockIdx.x")
    for kind, loop in ((kind, loop) for nest in nests for kind, found in nest.items() for loop in found):
        if kind in ("unroll", "vectorize"):
            getattr(s, kind)(loop)
        else:
            s.bind(loop, kind)


# ---- limits ---------------------------------------------------------------------------------------------------------


def _limits(tiles: _Tiles, gpu: Gpu) -> Iterator[tuple[str, Dim, bool]]:
    """What a block of the device has room for, and what keeps it busy (wishes)."""
    func, threads = tiles.s.func, tiles.threads()
    sums = tiles.level(0) * tiles.level(2) * tiles.level(3)
    size = itemsize(func.buffer(func.block(tiles.block)[0].buffer).dtype)
    yield "a block has no more threads than there may be", gpu.threads - threads, False
    yield f"at most {VTHREADS} virtual threads", VTHREADS - tiles.level(0), False
    yield "the sums of a thread stay in registers", SUMS * 4 - sums * size, False
    yield "the registers suffice", gpu.registers * 4 - threads * (sums * size + OTHER_REGISTERS * 4), False
    yield "the unrolled body stays small", BODY - sums * hole(tiles.depth[-1]), False
    kept = compact(func)
    room = gpu.shared - Device.ALIGN * len(tiles.fetches)
    used = sum((kept.buffer(n).size * itemsize(kept.buffer(n).dtype) for n in tiles.fetches), 0)
    yield "what is fetched fits shared memory", normal(room - used, func.relations), False
    for lp, path in _fetching(func, tiles):
        yield f"{lp} is shared out to no more threads than there are", threads - path, False
        yield f"{lp} keeps half of the threads busy", 2 * path - threads, True
    yield f"at least {THREADS} threads", threads - THREADS, True


@rule("gpu_pipeline", after="gpu_tile", on="gpu")
def gpu_pipeline(draft: Draft, machine: Machine) -> Iterator[Draft]:
    """Fetch the next panel of a sum while this one is added up: half of the memory for fewer waits."""
    assert machine.gpu is not None
    s, names = draft.schedule.copy(), list[str]()
    for lp, _ in loops(draft.func.body):
        if lp.kind == "serial" and (found := fetched(draft.func, lp)):
            s.pipeline(lp.name)
            names += sorted(found)
    if not names:
        raise Skip("nothing is fetched to shared memory")
    yield draft.skip("gpu_pipeline", "this form fetches a panel when it is needed")
    shared = [b for b in compact(draft.func).buffers if b.scope == "shared"]
    room = machine.gpu.shared - 2 * Device.ALIGN * len(shared)
    used = sum(((1 + (b.name in names)) * b.size * itemsize(b.dtype) for b in shared), 0)
    new = draft.change(
        "gpu_pipeline", f"{', '.join(names)}: the next panel is fetched during this one", s, tag="pipeline"
    )
    yield new.limit("what is fetched fits shared memory twice", normal(room - used, draft.func.relations))


def _fetching(func: Func, tiles: _Tiles) -> Iterator[tuple[str, Dim]]:
    """Copies to shared memory, each with the threads that make it."""
    for block, path in blocks(func.body):
        if block.buffer in tiles.fetches:
            yield block.name, product(lp.extent for lp in path if lp.kind == "threadIdx.x")
