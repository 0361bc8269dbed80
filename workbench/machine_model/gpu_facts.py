"""What the threads of a GPU do in one block of a nest, for all rows of a population: the sizes of a launch, what the
loads of a warp touch, and in how many turns.

Which elements neighbouring threads touch is worked out from the index forms for one warp, with all other loops at
their first iteration.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.ir.stmt import BLOCK_KINDS, THREAD_KINDS
from workbench.machine_model.batched_values import Array, Values, column
from workbench.machine_model.machine_parameters import Gpu
from workbench.machine_model.nest_summary import AccessPlan, BlockPlan

#: Bytes of a piece that memory delivers, of a word of a bank, and of all banks of shared memory at once.
SECTOR, WORD, BANKS = 32, 4, 128
#: Bytes of the widest load of a thread.
WIDEST = 16

Lanes = NDArray[np.int64]


@dataclass(slots=True)
class AccessFacts:
    """One access; arrays ``[N]``.

    Attributes
    ----------
    memory : str
        "global", "shared" or "local".
    requests : array
        Loads or stores of warps, in all.
    sectors, least : array
        Pieces of memory that a request touches, and that it would touch with its elements side by side.
    turns : array
        Times that shared memory is asked for one request, over the least: 1 without conflicts of banks.
    """

    memory: str
    requests: Array
    sectors: Array
    least: Array
    turns: Array


@dataclass(slots=True)
class GpuFacts:
    """One block; arrays ``[N]``: threads and blocks of its launch, steps between threads that meet, registers of a
    thread that hold sums of its warp's tiles, accesses.
    """

    plan: BlockPlan
    threads: Array
    grid: Array
    steps: Array
    ahead: Array
    held: Array
    accesses: tuple[AccessFacts, ...]


def gpu_facts(b: BlockPlan, value: Values, n: int, gpu: Gpu) -> GpuFacts:
    """Work out the facts of one block for `n` rows, whose dims `value` gives."""
    extents = [column(value(lp.extent)) for lp in b.loops]
    axes = {kind: _product(extents[k] for k, lp in enumerate(b.loops) if lp.kind == kind) for kind in _AXES}
    if b.intrinsic is not None:  # the threads of a warp compute a tile together
        axes["threadIdx.x"] = np.full(1, b.intrinsic.threads, np.float32)
    threads, grid = _product(axes.values()), _product(_of(b, extents, BLOCK_KINDS))
    first = next((k for k, lp in enumerate(b.loops) if lp.kind in THREAD_KINDS), len(b.loops))
    steps = _product(extents[k] for k, lp in enumerate(b.loops[:first]) if lp.kind == "serial")
    ahead = column(float(any(lp.ahead for lp in b.loops[:first])))
    warps = np.ceil(threads / gpu.warp) * grid
    lanes = _lanes(axes, n, gpu.warp)
    look = _access if b.intrinsic is None else _tile_access
    found = tuple(look(b, a, extents, value, lanes, warps, n) for a in b.accesses)
    threads, grid, steps, ahead, held = (_full(x, n) for x in (threads, grid, steps, ahead, _held(b, extents)))
    return GpuFacts(b, threads, grid, steps, ahead, held, found)


def _held(b: BlockPlan, extents: list[Array]) -> Array:
    """Registers of a thread that hold sums: those of all tiles of its warp."""
    if b.intrinsic is None:
        return np.zeros(1, np.float32)
    own = (e for lp, e in zip(b.loops, extents, strict=True) if lp.kind == "unroll" and not lp.reduces)
    return _product(own) * np.float32(_tile(b, b.accesses[0], extents) / b.intrinsic.threads)


def _tile(b: BlockPlan, a: AccessPlan, extents: list[Array]) -> float:
    """Elements of a tile that an access touches."""
    own = (
        float(e[0])
        for k, (lp, e) in enumerate(zip(b.loops, extents, strict=True))
        if k in a.loops and lp.kind == "intrin"
    )
    return math.prod(own)


def _tile_access(
    b: BlockPlan, a: AccessPlan, extents: list[Array], value: Values, lanes: dict[str, Lanes], warps: Array, n: int
) -> AccessFacts:
    """A tile that a warp loads; its rows are taken to be whole pieces of memory. Sums stay in registers of the warp."""
    one = np.ones(n, np.float32)
    if a.is_write or a.own:
        return AccessFacts("local", 0 * one, one, one, one)
    inside = any(lp.kind in BLOCK_KINDS for lp in b.loops)
    memory = "shared" if a.scope == "shared" or (a.local and inside) else "global"
    pieces = np.float32(math.ceil(_tile(b, a, extents) * a.itemsize / SECTOR))
    loops = zip(b.loops, extents, strict=True)
    own = (e for k, (lp, e) in enumerate(loops) if lp.kind != "intrin" and _repeats(lp.kind, k in a.loops))
    requests = warps * _product(own) * (pieces * SECTOR / BANKS if memory == "shared" else 1.0)
    return AccessFacts(memory, _full(requests, n), pieces * one, pieces * one, one)


_AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


def _product(parts: Iterable[Array]) -> Array:
    out: Array = np.ones(1, np.float32)
    for x in parts:
        out = out * x
    return out


def _of(b: BlockPlan, extents: list[Array], kinds: frozenset[str]) -> list[Array]:
    return [extents[k] for k, lp in enumerate(b.loops) if lp.kind in kinds]


def _full(x: Array, n: int) -> Array:
    return np.broadcast_to(x, (n,))


def _lanes(axes: dict[str, Array], n: int, warp: int) -> dict[str, Lanes]:
    """Number along each axis of the threads of the first warp ``[warp, N]``; -1 where there are not as many."""
    x, y, z = (_full(axes[a], n).astype(np.int64) for a in _AXES)
    lane = np.arange(warp)[:, None]
    there = lane < x * y * z
    numbers = {"threadIdx.x": lane % x, "threadIdx.y": lane // x % y, "threadIdx.z": lane // (x * y)}
    return {axis: np.where(there, k, -1) for axis, k in numbers.items()}


def _access(
    b: BlockPlan, a: AccessPlan, extents: list[Array], value: Values, lanes: dict[str, Lanes], warps: Array, n: int
) -> AccessFacts:
    inside = any(lp.kind in BLOCK_KINDS for lp in b.loops)
    memory = a.scope if a.scope in ("shared", "local") else "shared" if a.local and inside else "global"
    one = np.ones(n, np.float32)
    if memory == "local":
        return AccessFacts(memory, 0 * one, one, one, one)
    strides = [column(value(d)) for d in a.strides]
    wide = _width(b, a, extents)
    # What no unrolled loop moves is loaded once for all of its iterations.
    own = (e for k, (lp, e) in enumerate(zip(b.loops, extents, strict=True)) if _repeats(lp.kind, k in a.loops))
    requests = warps * _product(own) / wide
    at, there = _addresses(b, a, value, strides, lanes, n)
    size = _full(wide * a.itemsize, n).astype(np.int64)
    many = _distinct(at * a.itemsize // SECTOR, there)
    active = np.maximum(there.sum(axis=0), 1)
    least = np.ceil(np.minimum(active, _distinct(at, there)) * size / SECTOR)
    turns = _turns(at * a.itemsize // np.maximum(size, WORD), there, np.maximum(size, WORD))
    return AccessFacts(memory, _full(requests, n), np.maximum(many, least).astype(np.float32), least.astype(np.float32),
                       turns)  # fmt: skip


def _repeats(kind: str, moves: bool) -> bool:
    """Whether each iteration of a loop of this kind loads anew."""
    return moves if kind in ("unroll", "vectorize", "vthread") else kind not in THREAD_KINDS | BLOCK_KINDS


def _width(b: BlockPlan, a: AccessPlan, extents: list[Array]) -> Array:
    """Elements that a thread loads at once: those of the vectorised loop of a copy, where they lie side by side."""
    lane = next((k for k, lp in enumerate(b.loops) if lp.kind == "vectorize"), None)
    copies = not b.is_reduction and b.ops == 0 and not b.guards
    if lane is None or not copies or not a.dims or any(t.loop == lane for row in a.dims[:-1] for t in row):
        return np.ones(1, np.float32)
    near = [t for t in a.dims[-1] if t.loop == lane]
    if len(near) != 1 or near[0].coef != 1 or not near[0].unit:
        return np.ones(1, np.float32)
    most = max(1, WIDEST // a.itemsize)
    return column(np.gcd(extents[lane].astype(np.int64), most))


def _addresses(
    b: BlockPlan, a: AccessPlan, value: Values, strides: list[Array], lanes: dict[str, Lanes], n: int
) -> tuple[Lanes, NDArray[np.bool_]]:
    """Element that each thread of the warp touches ``[warp, N]``, and which threads do."""
    there = np.broadcast_to(lanes["threadIdx.x"] >= 0, (len(lanes["threadIdx.x"]), n)).copy()
    at = np.zeros(there.shape, np.int64)
    for k, lp in enumerate(b.loops):
        if lp.kind in THREAD_KINDS:
            there &= lanes[lp.kind] < _full(column(value(lp.extent)), n)
            for row, step in zip(a.dims, strides, strict=True):
                for t in row:
                    if t.loop == k:
                        lower, extent, coef = (
                            _full(column(value(d)), n).astype(np.int64) for d in (t.lower, t.extent, t.coef)
                        )
                        at += lanes[lp.kind] // lower % np.maximum(extent, 1) * coef * _full(step, n).astype(np.int64)
    return at, there


def _sorted(at: Lanes, there: NDArray[np.bool_]) -> tuple[Lanes, NDArray[np.bool_]]:
    """Numbers in order along the warp, and which of them are the first of their kind, of threads that are there."""
    gone = np.iinfo(np.int64).max
    ordered = np.sort(np.where(there, at, gone), axis=0)
    first = np.ones(ordered.shape, bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered, first & (ordered != gone)


def _distinct(at: Lanes, there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Different numbers of a warp ``[N]``, at least 1."""
    found: NDArray[np.int64] = np.maximum(_sorted(at, there)[1].sum(axis=0), 1)
    return found


def _turns(words: Lanes, there: NDArray[np.bool_], size: Lanes) -> Array:
    """Most different words of one bank, over what they would be if all were spread evenly; words of `size` bytes."""
    ordered, first = _sorted(words, there)
    n, banks = words.shape[1], BANKS // size
    codes = np.where(first, np.where(first, ordered, 0) % banks + np.arange(n) * WIDE_BANKS, n * WIDE_BANKS)
    counts = np.bincount(codes.ravel(), minlength=n * WIDE_BANKS + 1)[:-1].reshape(n, WIDE_BANKS)
    even = np.ceil(np.maximum(first.sum(axis=0), 1) / banks)
    turns: Array = (np.maximum(counts.max(axis=1), 1) / even).astype(np.float32)
    return turns


#: Banks of the smallest words.
WIDE_BANKS = BANKS // WORD
