"""Whether a function may write its result over one of its operands: decided by its loop nest alone.

An element of the operand must not be read any more once the result's element at its place is written. That holds when

- one block writes the result, each element once (its loops count exactly the elements);
- that block reads the operand, if at all, where it writes;
- every other block that reads the operand comes before it, and reads, while the loops that both share stand still,
  only elements whose places the writing block fills in the same iteration of these loops.

Iterations then neither read nor write what belongs to another one, so it does not matter whether loops run in order, in
parallel or in vectors.
"""

from __future__ import annotations

from math import prod

from workbench.ir.affine import Affine, bijective, flat_index
from workbench.ir.buffer_regions import Span, spans_of
from workbench.ir.compact_temporaries import loop_axes
from workbench.ir.func import Buffer, Func
from workbench.ir.stmt import Block, For, accesses, blocks, shared_loops

_Placed = tuple[Block, tuple[For, ...]]


def overwritable(func: Func) -> tuple[tuple[int, int], ...]:
    """Find the operands that may have the same memory as a result.

    Parameters
    ----------
    func : Func
        A concrete scheduled function.

    Returns
    -------
    tuple of (int, int)
        Positions of an input and of an output among the parameters. Each pair is allowed by itself; an output may take
        the place of one input only.
    """
    flat = loop_axes(func)
    placed = list(blocks(flat.body))
    out: list[tuple[int, int]] = []
    for o, result in enumerate(func.params):
        if result.role != "output":
            continue
        writers = [k for k, (b, _) in enumerate(placed) if b.buffer == result.name]
        if len(writers) != 1 or not _writes_each_once(flat, result, *placed[writers[0]]):
            continue
        for i, operand in enumerate(func.params):
            if operand.role == "input" and _same_size(operand, result) and _read_in_time(flat, operand, result, placed):
                out.append((i, o))
    return tuple(out)


def _same_size(a: Buffer, b: Buffer) -> bool:
    return a.dtype == b.dtype and a.size == b.size and not a.layout and not b.layout


def _writes_each_once(func: Func, result: Buffer, block: Block, path: tuple[For, ...]) -> bool:
    """Whether the block writes every element in exactly one iteration, and reads none of them."""
    extents = {lp.name: lp.extent for lp in path}
    if block.is_reduction or block.guard or any(lp.intrin for lp in path):
        return False
    if any(ld.buffer == result.name for b, _ in blocks(func.body) for ld in b.loads()):
        return False
    whole = isinstance(result.size, int) and all(isinstance(n, int) for n in extents.values())
    return (
        whole
        and prod(n for n in extents.values() if isinstance(n, int)) == result.size
        and bijective(_flat(result, block.index), extents, result.size, func.relations)
    )


def _read_in_time(func: Func, operand: Buffer, result: Buffer, placed: list[_Placed]) -> bool:
    """Whether every element is read for the last time no later than the one at its place is written."""
    last = next(k for k, (b, _) in enumerate(placed) if b.buffer == result.name)
    writer, around = placed[last]
    for k, (block, path) in enumerate(placed):
        for a in accesses(block):
            if a.buffer != operand.name:
                continue
            if any(x.free for x in a.index) or k > last:
                return False
            if k == last:
                if _flat(operand, a.index) != _flat(result, writer.index):
                    return False
            elif not _inside(func, operand, result, (a.index, path), (writer.index, around)):
                return False
    return True


def _inside(
    func: Func,
    operand: Buffer,
    result: Buffer,
    read: tuple[tuple[Affine, ...], tuple[For, ...]],
    write: tuple[tuple[Affine, ...], tuple[For, ...]],
) -> bool:
    """Whether all that is read lies in the box that is written while the shared loops stand still."""
    shared = len(shared_loops(read[1], write[1]))
    alike = operand.shape == result.shape
    got = _box(func, read[0] if alike else (_flat(operand, read[0]),), read[1][shared:])
    own = _box(func, write[0] if alike else (_flat(result, write[0]),), write[1][shared:])
    count = prod(lp.extent for lp in write[1][shared:] if isinstance(lp.extent, int))
    if prod(s.width for s in own if isinstance(s.width, int)) != count:
        return False  # there are gaps in the box
    for a, b in zip(got, own, strict=True):
        start = a.base - b.base
        if not start.is_const or not isinstance(start.const, int):
            return False
        assert isinstance(a.width, int)
        assert isinstance(b.width, int)
        if start.const < 0 or start.const + a.width > b.width:
            return False
    return True


def _box(func: Func, index: tuple[Affine, ...], inner: tuple[For, ...]) -> tuple[Span, ...]:
    return spans_of(index, {lp.name: lp.extent for lp in inner}, func.relations)


def _flat(buffer: Buffer, index: tuple[Affine, ...]) -> Affine:
    return flat_index(index, buffer.strides())
