"""Physical quantities of every block of a nest, for all rows of a population: what a core would issue and move.

These are counts, not times: vector instructions of the straight-line body, loads, accumulators, cache traffic,
parallel shares. `roofline` turns them into an estimate of time, `features` into columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.codegen.lowering import task_limit
from workbench.ir.poly import Dim, evaluate
from workbench.tune.footprint import LINE, Array, Footprint, at_level, footprint
from workbench.tune.machine import Machine
from workbench.tune.nestplan import AccessPlan, BlockPlan, NestPlan

#: Share of a cache that one block may count on.
OCCUPANCY = 0.8
#: Cycles that a link of `BlockFacts.chain` stands for: those of a vector multiply-add.
LATENCY = 4.0
#: Loops that are straight-line code.
STRAIGHT = ("unroll", "vectorize", "intrin")


@dataclass(slots=True)
class BlockFacts:
    """One block; every field is an array [N].

    The *body* is the straight-line code inside the innermost serial loop: the unrolled and vectorised loops. The
    *tile* is what stays in registers while the reduction loops around the body run; it is visited `visits` times.
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
    stores: Array
    guards: Array
    lane_guards: Array
    accumulators: Array
    visits: Array
    reloads: Array
    chain: Array
    registers: Array
    inner_trips: Array
    tasks: Array
    share: Array
    outer: Array
    working: dict[str, Array]
    traffic: dict[str, Array]
    moved: dict[str, list[Array]]
    prints: list[Footprint]
    body_level: NDArray[np.intp]
    tile_working: Array
    lanes: int


def nest_facts(plan: NestPlan, columns: Mapping[str, Any], n: int, machine: Machine) -> list[BlockFacts]:
    """Evaluate the facts of every block.

    Parameters
    ----------
    plan : NestPlan
    columns : mapping of str to array [N]
        Values of the holes; empty for a concrete nest.
    n : int
        Number of rows N.
    machine : Machine
    """
    memo: dict[object, Any] = {}

    def value(d: Dim) -> Any:
        return float(d) if isinstance(d, int) else evaluate(d, columns, memo)

    return [_block_facts(b, value, n, machine) for b in plan.blocks]


