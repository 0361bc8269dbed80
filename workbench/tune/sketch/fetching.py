"""Rule for weights that are larger than the cache and read once: they are fetched ahead."""

from __future__ import annotations

from workbench.errors import ScheduleError
from workbench.ir.dtypes import itemsize
from workbench.ir.func import Func
from workbench.ir.poly import normal
from workbench.ir.stmt import Block
from workbench.tune.machine import Machine
from workbench.tune.sketch.analysis import operands, rows_of
from workbench.tune.sketch.base import Draft, rule

#: Iterations of the reduction ahead: a few hundred cycles, about as long as memory takes.
DISTANCE = 16
#: Rows per weight up to which there is no time to fetch evenly, and above which waiting for weights hardly matters.
FEW, MANY = 64, 256


@rule("fetch")
def fetch(draft: Draft, machine: Machine) -> list[Draft]:
    """Fetch weights that do not fit L2 some iterations of the reduction ahead, where few rows share them.

    Where more rows do, also fetch a panel ahead, evenly while the rows pass over this one.
    """
    if draft.main is None:
        return [draft]
    block, path = draft.func.block(draft.main)
    size, rows = _weights(draft.func, block), rows_of(block)
    reduced = {v for it, x in zip(block.iters, block.binds, strict=True) if it.kind == "R" for v in x.vars}
    running = [lp.name for lp in path if lp.name in reduced and lp.kind == "serial" and lp.extent != 1]
    if size <= machine.l2 or rows > MANY or not running:
        return [draft]
    what = f"{size / 2**20:.1f} MB of weights for {rows} rows"
    near = _ahead(draft, running[-1], DISTANCE, f"{what}: {running[-1]} fetches {DISTANCE} iterations ahead")
    if rows <= FEW or not draft.outer:
        return [near]
    panel = draft.outer[-1]
    return [near, _ahead(draft, panel, 1, f"{what}: {panel} fetches the next panel during this one")]


def _ahead(draft: Draft, loop: str, distance: int, reason: str) -> Draft:
    s = draft.schedule.copy()
    try:
        s.annotate(loop, "prefetch", distance)
    except ScheduleError:
        return draft
    return draft.change("fetch", reason, s)


def _weights(func: Func, block: Block) -> int:
    """Bytes of the largest constant that the block reads."""
    buffers = [func.buffer(name) for name in dict.fromkeys(ld.buffer for ld in operands(block))]
    sizes = [(normal(b.size, func.relations), itemsize(b.dtype)) for b in buffers if b.role == "const"]
    return max((count * size for count, size in sizes if isinstance(count, int)), default=0)
