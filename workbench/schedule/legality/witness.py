"""Searches for two iterations that a step would bring into conflict.

They are made for a refusal that somebody looks at. What they find is a fact about concrete iterations, whatever the
proof that failed was about; where they find nothing, the step was refused because it could not be proved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ScheduleError
from workbench.ir import Affine, Block, Bound, Expr, For, Func, Load, Select, accesses, blocks
from workbench.ir.expr import children
from workbench.ir.stmt import shared_loops
from workbench.memoize import remembered
from workbench.schedule.hole_domain import Domain
from workbench.schedule.holes import fill
from workbench.schedule.legality.affine_queries import evaluate_form, hold
from workbench.schedule.legality.counterexample_values import effect_of
from workbench.schedule.legality.readers_writers import chain, reduction_loops
from workbench.schedule.refusal import Point, Witness

# How far a search goes, chosen so that it takes milliseconds; a refusal is said without what it does not find.
#: Iterations that are looked at.
LIMIT = 4096
#: Rows of open numbers that are tried.
FILLINGS = 4
#: Pairs of iterations among which one is taken where the order is seen in the result.
PAIRS = 64
#: Iterations of those loops of a writer that decide what it writes.
_ELEMENTS = 1 << 18
_Placed: TypeAlias = tuple[Block, tuple[For, ...]]
_Ints: TypeAlias = NDArray[np.int64]


# --------------------------------------------------------------------------------------------------------- open numbers


def filled(func: Func, find: Callable[[Func], Witness | None]) -> Witness | None:
    """Search in a function without open numbers, or for the first few numbers that may stand there."""
    if not func.holes:
        return find(func)
    for row in _rows(func):
        try:
            concrete = fill(func, row)
        except ScheduleError:
            continue
        witness = find(concrete)
        if witness is not None:
            return replace(witness, filling=tuple(row.items()))
    return None


def _rows(func: Func) -> Iterator[dict[str, int]]:
    """Rows that are legal, those without a 1 first: a loop of one iteration is in conflict with nothing."""
    try:
        domain = Domain.of(func)
    except ScheduleError:
        return
    rows = domain.all_rows(LIMIT)
    ones = (rows == 1).sum(axis=1)
    for k in np.argsort(ones, kind="stable")[:FILLINGS]:
        yield {name: int(v) for name, v in zip(domain.columns, rows[k], strict=True)}


# ---------------------------------------------------------------------------------------------------- one element twice


def _conflict_parts(func: Func, block: Block, path: Sequence[For], loop: str, limit: int = LIMIT) -> tuple[object, ...]:
    """Several steps are refused for the same reason; how loops are marked and what the rest is bound to has no part."""
    given = (func.buffers, func.holes, func.relations, func.constraints, *(b for b, _ in blocks(func.body)))
    around = [x for lp in path for x in (lp.name, lp.extent)]
    return (*given, block, *around, next(lp.name for lp in path if lp.name == loop), limit)


@remembered(64, parts=_conflict_parts)
def conflict(func: Func, block: Block, path: Sequence[For], loop: str, limit: int = LIMIT) -> Witness | None:
    """Search two iterations of `loop` that write one element; None if `limit` points show none."""
    names = [lp.name for lp in path]

    def find(func: Func) -> Witness | None:
        block_, path_ = func.block(block.name)
        if [lp.name for lp in path_] != names:
            return None
        pairs = list(itertools.islice(_meeting(path_, loop, accesses(block_)[0].index, limit), PAIRS))
        witness: Witness | None = None
        terms: dict[Point, float] = {}
        for element, first, second in pairs:
            carried = loop in reduction_loops(block_)
            effect = effect_of(func, block_, first, second, terms) if carried else None
            if witness is None or effect is not None:
                both = (block.name, block.name)
                witness = Witness(block.buffer, element, first, second, "write-write", both, (), effect)
            if effect is not None or not carried:
                break
        return witness

    return filled(func, find)


def twice(func: Func, block: Block, path: Sequence[For], loop: str, limit: int = LIMIT) -> Witness | None:
    """Search two iterations of `loop` in which a reduction takes the same term into the same element."""

    def find(func: Func) -> Witness | None:
        block_, path_ = func.block(block.name)
        if not any(lp.name == loop for lp in path_):
            return None
        index = accesses(block_)[0].index
        for _, first, second in _meeting(path_, loop, block_.binds, limit):
            values = {lp.name: 0 for lp in path_} | dict(first)
            element = tuple(evaluate_form(x, values) for x in index)
            return Witness(block.buffer, element, first, second, "twice", (block.name, block.name))
        return None

    return filled(func, find)


def _meeting(
    path: Sequence[For], loop: str, forms: Sequence[Affine], limit: int
) -> Iterator[tuple[tuple[int, ...], Point, Point]]:
    """Pairs of points of the loops from `loop` inwards, in different iterations of it, with equal values of all forms.

    The loops outside stay at 0.
    """
    inner = chain(path, loop)
    if any(not isinstance(lp.extent, int) for lp in path):
        return
    sizes = [lp.extent for lp in inner if isinstance(lp.extent, int)]
    zero = {lp.name: 0 for lp in path}
    seen: dict[tuple[int, ...], tuple[int, ...]] = {}
    order = itertools.product(*(range(n) for n in reversed(sizes)))  # the loop in question turns fastest
    for point in itertools.islice(order, limit):
        point = point[::-1]
        values = zero | {lp.name: v for lp, v in zip(inner, point, strict=True)}
        met = tuple(evaluate_form(x, values) for x in forms)
        other = seen.setdefault(met, point)
        if other[0] != point[0]:
            first, second = (tuple((lp.name, v) for lp, v in zip(inner, p, strict=True)) for p in (other, point))
            yield met, first, second


# -------------------------------------------------------------------------------------------------- read before written


def early(func: Func, buffer: str, reader: str) -> Witness | None:
    """Search an iteration of block `reader` that reads an element of a buffer before it is complete."""

    def find(func: Func) -> Witness | None:
        read = func.block(reader)
        order = {b.name: k for k, (b, _) in enumerate(blocks(func.body))}
        made = [
            _Writes.of((w, path), read[1], order[w.name] < order[reader])
            for w, path in blocks(func.body)
            if w.buffer == buffer and w.name != reader
        ]
        tables = [w for w in made if w is not None]
        if not tables or len(tables) < len(made):
            return None
        for index, conds in _reads(read[0], buffer):
            witness = _first_early(func, read, index, conds, tables)
            if witness is not None:
                return witness
        return None

    return filled(func, find)


def _first_early(
    func: Func, read: _Placed, index: Sequence[Affine], conds: Sequence[Bound], made: Sequence[_Writes]
) -> Witness | None:
    """The first iteration that reads an element before it is complete, in the order of the program."""
    block, path = read
    points = _sample([lp.extent for lp in path if isinstance(lp.extent, int)])
    values = {lp.name: points[:, k] for k, lp in enumerate(path)}
    env = block.env
    runs = hold(conds, values, env) & np.ones(len(points), np.bool_)
    element = _stack([x.subst(env) for x in index], values, len(points))
    shape = np.array([int(d) for d in func.buffer(made[0].block.buffer).shape if isinstance(d, int)], np.int64)
    runs &= ((element >= 0) & (element < shape)).all(axis=1)
    ready = np.zeros(len(points), np.bool_)
    for w in made:
        ready |= w.complete(element, values)
    late = np.flatnonzero(runs & ~ready)
    if not len(late):
        return None
    k = int(late[0])
    point = {name: int(column[k]) for name, column in values.items()}
    at = tuple(int(v) for v in element[k])
    names, second = made[0].block.name, {}
    for w in made:
        writer_at = w.writing(at, point)
        if writer_at is not None:
            names, second = w.block.name, writer_at
            break
    both = (block.name, names)
    return Witness(made[0].block.buffer, at, tuple(point.items()), tuple(second.items()), "read-before-write", both)


@dataclass(slots=True)
class _Group:
    """Loops of a writer that decide some dimensions of what it writes, with every value that these take."""

    loops: tuple[str, ...]
    dims: tuple[int, ...]
    points: _Ints
    values: _Ints


@dataclass(slots=True)
class _Writes:
    """When a block writes which element of its buffer.

    The loops that it shares with the reader count the time: `weights` makes a number of their values, and of two
    iterations the one with the smaller number comes first. Loops that do not occur in the index repeat what was
    written; the first time is what counts, but for a reduction whose loops (`running`) the reader shares.
    """

    block: Block
    groups: list[_Group]
    free: tuple[str, ...]
    weights: dict[str, int]
    running: dict[str, int]
    before: bool

    @staticmethod
    def of(made: _Placed, around: Sequence[For], before: bool) -> _Writes | None:
        """Look at a writer; None where it writes too much to be looked at, or an extent is open."""
        block, path = made
        extents = {lp.name: lp.extent for lp in path if isinstance(lp.extent, int)}
        if len(extents) < len(path):
            return None
        common = shared_loops(path, around)
        weights, weight = {}, 1
        for lp in reversed(common):
            weights[lp.name] = weight
            weight *= extents[lp.name]
        reducing = reduction_loops(block)
        running = {lp.name: extents[lp.name] for lp in common if lp.name in reducing and extents[lp.name] > 1}
        groups = _groups(block, extents)
        if groups is None:
            return None
        used = {name for g in groups for name in g.loops}
        return _Writes(block, groups, tuple(n for n in extents if n not in used), weights, running, before)

    def complete(self, element: _Ints, values: Mapping[str, _Ints]) -> NDArray[np.bool_]:
        """Whether each element is complete when the reader's iteration of the same row runs."""
        n = len(element)
        now = np.zeros(n, np.int64)
        for name, weight in self.weights.items():
            now += weight * values[name]
        first, there = np.zeros(n, np.int64), np.ones(n, np.bool_)
        for g in self.groups:
            ranks = g.points @ np.array([self.weights.get(name, 0) for name in g.loops], np.int64)
            rank, is_written = _least(g.values, ranks, element[:, list(g.dims)])
            first += rank
            there &= is_written
        written: NDArray[np.bool_] = there & ((first < now) | ((first == now) & self.before))
        # What began in this iteration of the loops that are shared goes on after the reader.
        for name, extent in self.running.items():
            written &= values[name] == extent - 1
        return written

    def writing(self, element: tuple[int, ...], point: Mapping[str, int]) -> dict[str, int] | None:
        """An iteration that writes the element, later than the reader's where there is such a one."""
        out = dict.fromkeys(self.free, 0)
        for g in self.groups:
            hits = np.flatnonzero((g.values == np.array([element[d] for d in g.dims], np.int64)).all(axis=1))
            if not len(hits):
                return None
            out |= {name: int(v) for name, v in zip(g.loops, g.points[hits[0]], strict=True)}
        for name, extent in self.running.items():
            out[name] = min(point[name] + 1, extent - 1)
        return out


