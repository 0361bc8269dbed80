"""Rule for stages that read across what they write: blocks that are transposed in registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.expr import loads
from workbench.ir.stmt import Block, For, blocks
from workbench.machine_model.parameters import Machine
from workbench.schedule.holes import divisors
from workbench.space.sketch.analysis import is_pointwise, loop_of_axis, points, suited
from workbench.space.sketch.base import Draft, rule
from workbench.space.sketch.pointwise import SMALL
from workbench.space.sketch.tiling import vector_choices

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Shorter axes are not worth a block.
LEAST = 8


@rule("transpose", after="pad")
def transpose(draft: Draft, machine: Machine) -> list[Draft]:
    """Cut a stage that reads along one axis and writes along another into blocks of both.

    The block's rows are unrolled and its columns vectorised: what is read is then vectors along the rows, which
    shuffles turn round. Lines of both sides are used whole while they are in L1.
    """
    for block, path in list(blocks(draft.func.body)):
        axes = _crossed(block, path)
        if axes is None or block.name in draft.done or any(lp.kind != "serial" for lp in path):
            why = "it reads and writes along one axis" if axes is None else "another rule has scheduled it"
            draft = draft.skip("transpose", why, block.name)
            continue
        s = draft.schedule.copy()
        try:
            _block(s, block, path, *axes, suited(machine, draft.func, block))
        except ScheduleError as e:
            draft = draft.skip("transpose", e.message, block.name)
            continue
        reason = f"{block.name} is contiguous along {axes[1].name}, and what it reads along {axes[0].name}"
        draft = draft.change("transpose", reason, s, block.name, tag="transpose")
    return [draft]


def _crossed(block: Block, path: tuple[For, ...]) -> tuple[For, For] | None:
    """Loops along which a pointwise stage reads and writes neighbours, where these are two."""
    if not is_pointwise(block) or not block.index:
        return None
    last = block.index[-1].single_var()
    to = None if last is None else loop_of_axis(block, path, last)
    for ld in loads(block.value):
        axis = ld.index[-1].single_var() if ld.index else None
        via = None if axis is None else loop_of_axis(block, path, axis)
        if to is None or via is None or via.name == to.name:
            continue
        if all(isinstance(lp.extent, int) and lp.extent >= LEAST for lp in (via, to)):
            return via, to
    return None


def _block(s: Schedule, block: Block, path: tuple[For, ...], via: For, to: For, machine: Machine) -> None:
    from workbench.schedule import Hole

    assert isinstance(via.extent, int)
    assert isinstance(to.extent, int)
    rows = tuple(d for d in divisors(via.extent) if d <= machine.lanes)[-3:]
    outer, row = s.split(via.name, [Hole(), Hole(choices=rows)])
    far, lane = s.split(to.name, [Hole(), Hole(choices=vector_choices(to.extent, machine))])
    others = [lp.name for lp in path if lp.name not in (via.name, to.name)]
    s.reorder(*others, outer, far, row, lane)
    s.unroll(row)
    s.vectorize(lane)
    if machine.threads > 1 and points(block) >= SMALL * machine.threads:
        s.parallel(*others, outer)
