"""Rules that store an operand in the order in which the register tile reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.expr import Load
from workbench.ir.stmt import Block
from workbench.tune.machine import Machine
from workbench.tune.sketch.analysis import has_reuse, is_padding, operands, producers
from workbench.tune.sketch.base import Draft, rule

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: A matrix whose lines are shorter than this lies close together as it is, in bytes.
SHORT_LINE = 1024
#: Fewer rows than this do not pay for a copy of what they read.
MIN_ROWS = 32


@rule("pack")
def pack(draft: Draft, machine: Machine) -> list[Draft]:
    """Store a constant operand in blocks of the vectorised tile, ahead of time: its reads become one stream."""
    if draft.main is None:
        return [draft]
    block, _ = draft.func.block(draft.main)
    for load, dim in _streams(draft, block):
        buffer = draft.func.buffer(load.buffer)
        if buffer.role != "const" or len(buffer.shape) < 2:
            continue
        s = draft.schedule.copy()
        try:
            s.transform_layout(buffer.name, dim, _size(draft))
        except ScheduleError:
            continue
        draft = draft.change("pack", f"{buffer.name} is constant and read along {draft.tile[-1]}", s)
    return [draft]


@rule("copy")
def copy(draft: Draft, machine: Machine) -> list[Draft]:
    """Copy an operand that is no constant into blocks of the vectorised tile, next to where it is read.

    Its reads become one stream, which pages and cache sets like better than lines that lie far apart. The part that
    one parallel block (or one panel) reads is copied at its start.
    """
    if draft.main is None or not draft.outer:
        return [draft]
    block, _ = draft.func.block(draft.main)
    if not has_reuse(block) or _rows(draft, block) < MIN_ROWS:
        return [draft]
    for load, dim in _streams(draft, block):
        buffer = draft.func.buffer(load.buffer)
        made = [b for b in producers(draft.func, block) if b.buffer == buffer.name]
        line = buffer.shape[-1]
        if buffer.role not in ("input", "temp") or any(is_padding(b) for b in made) or dim != len(buffer.shape) - 1:
            continue
        if len(buffer.shape) < 2 or not isinstance(line, int) or 4 * line < SHORT_LINE:
            continue
        at = draft.panels[-1] if draft.panels else draft.outer[-1]
        s = draft.schedule.copy()
        try:
            _copy(s, block.name, buffer.name, dim, _size(draft), at)
        except ScheduleError:
            continue
        reason = f"the lines of {buffer.name} lie {4 * line} bytes apart, and {block.name} reads short pieces of them"
        return [draft, draft.change("copy", reason, s)]
    return [draft]


def _copy(s: Schedule, block: str, buffer: str, dim: int, size: int | str, at: str) -> None:
    name = s.cache_read(block, buffer)
    s.transform_layout(s.func.block(name)[0].buffer, dim, size)
    s.compute_at(name, at)
    s.vectorize(s.func.block(name)[1][-1].name)


def _streams(draft: Draft, block: Block) -> list[tuple[Load, int]]:
    """Operands that the vectorised loop moves, with the one dimension that it moves."""
    vector = draft.tile[-1]
    axis = next((it.name for it, x in zip(block.iters, block.binds, strict=True) if vector in x.vars), None)
    out = []
    for load in dict.fromkeys(operands(block)):
        dims = [d for d, x in enumerate(load.index) if axis is not None and axis in x.vars]
        if len(dims) == 1:
            out.append((load, dims[0]))
    return out


def _size(draft: Draft) -> int | str:
    extent = draft.func.loop(draft.tile[-1])[0].extent
    return extent if isinstance(extent, int) else str(extent)


def _rows(draft: Draft, block: Block) -> int:
    """How often the vectorised operand is read again: points of the spatial axes but the last."""
    rows = 1
    for it in [it for it in block.iters if it.kind == "S" and it.extent != 1][:-1]:
        rows *= it.extent if isinstance(it.extent, int) else 1
    return rows
