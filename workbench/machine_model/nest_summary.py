"""What features need to know about a generic nest, collected once per variant of a space.

A plan holds for every block the loops around it, its accesses as terms ``coefficient * loop digit`` and its operation
counts. Everything numeric stays a `Dim`; `features` evaluates the plan over columns of hole values. A plan of a
filled nest has the same form with plain numbers, so one function serves a population and a single schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from workbench.intrinsics import Intrinsic, registry
from workbench.ir import (
    Affine,
    Binary,
    Block,
    Buffer,
    Const,
    Digit,
    Dim,
    Expr,
    For,
    Func,
    Index,
    Load,
    Select,
    Unary,
    blocks,
)
from workbench.ir.affine import digit_extent
from workbench.ir.compact_temporaries import compact
from workbench.ir.expr import all_index_forms, children, free_number
from workbench.ir.pipelines import PIPELINE
from workbench.ir.poly import holes_of
from workbench.machine_model.constants import OP_COST


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of an index: loop position, coefficient, number of values of the loop digit, where it begins."""

    loop: int
    coef: Dim
    extent: Dim
    unit: bool
    lower: Dim = 1


@dataclass(frozen=True, slots=True)
class AccessPlan:
    """One access of a block. `own` marks the accumulator of a reduction (read and written at one place); `scope` is the
    memory of a temporary; `constant` is what every call reads and none writes.
    """

    buffer: str
    is_write: bool
    own: bool
    guarded: bool
    local: bool
    itemsize: int
    dims: tuple[tuple[Term, ...], ...]
    shape: tuple[Dim, ...]
    loops: frozenset[int]
    scope: str = "global"
    strides: tuple[Dim, ...] = ()
    constant: bool = False


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """One loop around a block; `reduces` says whether it drives a reduction axis of that block, `ahead` how many
    iterations ahead it fetches.
    """

    name: str
    extent: Dim
    kind: str
    reduces: bool
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """One block with its loops (outermost first).

    Attributes
    ----------
    root : int
        Position of the top-level statement that the block is in.
    fma, ops : float
        Per point: fused multiply-adds, and other arithmetic in units of one simple vector instruction.
    flops : int
        Per point: arithmetic operations as a person counts them.
    guards : tuple of frozenset of int
        For each index condition, positions of the loops that it depends on; the code generator tests outside of all
        others.
    itemsize : int
        Bytes of the widest element that the block touches: it decides how many fit a vector.
    intrinsic : Intrinsic or None
        What computes the loops whose kind is "intrin", in one call.
    holes : tuple of str
        Open numbers that anything here depends on, in order.
    distinct : tuple of int
        Positions of the accesses that differ in more than a constant.
    same : tuple of int
        For every access, which of the distinct ones it is like.
    """

    name: str
    root: int
    loops: tuple[LoopPlan, ...]
    accesses: tuple[AccessPlan, ...]
    is_reduction: bool
    fma: float
    ops: float
    flops: int
    guards: tuple[frozenset[int], ...]
    rank: tuple[int, int, int, int]
    itemsize: int = 4
    intrinsic: Intrinsic | None = None
    holes: tuple[str, ...] = ()
    distinct: tuple[int, ...] = ()
    same: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NestPlan:
    """All blocks in program order, the one that matters most, the temporaries' sizes in bytes, and the operations that
    the computation stands for, where they are known: an algorithm such as Winograd's does fewer. `scopes` are the
    memories of the temporaries.
    """

    blocks: tuple[BlockPlan, ...]
    main: int
    roots: int
    temps: tuple[Dim, ...]
    work: int | None = None
    scopes: tuple[str, ...] = ()


def plan(func: Func, work: int | None = None) -> NestPlan:
    """Compact `func` and collect its plan; `work` is the number of operations of the function before any primitive."""
    func = compact(func)
    table = {b.name: b for b in func.buffers}
    found: list[BlockPlan] = []
    for root, stmt in enumerate(func.body):
        for block, path in blocks((stmt,)):
            found.append(_block_plan(block, path, root, len(found), table))
    main = max(range(len(found)), key=lambda i: found[i].rank)
    temps = tuple(b.size * np.dtype(b.dtype).itemsize for b in func.buffers if b.role == "temp")
    memory = tuple(b.scope for b in func.buffers if b.role == "temp")
    return NestPlan(tuple(found), main, len(func.body), temps, work, memory)


def _block_plan(b: Block, path: tuple[For, ...], root: int, order: int, table: Mapping[str, object]) -> BlockPlan:
    position = {lp.name: k for k, lp in enumerate(path)}
    extents = {lp.name: lp.extent for lp in path}
    kinds = {it.name: it.kind for it in b.iters}
    called = next((k for k, lp in enumerate(path) if lp.intrin), len(path))
    loops = tuple(
        LoopPlan(lp.name, lp.extent, "intrin" if k >= called else lp.kind, kinds.get(lp.name) == "R", _ahead(lp))
        for k, lp in enumerate(path)
    )
    accesses = tuple(_accesses(b, position, extents, table))
    decided = {lp.name for lp in path if lp.kind == "unroll"}
    fma, ops, flops = _count(b, decided)
    tested = dict.fromkeys([c for e in _selects(b.value) for c in e.conds] + list(b.guard))
    conds = [c for c in tested if not c.form.vars <= decided]
    guards = tuple(frozenset(position[v] for v in c.form.vars if v in position) for c in conds)
    reads = len({a.buffer for a in accesses if not a.is_write and not a.own})
    rank = (int(b.is_reduction), int(fma > 0), reads, -order)  # nothing that depends on the numbers in the holes
    intrinsic = registry[path[called].intrin or ""] if called < len(path) else None
    return BlockPlan(
        b.name, root, loops, accesses, b.is_reduction, fma, ops, flops, guards, rank,
        max(a.itemsize for a in accesses), intrinsic, _holes(loops, accesses), *_alike(accesses),
    )  # fmt: skip


