"""Rules about what a tile reads and writes: packed and copied operands, local sums, the frame around an image, and
weights that are fetched ahead.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.errors import ScheduleError
from workbench.ir import Block, Load
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import normal, product
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.shared_steps.block_queries import (
    axis_of,
    consumers,
    epilogue,
    has_reuse,
    is_padding,
    operands,
    producers,
    role,
    rows_of,
    size_of,
    suited,
)
from workbench.space.shared_steps.placement import DISTANCE, FEW, LEAST, MANY, place_copy
from workbench.space.shared_steps.register_tiles import MAX_VECTORS, MIN_ROWS
from workbench.space.sketch.rule_table import Draft, Skip, rule, tiled

#: Bytes of a line below which a matrix lies close together as it is, so that no copy is tried. Chosen, not measured;
#: `bench_suite` and `bench_space` tell what comes of it.
SHORT_LINE = 1024
#: Bytes: lines that lie a multiple of this apart meet in one set of the first cache (64 sets of 64 bytes).
PAGE = 4096


def _streams(draft: Draft, block: Block) -> list[tuple[Load, int]]:
    """Operands that the vectorised loop moves, with the one dimension that it moves."""
    axis = axis_of(block, draft.tile[-1])
    reduced = {it.name for it in block.iters if it.kind == "R"}
    out = []
    for load in dict.fromkeys(operands(block)):
        dims = [d for d, x in enumerate(load.index) if axis is not None and axis in x.vars]
        if len(dims) == 1 and not reduced & load.index[dims[0]].vars:  # else the reduction goes on where it ends
            out.append((load, dims[0]))
    return out


@rule("pack", after="tile", about=tiled)
def pack(draft: Draft, machine: Machine, block: Block) -> Iterator[Draft]:
    """Store a constant operand in blocks of the vectorised tile, ahead of time: its reads become one stream."""
    before, why = draft, f"no constant matrix is read along {draft.tile[-1]}"
    for load, dim in _streams(draft, block):
        buffer = draft.func.buffer(load.buffer)
        if buffer.role != "const" or len(buffer.shape) < 2:
            continue
        s = draft.schedule.copy()
        try:
            _pack(s, load, dim, size_of(draft.func, draft.tile[-1]))
        except ScheduleError as e:
            why = e.message
            continue
        draft = draft.change("pack", f"{buffer.name} is constant and read along {draft.tile[-1]}", s)
    yield draft.skip("pack", why) if draft is before else draft


def _pack(s: Schedule, load: Load, dim: int, size: int | str) -> None:
    """Store the blocks; those of a grouped convolution lie inside of its groups, which are stored apart first."""
    groups = [c for _, c in load.index[dim].terms if isinstance(c, int) and c > 1]
    try:
        s.transform_layout(load.buffer, dim, size)
    except ScheduleError:
        if not groups:
            raise
        across = len(s.func.buffer(load.buffer).shape)
        s.transform_layout(load.buffer, dim, max(groups))
        s.transform_layout(load.buffer, across, size)


@rule("copy", after="pack", about=tiled)
def copy(draft: Draft, machine: Machine, block: Block) -> Iterator[Draft]:
    """Copy an operand that is no constant into blocks of the vectorised tile, next to where it is read.

    Its reads become one stream, which pages and cache sets like better than lines that lie far apart. The part that
    one parallel block (or one panel) reads is copied at its start.
    """
    if not draft.outer:
        raise Skip("no block is tiled")
    at, width = (draft.panels or draft.outer)[-1], size_of(draft.func, draft.tile[-1])
    if draft.copies:
        yield _place_copies(draft, block, at, width)
        return
    if not has_reuse(block) or rows_of(block) < MIN_ROWS:
        raise Skip(f"fewer than {MIN_ROWS} rows share what would be copied")
    for load, dim in _streams(draft, block):
        buffer = draft.func.buffer(load.buffer)
        made = [b for b in producers(draft.func, block) if b.buffer == buffer.name]
        line = buffer.shape[-1]
        if buffer.role not in ("input", "temp") or any(is_padding(b) for b in made) or len(buffer.shape) < 2:
            continue
        turned = dim != len(buffer.shape) - 1
        if not turned and (not isinstance(line, int) or line * itemsize(buffer.dtype) < SHORT_LINE):
            continue
        s = draft.schedule.copy()
        try:
            place_copy(s, s.cache_read(block.name, buffer.name), dim, width, at)
        except ScheduleError:
            continue
        same = draft.skip("copy", f"this form reads {buffer.name} where it lies")
        tag = f"copy of {buffer.name}"
        if turned:
            reason = f"{block.name} reads {buffer.name} across its lines: the copy has them the other way round"
            yield from (draft.change("copy", reason, s, tag=tag), same)
            return
        apart = line * itemsize(buffer.dtype)
        reason = f"the lines of {buffer.name} lie {apart} bytes apart, and {block.name} reads short pieces of them"
        yield from (same, draft.change("copy", reason, s, tag=tag))
        return
    raise Skip(f"nothing that is no constant is read along {draft.tile[-1]} in lines that lie {SHORT_LINE} bytes apart")


def _place_copies(draft: Draft, block: Block, at: str, width: int | str) -> Draft:
    """Pack and place the copies that were made already."""
    before, read = draft, {load.buffer: dim for load, dim in reversed(_streams(draft, block))}
    for name in draft.copies:
        made, _ = draft.func.block(name)
        if made.buffer not in read:
            continue
        s = draft.schedule.copy()
        try:
            place_copy(s, name, read[made.buffer], width, at)
        except ScheduleError:
            continue
        reason = f"{name} gives {block.name} room for zeros, block by block inside its nest"
        draft = draft.change("copy", reason, s, name)
    return draft.skip("copy", "the copies with room for zeros stay whole") if draft is before else draft


@rule("cache_write", after="copy", about=tiled)
def cache_write(draft: Draft, machine: Machine, block: Block) -> Iterator[Draft]:
    """Accumulate panels of a reduction in a tile of its own, and write the finished tile out.

    Lines of the result that lie far apart fall into few sets of the cache; a tile of its own is dense.
    """
    user = epilogue(draft.func, block)
    if user is not None:
        raise Skip(f"{user.name} takes its tiles as they are finished: they are local already")
    if not draft.panels:
        raise Skip("its sums stay in registers until they are written")
    buffer = draft.func.buffer(block.buffer)
    line = product(buffer.shape[-1:]) * itemsize(buffer.dtype)
    if not isinstance(line, int) or line % PAGE:
        raise Skip("the lines of its result do not fall into the same few sets of the cache")
    s = draft.schedule.copy()
    s.cache_write(block.name)
    reason = f"panels of {block.name} add to one tile again and again, of lines {line} bytes apart"
    yield draft.skip("cache_write", "this form adds to the result where it lies")
    yield draft.change("cache_write", reason, s, tag="local sums")


@rule("pad", after="fuse", about=tiled)
def pad(draft: Draft, machine: Machine, block: Block) -> list[Draft]:
    """Padding: as a parallel stage of its own, inside the blocks of the reduction, or as a condition where it is
    read.

    With panels of the reduction only inside the blocks: the forms were within a few per cent of each other there.
    """
    made = [b for b in producers(draft.func, block) if b.name not in draft.copies]
    pads = [b for b in made if is_padding(b) and role(draft.func, b) == "temp"]
    if len(pads) != 1 or len(consumers(draft.func, pads[0])) != 1:
        raise Skip("no stage that only it reads puts a frame around an image")
    name = pads[0].name
    out = [draft.skip("pad", "this form computes it first, as a stage of its own", name)]
    s = draft.schedule.copy()
    try:
        s.compute_at(name, draft.outer[-1] if draft.outer else "")
    except ScheduleError:
        pass
    else:
        _vectorise_last(s, name, suited(machine, s.func, pads[0]).lanes)
        reason = f"{name} inside the parallel blocks of {block.name}"
        out.insert(0, draft.change("pad", reason, s, name, tag="pad in blocks"))
        if draft.panels and draft.structure is None:
            return out[:1]
    s = draft.schedule.copy()
    try:
        s.compute_inline(name)
    except ScheduleError:
        return out
    return [*out, draft.change("pad", f"{name} as a condition in {block.name}", s, name, tag="pad as a condition")]


def _vectorise_last(s: Schedule, name: str, lanes: int) -> None:
    """Vectorise the innermost loop of a moved stage where its extent is a known multiple of a few lanes."""
    lp = s.func.block(name)[1][-1]
    if not isinstance(lp.extent, int):
        s.vectorize(lp.name)
        return
    if lp.kind != "serial" or lp.extent < 4 or lp.extent % 4:
        return
    if lp.extent <= MAX_VECTORS * lanes:
        s.vectorize(lp.name)
    elif lp.extent % lanes == 0:
        s.vectorize(s.split(lp.name, [None, lanes])[1])


@rule("fetch", after="mark", about=tiled)
def fetch(draft: Draft, machine: Machine, block: Block) -> list[Draft]:
    """Fetch weights some iterations of the reduction ahead, where not too many rows share them.

    Where enough rows do, also fetch the next panel evenly while the rows pass over this one; where the reduction is cut
    into panels this was never slower than without, and less of the weights is cold when a kernel begins. Weights that
    fit L2 are there when a kernel runs alone, and fetching costs it nothing that could be measured; between the other
    kernels of a network they are not.
    """
    path = draft.func.block(block.name)[1]
    size, rows = _weights(draft, block), rows_of(block)
    running = [lp.name for lp in path if lp.name in block.driving("R") and lp.kind == "serial" and lp.extent != 1]
    if size <= LEAST:
        raise Skip(f"it reads no constant of more than {LEAST >> 10} KiB")
    if rows > MANY or not running:
        raise Skip(f"{rows} rows share the weights" if rows > MANY else "its reduction has no loop")
    what, along, far = f"{size / 2**20:.1f} MB of weights for {rows} rows", running[-1], size > machine.l2
    reason, tag = f"{what}: {along} fetches {DISTANCE} iterations ahead", f"fetch {DISTANCE} ahead" if far else ""
    few = _ahead(draft, along, DISTANCE, reason, tag)
    if rows < FEW or not draft.outer:
        return [few]
    panel, tag = (draft.panels or draft.outer)[-1], "fetch panels" if far else ""
    all_of_it = _ahead(few, panel, 1, f"{what}: {panel} fetches the next panel during this one", tag)
    return [all_of_it, few] if far and not draft.panels else [all_of_it]


def _ahead(draft: Draft, loop: str, distance: int, reason: str, tag: str) -> Draft:
    s = draft.schedule.copy()
    s.annotate(loop, "prefetch", distance)
    return draft.change("fetch", reason, s, tag=tag)


def _weights(draft: Draft, block: Block) -> int:
    """Bytes of the largest constant that the block reads."""
    func = draft.func
    buffers = [func.buffer(name) for name in dict.fromkeys(ld.buffer for ld in operands(block))]
    sizes = [(normal(b.size, func.relations), itemsize(b.dtype)) for b in buffers if b.role == "const"]
    return max((count * size for count, size in sizes if isinstance(count, int)), default=0)
