"""Rules for stages that do no reduction: inlined, behind a finished tile, transposed in registers, or a nest of their
own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from workbench.errors import ScheduleError
from workbench.ir import Affine, Block, Digit, For, Func, blocks
from workbench.ir.expr import loads, measure
from workbench.ir.poly import product
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps import placement
from workbench.space.shared_steps.block_queries import (
    consumers,
    contiguous_loop,
    epilogue,
    is_costly,
    is_padding,
    is_pointwise,
    loop_of_axis,
    points,
    producers,
    role,
    suited,
)
from workbench.space.shared_steps.register_tiles import AT_ONCE, open_factors, vector_choices
from workbench.space.sketch.rule_table import Draft, Skip, rule, tiled

#: Parts of an expression that one stage may add to those that read it: each level of ``x * f(x)`` doubles them, and all
#: that looks at an expression walks them. Chosen, not measured.
MOST_PARTS = 1000
#: Points for each thread below which a parallel region is not worth its start. Chosen, not measured; `bench_suite` and
#: `bench_space` tell what comes of it.
SMALL = 2048
#: Iterations of both axes from which on a transposition is cut into blocks. Chosen, not measured; `bench_suite` and
#: `bench_space` tell what comes of it.
LEAST = 8
#: Rows of a square that shuffles turn round, at most. Measured: 64 x 64 bytes take 11 s to compile and are no faster.
SIDE = 16


@rule("inline", after="attention", on="any")
def inline(draft: Draft, machine: Machine) -> list[Draft]:
    """Compute a pointwise stage inside its only kind of consumer, pointwise stages: one pass over memory instead of
    two.
    """
    kept: dict[str, str] = {}
    todo = [b.name for b, _ in blocks(draft.func.body)]
    while todo:
        block, _ = draft.func.block(name := todo.pop(0))
        users = consumers(draft.func, block)
        kept[name] = reason = _stays(draft.func, block, users)
        if reason:
            continue
        s = draft.schedule.copy()
        try:
            s.compute_inline(name)
        except ScheduleError as e:
            kept[name] = e.message
            continue
        # Who stayed because of this block has other readers now.
        todo[:0] = [b.name for b in producers(draft.func, block) if kept.get(b.name)]
        draft = draft.change("inline", f"{name} is pointwise and only {_names(users)} reads it", s, blocks=[name])
    for name, reason in kept.items():
        draft = draft.skip("inline", reason, name) if reason else draft
    return [draft]


def _stays(func: Func, block: Block, users: Sequence[Block]) -> str:
    """Why a stage is computed by itself; empty if it need not be."""
    if not is_pointwise(block):
        return "it is a reduction" if block.is_reduction else "it runs under a condition"
    if role(func, block) != "temp" or not users:
        return "it writes a result"
    if is_padding(block):
        return "it pads: the rule pad says where"
    if not all(is_pointwise(u) or len(users) == 1 for u in users):
        return f"{_names(users)} read it, and not all of them are pointwise"
    if is_costly(block) and any(points(u) > points(block) for u in users):
        return f"it is costly, and {_names(users)} would compute it again for every element of a row"
    parts = sum(ld.buffer == block.buffer for u in users for ld in loads(u.value)) * measure(block.value)[0]
    return f"{_names(users)} would have {parts} more parts by it" if parts > MOST_PARTS else ""


def _names(users: Sequence[Block]) -> str:
    return ", ".join(b.name for b in users)


@rule("fuse", after="cache_write", about=tiled)
def fuse(draft: Draft, machine: Machine, block: Block) -> Iterator[Draft]:
    """Finish a tile while it is in cache: the pointwise consumer moves inside the loops around the reduction.

    At the innermost of them it takes the register tile. A costly one also gets a form in which it takes a whole
    parallel block: the registers of the tile are free for it then, and its loops are longer.
    """
    user = epilogue(draft.func, block)
    if user is None:
        raise Skip("no pointwise stage alone reads what it writes, element by element")
    inside = (*draft.outer, *draft.middle)[-1]
    levels = [("finished tile", inside, "")]
    if is_costly(user) and draft.outer and draft.outer[-1] != inside:
        levels.append(("block", draft.outer[-1], "fused outside"))
    for level, at, tag in levels:
        s = draft.schedule.copy()
        try:
            placement.finish(s, user.name, at, draft.tile[-1], unrolled=not tag and not draft.panels)
        except ScheduleError as e:
            yield draft.skip("fuse", e.message, user.name)
            return
        yield draft.change("fuse", f"{user.name} only needs the {level} of {block.name}", s, user.name, tag=tag)


# ------------------------------------------------------------------------------------------------------------ transpose


@rule("transpose", after="pad")
def transpose(draft: Draft, machine: Machine) -> list[Draft]:
    """Cut a stage that reads along one axis and writes along another into blocks of both.

    The block's rows are unrolled and its columns vectorised: what is read is then vectors along the rows, which
    shuffles turn round. Lines of both sides are used whole while they are in L1.
    """
    for block, path in list(blocks(draft.func.body)):
        axes = _crossed(block, path)
        if axes is None or block.name in draft.done or any(lp.kind != "serial" for lp in path):
            why = "it reads and writes along one axis" if axes is None else "another rule has scheduled it"
            draft = draft.skip("transpose", why, block.name)
            continue
        s = draft.schedule.copy()
        try:
            _block(s, block, path, *axes, suited(machine, draft.func, block))
        except ScheduleError as e:
            draft = draft.skip("transpose", e.message, block.name)
            continue
        reason = f"{block.name} is contiguous along {axes[1].name}, and what it reads along {axes[0].name}"
        draft = draft.change("transpose", reason, s, block.name, tag="transpose")
    return [draft]


def _crossed(block: Block, path: tuple[For, ...]) -> tuple[For, For] | None:
    """Loops along which a pointwise stage reads and writes neighbours, where these are two."""
    if not is_pointwise(block) or not block.index:
        return None
    to = _last_loop(block, path, block.index)
    for ld in loads(block.value) if to is not None else ():
        via = _last_loop(block, path, ld.index)
        if to is None or via is None or via.name == to.name:
            continue
        if all(isinstance(lp.extent, int) and lp.extent >= LEAST for lp in (via, to)):
            return via, to
    return None


def _last_loop(block: Block, path: tuple[For, ...], index: Sequence[Affine]) -> For | None:
    """Loop that alone moves the last dimension of an access."""
    axis = index[-1].single_var() if index else None
    return None if axis is None else loop_of_axis(block, path, axis)


def _block(s: Schedule, block: Block, path: tuple[For, ...], via: For, to: For, machine: Machine) -> None:
    assert isinstance(via.extent, int)
    assert isinstance(to.extent, int)
    rows, wide = _square(via.extent, to.extent, machine)
    outer, row = s.split(via.name, open_factors(2, rows))
    far, lane = s.split(to.name, open_factors(2, wide))
    others = [lp.name for lp in path if lp.name not in (via.name, to.name)]
    s.reorder(*others, outer, far, row, lane)
    placement.mark(s, (row,), lane)
    if machine.threads > 1 and points(block) >= SMALL * machine.threads:
        s.parallel(*others, outer)


def _square(rows: int, columns: int, machine: Machine) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Extents of a block's rows and columns: of whole vectors, or the largest square of narrower ones that divides.

    Rows are a power of two where one divides: shuffles turn no other number round. More than two vectors of columns
    do not stay in the registers. Measured: the other choices took 1.1 to 2.9 times as long.
    """
    lanes = min(machine.lanes, SIDE)
    side = math.gcd(rows, columns, lanes)
    if side >= LEAST and (rows % lanes or lanes < machine.lanes):
        return (side,), (side,)
    some = tuple(d for d in divisors(rows) if d <= lanes)
    whole = tuple(d for d in some if d >= LEAST // 2 and d & (d - 1) == 0)
    narrow = tuple(v for v in vector_choices(columns, machine) if v <= 2 * lanes)
    return whole[-1:] or some[-3:], narrow or vector_choices(columns, machine)


# ------------------------------------------------------------------------------------------------------ everything else


@rule("pointwise", after="transpose")
def pointwise(draft: Draft, machine: Machine) -> list[Draft]:
    """Split and vectorise the contiguous axis of every remaining stage, and run its outer axes in parallel."""
    for name in [b.name for b, path in blocks(draft.func.body)]:
        draft = own_nest(draft, name, machine)
    return [draft if draft.func.body else draft.skip("pointwise", "there is nothing to schedule")]


def own_nest(draft: Draft, name: str, machine: Machine) -> Draft:
    """Schedule a stage that has a nest of its own, and no mark yet."""
    block, path = draft.func.block(name)
    if name in draft.done or any(lp.kind != "serial" for lp in path):
        return draft.skip("pointwise", "another rule has scheduled it", name)
    if not any([b.name for b, _ in blocks((nest,))] == [name] for nest in draft.func.body):
        return draft.skip("pointwise", "it shares its loops with another block", name)
    s = draft.schedule.copy()
    try:
        said = _schedule(s, block, path, suited(machine, draft.func, block))
    except ScheduleError as e:
        return draft.skip("pointwise", e.message, name)
    if not said:
        return draft.skip("pointwise", "it is too small to share out, and has no contiguous axis", name)
    return draft.change("pointwise", f"{name}: {', '.join(said)}", s, name)


def _schedule(s: Schedule, block: Block, path: tuple[For, ...], machine: Machine) -> list[str]:
    """Vectorise and share out; returns what was done, in words."""
    spatial = {x.single_var() for it, x in zip(block.iters, block.binds, strict=True) if it.kind == "S"}
    lp = contiguous_loop(s.func, block, path)
    parts: list[str] = []
    inner: str | None = None
    if lp is not None and (size := _period(block, lp)) > 1:
        outer, _ = s.split(lp.name, [None, size])
        spatial.add(outer)
        block, path = s.func.block(block.name)
        lp = contiguous_loop(s.func, block, path)
        parts.append(f"cut where what it reads begins again, every {size}")
    if lp is not None and isinstance(lp.extent, int) and lp.extent > 1 and _whole(block, lp):
        choices, several = vector_choices(lp.extent, machine), AT_ONCE * machine.lanes
        parts.append("contiguous axis vectorised")
        if choices[-1] < machine.lanes and lp.extent > several and not block.is_reduction:
            outer, inner = s.split(lp.name, [None, several], tail="guard")
            parts.append("with a rest")
        else:
            outer, inner = s.split(lp.name, open_factors(2, choices))
        names = [outer if other.name == lp.name else other.name for other in path]
        if names[-1] != outer or block.is_reduction:
            spat = [n for n in names if n in spatial or n == outer]
            s.reorder(*spat, *(n for n in names if n not in spat), inner)
        s.vectorize(inner)
    many = product(other.extent for other in path)
    enough = machine.threads > 1 and (not isinstance(many, int) or many >= SMALL * machine.threads)
    if enough and (head := _parallel_head(s.func, block.name, inner)):
        s.parallel(*head)
        parts.append("outer axes in parallel")
    return parts


def _whole(block: Block, lp: For) -> bool:
    """Whether no access takes the loop apart, so that it can be split anywhere."""
    return all(d.plain for d in _digits(block, lp))


def _digits(block: Block, lp: For) -> list[Digit]:
    """Parts of a loop that accesses look at."""
    env = block.env
    forms = [x.subst(env) for ld in loads(block.value) for x in ld.index]
    return [d for x in forms for d, _ in x.terms if d.var == lp.name]


def _period(block: Block, lp: For) -> int:
    """Iterations after which an access that takes the loop apart begins again or goes on elsewhere; 1 where none."""
    taken = [d for d in _digits(block, lp) if not d.plain]
    sizes = [d.lower if d.lower != 1 else d.extent for d in taken]
    fitting = [n for n in sizes if isinstance(n, int) and isinstance(lp.extent, int) and lp.extent % n == 0]
    return min(fitting) if fitting and len(fitting) == len(sizes) else 1


def _parallel_head(func: Func, name: str, inner: str | None) -> list[str]:
    """Outermost spatial loops of a nest, the vectorised one excepted: at most two that run more than once."""
    block, path = func.block(name)
    kinds = block.driving("S")
    head: list[str] = []
    longer = 0
    for lp in path:
        if lp.name not in kinds or lp.name == inner or lp.kind != "serial" or longer == 2:
            break
        head.append(lp.name)
        longer += lp.extent != 1
    return head if longer else []
