"""What the questions are asked about: loops and their extents, who writes a buffer and who reads it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from workbench.ir.func import Func
from workbench.ir.memo import remembered
from workbench.ir.poly import Dim, equal
from workbench.ir.stmt import Block, For, blocks


def extents_of(path: Iterable[For]) -> dict[str, Dim]:
    """Loop name -> extent."""
    return {lp.name: lp.extent for lp in path}


def is_unit(func: Func, dim: Dim) -> bool:
    """Whether a dim is 1 for every filling."""
    return equal(dim, 1, func.relations)


def reduction_loops(block: Block) -> set[str]:
    """Loops that drive a reduction axis of the block."""
    return {v for it, b in zip(block.iters, block.binds, strict=True) if it.kind == "R" for v in b.vars}


def spatial_loops(block: Block) -> set[str]:
    """Loops that drive a spatial axis of the block."""
    return {v for it, b in zip(block.iters, block.binds, strict=True) if it.kind == "S" for v in b.vars}


@remembered(1024)
def reads(block: Block) -> frozenset[str]:
    """Buffers that the block reads, its own accumulator not counted."""
    own = block.own_load() if block.is_reduction else None
    return frozenset(ld.buffer for ld in block.loads() if ld != own)


def writers(func: Func, buffer: str) -> list[tuple[Block, tuple[For, ...]]]:
    """Blocks that write the buffer, in program order."""
    return [(b, p) for b, p in blocks(func.body) if b.buffer == buffer]


def readers(func: Func, buffer: str) -> list[tuple[Block, tuple[For, ...]]]:
    """Blocks that read the buffer, in program order."""
    return [(b, p) for b, p in blocks(func.body) if buffer in reads(b)]


def private(func: Func, buffer: str, loop: str) -> bool:
    """Whether the buffer is a temporary that lives inside `loop` alone, so that every iteration can have its own."""
    if func.buffer(buffer).role != "temp":
        return False
    return all(
        any(lp.name == loop for lp in p) for b, p in blocks(func.body) if b.buffer == buffer or buffer in reads(b)
    )


def chain(path: Sequence[For], name: str) -> tuple[For, ...]:
    """Loops of `path` from `name` inwards."""
    k = next(k for k, lp in enumerate(path) if lp.name == name)
    return tuple(path[k:])


def shared_loops(a: Sequence[For], b: Sequence[For]) -> tuple[For, ...]:
    """Loops around both of two places."""
    return tuple(x for x, _ in itertools.takewhile(lambda ab: ab[0].name == ab[1].name, zip(a, b, strict=False)))
