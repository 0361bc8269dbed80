"""Rule for weights that are larger than the cache and read once: they are fetched ahead."""

from __future__ import annotations

from workbench.errors import ScheduleError
from workbench.ir.dtypes import itemsize
from workbench.ir.func import Func
from workbench.ir.poly import normal
from workbench.ir.stmt import Block
from workbench.machine_model.parameters import Machine
from workbench.space.sketch.analysis import operands, rows_of
from workbench.space.sketch.base import Draft, rule

#: Iterations of the reduction ahead: a few hundred cycles, about as long as memory takes.
DISTANCE = 16
#: Rows per weight below which memory cannot deliver a panel while the rows pass over the one before, and above which
#: waiting for weights hardly matters.
FEW, MANY = 24, 256
#: Bytes of weights that are worth a variant: in a network they come from beyond the near caches however few they are.
LEAST = 256 << 10


@rule("fetch", after="mark")
def fetch(draft: Draft, machine: Machine) -> list[Draft]:
    """Fetch weights some iterations of the reduction ahead, where not too many rows share them.

    Where enough rows do, also fetch the next panel evenly while the rows pass over this one; where the reduction is cut
    into panels this was never slower than without. Weights that fit L2 come without fetching as well: when a kernel
    runs alone, they are there.
    """
    if draft.main is None:
        return [draft.skip("fetch", "no block is tiled")]
    block, path = draft.func.block(draft.main)
    size, rows = _weights(draft.func, block), rows_of(block)
    reduced = {v for it, x in zip(block.iters, block.binds, strict=True) if it.kind == "R" for v in x.vars}
    running = [lp.name for lp in path if lp.name in reduced and lp.kind == "serial" and lp.extent != 1]
    if size <= LEAST:
        return [draft.skip("fetch", f"it reads no constant of more than {LEAST >> 10} KiB")]
    if rows > MANY or not running:
        why = f"{rows} rows share the weights" if rows > MANY else "its reduction has no loop"
        return [draft.skip("fetch", why)]
    what = f"{size / 2**20:.1f} MB of weights for {rows} rows"
    found = [_ahead(draft, running[-1], DISTANCE, f"{what}: {running[-1]} fetches {DISTANCE} iterations ahead")]
    if rows >= FEW and draft.outer:
        panel = draft.outer[-1]
        found.insert(0, _ahead(found[0], panel, 1, f"{what}: {panel} fetches the next panel during this one"))
        found = found[:1] if draft.panels else found
    return found if size > machine.l2 else [draft.skip("fetch", "this form trusts the weights to be in L2"), found[0]]


def _ahead(draft: Draft, loop: str, distance: int, reason: str) -> Draft:
    s = draft.schedule.copy()
    try:
        s.annotate(loop, "prefetch", distance)
    except ScheduleError as e:
        return draft.skip("fetch", e.message)
    return draft.change("fetch", reason, s, tag=f"fetch {distance} ahead" if distance > 1 else "fetch panels")


def _weights(func: Func, block: Block) -> int:
    """Bytes of the largest constant that the block reads."""
    buffers = [func.buffer(name) for name in dict.fromkeys(ld.buffer for ld in operands(block))]
    sizes = [(normal(b.size, func.relations), itemsize(b.dtype)) for b in buffers if b.role == "const"]
    return max((count * size for count, size in sizes if isinstance(count, int)), default=0)
