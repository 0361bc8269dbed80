"""What the questions are asked about: loops and their extents, who writes a buffer and who reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.ir import Block, Dim, For, Func, blocks
from workbench.ir.poly import equal
from workbench.memoize import remembered


def extents_of(path: Iterable[For]) -> dict[str, Dim]:
    """Loop name -> extent."""
    return {lp.name: lp.extent for lp in path}


def is_unit(func: Func, dim: Dim) -> bool:
    """Whether a dim is 1 for every filling."""
    return equal(dim, 1, func.relations)


@remembered(1024)
def reduction_loops(block: Block) -> frozenset[str]:
    """Loops that drive a reduction axis of the block."""
    return frozenset(block.driving("R"))


@remembered(1024)
def spatial_loops(block: Block) -> frozenset[str]:
    """Loops that drive a spatial axis of the block."""
    return frozenset(block.driving("S"))


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


def reading_in_nest(func: Func, buffer: str, top: str) -> list[str]:
    """Blocks that read the buffer in the nest that begins with the loop `top`."""
    return [b.name for b, p in readers(func, buffer) if p and p[0].name == top]


def chain(path: Sequence[For], name: str) -> tuple[For, ...]:
    """Loops of `path` from `name` inwards."""
    k = next(k for k, lp in enumerate(path) if lp.name == name)
    return tuple(path[k:])
