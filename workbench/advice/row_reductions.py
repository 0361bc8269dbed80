"""Work along rows: sums in vectors along what lies side by side, and all stages for a few rows at a time."""

from __future__ import annotations

from workbench.advice.proposals import Place
from workbench.advice.stage_placement import BODY, vectors
from workbench.cooperative_yield import pause
from workbench.errors import ScheduleError
from workbench.ir import Block
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps import placement
from workbench.space.shared_steps.block_queries import axis_of, contiguous_loop, has_reuse, operands, suited
from workbench.space.shared_steps.register_tiles import AT_ONCE
from workbench.target import Target


def partial_sums(s: Schedule, name: str, target: Target) -> str:
    """Sum in vectors along what lies side by side, several results at once; what they hold is added up afterwards."""
    made, says = _in_lanes(s, name, target)
    around, rows = _rows(s, name, target)
    pause()
    for part in made:
        s.compute_at(part, around)
    for part in (*reversed(made), name):
        _side_by_side(s, part, around, target)
    return f"{says}, {rows} results at once"


def _in_lanes(s: Schedule, name: str, target: Target) -> tuple[list[str], str]:
    """Cut a sum into vectors of sums, several of them, and into what adds these up; return the new blocks, in words."""
    at = Place(s.func, name, target)
    lanes = suited(Machine.of(target), s.func, at.block).lanes
    loop = next((lp for lp in reversed(at.serial) if lp.name in at.sums), None)
    extent = loop.extent if loop is not None and isinstance(loop.extent, int) else 0
    if loop is None or lanes < 2 or extent < 2 * lanes:
        raise ScheduleError("stage.sums", f"The sums of {name} do not fill vectors.", (name,))
    lane = next((n for n in (lanes, lanes // 2) if extent % n == 0), lanes)
    if extent % lane:
        extent += -extent % lane
        s.pad(name, axis_of(at.block, loop.name), extent)
    several = max(d for d in divisors(extent // lane) if d <= AT_ONCE + 1)
    partial, combine, _ = placement.partial_sums(s, loop.name, [None, several, lane])
    return [combine, partial], f"sum {loop.name} in {several} × {lane} lanes"


def _rows(s: Schedule, name: str, target: Target) -> tuple[str, int]:
    """Cut the innermost loop over results so that several are worked on at once; return what is around these."""
    free = Place(s.func, name, target).free
    if not free or not isinstance(free[0].extent, int):
        raise ScheduleError("stage.rows", f"{name} has one result.", (name,))
    rows = max(d for d in divisors(free[0].extent) if d <= AT_ONCE)
    return s.split(free[0].name, [None, rows])[0], rows


def _side_by_side(s: Schedule, name: str, around: str, target: Target) -> None:
    """Bring sums outside of the results inside of a loop; write the results out, the last ones as vectors."""
    at = Place(s.func, name, target)
    own = at.path[at.names.index(around) + 1 :]
    sums, results = [lp.name for lp in own if lp.name in at.sums], [lp for lp in own if lp.name not in at.sums]
    order = [*sums, *(lp.name for lp in results)]
    if at.names[-len(order) :] != order:
        s.reorder(*order)
    lane = contiguous_loop(s.func, at.block, own)
    for lp in results:
        if lp.kind != "serial":
            continue
        if lp is lane and lp is results[-1] and isinstance(lp.extent, int) and 2 * lp.extent >= at.lanes:
            s.vectorize(lp.name)
        elif isinstance(lp.extent, int) and lp.extent <= BODY:
            s.unroll(lp.name)


def together(s: Schedule, target: Target) -> str:
    """Take all stages one after the other for some rows of the result at a time, while these are in the cache."""
    names = [b.name for b in s.blocks]
    last = Place(s.func, names[-1], target)
    rows = next((lp for lp in last.path if lp.name in last.spatial and lp.extent != 1), None)
    if rows is None or len(s.func.body) == 1 or rows.kind not in ("serial", "parallel"):
        raise ScheduleError("stage.rows", "There are no rows to take together.")
    sums = [b.name for b in s.blocks if b.is_reduction]
    if not sums or not all(_along_lanes(s.func.block(name)[0]) for name in sums):
        raise ScheduleError("stage.rows", "The sums do not run along rows.", sums)
    for name in sums:
        _in_lanes(s, name, target)
    names = [b.name for b in s.blocks]
    around, several = rows.name, 1
    if rows.kind == "serial" and isinstance(rows.extent, int):
        several = max(d for d in divisors(rows.extent) if d <= AT_ONCE)
        around, _ = s.split(rows.name, [None, several])
    for name in reversed(names[:-1]):
        s.compute_at(name, around)
    for name in names:
        pause()
        if s.func.block(name)[0].is_reduction:
            _side_by_side(s, name, around, target)
        else:
            vectors(s, name, around, target)
    return f"all stages for {several} of {rows.name} at a time"


def _along_lanes(block: Block) -> bool:
    """Whether a reduction runs along what lies side by side in memory, and is read once."""
    reduced = {it.name for it in block.iters if it.kind == "R" and it.extent != 1}
    return not has_reuse(block) and any(ld.index and ld.index[-1].vars & reduced for ld in operands(block))