def _groups(block: Block, extents: Mapping[str, int]) -> list[_Group] | None:
    """The dimensions of what a block writes, apart where no loop decides two of them."""
    env = block.env
    index = [x.subst(env) for x in block.index]
    guards = [(g.form.subst(env), g) for g in block.guard]
    apart: list[tuple[set[str], set[int]]] = []
    for names, dims in [({*x.vars}, {d}) for d, x in enumerate(index)] + [({*f.vars}, set()) for f, _ in guards]:
        touching = [one for one in apart if one[0] & names]
        apart = [one for one in apart if not one[0] & names]
        apart.append((names.union(*(one[0] for one in touching)), dims.union(*(one[1] for one in touching))))
    out = []
    for names, dims in apart:
        loops = tuple(n for n in extents if n in names)
        if np.prod([extents[n] for n in loops], dtype=np.float64) > _ELEMENTS:
            return None
        points = _grid([np.arange(extents[n]) for n in loops])
        values = {name: points[:, k] for k, name in enumerate(loops)}
        mine = [g for f, g in guards if {*f.vars} <= names]
        points = points[hold(mine, values, env) & np.ones(len(points), np.bool_)]
        values = {name: points[:, k] for k, name in enumerate(loops)}
        at = tuple(sorted(dims))
        out.append(_Group(loops, at, points, _stack([index[d] for d in at], values, len(points))))
    return out


