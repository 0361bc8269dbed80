"""Footprints of accesses per loop level, evaluated for all rows of a population at once.

Level ``k`` of a block means: the loops ``k, k+1, ...`` run, those outside stand still; level 0 is the whole nest. The
number of distinct elements is the product over dimensions of ``min(width, count)``, where `width` is the span of the
index and `count` the number of combinations of the loops that drive it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from workbench.ir import Dim
from workbench.machine_model.batched_values import Array, column
from workbench.machine_model.constants import Caches
from workbench.machine_model.nest_summary import AccessPlan

Evaluate: TypeAlias = Callable[[Dim], Any]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one access touches.

    Attributes
    ----------
    elements : array [D + 1, N]
        Distinct elements touched below each level.
    bytes : array [D + 1, N]
        The same in whole cache lines, in bytes.
    room : tuple of array [D + 1, N]
        Per way size in `Caches.WAYS`: the bytes of a cache that they take. Lines that lie a power of two apart fall
        into the same few sets, so a matrix with such rows fills a cache that is much larger than itself.
    moves : tuple of bool
        Per loop: whether it moves the access.
    stride : tuple of array [1] or [N]
        Per loop: elements from one iteration to the next.
    """

    elements: Array
    bytes: Array
    room: tuple[Array, Array]
    moves: tuple[bool, ...]
    stride: tuple[Array, ...]


_Term: TypeAlias = tuple[int, Array, Array, bool]


def footprint(acc: AccessPlan, depth: int, value: Evaluate, n: int, line: float) -> Footprint:
    """Evaluate one access.

    Parameters
    ----------
    acc : AccessPlan
    depth : int
        Number of loops around the block.
    value : callable
        Evaluates a `Dim` to a number, or to an array ``[1]`` or ``[N]``.
    n : int
        Number of rows N.
    line : float
        Bytes of a cache line.
    """
    shape = [column(value(s)) for s in acc.shape]
    rows = [[(t.loop, column(value(t.coef)), column(value(t.extent)), t.unit) for t in row] for row in acc.dims]
    moving = [k for k in range(depth - 1, -1, -1) if k in acc.loops]
    spans = [_spans(row, moving) for row in rows]
    below = np.array([sum(k >= level for k in moving) for level in range(depth + 1)], np.intp)
    matrices = []
    for matrix in _size([w for w, _ in spans], [c for _, c in spans], shape, acc.itemsize, line):
        # Only loops that move the access make a difference: worked out for these levels, then spread over all.
        few = matrix if len(matrix) > len(moving) else np.broadcast_to(matrix, (len(moving) + 1, matrix.shape[1]))
        full = few.take(below, axis=0)
        if full.shape[1] != n:
            full = np.repeat(full, n, axis=1)
        matrices.append(full)
    elements, lines, near, far = matrices
    moves = tuple(k in acc.loops for k in range(depth)) or (True,)
    return Footprint(elements, lines, (near, far), moves, _strides(rows, shape, depth))


def _spans(row: Sequence[_Term], moving: Sequence[int]) -> tuple[Array, Array]:
    """Width and count of one index ``[moving loops + 1, N]``, from no loop to all of them."""
    n = max((len(x) for _, coef, extent, _ in row for x in (coef, extent)), default=1)
    width, count = np.ones((2, len(moving) + 1, n), np.float32)
    for at, k in enumerate(moving, 1):
        width[at], count[at] = width[at - 1], count[at - 1]
        for loop, coef, extent, _ in row:
            if loop == k:
                width[at] += np.abs(coef) * (extent - 1.0)
                count[at] *= extent
    return width, count


def _size(
    width: Sequence[Array], count: Sequence[Array], shape: Sequence[Array], itemsize: int, line: float
) -> tuple[Array, Array, Array, Array]:
    """Distinct elements, bytes in whole lines, and room that these take in caches with the ways in `Caches.WAYS`.

    A row that is covered completely runs on into the next.
    """
    if not shape:
        one = np.ones((1, 1), np.float32)
        return one, one * line, one * line, one * line
    wide = [np.minimum(w, s) for w, s in zip(width, shape, strict=True)]
    span = [np.minimum(w, c) for w, c in zip(wide, count, strict=True)]
    elements = span[0]
    for x in span[1:]:
        elements = elements * x
    run = wide[-1]
    rest = np.ones((1, 1), np.float32)
    step = shape[-1].astype(np.float64) * itemsize
    full = run == shape[-1]
    apart: Array = lowest_bit(step)
    for d in range(len(span) - 2, -1, -1):
        run = np.where(full, run * wide[d], run)
        rest = np.where(full, rest, rest * span[d])
        step = step * shape[d]
        apart = np.where(full, lowest_bit(step), apart)
        full = full & (wide[d] == shape[d])
    pieces: Array = np.ceil(run * np.float32(itemsize / line)) * np.float32(line)
    lines = np.minimum(rest * pieces, elements * line)
    return elements, lines, lines * _crowding(apart, pieces, rest, 0), lines * _crowding(apart, pieces, rest, 1)


def lowest_bit(pitch: Any) -> Array:
    """Largest power of two that divides a distance in bytes, at most the larger way: exact as float32."""
    whole = pitch.astype(np.int64)
    bit: Array = np.minimum(whole & -whole, Caches.WAYS[1]).astype(np.float32)
    return bit


def _crowding(apart: Array, run: Array, pieces: Array, way: int) -> Array:
    """How many times its size a set of `pieces` runs of bytes takes in a cache, whose distance `apart` divides."""
    if way == 0:
        apart = np.minimum(apart, np.float32(Caches.WAYS[0]))
    # Runs that come back to the first one's set take whole ways, the gaps between them included.
    crowded: Array = np.where(pieces * apart > Caches.WAYS[way], np.maximum(apart / run, 1.0), np.float32(1.0))
    return crowded


def _strides(rows: Sequence[Sequence[_Term]], shape: Sequence[Array], depth: int) -> tuple[Array, ...]:
    stride = [np.zeros(1, np.float32)] * depth
    step = np.ones(1, np.float32)
    for row, size in zip(reversed(rows), reversed(shape), strict=True):
        for loop, coef, _, unit in row:
            if unit:
                stride[loop] = stride[loop] + coef * step
        step = step * size
    return tuple(stride)
