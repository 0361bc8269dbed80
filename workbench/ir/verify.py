"""Check that a function means what it says: names, ranges, order of producers and consumers, coverage, loop kinds.

`verify` knows nothing about schedules. It runs after every primitive in the tests, so that a wrong rewrite is found
where it happens. On a nest with holes every question is asked for all fillings at once; what cannot be proved counts
as wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from workbench.ir.affine import Affine, Digit, digit_extent, injective
from workbench.ir.expr import Bound, Expr, Load, Select, children, loads
from workbench.ir.func import Func
from workbench.ir.interval import Interval, interval, overlaps, within
from workbench.ir.poly import Dim, equal, nonneg, normal, product
from workbench.ir.stmt import UNORDERED_KINDS, Block, For, accesses, blocks, combined
from workbench.ir.wellformed import check, fail


def verify(func: Func, intrinsics: Collection[str] | None = None) -> None:
    """Check a function, with or without holes.

    Parameters
    ----------
    func : Func
    intrinsics : collection of str, optional
        Names that loops may carry (``workbench.intrinsics.registry.names``); any by default.

    Raises
    ------
    ScheduleError
        Code "verify.*": the nest is not well-formed, an index may leave its buffer, an element is read before it is
        produced, a domain is not covered exactly, or a loop cannot have its kind.
    InputError
        Code "verify.hole" or "verify.relation": the holes do not fit together.
    """
    check(func, intrinsics)
    for b, path in blocks(func.body):
        _axes(func, b, path)
        _indices(func, b)
        _coverage(func, b, path)
        _kinds(func, b, path)
    _order(func)


def _axes(func: Func, b: Block, path: tuple[For, ...]) -> None:
    """Every axis stays within its extent, or a guard keeps it there."""
    extents = {lp.name: lp.extent for lp in path}
    for it, bind in zip(b.iters, b.binds, strict=True):
        whole = interval(bind, extents, (), func.relations)
        kept = interval(Affine.var(it.name), {}, b.guard, func.relations)
        both = Interval(whole.lows + kept.lows, whole.highs + kept.highs)
        if not within(both, it.extent, func.relations):
            raise fail(
                "axis_range",
                f"Axis {it.name!r} of block {b.name!r} runs over {bind}, which is not within [0, {it.extent}).",
                (b.name, it.name),
            )


def _indices(func: Func, b: Block) -> None:
    """Every load and store stays within its buffer."""
    extents = {it.name: it.extent for it in b.iters}
    for e in (b.own_load(), *b.exprs):
        _accesses(func, b, e, extents, b.guard)


def _accesses(func: Func, b: Block, e: Expr, extents: Mapping[str, Dim], known: tuple[Bound, ...]) -> None:
    for k, part in enumerate(children(e)):
        _accesses(func, b, part, extents, known + e.conds if isinstance(e, Select) and k == 0 else known)
    if not isinstance(e, Load):
        return
    for dim, (x, n) in enumerate(zip(e.index, func.buffer(e.buffer).shape, strict=True)):
        if not within(interval(x, extents, known, func.relations), n, func.relations):
            raise fail(
                "index_range",
                f"Block {b.name!r} reads or writes {e.buffer!r} at {x} in dimension {dim}, "
                f"which is not proved to be within [0, {n}).",
                (b.name, e.buffer),
            )


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
        raise fail("coverage", f"Loop {shared[0]!r} drives two axes of block {b.name!r}.", (b.name, shared[0]))
    for it, bind in zip(b.iters, b.binds, strict=True):
        whole = bind.const == 0 and injective(bind, extents, func.relations) == it.extent
        if (it.kind == "R" or strict) and not whole and not _covers(func, b, it.name, it.extent, bind, extents):
            raise fail(
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
    for name in b.driving("R"):
        digits = {d for bind in b.binds for d, _ in bind.terms if d.var == name}
        count = normal(product(digit_extent(d, extents) for d in digits), func.relations)
        if not equal(count, extents[name], func.relations):
            raise fail("reduction", f"Part of loop {name!r} repeats the reduction of block {b.name!r}.", (b.name, name))


def _accumulates_once(func: Func, b: Block, path: tuple[For, ...]) -> None:
    """No loop inside the outermost reduction loop visits an element of the output twice."""
    reducing = b.driving("R")
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
            raise fail(
                "reduction",
                f"Inside its reduction, block {b.name!r} visits the same value of {it.name!r} twice.",
                (b.name, it.name),
            )


def _repeats(func: Func, b: Block, path: tuple[For, ...], code: str) -> None:
    used = {v for bind in b.binds for v in bind.vars}
    for lp in path:
        if lp.name not in used and not equal(lp.extent, 1, func.relations):
            raise fail(
                code, f"Loop {lp.name!r} repeats block {b.name!r} without moving any of its axes.", (b.name, lp.name)
            )


def _kinds(func: Func, b: Block, path: tuple[For, ...]) -> None:
    """A loop whose iterations run at once carries no reduction and does not repeat stores that others see."""
    reducing, spatial = b.driving("R"), b.driving("S")
    for lp in path:
        if equal(lp.extent, 1, func.relations):
            continue
        if lp.name in reducing & spatial:
            raise fail("kind", f"Loop {lp.name!r} drives both kinds of axes of block {b.name!r}.", (lp.name, b.name))
        if lp.kind not in UNORDERED_KINDS:
            continue
        where = (lp.name, b.name)
        if lp.name in reducing and combined(lp) == b:
            continue
        if lp.name in reducing:
            raise fail("kind", f"Loop {lp.name!r} is {lp.kind}, but block {b.name!r} reduces over it.", where)
        if lp.name not in spatial and _seen_outside(func, b.buffer, lp.name):
            raise fail("kind", f"Loop {lp.name!r} is {lp.kind}, but block {b.name!r} stores the same in each.", where)


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
        for name in {ld.buffer for ld in b.loads()} - {b.buffer}:
            missing = [w for w in writers.get(name, []) if w not in done]
            if func.buffer(name).role in ("temp", "output") and (missing or name not in writers):
                raise fail("order", f"Block {b.name!r} reads {name!r} before it is complete.", (b.name, *missing))
        rereads = b.resumes or (b.init is None and any(ld.buffer == b.buffer for ld in loads(b.value)))
        if rereads and writers[b.buffer][0] == b.name:
            raise fail("order", f"Block {b.name!r} reads {b.buffer!r} before anything is stored there.", (b.name,))
        done.add(b.name)
    for buffer in func.outputs:
        if buffer.name not in writers:
            raise fail("output", f"Nothing writes the output {buffer.name!r}.", (buffer.name,))
