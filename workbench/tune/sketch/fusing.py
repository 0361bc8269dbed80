"""Rules that bring pointwise stages to where their operands are: inlined, or behind a finished tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.func import Func
from workbench.ir.stmt import Block, blocks
from workbench.tune.machine import Machine
from workbench.tune.sketch.analysis import (
    consumers,
    epilogue,
    is_costly,
    is_padding,
    is_pointwise,
    points,
    role,
    size_of,
)
from workbench.tune.sketch.base import Draft, rule

if TYPE_CHECKING:
    from workbench.schedule import Schedule


@rule("inline", after=None)
def inline(draft: Draft, machine: Machine) -> list[Draft]:
    """Compute a pointwise stage inside its only kind of consumer, pointwise stages: one pass over memory instead of
    two.
    """
    kept: dict[str, str] = {}
    changed = True
    while changed:
        changed = False
        for block, _ in list(blocks(draft.func.body)):
            users = consumers(draft.func, block)
            reason = _stays(draft.func, block, users)
            if not reason:
                s = draft.schedule.copy()
                try:
                    s.compute_inline(block.name)
                except ScheduleError as e:
                    reason = e.message
            kept[block.name] = reason
            if reason:
                continue
            reason = f"{block.name} is pointwise and only {_names(users)} reads it"
            draft = draft.change("inline", reason, s, blocks=[block.name])
            changed = True
            break
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
    return ""


def _names(users: Sequence[Block]) -> str:
    return ", ".join(b.name for b in users)


@rule("fuse", after="copy")
def fuse(draft: Draft, machine: Machine) -> list[Draft]:
    """Finish a tile while it is in cache: the pointwise consumer moves inside the middle loops of the reduction."""
    if draft.main is None:
        return [draft.skip("fuse", "no block is tiled")]
    block, _ = draft.func.block(draft.main)
    user = epilogue(draft.func, block)
    if user is None:
        return [draft.skip("fuse", "no pointwise stage alone reads what it writes, element by element")]
    at = (*draft.outer, *draft.middle)[-1]
    s = draft.schedule.copy()
    try:
        s.reverse_compute_at(user.name, at)
    except ScheduleError as e:
        return [draft.skip("fuse", e.message, user.name)]
    _finish_epilogue(s, user.name, at, draft.tile[-1], in_registers=not draft.panels)
    return [draft.change("fuse", f"{user.name} only needs the finished tile of {block.name}", s, user.name)]


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
