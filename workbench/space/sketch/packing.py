"""Rules that store an operand in the order in which the register tile reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.affine import Affine
from workbench.ir.dtypes import itemsize
from workbench.ir.expr import Load
from workbench.ir.func import Buffer
from workbench.ir.stmt import Block
from workbench.machine_model.parameters import Machine
from workbench.space.sketch.analysis import axis_of, has_reuse, is_padding, operands, producers, rows_of, size_of
from workbench.space.sketch.base import Draft, rule

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: A matrix whose lines are shorter than this lies close together as it is, in bytes.
SHORT_LINE = 1024
#: Fewer rows than this do not pay for a copy of what they read.
MIN_ROWS = 32


@rule("pack", after="tile")
def pack(draft: Draft, machine: Machine) -> list[Draft]:
    """Store a constant operand in blocks of the vectorised tile, ahead of time: its reads become one stream."""
    if draft.main is None:
        return [draft.skip("pack", "no block is tiled")]
    block, _ = draft.func.block(draft.main)
    before, why = draft, f"no constant matrix is read along {draft.tile[-1]}"
    for load, dim in _streams(draft, block):
        buffer = draft.func.buffer(load.buffer)
        if buffer.role != "const" or len(buffer.shape) < 2:
            continue
        s = draft.schedule.copy()
        try:
            _pack(s, buffer, dim, load.index[dim], size_of(draft.func, draft.tile[-1]))
        except ScheduleError as e:
            why = e.message
            continue
        draft = draft.change("pack", f"{buffer.name} is constant and read along {draft.tile[-1]}", s)
    return [draft.skip("pack", why) if draft is before else draft]


def _pack(s: Schedule, buffer: Buffer, dim: int, form: Affine, size: int | str) -> None:
    """Store the blocks; those of a grouped convolution lie inside of its groups, which are stored apart first."""
    groups = [c for _, c in form.terms if isinstance(c, int) and c > 1]
    try:
        s.transform_layout(buffer.name, dim, size)
    except ScheduleError:
        if not groups:
            raise
        s.transform_layout(buffer.name, dim, max(groups))
        s.transform_layout(buffer.name, len(buffer.shape), size)


@rule("copy", after="pack")
def copy(draft: Draft, machine: Machine) -> list[Draft]:
    """Copy an operand that is no constant into blocks of the vectorised tile, next to where it is read.

    Its reads become one stream, which pages and cache sets like better than lines that lie far apart. The part that
    one parallel block (or one panel) reads is copied at its start.
    """
    if draft.main is None or not draft.outer:
        return [draft.skip("copy", "no block is tiled")]
    block, _ = draft.func.block(draft.main)
    if draft.copies:
        return [_place_copies(draft, block)]
    if not has_reuse(block) or rows_of(block) < MIN_ROWS:
        return [draft.skip("copy", f"fewer than {MIN_ROWS} rows share what would be copied")]
    for load, dim in _streams(draft, block):
        buffer = draft.func.buffer(load.buffer)
        made = [b for b in producers(draft.func, block) if b.buffer == buffer.name]
        line = buffer.shape[-1]
        if buffer.role not in ("input", "temp") or any(is_padding(b) for b in made) or dim != len(buffer.shape) - 1:
            continue
        if len(buffer.shape) < 2 or not isinstance(line, int) or line * itemsize(buffer.dtype) < SHORT_LINE:
            continue
        s = draft.schedule.copy()
        try:
            _place(s, s.cache_read(block.name, buffer.name), dim, size_of(draft.func, draft.tile[-1]), _where(draft))
        except ScheduleError:
            continue
        apart = line * itemsize(buffer.dtype)
        reason = f"the lines of {buffer.name} lie {apart} bytes apart, and {block.name} reads short pieces of them"
        same = draft.skip("copy", f"this form reads {buffer.name} where it lies")
        return [same, draft.change("copy", reason, s, tag=f"copy of {buffer.name}")]
    text = f"nothing that is no constant is read along {draft.tile[-1]} in lines that lie {SHORT_LINE} bytes apart"
    return [draft.skip("copy", text)]


def _place_copies(draft: Draft, block: Block) -> Draft:
    """Pack and place the copies that were made already."""
    before = draft
    for name in draft.copies:
        made, _ = draft.func.block(name)
        dim = next((d for load, d in _streams(draft, block) if load.buffer == made.buffer), None)
        if dim is None:
            continue
        s = draft.schedule.copy()
        try:
            _place(s, name, dim, size_of(draft.func, draft.tile[-1]), _where(draft))
        except ScheduleError:
            continue
        draft = draft.change(
            "copy", f"{name} gives {block.name} room for zeros, block by block inside its nest", s, name
        )
    return draft.skip("copy", "the copies with room for zeros stay whole") if draft is before else draft


def _place(s: Schedule, name: str, dim: int, size: int | str, at: str) -> None:
    s.transform_layout(s.func.block(name)[0].buffer, dim, size)
    s.compute_at(name, at)
    s.vectorize(s.func.block(name)[1][-1].name)


def _where(draft: Draft) -> str:
    """Loop whose iterations copy what they read: the panels, or the parallel blocks."""
    return draft.panels[-1] if draft.panels else draft.outer[-1]


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
