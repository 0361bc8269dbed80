"""Rules that bring pointwise stages to where their operands are: inlined, or behind a finished tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
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


@rule("inline")
def inline(draft: Draft, machine: Machine) -> list[Draft]:
    """Compute a pointwise stage inside its only kind of consumer, pointwise stages: one pass over memory instead of
    two.
    """
    changed = True
    while changed:
        changed = False
        for block, _ in list(blocks(draft.func.body)):
            users = consumers(draft.func, block)
            if not is_pointwise(block) or is_padding(block) or role(draft.func, block) != "temp" or not users:
                continue
            if not all(is_pointwise(u) or len(users) == 1 for u in users):
                continue
            if is_costly(block) and any(points(u) > points(block) for u in users):
                continue  # computed once, not again for every element of a row
            s = draft.schedule.copy()
            try:
                s.compute_inline(block.name)
            except ScheduleError:
                continue
            draft = draft.change("inline", f"{block.name} is pointwise and only {_names(users)} reads it", s)
            changed = True
            break
    return [draft]


def _names(users: Sequence[Block]) -> str:
    return ", ".join(b.name for b in users)


@rule("fuse")
def fuse(draft: Draft, machine: Machine) -> list[Draft]:
    """Finish a tile while it is in cache: the pointwise consumer moves inside the middle loops of the reduction."""
    if draft.main is None:
        return [draft]
    block, _ = draft.func.block(draft.main)
    user = epilogue(draft.func, block)
    if user is None:
        return [draft]
    at = (*draft.outer, *draft.middle)[-1]
    s = draft.schedule.copy()
    try:
        s.reverse_compute_at(user.name, at)
    except ScheduleError:
        return [draft]
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
