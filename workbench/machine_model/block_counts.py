"""Physical quantities of every block of a nest, for all rows of a population: what a core would issue and move.

These are counts, not times: vector instructions of the straight-line body, loads, accumulators, cache traffic,
parallel shares. `cycle_estimate` turns them into an estimate of time, `features` into columns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.codegen.lowering import task_limit
from workbench.machine_model.batched_values import Array, Level, Levels, column
from workbench.machine_model.cache_traffic import Traffic, total, traffic
from workbench.machine_model.constants import LATENCY
from workbench.machine_model.footprint import Evaluate, Footprint, footprint
from workbench.machine_model.machine_parameters import Machine
from workbench.machine_model.nest_summary import AccessPlan, BlockPlan

#: Loops that are straight-line code.
STRAIGHT = ("unroll", "vectorize", "intrin")


@dataclass(slots=True)
class BlockFacts:
    """One block; every field is an array [N].

    The *body* is the straight-line code inside the innermost serial loop: the unrolled and vectorised loops. The
    *tile* is what stays in registers while the reduction loops around the body run; it is visited `visits` times.
    `again` are loads that several steps of a sum share, but for which no register is left meanwhile.
    """

    plan: BlockPlan
    points: Array
    bodies: Array
    body_points: Array
    vector: Array
    vectors: Array
    arithmetic: Array
    fma: Array
    contiguous: Array
    broadcast: Array
    strided: Array
    hoisted: Array
    again: Array
    stores: Array
    guards: Array
    lane_guards: Array
    accumulators: Array
    visits: Array
    reloads: Array
    chain: Array
    apart: Array
    registers: Array
    inner_trips: Array
    tasks: Array
    share: Array
    ahead: Array
    outer: Array
    traffic: Traffic
    prints: list[Footprint]
    body_level: Level
    tile_working: Array
    lanes: int


def block_facts(b: BlockPlan, value: Evaluate, n: int, machine: Machine) -> BlockFacts:
    """Evaluate the facts of one block for `n` rows; `value` evaluates a `Dim`."""
    nest = _Nest(b, value, n)
    lanes = max(1, 4 * machine.lanes // b.itemsize)
    # Loads that differ by a constant only (a stencil's, a transform's) have one footprint.
    known = [footprint(b.accesses[k], nest.depth, value, n, machine.line) for k in b.distinct]
    prints = [known[k] for k in b.same]
    body = nest.at(_body_level(nest))
    vector = nest.vector
    pieces = vector_pieces(vector, lanes)
    bodies = body.pick(nest.outer)
    points = nest.outer[-1].copy()
    body_points = points / bodies
    vectors = body_points / vector * pieces
    tile, first = _tile_levels(nest)
    loads = _loads(nest, known, body, vector, pieces)
    again = _ZERO
    write, acc_vectors, none = prints[0], np.zeros(n, np.float32), np.zeros(n, np.float32)
    visits, reloads, stores, chain, apart = none, none, none, none, none
    own = _store_vectors(nest, b.accesses[0], write, body, vector, pieces)
    if b.is_reduction:
        # Where no reduction loop runs more than once, the tile is the body, and nothing is ever reloaded.
        never = first == nest.depth
        tile = np.where(never, body.level, tile)
        promoted = never | (tile < nest.depth)
        at = nest.at(np.where(promoted, tile, body.level))
        acc_vectors = np.where(promoted, _store_vectors(nest, b.accesses[0], write, at, vector, pieces), own)
        visits = at.pick(nest.outer)
        reloads = np.where(promoted & (tile <= first), _ZERO, _ONE)
        chain = np.where(own > 0, vectors / np.maximum(own, 1.0), _ONE)
        apart = _apart(nest, body, bodies) if (visits >= bodies).any() else none
        if (chain > 1.0).any():
            again = _loaded_again(nest, known, body, chain, pieces, machine.registers - 1.0 - acc_vectors)
    else:
        stores = own
    kept = nest.at(np.where(tile < nest.depth, tile, body.level))
    moving = traffic(b, known, nest.outer, kept if b.is_reduction else None, machine)
    tasks, share = _parallel(nest, machine)
    tile_working = total([kept.pick(fp.bytes) for fp in known], b.same)
    regs = acc_vectors + np.minimum(loads[0], vector / lanes) + 1.0
    facts = BlockFacts(
        b, points, bodies, body_points, vector, vectors, vectors * b.ops, vectors * b.fma, *loads,
        nest.full(again), stores, *_guards(nest, body.level, lanes), acc_vectors, visits, reloads, chain, apart, regs,
        _inner_trips(nest, body.level), tasks, share, _ahead(nest), points, moving, prints, body, tile_working, lanes,
    )  # fmt: skip
    return facts if b.intrinsic is None else _called(facts, kept, machine.line)


def _ahead(nest: _Nest) -> Array:
    """Iterations that loops fetch ahead; one that runs once has nothing to fetch."""
    noted = zip(nest.plan.loops, nest.runs, strict=True)
    return nest.full(sum((runs * np.float32(lp.ahead) for lp, runs in noted if lp.ahead), np.zeros(1, np.float32)))


class _Nest:
    """The loops around a block, evaluated.

    Attributes
    ----------
    extents, runs : list of array [1] or [N]
        Extent of every loop, and whether it runs more than once.
    outer : array [D + 1, N]
        Iterations of all loops outside of a level.
    vector : array [N]
        Extent of the vectorised loop.
    lane : int or None
        Position of the vectorised loop.
    """

    def __init__(self, b: BlockPlan, value: Evaluate, n: int) -> None:
        self.plan, self.n, self.depth = b, n, len(b.loops)
        self.extents = [column(value(lp.extent)) for lp in b.loops]
        self.runs = [e > 1.0 for e in self.extents]
        self.outer = np.ones((self.depth + 1, n), np.float32)
        for k, e in enumerate(self.extents):
            np.multiply(self.outer[k], e, out=self.outer[k + 1])
        self.lane = next((k for k, lp in enumerate(b.loops) if lp.kind == "vectorize"), None)
        self.vector = self.full(_ONE if self.lane is None else self.extents[self.lane])

    def full(self, x: Array) -> Array:
        """Array [1] or [N] as [N]."""
        return x if len(x) == self.n else np.broadcast_to(x, (self.n,))

    def at(self, level: Levels) -> Level:
        """Pick rows of a level ``[1]`` or ``[N]``."""
        return Level(level if len(level) == self.n else np.broadcast_to(level, (self.n,)))

    def levels(self, level: int) -> Levels:
        """The same level for all rows."""
        return np.full(1, level, np.intp)


class _Reuse:
    """What the loop just outside of a level does: its extent where it does not move an access, else 1.

    Levels are outermost ones (of a body, of what fits a cache), so that loop runs more than once.
    """

    def __init__(self, nest: _Nest, level: Level) -> None:
        self._loop = np.maximum(level.level - 1, 0)
        self._extent: Array = level.pick(nest.outer) / Level(self._loop).pick(nest.outer)

    def again(self, fp: Footprint) -> Array:
        """Array [N]."""
        moves = np.array(fp.moves)[self._loop]
        return np.where(moves, _ONE, self._extent)


_ZERO, _ONE = np.zeros(1, np.float32), np.ones(1, np.float32)


def _called(f: BlockFacts, tile: Level, line: float) -> BlockFacts:
    """Facts of a block that an intrinsic computes: calls take the place of vectors, and lines that of their loads."""
    intrinsic = f.plan.intrinsic
    assert intrinsic is not None
    kinds = {it.name: it.kind for it in intrinsic.block.iters}
    sizes = {lp.name: int(lp.extent) for lp in intrinsic.chain if isinstance(lp.extent, int)}
    calls: Array = f.body_points / np.float32(math.prod(sizes.values()))
    results = math.prod(n for name, n in sizes.items() if kinds[name] == "S")
    bytes_ = [f.body_level.pick(fp.elements) * a.itemsize for fp, a in zip(f.prints, f.plan.accesses, strict=True)]
    held = tile.pick(f.prints[0].elements) * f.plan.accesses[0].itemsize
    chains: Array = f.body_level.pick(f.prints[0].elements) / np.float32(results)
    none: Array = np.zeros_like(calls)
    vector: Array = none + f.lanes
    fma: Array = 2.0 * intrinsic.cycles * calls
    chain: Array = np.float32(intrinsic.latency / LATENCY) * calls / chains
    return replace(
        f, vector=vector, vectors=calls, fma=fma, arithmetic=none,
        contiguous=np.sum(bytes_[1:], axis=0) / line, broadcast=none, strided=none, hoisted=none,
        accumulators=held / line, registers=none, chain=chain,
    )  # fmt: skip


def vector_pieces(extent: Array, lanes: int) -> Array:
    """Vector instructions that one operation over `extent` values takes: whole registers, and one for the rest."""
    result: Array = np.ceil(extent / lanes)
    return result


def _body_level(nest: _Nest) -> Levels:
    """First level inside which every loop is unrolled, vectorised or runs once."""
    level = nest.levels(nest.depth)
    alive = np.ones(1, bool)
    for k in range(nest.depth - 1, -1, -1):
        if nest.plan.loops[k].kind not in STRAIGHT:
            alive = alive & ~nest.runs[k]
            if not alive.any():
                break
        level = np.where(alive, k, level)
    return level


def _tile_levels(nest: _Nest) -> tuple[Levels, Levels]:
    """Level of the outermost reduction loop that keeps its tile in registers (depth if none), and of the first
    reduction loop.
    """
    tile, first = nest.levels(nest.depth), nest.levels(nest.depth)
    alive = np.ones(1, bool)
    for k in range(nest.depth - 1, -1, -1):
        if nest.plan.loops[k].reduces:
            tile = np.where(alive & nest.runs[k], k, tile)
            first = np.where(nest.runs[k], k, first)
        elif nest.plan.loops[k].kind not in STRAIGHT:
            alive = alive & ~nest.runs[k]
    return tile, first


def _loads(
    nest: _Nest, known: Sequence[Footprint], body: Level, vector: Array, pieces: Array
) -> tuple[Array, Array, Array, Array]:
    """Loads of one body: whole vectors, broadcasts, strided elements; and those that leave the innermost loop."""
    out = [np.zeros(nest.n, np.float32) for _ in range(4)]
    reads = nest.plan.same[1:]
    reuse, wide = _Reuse(nest, body), vector > 1.0
    counts: dict[int, list[Array]] = {}
    for k in dict.fromkeys(reads):
        fp = known[k]
        touched = body.pick(fp.elements)
        stays = reuse.again(fp) > 1.0
        step = np.where(wide, np.abs(_ZERO if nest.lane is None else fp.stride[nest.lane]), _ZERO)
        one = np.where(step == 1.0, touched / vector * pieces, touched)
        leaves = np.where(stays, _ZERO, one)
        counts[k] = [leaves * (step == 1.0), leaves * (step == 0.0), leaves * (step > 1.0), one - leaves]
    for k in reads:
        for found, count in zip(out, counts[k], strict=True):
            found += count
    return out[0], out[1], out[2], out[3]


def _loaded_again(
    nest: _Nest, known: Sequence[Footprint], body: Level, chain: Array, pieces: Array, left: Array
) -> Array:
    """Loads that the steps of an unrolled sum share, as those of a stencil do, and for which no register is `left`.

    A step needs what its results are made of; what later ones take over has to stay until then.
    """
    shared, held = np.zeros(nest.n, np.float32), np.zeros(nest.n, np.float32)
    for k in dict.fromkeys(nest.plan.same[1:]):
        fp = known[k]
        step: Array = np.ones(nest.n, np.float32)
        for d, (lp, extent) in enumerate(zip(nest.plan.loops, nest.extents, strict=True)):
            if fp.moves[d] and not lp.reduces and d != nest.lane:
                step = step * np.where(d >= body.level, extent, _ONE)
        beside = nest.lane is not None and fp.moves[nest.lane]
        in_order = beside and np.abs(fp.stride[nest.lane]) == 1.0  # type: ignore[index]  # there is one
        registers = np.where(in_order, pieces / nest.vector, _ONE)
        touched = body.pick(fp.elements) * registers
        if beside:
            step = step * np.where(in_order, pieces, nest.vector).astype(np.float32)
        saved: Array = np.maximum(np.float32(0.0), chain * step - touched)
        shared += saved
        stay = np.maximum(step, _until_shared(nest, fp, body) * registers)
        held += np.where(saved > 0.0, stay, _ZERO)
    lost = np.clip(1.0 - left / np.maximum(held, 1.0), 0.0, 1.0)
    return (shared * lost).astype(np.float32)


def _until_shared(nest: _Nest, fp: Footprint, body: Level) -> Array:
    """Different elements that an unrolled sum reads until a later step reads one of them again: those below the
    outermost of its loops that shares some with an unrolled loop of results.
    """
    found = np.zeros(nest.n, np.float32)
    loops = list(enumerate(zip(nest.plan.loops, nest.extents, strict=True)))
    results = [d for d, (lp, _) in loops if fp.moves[d] and not lp.reduces and d != nest.lane]
    for r, (lp, extent) in reversed(loops):
        for d in results if lp.reduces else ():
            near, far = np.abs(fp.stride[d]), np.abs(fp.stride[r])
            meets = (far > 0.0) & (far < nest.extents[d] * near)
            inside = (r >= body.level) & (d >= body.level) & (extent > 1.0)
            found = np.where(inside & meets, fp.elements[r + 1], found)
    return found.astype(np.float32)


def _store_vectors(nest: _Nest, acc: AccessPlan, fp: Footprint, level: Level, vector: Array, pieces: Array) -> Array:
    """Registers that the written elements below `level` fill; element by element where they are not contiguous."""
    touched = level.pick(fp.elements)
    if nest.lane is None or nest.lane not in acc.loops:
        return touched
    result: Array = np.where(np.abs(fp.stride[nest.lane]) == 1.0, touched / vector * pieces, touched)
    return result


def _apart(nest: _Nest, body: Level, bodies: Array) -> Array:
    """Bodies from one update of an element to the next one, by the innermost serial loop that reduces; 0 without it."""
    level = nest.levels(0)
    for k, lp in enumerate(nest.plan.loops):
        if lp.reduces:
            level = np.where(nest.runs[k] & (k < body.level), k + 1, level)
    result: Array = np.where(level > 0, bodies / nest.at(level).pick(nest.outer), _ZERO)
    return result


def _parallel(nest: _Nest, machine: Machine) -> tuple[Array, Array]:
    """Number of parallel tasks, and the share of the work that the busiest thread gets."""
    tasks = _ONE
    for lp, e in zip(nest.plan.loops, nest.extents, strict=True):
        if lp.kind == "parallel":
            tasks = tasks * e
    chunks = np.minimum(tasks, float(task_limit(machine.threads)))
    share = np.minimum(1.0, np.ceil(chunks / machine.threads) * np.ceil(tasks / chunks) / tasks)
    return nest.full(tasks), nest.full(share)


def _guards(nest: _Nest, body: Levels, lanes: int) -> tuple[Array, Array]:
    """How often index conditions are tested in all, and how often to make the mask of a vector whose lanes disagree."""
    tests, masks = np.zeros(nest.n, np.float32), np.zeros(nest.n, np.float32)
    for loops, several in Counter(nest.plan.guards).items():
        times = several * _tested(nest, loops, body, lanes)
        tests = tests + times
        if any(nest.plan.loops[k].kind == "vectorize" for k in loops):
            masks = masks + times
    return nest.full(tests), nest.full(masks)


def _tested(nest: _Nest, loops: frozenset[int], body: Levels, lanes: int) -> Array:
    """How often a condition is tested that depends on some loops.

    Outside of the innermost serial loop that it depends on, every loop repeats it. Where it depends on none that runs,
    it is decided while code is generated.
    """
    inside, tests = np.zeros(1, bool), np.ones(1, np.float32)
    for k in range(nest.depth - 1, -1, -1):
        extent = nest.extents[k]
        inside = inside | ((k < body) & (k in loops) & nest.runs[k])
        masked = nest.plan.loops[k].kind == "vectorize" and k in loops
        repeats = vector_pieces(extent, lanes) if masked else extent
        tests = tests * np.where(inside | (k in loops), repeats, _ONE)
    return (tests * inside).astype(np.float32)


def _inner_trips(nest: _Nest, body: Levels) -> Array:
    """Iterations of the innermost serial loop that runs more than once."""
    trips = _ONE
    for k, (extent, runs) in enumerate(zip(nest.extents, nest.runs, strict=True)):
        trips = np.where(runs & (k < body), extent, trips)
    return nest.full(trips)