def _least(values: _Ints, ranks: _Ints, wanted: _Ints) -> tuple[_Ints, NDArray[np.bool_]]:
    """The least rank of the rows of `values` that equal each row of `wanted`, and whether there is one."""
    if not values.shape[1]:  # loops that only decide whether the block runs at all
        least = ranks.min(initial=0) if len(ranks) else 0
        return np.full(len(wanted), least), np.full(len(wanted), bool(len(ranks)))
    low = min(int(values.min(initial=0)), int(wanted.min(initial=0)))
    sizes = np.maximum(values.max(axis=0, initial=0), wanted.max(axis=0, initial=0)) - low + 1
    factors = np.concatenate([np.cumprod(sizes[::-1])[::-1][1:], [1]])
    have, want = (values - low) @ factors, (wanted - low) @ factors
    order = np.lexsort((ranks, have))
    have, ranks = have[order], ranks[order]
    at = np.minimum(np.searchsorted(have, want), max(len(have) - 1, 0))
    if not len(have):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    return ranks[at], have[at] == want


def _reads(block: Block, buffer: str) -> Iterator[tuple[tuple[Affine, ...], tuple[Bound, ...]]]:
    """Where a block reads a buffer, with the conditions under which it does; its own accumulator does not count."""
    own = block.own_load() if block.is_reduction else None

    def walk(e: Expr, conds: tuple[Bound, ...]) -> Iterator[tuple[tuple[Affine, ...], tuple[Bound, ...]]]:
        if isinstance(e, Load) and e.buffer == buffer and e != own and not e.at:
            yield e.index, conds
        if isinstance(e, Select):
            yield from walk(e.a, (*conds, *e.conds))  # the other branch is read where they do not all hold
            return
        for child in children(e):
            yield from walk(child, conds)

    for e in block.exprs:
        yield from walk(e, block.guard)


