"""Loops that copy to shared memory what one iteration reads: which of their statements may run an iteration ahead."""

from __future__ import annotations

from workbench.ir.func import Func
from workbench.ir.stmt import Block, For, Stmt, blocks, touched

#: Note of a loop whose copies run an iteration ahead: how many places each of the temporaries has.
PIPELINE = "pipeline"


def copies(func: Func, lp: For) -> tuple[Stmt, ...]:
    """Statements of a loop that copy to shared temporaries that live inside of it alone."""
    return tuple(s for s in lp.body if all(_copies(func, lp, b) for b, _ in blocks((s,))))


def fetches(func: Func, lp: For) -> tuple[Stmt, ...]:
    """Those copies that read nothing that the loop computes."""
    made = {b.buffer for b, _ in blocks((lp,))}
    return tuple(s for s in copies(func, lp) if not any(_read(b) & made for b, _ in blocks((s,))))


def fetched(func: Func, lp: For) -> frozenset[str]:
    """Temporaries that the fetches of a loop write."""
    return frozenset(b.buffer for s in fetches(func, lp) for b, _ in blocks((s,)))


def _copies(func: Func, lp: For, block: Block) -> bool:
    buffer = func.buffer(block.buffer)
    if block.init is not None or buffer.role != "temp" or buffer.scope != "shared":
        return False
    inside = sum(block.buffer in touched(b) for b, _ in blocks((lp,)))
    writers = sum(block.buffer == b.buffer for b, _ in blocks(func.body))
    return writers == 1 and inside == sum(block.buffer in touched(b) for b, _ in blocks(func.body))


def _read(block: Block) -> frozenset[str]:
    return frozenset(ld.buffer for ld in block.loads())
