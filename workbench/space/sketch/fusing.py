"""Rules that bring pointwise stages to where their operands are: inlined, or behind a finished tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.dtypes import itemsize
from workbench.ir.expr import loads, measure
from workbench.ir.func import Func
from workbench.ir.poly import product
from workbench.ir.stmt import Block, blocks
from workbench.machine_model.parameters import Machine
from workbench.space.sketch.analysis import (
    consumers,
    epilogue,
    is_costly,
    is_padding,
    is_pointwise,
    points,
    producers,
    role,
    size_of,
)
from workbench.space.sketch.base import Draft, rule

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Lines that lie a multiple of this apart, in bytes, meet in one set of the first cache.
PAGE = 4096

#: Most parts that one stage adds to those that read it. Each level of ``x * f(x)`` doubles them, and everything that
#: looks at an expression walks all of them.
MOST_PARTS = 1000


@rule("inline", after=None)
def inline(draft: Draft, machine: Machine) -> list[Draft]:
    """Compute a pointwise stage inside its only kind of consumer, pointwise stages: one pass over memory instead of
    two.
    """
    kept: dict[str, str] = {}
    todo = [b.name for b, _ in blocks(draft.func.body)]
    while todo:
        block, _ = draft.func.block(name := todo.pop(0))
        users = consumers(draft.func, block)
        kept[name] = reason = _stays(draft.func, block, users)
        if reason:
            continue
        s = draft.schedule.copy()
        try:
            s.compute_inline(name)
        except ScheduleError as e:
            kept[name] = e.message
            continue
        # Who stayed because of this block has other readers now.
        todo[:0] = [b.name for b in producers(draft.func, block) if kept.get(b.name)]
        draft = draft.change("inline", f"{name} is pointwise and only {_names(users)} reads it", s, blocks=[name])
    for name, reason in kept.items():
        draft = draft.skip("inline", reason, name) if reason else draft
    return [draft]


def _stays(func: Func, block: Block, users: Sequence[Block]) -> str:
    """Why a stage is computed by itself; empty if it need not be."""
    if not is_pointwise(block):
        return "it is a reduction" if block.is_reduction else "it runs under a condition"
    if role(func, block) != "temp" or not users:
        return "it writes a result"
    if is_padding(block):
        return "it pads: the rule pad says where"
    if not all(is_pointwise(u) or len(users) == 1 for u in users):
        return f"{_names(users)} read it, and not all of them are pointwise"
    if is_costly(block) and any(points(u) > points(block) for u in users):
        return f"it is costly, and {_names(users)} would compute it again for every element of a row"
    parts = sum(ld.buffer == block.buffer for u in users for ld in loads(u.value)) * measure(block.value)[0]
    if parts > MOST_PARTS:
        return f"{_names(users)} would have {parts} more parts by it"
    return ""


def _names(users: Sequence[Block]) -> str:
    return ", ".join(b.name for b in users)


@rule("cache_write", after="copy")
def cache_write(draft: Draft, machine: Machine) -> list[Draft]:
    """Accumulate panels of a reduction in a tile of its own, and write the finished tile out.

    Lines of the result that lie far apart fall into few sets of the cache; a tile of its own is dense.
    """
    if draft.main is None:
        return [draft.skip("cache_write", "no block is tiled")]
    block, _ = draft.func.block(draft.main)
    user = epilogue(draft.func, block)
    if user is not None:
        return [draft.skip("cache_write", f"{user.name} takes its tiles as they are finished: they are local already")]
    if not draft.panels:
        return [draft.skip("cache_write", "its sums stay in registers until they are written")]
    buffer = draft.func.buffer(block.buffer)
    line = product(buffer.shape[-1:]) * itemsize(buffer.dtype)
    if not isinstance(line, int) or line % PAGE:
        return [draft.skip("cache_write", "the lines of its result do not fall into the same few sets of the cache")]
    s = draft.schedule.copy()
    try:
        s.cache_write(block.name)
    except ScheduleError as e:
        return [draft.skip("cache_write", e.message)]
    reason = f"panels of {block.name} add to one tile again and again, of lines {line} bytes apart"
    return [
        draft.skip("cache_write", "this form adds to the result where it lies"),
        draft.change("cache_write", reason, s, tag="local sums"),
    ]


@rule("fuse", after="cache_write")
def fuse(draft: Draft, machine: Machine) -> Iterator[Draft]:
    """Finish a tile while it is in cache: the pointwise consumer moves inside the loops around the reduction.

    At the innermost of them it takes the register tile. A costly one also gets a form in which it takes a whole
    parallel block: the registers of the tile are free for it then, and its loops are longer.
    """
    if draft.main is None:
        yield draft.skip("fuse", "no block is tiled")
        return
    block, _ = draft.func.block(draft.main)
    user = epilogue(draft.func, block)
    if user is None:
        yield draft.skip("fuse", "no pointwise stage alone reads what it writes, element by element")
        return
    inside = (*draft.outer, *draft.middle)[-1]
    levels = [("finished tile", inside)]
    if is_costly(user) and draft.outer and draft.outer[-1] != inside:
        levels.append(("block", draft.outer[-1]))
    for level, at in levels:
        s = draft.schedule.copy()
        try:
            s.reverse_compute_at(user.name, at)
        except ScheduleError as e:
            yield draft.skip("fuse", e.message, user.name)
            return
        inner = level != "block"
        _finish_epilogue(s, user.name, at, draft.tile[-1], in_registers=inner and not draft.panels)
        reason = f"{user.name} only needs the {level} of {block.name}"
        yield draft.change("fuse", reason, s, user.name, tag="" if inner else "fused outside")


def _finish_epilogue(s: Schedule, name: str, at: str, vector: str, in_registers: bool) -> None:
    """Vectorise the epilogue by the tile's own factor; where the tile is in registers, unroll the loops around."""
    _, path = s.func.block(name)
    own = [lp.name for lp in path[[lp.name for lp in path].index(at) + 1 :]]
    if not own:
        return
    if s.func.loop(own[-1])[0].extent != s.func.loop(vector)[0].extent:
        own[-1:] = s.split(own[-1], [None, size_of(s.func, vector)])
    for loop in own[:-1] if in_registers else ():
        s.unroll(loop)
    s.vectorize(own[-1])
