"""What every cache fetches from the next one while a block runs, for all rows of a population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.machine_model.batched_values import Array, Level, Levels
from workbench.machine_model.constants import Caches
from workbench.machine_model.footprint import Footprint, lowest_bit
from workbench.machine_model.machine_parameters import Machine
from workbench.machine_model.nest_summary import BlockPlan

LEVELS = ("l1", "l2", "l3")


@dataclass(slots=True)
class Traffic:
    """One block; by cache where there is a name.

    Attributes
    ----------
    total, moved : mapping of str to array [N], to list of array [N]
        Bytes that the cache fetches, in all and per access.
    walks : mapping of str to array [N]
        Lines of these that stand alone at the end of a long step, where nothing is fetched ahead; in reads of a line.
    crowded : array [N]
        The walks of the first cache, each times the share of its sets that it misses.
    working : mapping of str to array [N]
        Bytes in use at the level that fits the cache; "all" for the whole block.
    filled : array [3, D + 1, N]
        Share of the room in each cache that is taken below every level.
    """

    total: dict[str, Array]
    moved: dict[str, list[Array]]
    walks: dict[str, Array]
    crowded: Array
    working: dict[str, Array]
    filled: Array


def traffic(b: BlockPlan, known: Sequence[Footprint], outer: Array, held: Level | None, machine: Machine) -> Traffic:
    """Work out the traffic of a block.

    Below the outermost level whose working set fits, everything is fetched once; the loop just outside of it keeps
    what one iteration shares with the next, because the distance of that reuse is the same working set.

    Parameters
    ----------
    known : sequence of Footprint
        Of the distinct accesses, what is written first.
    outer : array [D + 1, N]
        Iterations of all loops outside of a level.
    held : Level or None
        Below it, what a reduction writes is in registers.
    """
    n = outer.shape[1]
    lines = total([fp.bytes for fp in known], b.same)
    filled = _filled(known, lines, machine)
    level = _outermost(filled)
    around = np.maximum(level - 1, 0)
    columns = np.arange(n)
    here, stays = around * n + columns, level * n + columns
    parts = []
    for k, fp in enumerate(known):
        fetched = (fp.bytes * outer).ravel()
        part = fetched.take(here)
        parts.append(part if k or held is None else np.minimum(part, held.pick(fetched)))
    times = np.where(level > 0, outer.ravel().take(stays), _ZERO)
    walks, crowded = _walks(b, known, times, around, here, held, machine.line)
    whole, working = total(parts, b.same), lines.ravel().take(stays)
    return Traffic(
        dict(zip(LEVELS, whole, strict=True)),
        {name: [parts[k][c] for k in b.same] for c, name in enumerate(LEVELS)},
        dict(zip(LEVELS, walks, strict=True)), crowded,
        dict(zip((*LEVELS, "all"), (*working, lines[0]), strict=True)), filled,
    )  # fmt: skip


def total(parts: Sequence[Array], same: Sequence[int]) -> Array:
    """Sum over all accesses of a block of what is known for the distinct ones."""
    out = parts[same[0]].copy()
    for k in same[1:]:
        out += parts[k]
    return out


def _filled(known: Sequence[Footprint], lines: Array, machine: Machine) -> Array:
    """Share of every cache that is taken below every level; 1 is as much as may be.

    An access that falls into few sets of a cache has only these; others most likely fall into others.
    """
    out = np.empty((len(LEVELS), *lines.shape), np.float32)
    near, far = known[0].room
    for fp in known[1:]:
        near, far = np.maximum(near, fp.room[0]), np.maximum(far, fp.room[1])
    needed = lines * np.float32(1.0 / Caches.OCCUPANCY)
    np.multiply(np.maximum(needed, near), np.float32(1.0 / machine.l1), out=out[0])
    np.multiply(np.maximum(needed, far), np.float32(1.0 / machine.l2), out=out[1])
    np.multiply(needed, np.float32(1.0 / machine.l3), out=out[2])
    # What a cache keeps is not asked of the next one.
    np.minimum(out[1], out[0], out=out[1])
    np.minimum(out[2], out[1], out=out[2])
    return out


def _outermost(filled: Array) -> Levels:
    """First level per cache and row that fits; the innermost one counts as fitting. Less is in use further in."""
    tight = np.greater(filled[:, :-1], np.float32(1.0)).view(np.int8)
    level: Levels = np.add.reduce(tight, axis=1, dtype=np.int8).astype(np.intp)
    return level


def _walks(
    b: BlockPlan, known: Sequence[Footprint], times: Array, around: Levels, here: Levels, held: Level | None, line: int
) -> tuple[Array, Array]:
    """One line for every iteration in which the loop outside of what fits moves an access by a line or more."""
    walks, crowded = np.zeros_like(times), np.zeros_like(times[0])
    loops = np.flatnonzero(np.bincount(around.ravel())).tolist()
    for k, fp in enumerate(known):
        a = b.accesses[b.distinct[k]]
        moving = [d for d in loops if d in a.loops]
        if not moving:
            continue
        steps = np.zeros((len(b.loops) + 1, times.shape[1]), np.float32)
        for d in moving:
            np.multiply(np.abs(fp.stride[d]), np.float32(a.itemsize), out=steps[d])
        step = steps.ravel().take(here)
        count = np.where(step >= line, times, _ZERO) * np.float32(
            b.same.count(k) * (Caches.WRITTEN if a.is_write else 1.0)
        )
        if k == 0 and held is not None:
            count = np.where(around < held.level, count, _ZERO)
        walks += count
        crowded += (
            count[0] * np.minimum(lowest_bit(step[0]), np.float32(Caches.WAYS[0])) * np.float32(1.0 / Caches.WAYS[0])
        )
    return walks, crowded


_ZERO = np.zeros(1, np.float32)
