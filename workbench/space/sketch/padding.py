"""Rule for the frame around an image: where the stage that pads it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.machine_model.parameters import Machine
from workbench.space.sketch.analysis import consumers, is_padding, producers, role, suited
from workbench.space.sketch.base import Draft, rule
from workbench.space.sketch.tiling import MAX_VECTORS

if TYPE_CHECKING:
    from workbench.schedule import Schedule


@rule("pad", after="fuse")
def pad(draft: Draft, machine: Machine) -> list[Draft]:
    """Padding: as a parallel stage of its own, inside the blocks of the reduction, or as a condition where it is
    read.

    With panels of the reduction only inside the blocks: the forms were within a few per cent of each other there.
    """
    if draft.main is None:
        return [draft.skip("pad", "no block is tiled")]
    block, _ = draft.func.block(draft.main)
    made = [b for b in producers(draft.func, block) if b.name not in draft.copies]
    pads = [b for b in made if is_padding(b) and role(draft.func, b) == "temp"]
    if len(pads) != 1 or len(consumers(draft.func, pads[0])) != 1:
        return [draft.skip("pad", "no stage that only it reads puts a frame around an image")]
    name = pads[0].name
    out = [draft.skip("pad", "this form computes it first, as a stage of its own", name)]
    if draft.outer:
        s = draft.schedule.copy()
        try:
            s.compute_at(name, draft.outer[-1])
        except ScheduleError:
            pass
        else:
            _vectorise_last(s, name, machine)
            reason = f"{name} inside the parallel blocks of {block.name}"
            out.append(draft.change("pad", reason, s, name, tag="pad in blocks"))
            if draft.panels and draft.structure is None:
                return out[1:]
    s = draft.schedule.copy()
    try:
        s.compute_inline(name)
    except ScheduleError:
        return out
    return [*out, draft.change("pad", f"{name} as a condition in {block.name}", s, name, tag="pad as a condition")]


def _vectorise_last(s: Schedule, name: str, machine: Machine) -> None:
    """Vectorise the innermost loop of a moved stage where its extent is a known multiple of a few lanes."""
    block, path = s.func.block(name)
    machine = suited(machine, s.func, block)
    lp = path[-1]
    if isinstance(lp.extent, int) and lp.kind == "serial" and lp.extent >= 4 and lp.extent % 4 == 0:
        if lp.extent > MAX_VECTORS * machine.lanes and lp.extent % machine.lanes == 0:
            _, inner = s.split(lp.name, [None, machine.lanes])
            s.vectorize(inner)
        elif lp.extent <= MAX_VECTORS * machine.lanes:
            s.vectorize(lp.name)