def _block_facts(b: BlockPlan, value: Any, n: int, machine: Machine) -> BlockFacts:
    extents = [value(lp.extent) for lp in b.loops]
    depth = len(extents)
    inner, outer = np.ones((depth + 1, n)), np.ones((depth + 1, n))
    for k in range(depth - 1, -1, -1):
        inner[k] = inner[k + 1] * extents[k]
    for k in range(depth):
        outer[k + 1] = outer[k] * extents[k]
    lanes = max(1, 4 * machine.lanes // b.itemsize)
    # Loads that differ by a constant only (a stencil's, a transform's) have one footprint.
    known = {a: footprint(a, extents, [value(s) for s in a.shape], value, n) for a in dict.fromkeys(b.accesses)}
    prints = [known[a] for a in b.accesses]
    body = _body_level(b, extents, n)
    vector = _full(_vector_extent(b, extents), n)
    pieces = vector_pieces(vector, lanes)
    body_points = at_level(inner, body)
    vectors = body_points / vector * pieces
    tile, first = _tile_levels(b, extents, n)
    loads = _loads(b, prints, body, vector, pieces)
    write, acc_vectors = prints[0], np.zeros(n)
    visits, reloads, stores, chain = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    own = _store_vectors(b.accesses[0], write, body, b, vector, pieces)
    if b.is_reduction:
        never = (
            first == depth
        )  # no reduction loop runs more than once: the tile is the body, and nothing is ever reloaded
        tile = np.where(never, body, tile)
        promoted = never | (tile < depth)
        tile_vectors = _store_vectors(b.accesses[0], write, tile, b, vector, pieces)
        acc_vectors = np.where(promoted, tile_vectors, own)
        visits = np.where(promoted, at_level(outer, tile), at_level(outer, body))
        reloads = np.where(promoted & (tile <= first), 0.0, 1.0)
        chain = np.where(own > 0, vectors / np.maximum(own, 1.0), 1.0)
    else:
        stores = own
    traffic, moved, working = _traffic(b, prints, outer, machine)
    tasks, share = _parallel(b, extents, n, machine)
    tile_working = np.sum([at_level(fp.bytes, np.where(tile < depth, tile, body)) for fp in prints], axis=0)
    regs = acc_vectors + np.minimum(loads[0], vector / lanes) + 1.0
    facts = BlockFacts(
        b, inner[0], at_level(outer, body), body_points, vector, vectors, vectors * b.ops, vectors * b.fma, *loads,
        stores, *_guards(b, extents, body, n, lanes), acc_vectors, visits, reloads, chain, regs,
        _inner_trips(b, extents, body, n), tasks, share, outer[-1], working, traffic, moved, prints, body,
        tile_working, lanes,
    )  # fmt: skip
    return facts if b.intrinsic is None else _called(facts, np.where(tile < depth, tile, body))


def _called(f: BlockFacts, tile: NDArray[np.intp]) -> BlockFacts:
    """Facts of a block that an intrinsic computes: calls take the place of vectors, and lines that of their loads."""
    intrinsic = f.plan.intrinsic
    assert intrinsic is not None
    kinds = {it.name: it.kind for it in intrinsic.block.iters}
    sizes = {lp.name: int(lp.extent) for lp in intrinsic.chain if isinstance(lp.extent, int)}
    calls = f.body_points / math.prod(sizes.values())
    results = math.prod(n for name, n in sizes.items() if kinds[name] == "S")
    bytes_ = [at_level(fp.elements, f.body_level) * a.itemsize for fp, a in zip(f.prints, f.plan.accesses, strict=True)]
    held = at_level(f.prints[0].elements, tile) * f.plan.accesses[0].itemsize
    chains = at_level(f.prints[0].elements, f.body_level) / results
    none = np.zeros_like(calls)
    return replace(
        f, vector=none + f.lanes, vectors=calls, fma=2.0 * intrinsic.cycles * calls, arithmetic=none,
        contiguous=np.sum(bytes_[1:], axis=0) / LINE, broadcast=none, strided=none, hoisted=none,
        accumulators=held / LINE, registers=none, chain=intrinsic.latency / LATENCY * calls / chains,
    )  # fmt: skip


def vector_pieces(extent: Array, lanes: int) -> Array:
    """Vector instructions that one operation over `extent` values takes: whole registers, and one for the rest."""
    result: Array = np.ceil(extent / lanes)
    return result


def _full(x: Any, n: int) -> Array:
    out: Array = np.broadcast_to(np.asarray(x, np.float64), (n,))
    return out


def _vector_extent(b: BlockPlan, extents: list[Any]) -> Any:
    return next((e for lp, e in zip(b.loops, extents, strict=True) if lp.kind == "vectorize"), 1.0)


def _body_level(b: BlockPlan, extents: list[Any], n: int) -> NDArray[np.intp]:
    """First level inside which every loop is unrolled, vectorised or runs once."""
    level = np.full(n, len(extents), np.intp)
    alive = np.ones(n, bool)
    for k in range(len(extents) - 1, -1, -1):
        if b.loops[k].kind not in STRAIGHT:
            alive = alive & (np.asarray(extents[k]) == 1.0)
            if not alive.any():
                break
        level = np.where(alive, k, level)
    return level


def _tile_levels(b: BlockPlan, extents: list[Any], n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Level of the outermost reduction loop that keeps its tile in registers (depth if none), and of the first
    reduction loop.
    """
    depth = len(extents)
    tile, first = np.full(n, depth, np.intp), np.full(n, depth, np.intp)
    alive = np.ones(n, bool)
    for k in range(depth - 1, -1, -1):
        runs = np.asarray(extents[k]) > 1.0
        if b.loops[k].reduces:
            tile = np.where(alive & runs, k, tile)
            first = np.where(runs, k, first)
        elif b.loops[k].kind not in STRAIGHT:
            alive = alive & ~runs
    return tile, first


def _loads(
    b: BlockPlan, prints: list[Footprint], body: NDArray[np.intp], vector: Array, pieces: Array
) -> tuple[Array, Array, Array, Array]:
    """Loads of one body: whole vectors, broadcasts, strided elements; and those that leave the innermost loop."""
    n = len(vector)
    out = [np.zeros(n) for _ in range(4)]
    lane = next((k for k, lp in enumerate(b.loops) if lp.kind == "vectorize"), None)
    for fp in prints[1:]:
        touched = at_level(fp.elements, body)
        stays = at_level(fp.again, body) > 1.0
        step = np.abs(_full(0.0 if lane is None else fp.stride[lane], n))
        step = np.where(vector > 1.0, step, 0.0)
        per_vector = touched / vector * pieces
        counts = (
            np.where(step == 1.0, per_vector, 0.0),
            np.where(step == 0.0, touched, 0.0),
            np.where(step > 1.0, touched, 0.0),
        )
        for k, c in enumerate(counts):
            out[k] = out[k] + np.where(stays, 0.0, c)
            out[3] = out[3] + np.where(stays, c, 0.0)
    return out[0], out[1], out[2], out[3]


def _store_vectors(
    acc: AccessPlan, fp: Footprint, level: NDArray[np.intp], b: BlockPlan, vector: Array, pieces: Array
) -> Array:
    """Registers that the written elements below `level` fill; element by element where they are not contiguous."""
    lane = next((k for k, lp in enumerate(b.loops) if lp.kind == "vectorize"), None)
    touched = at_level(fp.elements, level)
    if lane is None or lane not in acc.loops:
        return touched
    contiguous = np.abs(_full(fp.stride[lane], len(touched))) == 1.0
    result: Array = np.where(contiguous, touched / vector * pieces, touched)
    return result


def _traffic(
    b: BlockPlan, prints: list[Footprint], outer: Array, machine: Machine
) -> tuple[dict[str, Array], dict[str, list[Array]], dict[str, Array]]:
    """Bytes that each cache has to fetch from the next one, in all and per access.

    Below the outermost level whose working set fits, everything is fetched once; the loop just outside of it keeps
    what it does not move, because the distance of that reuse is the same working set.
    """
    taken = [np.sum([fp.room[k] for fp in prints], axis=0) for k in range(2)]
    working = np.sum([fp.bytes for fp in prints], axis=0)
    total: dict[str, Array] = {}
    moved: dict[str, list[Array]] = {}
    fitting: dict[str, Array] = {}
    sizes = (("l1", machine.l1, taken[0]), ("l2", machine.l2, taken[1]), ("l3", machine.l3, working))
    for name, size, room in sizes:
        fits = room <= size * OCCUPANCY
        fits[-1] = True
        level = fits.argmax(axis=0)
        times = at_level(outer, level)
        parts = [at_level(fp.bytes, level) * times / at_level(fp.again, level) for fp in prints]
        total[name], moved[name], fitting[name] = np.sum(parts, axis=0), parts, at_level(working, level)
    fitting["all"] = working[0]
    return total, moved, fitting


def _parallel(b: BlockPlan, extents: list[Any], n: int, machine: Machine) -> tuple[Array, Array]:
    """Number of parallel tasks, and the share of the work that the busiest thread gets."""
    tasks: Any = 1.0
    for lp, e in zip(b.loops, extents, strict=True):
        if lp.kind == "parallel":
            tasks = tasks * e
    tasks = _full(tasks, n)
    chunks = np.minimum(tasks, task_limit(machine.threads))
    return tasks, np.minimum(1.0, np.ceil(chunks / machine.threads) * np.ceil(tasks / chunks) / tasks)


def _guards(b: BlockPlan, extents: list[Any], body: NDArray[np.intp], n: int, lanes: int) -> tuple[Array, Array]:
    """How often index conditions are tested in all, and how often to make the mask of a vector whose lanes disagree."""
    tests, masks = np.full(n, float(b.guards)), np.zeros(n)
    if not b.guards:
        return tests, masks
    # Outside of the innermost serial loop that a condition depends on, every loop repeats it.
    inside = np.zeros(n, bool)
    for k in range(len(extents) - 1, -1, -1):
        serial = np.asarray(k < body)
        inside = inside | (serial & (k in b.guard_loops) & (np.asarray(extents[k]) > 1.0))
        masked = b.loops[k].kind == "vectorize" and k in b.guard_loops
        repeats = vector_pieces(_full(extents[k], n), lanes) if masked else extents[k]
        tests = tests * np.where(inside | (k in b.guard_loops), repeats, 1.0)
        if masked:
            masks = _full(1.0, n)
    return tests, tests * masks


def _inner_trips(b: BlockPlan, extents: list[Any], body: NDArray[np.intp], n: int) -> Array:
    """Iterations of the innermost serial loop that runs more than once."""
    trips = np.ones(n)
    for k in range(len(extents)):
        trips = np.where((np.asarray(extents[k]) > 1.0) & (k < body), extents[k], trips)
    return trips