def _holes(loops: Sequence[LoopPlan], accesses: Sequence[AccessPlan]) -> tuple[str, ...]:
    dims: list[Dim] = [lp.extent for lp in loops]
    for a in accesses:
        dims += [*a.shape, *(d for row in a.dims for t in row for d in (t.coef, t.extent, t.lower))]
    return tuple(sorted(set().union(*map(holes_of, dims))))


def _alike(accesses: Sequence[AccessPlan]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of the first of each kind of access, and for every access the number of its kind."""
    first: dict[AccessPlan, int] = {}
    for k, a in enumerate(accesses):
        first.setdefault(a, k)
    number = {a: k for k, a in enumerate(first)}
    return tuple(first.values()), tuple(number[a] for a in accesses)


def _ahead(lp: For) -> int:
    note = lp.note("prefetch")
    return note if isinstance(note, int) else int(lp.note(PIPELINE) is not None)


def _accesses(
    b: Block, position: Mapping[str, int], extents: Mapping[str, Dim], table: Mapping[str, object]
) -> Iterator[AccessPlan]:
    own = b.own_load() if b.is_reduction else None
    seen: set[Load] = set()
    yield _access(b.buffer, b.index, True, own is not None, bool(b.guard), position, extents, table)
    for load, guarded in _loads(b.value, bool(b.guard)):
        if load not in seen and load != own:
            seen.add(load)
            index = tuple(_picked(x, load) for x in load.index) if load.at else load.index
            yield _access(load.buffer, index, False, False, guarded, position, extents, table)


def _picked(form: Affine, load: Load) -> Affine:
    """The form with what it picks by replaced by the loops that decide this: another row in every iteration of them."""
    out = Affine(tuple(t for t in form.terms if not t[0].free), form.const)
    for digit, c in form.terms:
        if digit.free:
            deciding = {v for x in all_index_forms(load.at[free_number(digit)].value) for v in x.vars}
            out = out + Affine.make((Digit(v), c) for v in deciding)
    return out


def _access(
    name: str,
    index: tuple[Affine, ...],
    write: bool,
    own: bool,
    guarded: bool,
    position: Mapping[str, int],
    extents: Mapping[str, Dim],
    table: Mapping[str, object],
) -> AccessPlan:
    buffer = table[name]
    dims = tuple(
        tuple(
            Term(position[d.var], c, digit_extent(d, extents), d.lower == 1, d.lower)
            for d, c in form.terms
            if d.var in position
        )
        for form in index
    )
    loops = frozenset(t.loop for row in dims for t in row)
    itemsize = np.dtype(buffer.dtype).itemsize  # type: ignore[attr-defined]
    assert isinstance(buffer, Buffer)
    temp, scope = buffer.role == "temp", buffer.scope
    return AccessPlan(
        name, write, own, guarded, temp, itemsize, dims, buffer.shape, loops, scope, buffer.strides(),
        buffer.role == "const",
    )  # fmt: skip


def _loads(e: Expr, guarded: bool) -> Iterator[tuple[Load, bool]]:
    """Loads with whether an index condition stands above them."""
    if isinstance(e, Load):
        yield e, guarded
    for part in children(e):
        yield from _loads(part, guarded or isinstance(e, Select))


def _selects(e: Expr) -> Iterator[Select]:
    """Index conditions of a value; those of a number that is read at run time are decided with it."""
    if isinstance(e, Select):
        yield e
    if not isinstance(e, Load):
        for part in children(e):
            yield from _selects(part)


def _count(b: Block, decided: Set[str]) -> tuple[float, float, int]:
    """Fused multiply-adds, other vector instructions and flops of one point; conditions on `decided` loops alone are
    gone from the code.
    """
    ops, flops = _ops(b.value, decided)
    if b.is_reduction:
        op, term = b.update()
        if op == "add" and isinstance(term, Binary) and term.op == "mul":
            return 1.0, max(0.0, ops - 2.0), flops
    return 0.0, ops, flops


def _ops(e: Expr, decided: Set[str]) -> tuple[float, int]:
    """Vector instructions and flops of an expression; a choice that is known costs the more expensive of its sides."""
    if isinstance(e, Load | Const | Index):
        return float(isinstance(e, Index)), 0
    costs, flops = zip(*(_ops(part, decided) for part in children(e)), strict=True)
    match e:
        case Binary(op) | Unary(op):
            return sum(costs) + OP_COST.get(op, 1.0), sum(flops) + 1
        case Select(conds):
            known = all(c.form.vars <= decided for c in conds)
            return max(costs) if known else sum(costs), max(flops)
    return sum(costs) + 1.0, sum(flops)
