"""Check that a function means what it says: names, ranges, order of producers and consumers, coverage, loop kinds.

`verify` knows nothing about schedules. It runs after every primitive in the tests, so that a wrong rewrite is found
where it happens. On a nest with holes every question is asked for all fillings at once; what cannot be proved counts
as wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

import numpy as np

from ..errors import InputError, ScheduleError
from .affine import Affine, Digit, digit_extent
from .compact import shared_by
from .expr import (
    BINARY_OPS,
    REDUCE_OPS,
    UNARY_OPS,
    Binary,
    Bound,
    Cast,
    Const,
    Expr,
    Index,
    Load,
    Select,
    Unary,
    Where,
    all_index_forms,
    loads,
)
from .func import Buffer, Func, LayoutStep, Role, Scope
from .interval import Interval, injective, interval, overlaps, within
from .poly import Dim, equal, holes_of, nonneg, normal, product
from .stmt import BOUND_KINDS, UNORDERED_KINDS, Block, For, LoopKind, accesses, blocks, loops


def verify(func: Func) -> None:
    """Check a function, with or without holes.

    Parameters
    ----------
    func : Func

    Raises
    ------
    ScheduleError
        Code "verify.*": the nest is not well-formed, an index may leave its buffer, an element is read before it is
        produced, a domain is not covered exactly, or a loop cannot have its kind.
    InputError
        Code "verify.hole" or "verify.relation": the holes do not fit together.
    """
    _holes(func)
    _names(func)
    for lp, path in loops(func.body):
        _loop(func, lp, path)
    for b, path in blocks(func.body):
        _block_shape(func, b, path)
        _axes(func, b, path)
        _indices(func, b)
        _coverage(func, b, path)
        _kinds(func, b, path)
    _order(func)


def _fail(code: str, message: str, where: Iterable[str] = ()) -> ScheduleError:
    return ScheduleError(f"verify.{code}", message, where)


def _holes(func: Func) -> None:
    known = [h.name for h in func.holes]
    if len(set(known)) != len(known):
        raise InputError("verify.hole", "Two holes have the same name.", known)
    leading: set[str] = set()
    for rel in func.relations:
        stray = set(rel.lhs) - set(known)
        if stray or rel.rhs < 1 or leading & set(rel.lhs):
            raise InputError(
                "verify.relation", f"The relation {rel} names an unknown hole, shares one, or is not positive.", rel.lhs
            )
        leading |= set(rel.lhs)
    dims: list[Dim] = [d for b in func.buffers for d in b.shape]
    dims += [s.block for b in func.buffers for s in b.layout if isinstance(s, LayoutStep)]
    dims += (
        [lp.extent for lp, _ in loops(func.body)] + [c.expr for c in func.constraints] + [d for _, d in func.aliases]
    )
    for b, _ in blocks(func.body):
        dims += [it.extent for it in b.iters]
        for form in _forms(b):
            dims += [form.const, *(x for d, c in form.terms for x in (c, d.lower, d.extent) if x is not None)]
    unknown = {h for d in dims for h in holes_of(d)} - set(known)
    if unknown:
        raise InputError("verify.hole", "The nest uses holes that the function does not declare.", sorted(unknown))
    retired = {n for n, _ in func.aliases} & set(known)
    if retired:
        raise InputError("verify.hole", "A hole that was replaced is still open.", sorted(retired))


def _forms(b: Block) -> list[Affine]:
    out = [*b.binds, *b.index, *(g.form for g in b.guard)]
    for e in (b.value, b.init):
        if e is not None:
            out += all_index_forms(e)
    return out


def _names(func: Func) -> None:
    _unique("loops", [lp.name for lp, _ in loops(func.body)])
    _unique("blocks", [b.name for b, _ in blocks(func.body)])
    _unique("buffers", [b.name for b in func.buffers])
    for b in func.buffers:
        if b.role not in get_args(Role):
            raise _fail("role", f"Buffer {b.name!r} has the unknown role {b.role!r}.", (b.name,))
        try:
            np.dtype(b.dtype)
        except TypeError:
            raise _fail("dtype", f"Buffer {b.name!r} has the unknown dtype {b.dtype!r}.", (b.name,)) from None
        if any(not nonneg(d - 1, func.relations) for d in b.shape):
            raise _fail("shape", f"Buffer {b.name!r} has a dimension that is not positive.", (b.name,))
        _memory(func, b)


def _memory(func: Func, b: Buffer) -> None:
    """Scope and padding of a buffer: of a temporary only, and no thread misses what another one has written."""
    if b.scope not in get_args(Scope):
        raise _fail("scope", f"Buffer {b.name!r} has the unknown scope {b.scope!r}.", (b.name,))
    if b.role != "temp" and (b.scope != "auto" or b.align):
        raise _fail("scope", f"Buffer {b.name!r} is no temporary; the caller decides where it lies.", (b.name,))
    dims = [a.dim for a in b.align]
    good = all(0 <= a.dim < len(b.shape) - 1 and a.factor >= 1 and 0 <= a.offset < a.factor for a in b.align)
    if not good or len(set(dims)) < len(dims):
        raise _fail("align", f"The padding of buffer {b.name!r} is not well-formed.", (b.name,))
    lp = shared_by(func, b.name) if b.scope in ("local", "shared") else None
    if lp is not None:
        raise _fail("scope", f"Iterations of {lp.name!r} share {b.name!r}, which is {b.scope}.", (b.name, lp.name))


def _unique(what: str, names: Sequence[str]) -> None:
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise _fail("name", f"Two {what} are called {twice[0]!r}.", twice)


def _loop(func: Func, lp: For, path: tuple[For, ...]) -> None:
    if lp.kind not in get_args(LoopKind):
        raise _fail("kind", f"Loop {lp.name!r} has the unknown kind {lp.kind!r}.", (lp.name,))
    if lp.kind in BOUND_KINDS - {"vthread"} and any(up.kind == lp.kind for up in path):
        raise _fail("kind", f"Loop {lp.name!r} is bound to {lp.kind}, and so is a loop around it.", (lp.name,))
    keys = [k for k, _ in lp.notes]
    if len(set(keys)) < len(keys):
        raise _fail("note", f"Loop {lp.name!r} has two notes of one key.", (lp.name,))
    if not nonneg(lp.extent - 1, func.relations):
        raise _fail("extent", f"Loop {lp.name!r} may run {lp.extent} times, which is not positive.", (lp.name,))
    if not lp.body:
        raise _fail("empty", f"Loop {lp.name!r} has no body.", (lp.name,))


def _block_shape(func: Func, b: Block, path: tuple[For, ...]) -> None:
    """Ranks, operators and names of one block."""
    axes = [it.name for it in b.iters]
    _unique(f"axes of block {b.name!r}", axes)
    if len(b.binds) != len(b.iters) or any(it.kind not in ("S", "R") for it in b.iters):
        raise _fail("axis", f"Block {b.name!r} does not bind every axis, or an axis is of no known kind.", (b.name,))
    unbound = {v for x in b.binds for v in x.vars} - {lp.name for lp in path}
    if unbound:
        raise _fail(
            "unbound", f"Block {b.name!r} uses {min(unbound)!r}, which is no loop around it.", (b.name, min(unbound))
        )
    exprs = [b.value] + ([b.init] if b.init is not None else [])
    inner = {v for form in (f for e in exprs for f in all_index_forms(e)) for v in form.vars}
    inner |= {v for x in b.index for v in x.vars} | {v for g in b.guard for v in g.form.vars}
    if inner - set(axes):
        raise _fail(
            "unbound", f"Block {b.name!r} uses {min(inner - set(axes))!r}, which is none of its axes.", (b.name,)
        )
    for ld in [Load(b.buffer, b.index), *(x for e in exprs for x in loads(e))]:
        if len(ld.index) != len(func.buffer(ld.buffer).shape):
            raise _fail(
                "rank", f"Block {b.name!r} indexes {ld.buffer!r} with {len(ld.index)} forms.", (b.name, ld.buffer)
            )
    if func.buffer(b.buffer).role in ("input", "const"):
        raise _fail("role", f"Block {b.name!r} writes the input {b.buffer!r}.", (b.name, b.buffer))
    for e in exprs:
        _operators(b, e)
    _reduction_form(b)


def _operators(b: Block, e: Expr) -> None:
    match e:
        case Unary(op, a):
            good, parts = op in UNARY_OPS, [a]
        case Binary(op, x, y):
            good, parts = op in BINARY_OPS, [x, y]
        case Select(_, x, y):
            good, parts = True, [x, y]
        case Where(c, x, y):
            good, parts = True, [c, x, y]
        case Cast(_, a):
            good, parts = True, [a]
        case Const() | Load() | Index():
            return
    if not good:
        raise _fail("operator", f"Block {b.name!r} uses an unknown operator.", (b.name,))
    for p in parts:
        _operators(b, p)


def _reduction_form(b: Block) -> None:
    """A block with an init accumulates ``own op term``; one without has no reduction axes and does not read itself."""
    own = b.own_load()
    if b.init is None:
        if any(it.kind == "R" for it in b.iters):
            raise _fail("reduction", f"Block {b.name!r} has a reduction axis but no initial value.", (b.name,))
        return
    ok = isinstance(b.value, Binary) and b.value.op in REDUCE_OPS and b.value.a == own
    parts = (b.value.b,) if b.resumes else (b.init, b.value.b)  # type: ignore[union-attr]
    if not ok or any(ld.buffer == b.buffer for e in parts for ld in loads(e)):
        raise _fail(
            "reduction",
            f"Block {b.name!r} has an initial value but does not accumulate onto its own element.",
            (b.name,),
        )
    reduced = {it.name for it in b.iters if it.kind == "R"}
    if reduced & {v for x in b.index for v in x.vars}:
        raise _fail("reduction", f"Block {b.name!r} writes to an index that moves with a reduction axis.", (b.name,))


def _axes(func: Func, b: Block, path: tuple[For, ...]) -> None:
    """Every axis stays within its extent, or a guard keeps it there."""
    extents = {lp.name: lp.extent for lp in path}
    for it, bind in zip(b.iters, b.binds, strict=True):
        whole = interval(bind, extents, (), func.relations)
        kept = interval(Affine.var(it.name), {}, b.guard, func.relations)
        both = Interval(whole.lows + kept.lows, whole.highs + kept.highs)
        if not within(both, it.extent, func.relations):
            raise _fail(
                "axis_range",
                f"Axis {it.name!r} of block {b.name!r} runs over {bind}, which is not within [0, {it.extent}).",
                (b.name, it.name),
            )


def _indices(func: Func, b: Block) -> None:
    """Every load and store stays within its buffer."""
    extents = {it.name: it.extent for it in b.iters}
    _accesses(func, b, Load(b.buffer, b.index), extents, b.guard)
    _accesses(func, b, b.value, extents, b.guard)
    if b.init is not None:
        _accesses(func, b, b.init, extents, b.guard)


def _accesses(func: Func, b: Block, e: Expr, extents: Mapping[str, Dim], known: tuple[Bound, ...]) -> None:
    match e:
        case Load(name, index):
            for dim, (x, n) in enumerate(zip(index, func.buffer(name).shape, strict=True)):
                if not within(interval(x, extents, known, func.relations), n, func.relations):
                    raise _fail(
                        "index_range",
                        f"Block {b.name!r} reads or writes {name!r} at {x} in dimension {dim}, "
                        f"which is not proved to be within [0, {n}).",
                        (b.name, name),
                    )
        case Select(conds, a, other):
            _accesses(func, b, a, extents, known + conds)
            _accesses(func, b, other, extents, known)
        case Unary(_, a) | Cast(_, a):
            _accesses(func, b, a, extents, known)
        case Binary(_, a, c):
            _accesses(func, b, a, extents, known)
            _accesses(func, b, c, extents, known)
        case Where(cond, a, c):
            for part in (cond, a, c):
                _accesses(func, b, part, extents, known)
        case _:
            pass


def _coverage(func: Func, b: Block, path: tuple[For, ...]) -> None:
    """Reduction axes take every value once per element; the axes of an output buffer cover it once."""
    extents = {lp.name: lp.extent for lp in path}
    users: dict[Digit, int] = {}
    for bind in b.binds:
        for d, _ in bind.terms:
            users[d] = users.get(d, 0) + 1
    shared = sorted(d.var for d, n in users.items() if n > 1 and not equal(digit_extent(d, extents), 1, func.relations))
    strict = func.buffer(b.buffer).role == "output"
    if shared and (strict or b.is_reduction):
        raise _fail("coverage", f"Loop {shared[0]!r} drives two axes of block {b.name!r}.", (b.name, shared[0]))
    for it, bind in zip(b.iters, b.binds, strict=True):
        whole = bind.const == 0 and injective(bind, extents, func.relations) == it.extent
        if (it.kind == "R" or strict) and not whole and not _covers(func, b, it.name, it.extent, bind, extents):
            raise _fail(
                "coverage",
                f"{bind} does not take every value of axis {it.name!r} of block {b.name!r} exactly once.",
                (b.name, it.name),
            )
    if b.is_reduction:
        _whole_digits(func, b, extents)
        _accumulates_once(func, b, path)
    if strict:
        _repeats(func, b, path, "coverage")


def _covers(func: Func, b: Block, axis: str, extent: Dim, bind: Affine, extents: Mapping[str, Dim]) -> bool:
    """Exactly-once cover up to the relations, or an over-approximation that a guard on the axis cuts to size."""
    total = injective(bind, extents, func.relations)
    if total is None or bind.const != 0:
        return False
    if equal(total, extent, func.relations):
        return True
    guarded = any(g.form.single_var() == axis for g in b.guard)
    return guarded and bool(nonneg(total - extent, func.relations))


def _whole_digits(func: Func, b: Block, extents: Mapping[str, Dim]) -> None:
    """The digits of a loop that drives a reduction make up the whole loop: no part of it repeats the reduction."""
    for name in _loops_of(b, "R"):
        digits = {d for bind in b.binds for d, _ in bind.terms if d.var == name}
        count = normal(product(digit_extent(d, extents) for d in digits), func.relations)
        if not equal(count, extents[name], func.relations):
            raise _fail(
                "reduction", f"Part of loop {name!r} repeats the reduction of block {b.name!r}.", (b.name, name)
            )


def _accumulates_once(func: Func, b: Block, path: tuple[For, ...]) -> None:
    """No loop inside the outermost reduction loop visits an element of the output twice."""
    reducing = _loops_of(b, "R")
    inside = False
    tail: list[For] = []
    for lp in path:
        inside = inside or (lp.name in reducing and not equal(lp.extent, 1, func.relations))
        if inside:
            tail.append(lp)
    _repeats(func, b, tuple(tail), "reduction")
    names = {lp.name: lp.extent for lp in tail}
    for it, bind in zip(b.iters, b.binds, strict=True):
        part = Affine(tuple((d, c) for d, c in bind.terms if d.var in names))
        if it.kind == "S" and part.terms and overlaps(part, names, func.relations):
            raise _fail(
                "reduction",
                f"Inside its reduction, block {b.name!r} visits the same value of {it.name!r} twice.",
                (b.name, it.name),
            )


def _repeats(func: Func, b: Block, path: tuple[For, ...], code: str) -> None:
    used = {v for bind in b.binds for v in bind.vars}
    for lp in path:
        if lp.name not in used and not equal(lp.extent, 1, func.relations):
            raise _fail(
                code, f"Loop {lp.name!r} repeats block {b.name!r} without moving any of its axes.", (b.name, lp.name)
            )


def _loops_of(b: Block, kind: str) -> set[str]:
    return {v for it, bind in zip(b.iters, b.binds, strict=True) if it.kind == kind for v in bind.vars}


def _kinds(func: Func, b: Block, path: tuple[For, ...]) -> None:
    """A loop whose iterations run at once carries no reduction and does not repeat stores that others see."""
    reducing, spatial = _loops_of(b, "R"), _loops_of(b, "S")
    for lp in path:
        if equal(lp.extent, 1, func.relations):
            continue
        if lp.name in reducing & spatial:
            raise _fail("kind", f"Loop {lp.name!r} drives both kinds of axes of block {b.name!r}.", (lp.name, b.name))
        if lp.kind not in UNORDERED_KINDS:
            continue
        where = (lp.name, b.name)
        if lp.name in reducing:
            raise _fail("kind", f"Loop {lp.name!r} is {lp.kind}, but block {b.name!r} reduces over it.", where)
        if lp.name not in spatial and _seen_outside(func, b.buffer, lp.name):
            raise _fail("kind", f"Loop {lp.name!r} is {lp.kind}, but block {b.name!r} stores the same in each.", where)


def _seen_outside(func: Func, buffer: str, loop: str) -> bool:
    """Whether a block outside of the loop uses the buffer, or the caller does."""
    if func.buffer(buffer).role != "temp":
        return True
    for b, path in blocks(func.body):
        used = any(a.buffer == buffer for a in accesses(b))
        if used and all(lp.name != loop for lp in path):
            return True
    return False


def _order(func: Func) -> None:
    """Everything is produced before it is read, and every output is produced at all."""
    writers: dict[str, list[str]] = {}
    for b, _ in blocks(func.body):
        writers.setdefault(b.buffer, []).append(b.name)
    done: set[str] = set()
    for b, _ in blocks(func.body):
        exprs = [b.value] + ([b.init] if b.init is not None else [])
        for name in {ld.buffer for e in exprs for ld in loads(e)} - {b.buffer}:
            missing = [w for w in writers.get(name, []) if w not in done]
            if func.buffer(name).role in ("temp", "output") and (missing or name not in writers):
                raise _fail("order", f"Block {b.name!r} reads {name!r} before it is complete.", (b.name, *missing))
        rereads = b.resumes or (b.init is None and any(ld.buffer == b.buffer for ld in loads(b.value)))
        if rereads and writers[b.buffer][0] == b.name:
            raise _fail("order", f"Block {b.name!r} reads {b.buffer!r} before anything is stored there.", (b.name,))
        done.add(b.name)
    for buffer in func.outputs:
        if buffer.name not in writers:
            raise _fail("output", f"Nothing writes the output {buffer.name!r}.", (buffer.name,))
