"""Questions about blocks and their loops, as sketch rules, templates and offered steps ask them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from workbench.ir import Binary, Block, For, Func, Load, Select, Unary, accesses, blocks
from workbench.ir.dtypes import itemsize
from workbench.ir.expr import loads, walk
from workbench.machine_model.constants import OP_COST
from workbench.machine_model.machine_parameters import Machine
from workbench.memoize import remembered


def producers(func: Func, block: Block) -> list[Block]:
    """Blocks that write what `block` reads."""
    read = _read(block) - {block.buffer}
    return [b for b, _ in blocks(func.body) if b.buffer in read]


def consumers(func: Func, block: Block) -> list[Block]:
    """Blocks that read what `block` writes."""
    return [b for b, _ in blocks(func.body) if b.name != block.name and block.buffer in _read(b)]


@remembered(1024)
def _read(block: Block) -> frozenset[str]:
    """Buffers of which a block's value reads."""
    return frozenset(ld.buffer for ld in loads(block.value))


def role(func: Func, block: Block) -> str:
    """Role of the buffer that a block writes."""
    return func.buffer(block.buffer).role


def missing_axes(block: Block) -> dict[Load, set[str]]:
    """Per load, the spatial axes longer than 1 that do not move it: along these it is reused."""
    spatial = {it.name for it in block.iters if it.kind == "S" and it.extent != 1}
    own = block.own_load() if block.is_reduction else None
    return {
        ld: spatial - {v for x in ld.index for v in x.vars} for ld in dict.fromkeys(loads(block.value)) if ld != own
    }


def has_reuse(block: Block) -> bool:
    """Whether the operands of a reduction are reused along its spatial axes, each along other ones (matmul,
    convolution).
    """
    if not block.is_reduction:
        return False
    reused = [axes for axes in _reused_axes(block).values() if axes]
    return len(reused) >= 2 or (len(missing_axes(block)) >= 2 and any(lane_axis(block) in axes for axes in reused))


def _reused_axes(block: Block) -> dict[Load, set[str]]:
    """Per load, the axes along which neighbours read the same: also those that only choose its group."""
    spatial = {it.name for it in block.iters if it.kind == "S" and it.extent != 1}
    near = {ld: {d.var for x in ld.index for d, _ in x.terms if d.lower == 1} for ld in missing_axes(block)}
    return {ld: spatial - moved for ld, moved in near.items()}


def lane_axis(block: Block) -> str | None:
    """Axis along which the results lie side by side in memory, if they do; its extent is a number, larger than 1."""
    moved = block.index[-1].vars if block.index else set()
    long = [it for it in block.iters if it.kind == "S" and isinstance(it.extent, int) and it.extent > 1]
    return next((it.name for it in reversed(long) if it.name in moved), None)


def operands(block: Block) -> list[Load]:
    """Everything that the block reads but what it writes."""
    return [ld for ld in loads(block.value) if ld.buffer != block.buffer]


def is_pointwise(block: Block) -> bool:
    """Whether every element is computed from a fixed number of others (no reduction, no condition on the output)."""
    return not block.is_reduction and not block.guard


def is_costly(block: Block) -> bool:
    """Whether the block computes what takes much longer than an addition."""
    return any(isinstance(e, Binary | Unary) and OP_COST.get(e.op, 1.0) > 2.0 for e in walk(block.value))


def points(block: Block) -> int:
    """Points of a block whose extents are numbers; open ones count as 1."""
    return math.prod(it.extent for it in block.iters if isinstance(it.extent, int))


def rows_of(block: Block) -> int:
    """How often the vectorised operand is read again: points of the spatial axes but the last."""
    lane = lane_axis(block)
    rows = (it.extent for it in block.iters if it.kind == "S" and it.name != lane)
    return math.prod(n for n in rows if isinstance(n, int))


def is_padding(block: Block) -> bool:
    """Whether the block copies with a condition on the index."""
    return is_pointwise(block) and any(isinstance(e, Select) for e in walk(block.value))


def reads_aligned(block: Block, buffer: str) -> bool:
    """Whether every load of `buffer` has the index that the block writes (an epilogue of its producer)."""
    return all(ld.index == block.index for ld in loads(block.value) if ld.buffer == buffer)


