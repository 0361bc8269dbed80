"""Check the parts of a function one by one: names, notes, memory, loops, and the form of each block.

What the parts mean together is `workbench.ir.verify`'s question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import get_args

import numpy as np

from workbench.errors import InputError, ScheduleError
from workbench.ir.affine import FREE
from workbench.ir.compact_temporaries import shared_by
from workbench.ir.dtypes import element_type, is_float
from workbench.ir.expr import (
    BINARY_OPS,
    REDUCE_OPS,
    UNARY_OPS,
    Binary,
    Const,
    Expr,
    Load,
    Unary,
    all_index_forms,
    free_number,
    index_forms,
    loads,
    measure,
    walk,
)
from workbench.ir.expr_dtypes import dtype_of
from workbench.ir.func import Buffer, Func, LayoutStep, PadStep, Role, Scope, map_dims
from workbench.ir.poly import Dim, equal, holes_of, nonneg
from workbench.ir.size_limits import DEEPEST_EXPRESSION, EXTENT_LIMIT, MOST_LOOPS, MOST_NODES
from workbench.ir.stmt import BOUND_KINDS, Block, For, LoopKind, Note, blocks, loops
from workbench.ir.winograd_weights import KERNEL_MATRIX, WinogradStep


def check(func: Func, intrinsics: Collection[str] | None = None) -> None:
    """Check every part of a function; see `workbench.ir.verify.verify` for the errors."""
    _sizes(func)
    _holes(func)
    _names(func)
    for lp, path in loops(func.body):
        _loop(func, lp, path, intrinsics)
    for b, path in blocks(func.body):
        _block(func, b, path)


def fail(code: str, message: str, where: Iterable[str] = ()) -> ScheduleError:
    """Make the error of a nest that is wrong."""
    return ScheduleError(f"verify.{code}", message, where)


def _sizes(func: Func) -> None:
    """Nothing is too deep to be walked by functions that call themselves; this is looked at first."""
    for b, path in blocks(func.body):
        if len(path) > MOST_LOOPS:
            raise fail("depth", f"Block {b.name!r} lies in more than {MOST_LOOPS} loops.", (b.name,))
        for nodes, depth in map(measure, b.exprs):
            if nodes > MOST_NODES or depth > DEEPEST_EXPRESSION:
                raise fail("depth", f"An expression of block {b.name!r} is too large.", (b.name,))


def _holes(func: Func) -> None:
    """Holes and relations fit together, and nothing is used that is not declared."""
    known = [h.name for h in func.holes]
    for h in func.holes:
        if h.choices is not None and (not h.choices or any(not 1 <= c < EXTENT_LIMIT for c in h.choices)):
            raise InputError("verify.hole", f"The choices of hole {h.name!r} are no positive numbers.", (h.name,))
    if len(set(known)) != len(known):
        raise InputError("verify.hole", "Two holes have the same name.", known)
    leading: set[str] = set()
    for rel in func.relations:
        stray = set(rel.lhs) - set(known)
        if stray or not 1 <= rel.rhs < EXTENT_LIMIT or leading & set(rel.lhs):
            raise InputError(
                "verify.relation", f"The relation {rel} names an unknown hole, shares one, or is not positive.", rel.lhs
            )
        leading |= set(rel.lhs)
    used: set[str] = set()

    def look(dim: Dim) -> Dim:
        used.update(holes_of(dim))
        return dim

    map_dims(func, look)
    unknown = used - set(known)
    if unknown:
        raise InputError("verify.hole", "The nest uses holes that the function does not declare.", sorted(unknown))
    retired = {n for n, _ in func.aliases} & set(known)
    if retired:
        raise InputError("verify.hole", "A hole that was replaced is still open.", sorted(retired))


def _names(func: Func) -> None:
    """Names of loops, blocks, buffers and units are different; buffers are of known kinds and sizes."""
    _unique("loops", [lp.name for lp, _ in loops(func.body)])
    _unique("blocks", [b.name for b, _ in blocks(func.body)])
    _unique("buffers", [b.name for b in func.buffers])
    named = [lp.name for lp, _ in loops(func.body)] + [it.name for b, _ in blocks(func.body) for it in b.iters]
    odd = sorted(n for n in named if n.startswith(FREE))
    if odd:
        raise fail("name", f"{odd[0]!r} is no name of a loop or an axis: it begins with {FREE}.", odd)
    _unique("units", [str(unit) for lp, _ in loops(func.body) if (unit := lp.note("block")) is not None])
    for b in func.buffers:
        if b.role not in get_args(Role):
            raise fail("role", f"Buffer {b.name!r} has the unknown role {b.role!r}.", (b.name,))
        if element_type(b.dtype) != b.dtype:
            raise fail("dtype", f"Buffer {b.name!r} has the unknown dtype {b.dtype!r}.", (b.name,))
        if any(not _is_extent(func, d) for d in b.shape):
            raise fail("shape", f"Buffer {b.name!r} has a dimension that is not from 1 to below 2**40.", (b.name,))
        _memory(func, b)
        _layout(func, b)


def _memory(func: Func, b: Buffer) -> None:
    """Scope and padding of a buffer: of a temporary only, and no thread misses what another one has written."""
    if b.scope not in get_args(Scope):
        raise fail("scope", f"Buffer {b.name!r} has the unknown scope {b.scope!r}.", (b.name,))
    if b.role != "temp" and (b.scope != "auto" or b.align):
        raise fail("scope", f"Buffer {b.name!r} is no temporary; the caller decides where it lies.", (b.name,))
    dims = [a.dim for a in b.align]
    good = all(0 <= a.dim < len(b.shape) - 1 and a.factor >= 1 and 0 <= a.offset < a.factor for a in b.align)
    if not good or len(set(dims)) < len(dims):
        raise fail("align", f"The padding of buffer {b.name!r} is not well-formed.", (b.name,))
    lp = shared_by(func, b.name) if b.scope in ("local", "shared") else None
    if lp is not None:
        raise fail("scope", f"Iterations of {lp.name!r} share {b.name!r}, which is {b.scope}.", (b.name, lp.name))


def _is_extent(func: Func, d: Dim) -> bool:
    return bool(nonneg(d - 1, func.relations)) and not (isinstance(d, int) and d >= EXTENT_LIMIT)


def _layout(func: Func, b: Buffer) -> None:
    """Packing steps lead from some shape to the one that the buffer has."""
    if b.layout and b.role in ("temp", "output"):
        raise fail("layout", f"Buffer {b.name!r} is packed, but only what is given can be.", (b.name,))
    shape = b.shape
    for step in reversed(b.layout):
        if not _leads_to(func, step, shape):
            raise fail("layout", f"No packing step {step} of buffer {b.name!r} leads to {list(shape)}.", (b.name,))
        shape = step.logical_shape(shape)


def _leads_to(func: Func, step: LayoutStep | PadStep | WinogradStep, shape: tuple[Dim, ...]) -> bool:
    """Whether the step may end in a shape."""
    match step:
        case LayoutStep(dim, block):
            positive = bool(nonneg(block - 1, func.relations))
            return positive and 0 <= dim < len(shape) - 1 and equal(block, shape[-1], func.relations)
        case PadStep(dim, size, extent):
            return 0 <= dim < len(shape) and 1 <= size < extent and equal(shape[dim], extent, func.relations)
        case WinogradStep(tile):
            sizes = shape[:2]
            return tile in KERNEL_MATRIX and len(sizes) == 2 and all(equal(n, tile + 2, func.relations) for n in sizes)


def _notes(what: str, name: str, notes: tuple[Note, ...]) -> None:
    keys = [k for k, _ in notes]
    if len(set(keys)) < len(keys):
        raise fail("note", f"{what} {name!r} has two notes of one key.", (name,))


def _unique(what: str, names: Sequence[str]) -> None:
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise fail("name", f"Two {what} are called {twice[0]!r}.", twice)


def _loop(func: Func, lp: For, path: tuple[For, ...], intrinsics: Collection[str] | None) -> None:
    """Kind, notes, intrinsic and extent of one loop."""
    if lp.kind not in get_args(LoopKind):
        raise fail("kind", f"Loop {lp.name!r} has the unknown kind {lp.kind!r}.", (lp.name,))
    if lp.kind in BOUND_KINDS - {"vthread"} and any(up.kind == lp.kind for up in path):
        raise fail("kind", f"Loop {lp.name!r} is bound to {lp.kind}, and so is a loop around it.", (lp.name,))
    _notes("Loop", lp.name, lp.notes)
    if lp.intrin is not None:
        inside = next((up.name for up in path if up.intrin is not None), None)
        if inside is not None:
            raise fail(
                "intrinsic", f"Loop {lp.name!r} has an intrinsic inside of that of {inside!r}.", (lp.name, inside)
            )
        if intrinsics is not None and lp.intrin not in intrinsics:
            raise fail("intrinsic", f"Loop {lp.name!r} names {lp.intrin!r}, which is no intrinsic.", (lp.name,))
    if not _is_extent(func, lp.extent):
        text = f"Loop {lp.name!r} may run {lp.extent} times, which is not from 1 to below 2**40."
        raise fail("extent", text, (lp.name,))
    if not lp.body:
        raise fail("empty", f"Loop {lp.name!r} has no body.", (lp.name,))


def _block(func: Func, b: Block, path: tuple[For, ...]) -> None:
    """Ranks, operators and names of one block."""
    axes = [it.name for it in b.iters]
    _notes("Block", b.name, b.notes)
    _unique(f"axes of block {b.name!r}", axes)
    if len(b.binds) != len(b.iters) or any(it.kind not in ("S", "R") for it in b.iters):
        raise fail("axis", f"Block {b.name!r} does not bind every axis, or an axis is of no known kind.", (b.name,))
    if any(not _is_extent(func, it.extent) for it in b.iters):
        raise fail("axis", f"An axis of block {b.name!r} has an extent that is not from 1 to below 2**40.", (b.name,))
    unbound = {v for x in b.binds for v in x.vars} - {lp.name for lp in path}
    if unbound:
        raise fail(
            "unbound", f"Block {b.name!r} uses {min(unbound)!r}, which is no loop around it.", (b.name, min(unbound))
        )
    inner = {v for e in b.exprs for form in all_index_forms(e) for v in form.vars}
    inner |= {v for x in b.index for v in x.vars} | {v for g in b.guard for v in g.form.vars}
    if inner - set(axes):
        raise fail(
            "unbound", f"Block {b.name!r} uses {min(inner - set(axes))!r}, which is none of its axes.", (b.name,)
        )
    for ld in (b.own_load(), *b.loads()):
        if len(ld.index) != len(func.buffer(ld.buffer).shape):
            raise fail(
                "rank", f"Block {b.name!r} indexes {ld.buffer!r} with {len(ld.index)} forms.", (b.name, ld.buffer)
            )
    if func.buffer(b.buffer).role in ("input", "const"):
        raise fail("role", f"Block {b.name!r} writes the input {b.buffer!r}.", (b.name, b.buffer))
    for e in b.exprs:
        _operators(b, e)
        _picks(func, b, e)
    if any(x.free for x in (*b.binds, *b.index, *(g.form for g in b.guard))):
        raise fail("pick", f"Block {b.name!r} picks an element elsewhere than in the index of a load.", (b.name,))
    _reduction_form(b)


def _operators(b: Block, e: Expr) -> None:
    if not all(map(_is_known, walk(e))):
        raise fail(
            "operator", f"Block {b.name!r} uses an unknown operator, or a number that its type lacks.", (b.name,)
        )


def _is_known(e: Expr) -> bool:
    """Whether the operator of an expression exists, and its type holds its number."""
    match e:
        case Unary(op):
            return op in UNARY_OPS
        case Binary(op):
            return op in BINARY_OPS
        case Const(value, dtype):
            return _holds(dtype, value)
    return True


def _picks(func: Func, b: Block, e: Expr) -> None:
    """Numbers read at run time are integers, and stand in the index of the load that they belong to only."""
    for x in walk(e):
        here = {d for form in index_forms(x) for d, _ in form.terms if d.free}
        at = x.at if isinstance(x, Load) else ()
        good = all(free_number(d) < len(at) and d.extent is not None for d in here)
        good = good and all(_is_extent(func, p.extent) for p in at)
        if not good or any(is_float(t := dtype_of(p.value, func)) or t == "bool" for p in at):
            text = f"Block {b.name!r} picks an element by something else than a whole number of its own load."
            raise fail("pick", text, (b.name,))


def _holds(dtype: str, value: float) -> bool:
    if element_type(dtype) != dtype or is_float(dtype) or dtype == "bool":
        return element_type(dtype) == dtype
    info = np.iinfo(dtype)
    return isinstance(value, int) and info.min <= value <= info.max


def _reduction_form(b: Block) -> None:
    """A block with an init accumulates ``own op term``; one without has no reduction axes and does not read itself."""
    own = b.own_load()
    if b.init is None:
        if any(it.kind == "R" for it in b.iters):
            raise fail("reduction", f"Block {b.name!r} has a reduction axis but no initial value.", (b.name,))
        return
    good = isinstance(b.value, Binary) and b.value.op in REDUCE_OPS and b.value.a == own
    if good and isinstance(b.value, Binary):
        parts = (b.value.b,) if b.resumes else (b.init, b.value.b)
        good = all(ld.buffer != b.buffer for e in parts for ld in loads(e))
    if not good:
        raise fail(
            "reduction",
            f"Block {b.name!r} has an initial value but does not accumulate onto its own element.",
            (b.name,),
        )
    reduced = {it.name for it in b.iters if it.kind == "R"}
    if reduced & {v for x in b.index for v in x.vars}:
        raise fail("reduction", f"Block {b.name!r} writes to an index that moves with a reduction axis.", (b.name,))
