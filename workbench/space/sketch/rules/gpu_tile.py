"""Rules of GPUs for reductions whose operands are reused: tiles of blocks, virtual threads and threads (SSSRRSRS)."""

from __future__ import annotations

from collections.abc import Iterator
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
from workbench.space.shared_steps.block_queries import (
    axis_of,
    consumers,
    epilogue,
    has_reuse,
    is_padding,
    lane_axis,
    loop_of_axis,
    loops_inside,
    missing_axes,
    producers,
    role,
    whole_loops,
)
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


@rule("gpu_tile", after="fetch", on="gpu")
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
    user = epilogue(s.func, block) if role(s.func, block) == "temp" else None
    root = user.name if user is not None and whole_loops(s.func, user) else str(s.cache_write(name))
    tiles = _Tiles(s, name)
    outer = _cut_results(tiles, root)
    _cut_block(tiles, outer)
    for buffer in dict.fromkeys(ld.buffer for ld, axes in missing_axes(block).items() if axes):
        _fetch(tiles, buffer)
    s = tiles.s
    _bind(s, tiles.grid, outer)
    s.set_scope(s.func.block(name)[0].buffer, "local")
    done = [b.name for b, path in blocks(s.func.body) if any(lp.name == tiles.grid for lp in path)]
    reason = f"{name}: operands are reused; SSSRRSRS, {', '.join(tiles.fetches) or 'nothing'} in shared memory"
    return draft.change("gpu_tile", reason, s, *done, tag="SSSRRSRS").limited(_limits(tiles, gpu))


def _cut_results(tiles: _Tiles, root: str) -> list[list[str]]:
    """Cut the loops over results; returns those of virtual threads, of threads, and of the two tiles inside."""
    s = tiles.s
    (block, _), (last, path) = s.func.block(tiles.block), s.func.block(root)
    first: list[str] = []
    parts: list[tuple[str, ...]] = []
    for x, y in zip(block.index, last.index, strict=True):
        axis, loop = x.single_var(), loop_of_axis(last, path, y.single_var() or "")
        if axis is None or loop is None:
            raise Skip("its results are not stored axis by axis")
        if loop.extent == 1:
            first.append(loop.name)
            continue
        wide = WIDE if axis == lane_axis(block) else INNERMOST
        cut = s.split(loop.name, [Hole(), Hole(), Hole(), Hole(), Hole(choices=wide)])
        tiles.levels[axis] = tuple(str(s.func.loop(n)[0].extent) for n in cut[1:])
        parts.append(cut)
    blocks_, *inner = ([p[k] for p in parts] for k in range(5))
    s.reorder(*first, *blocks_, *(n for level in inner for n in level))
    tiles.grid = fused(s, [*first, *blocks_])
    return inner


def _cut_block(tiles: _Tiles, outer: list[list[str]]) -> None:
    """Compute the reduction in each block of the grid, and cut its loops as those of the results."""
    s, name = tiles.s, tiles.block
    s.compute_at(name, tiles.grid)
    block, _ = s.func.block(name)
    own = {axis_of(block, lp.name): lp for lp in loops_inside(s.func, name, tiles.grid)}
    sums = [it.name for it in block.iters if it.kind == "R"]
    longest = max(sums, key=lambda a: n if isinstance(n := own[a].extent, int) else 0)
    if own[longest].extent == 1:
        raise Skip("its sum has one term")
    step, middle, inside = s.split(own[longest].name, [Hole(), Hole(), Hole(choices=INNERMOST)])
    tiles.depth = tuple(str(s.func.loop(n)[0].extent) for n in (middle, inside))
    parts = [s.split(own[axis].name, list(names)) for axis, names in tiles.levels.items()]
    virtual, threads, tile, near = ([p[k] for p in parts] for k in range(4))
    others = [own[a].name for a in sums if a != longest]
    cut = {*tiles.levels, *sums}
    single = [lp.name for axis, lp in own.items() if axis not in cut]
    s.reorder(step, *single, *threads, middle, *others, *virtual, *tile, inside, *near)
    tiles.step = step
    outer.append([fused(s, threads), fused(s, virtual)])
    outer.append([*tile, inside, *near])


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


def _bind(s: Schedule, grid: str, levels: list[list[str]]) -> None:
    """Bind the loops of all levels, and write out the tiles."""
    virtual, threads, tile, near, own, inside = levels
    for level, kind in ((virtual, "vthread"), (threads, "threadIdx.x")):
        s.bind(fused(s, level), kind)
    s.bind(own[0], "threadIdx.x").bind(own[1], "vthread").bind(grid, "blockIdx.x")
    for loop in (*inside, *tile, *near[:-1]):
        s.unroll(loop)
    s.vectorize(near[-1])


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
    kept, room = compact(draft.func), machine.gpu.shared - 2 * Device.ALIGN * len(names)
    used = sum((2 * kept.buffer(n).size * itemsize(kept.buffer(n).dtype) for n in names), 0)
    new = draft.change(
        "gpu_pipeline", f"{', '.join(names)}: the next panel is fetched during this one", s, tag="pipeline"
    )
    yield new.limit("what is fetched fits shared memory twice", normal(room - used, draft.func.relations))


def _fetching(func: Func, tiles: _Tiles) -> Iterator[tuple[str, Dim]]:
    """Copies to shared memory, each with the threads that make it."""
    for block, path in blocks(func.body):
        if block.buffer in tiles.fetches:
            yield block.name, product(lp.extent for lp in path if lp.kind == "threadIdx.x")