def epilogue(func: Func, block: Block) -> Block | None:
    """Pointwise stage that alone reads what the block writes, each element where it writes its own."""
    users = consumers(func, block)
    if len(users) != 1 or not is_pointwise(users[0]) or not reads_aligned(users[0], block.buffer):
        return None
    return users[0]


def axis_of(block: Block, loop: str) -> str | None:
    """Axis that a loop drives, alone or with others."""
    return next((it.name for it, x in zip(block.iters, block.binds, strict=True) if loop in x.vars), None)


def size_of(func: Func, loop: str) -> int | str:
    """Extent of a loop as a primitive takes it: a number, or the name of its hole."""
    extent = func.loop(loop)[0].extent
    return extent if isinstance(extent, int) else str(extent)


def choices_of(func: Func, loop: str) -> tuple[int, ...]:
    """What the extent of a vectorised loop may be."""
    extent = func.loop(loop)[0].extent
    if isinstance(extent, int):
        return (extent,)
    return next((h.choices for h in func.holes if str(extent) == h.name and h.choices), (1,))


def fills_registers(func: Func, loop: str, machine: Machine) -> bool:
    """Whether the vectors of a loop are whole, whatever its extent will be."""
    return all(c % machine.lanes == 0 for c in choices_of(func, loop))


def suited(machine: Machine, func: Func, block: Block) -> Machine:
    """The machine with as many lanes as a register holds of the widest elements that the block touches."""
    widest = max(itemsize(func.buffer(a.buffer).dtype) for a in accesses(block))
    return replace(machine, lanes=max(1, 4 * machine.lanes // widest))


def loop_of_axis(block: Block, path: tuple[For, ...], axis: str) -> For | None:
    """Loop that alone drives an axis."""
    bind = block.env[axis].single_var()
    return next((lp for lp in path if lp.name == bind), None)


def loops_inside(func: Func, name: str, at: str) -> list[For]:
    """Loops of a block inside of one of them."""
    path = func.block(name)[1]
    return list(path[[lp.name for lp in path].index(at) + 1 :])


def contiguous_loop(func: Func, block: Block, path: Sequence[For]) -> For | None:
    """Loop along which the output is contiguous: that of its last dimension with more than one element."""
    shape = func.buffer(block.buffer).shape
    last = next((d for d in reversed(range(len(shape))) if shape[d] != 1), None)
    if last is None:
        return None
    form = block.index[last].subst(block.env)
    return next((lp for lp in reversed(path) if form.coefficient(lp.name) == 1), None)


def loops_of(func: Func, name: str) -> dict[str, str]:
    """Axis of a block -> the innermost loop that drives it."""
    block, path = func.block(name)
    depth = {lp.name: k for k, lp in enumerate(path)}
    return {it.name: max(x.vars, key=lambda v: depth[v]) for it, x in zip(block.iters, block.binds, strict=True)}


def whole_loops(func: Func, block: Block) -> bool:
    """Whether every axis still has a loop of its own, without a mark."""
    _, path = func.block(block.name)
    return all(lp.kind == "serial" for lp in path) and all(loop_of_axis(block, path, it.name) for it in block.iters)


def vectorisable(func: Func, block: Block) -> bool:
    """Whether the loops are as they were, and one of them runs over results that lie side by side."""
    return whole_loops(func, block) and lane_axis(block) is not None


def axis_loops(func: Func, block: Block, kind: str) -> list[For]:
    """Loops of the spatial ("S") or reduction ("R") axes: those that run once first, the one over lanes last."""
    _, path = func.block(block.name)
    names = [it.name for it in block.iters if it.kind == kind]
    names.sort(key=lambda a: a == lane_axis(block))
    loops = [lp for lp in (loop_of_axis(block, path, a) for a in names) if lp is not None]
    return [lp for lp in loops if lp.extent == 1] + [lp for lp in loops if lp.extent != 1]


def main_block(func: Func, focus: str | None = None) -> Block | None:
    """Reduction that does most of the work (or the one that a rule has named); None when there is none."""
    if focus is not None:
        return func.block(focus)[0]
    best: tuple[tuple[bool, int], Block] | None = None
    for b, _ in blocks(func.body):
        if b.is_reduction:
            rank = (has_reuse(b), points(b))
            if best is None or rank > best[0]:
                best = (rank, b)
    return best[1] if best else None
