"""Rules of GPUs for stages that are not tiled: results shared out to threads."""

from __future__ import annotations

from workbench.errors import ScheduleError
from workbench.ir import Block, For, blocks
from workbench.machine_model.machine_parameters import Gpu, Machine
from workbench.schedule import Schedule
from workbench.space.shared_steps.threads import fused, share_out
from workbench.space.sketch.rule_table import Draft, Skip, rule


@rule("gpu_bind", after="gpu_tile", on="gpu")
def gpu_bind(draft: Draft, machine: Machine) -> list[Draft]:
    """Share out the results of every remaining stage: neighbours to neighbouring threads, and a sum to each thread."""
    assert machine.gpu is not None
    for nest in draft.func.body:
        inside = [(b, p) for b, p in blocks((nest,))]
        names = [b.name for b, _ in inside]
        if set(names) <= draft.done or any(lp.kind != "serial" for _, p in inside for lp in p):
            draft = draft.skip("gpu_bind", "another rule has scheduled it", *names)
            continue
        if len(inside) != 1:
            draft = draft.skip("gpu_bind", "several blocks share its loops", *names)
            continue
        s = draft.schedule.copy()
        try:
            said = _share_out(s, *inside[0], machine.gpu)
        except (Skip, ScheduleError) as e:
            draft = draft.skip("gpu_bind", e.message, *names)
            continue
        draft = draft.change("gpu_bind", f"{names[0]}: {said}", s, names[0])
    return [draft]


def _share_out(s: Schedule, block: Block, path: tuple[For, ...], gpu: Gpu) -> str:
    """Bind the loops over results; returns what was done, in words."""
    spatial = [lp.name for lp in path if lp.name in block.driving("S")]
    if not spatial:
        raise Skip("it has one result, which one thread computes")
    if len(path) > 1:
        s.reorder(*spatial, *(lp.name for lp in path if lp.name not in spatial))
    grid, threads, said = share_out(s, spatial, gpu)
    if grid:
        s.bind(fused(s, grid), "blockIdx.x")
    s.bind(fused(s, threads), "threadIdx.x")
    return said