# --------------------------------------------------------------------------------------------------------------- tables


def _sample(extents: Sequence[int]) -> _Ints:
    """All points of some loops in the order of the program, or, where there are too many, those near the ends."""
    for values in (
        [np.arange(n) for n in extents],
        [np.unique(np.clip([0, 1, n - 1], 0, n - 1)) for n in extents],
        [np.unique([0, n - 1]) for n in extents],
    ):
        if np.prod([len(v) for v in values], dtype=np.float64) <= LIMIT:
            return _grid(values)
    few = [v if k >= len(extents) - 12 else v[:1] for k, v in enumerate(values)]
    return _grid(few)


def _grid(values: Sequence[NDArray[Any]]) -> _Ints:
    """All combinations, the last turning fastest: ``[N, len(values)]``."""
    if not values:
        return np.zeros((1, 0), np.int64)
    return np.stack([a.reshape(-1) for a in np.meshgrid(*values, indexing="ij")], axis=1).astype(np.int64)


def _stack(forms: Sequence[Affine], values: Mapping[str, _Ints], n: int) -> _Ints:
    """Values of forms over the loops: ``[n, len(forms)]``."""
    if not forms:
        return np.zeros((n, 0), np.int64)
    return np.stack([np.broadcast_to(evaluate_form(x, values), n) for x in forms], axis=1)
