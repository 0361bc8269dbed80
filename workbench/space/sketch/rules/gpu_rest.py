"""Rules of GPUs for what is not tiled: rows that threads add up together, results shared out to threads."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.errors import ScheduleError
from workbench.ir import Block, For, blocks
from workbench.machine_model.machine_parameters import Gpu, Machine
from workbench.schedule import Hole, Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps.block_queries import loops_inside, operands, whole_loops
from workbench.space.shared_steps.register_tiles import extent_of
from workbench.space.shared_steps.threads import LEAST, fused, share_out
from workbench.space.sketch.rule_table import Draft, Skip, rule

#: Terms of a row from which on the threads of a block add it up together. Chosen, not measured.
ROW = 64


@rule("gpu_rows", after="gpu_pipeline", on="gpu")
def gpu_rows(draft: Draft, machine: Machine) -> list[Draft]:
    """Give each row whose elements are added up a block of threads: all stages of the row are in it, each thread takes
    every so many elements, and the threads combine what they have added up.
    """
    assert machine.gpu is not None
    nests = [b for b, _ in blocks(draft.func.body)]
    sums = [b for b in nests if b.is_reduction and _long(b)]
    if not sums or not all(whole_loops(draft.func, b) for b in nests):
        raise Skip(f"no row of {ROW} terms or more that lie side by side is added up")
    s = draft.schedule.copy()
    _rows(s, nests[-1], [b.name for b in reversed(nests[:-1])], machine.gpu)
    said = f"rows are added up by the threads of a block: {', '.join(b.name for b in sums)}"
    return [draft.change("gpu_rows", said, s, *(b.name for b in nests), tag="rows")]


def _long(b: Block) -> bool:
    """Whether a block adds up many terms that lie side by side."""
    sizes = {it.name: it.extent for it in b.iters if it.kind == "R"}
    near = {v for ld in operands(b) if ld.index for v in ld.index[-1].vars if ld.index[-1].coefficient(v) == 1}
    return any(isinstance(n, int) and n >= ROW for axis, n in sizes.items() if axis in near)


def _rows(s: Schedule, root: Block, others: Sequence[str], gpu: Gpu) -> None:
    """Bring all stages into the loop over rows, and share out each of them."""
    path = s.func.block(root.name)[1]
    rows = [lp.name for lp in path if lp.name in root.driving("S")]
    if not root.is_reduction:
        rows.remove(path[-1].name)
    if not rows:
        raise Skip("there is one row only")
    grid = fused(s, rows)
    for name in others:
        s.compute_at(name, grid)
    holes: dict[int, str] = {}
    for name in [b.name for b, _ in blocks(s.func.body)]:
        own = [lp for lp in loops_inside(s.func, name, grid) if lp.extent != 1]
        if own:
            _share_row(s, name, own, holes, gpu)
    s.bind(grid, "blockIdx.x")


def _share_row(s: Schedule, name: str, own: Sequence[For], holes: dict[int, str], gpu: Gpu) -> None:
    """Let neighbouring threads take neighbouring elements; stages of equal rows have equally many threads."""
    block, _ = s.func.block(name)
    if block.is_reduction and any(lp.name in block.driving("S") for lp in own):
        raise Skip(f"{name} has several results in a row")
    size = extent_of(s.func, own[-1].name)
    if size in holes:
        outer, threads = s.split(own[-1].name, [None, holes[size]])
    else:
        choices = [d for d in divisors(size) if d <= gpu.threads]
        whole = [d for d in choices if d % gpu.warp == 0] or [d for d in choices if d >= LEAST] or choices[-1:]
        outer, threads = s.split(own[-1].name, [Hole(), Hole(choices=tuple(whole))])
        holes[size] = str(s.func.loop(threads)[0].extent)
    if block.is_reduction:
        s.reorder(threads, *(lp.name for lp in own[:-1]), outer)
    s.bind(threads, "threadIdx.x")


@rule("gpu_bind", after="gpu_rows", on="gpu")
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
