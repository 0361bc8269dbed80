"""Footprints of accesses per loop level, evaluated for all rows of a population at once.

Level ``k`` of a block means: the loops ``k, k+1, ...`` run, those outside stand still; level 0 is the whole nest. The
number of distinct elements is the product over dimensions of ``min(width, count)``, where `width` is the span of the
index and `count` the number of combinations of the loops that drive it. All values are float64 and exact below 2**53.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.ir.poly import Dim
from workbench.tune.nestplan import AccessPlan

Array: TypeAlias = NDArray[np.float64]
Evaluate: TypeAlias = Callable[[Dim], Any]
LINE = 64.0
#: Bytes after which addresses come back to the same set: of a first-level cache (a page), of a second-level one.
WAYS = (4096, 131072)


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
        Per way size in `WAYS`: the bytes of a cache that they take. Lines that lie a power of two apart fall into the
        same few sets, so a matrix with such rows fills a cache that is much larger than itself.
    again : array [D + 1, N]
        Extent of the next loop outside level k that runs more than once, if that loop does not move the access; else 1.
    stride : tuple of array
        Per loop: elements from one iteration to the next.
    """

    elements: Array
    bytes: Array
    room: tuple[Array, Array]
    again: Array
    stride: tuple[Any, ...]


def footprint(acc: AccessPlan, extents: list[Any], shape: list[Any], value: Evaluate, n: int) -> Footprint:
    """Evaluate one access.

    Parameters
    ----------
    acc : AccessPlan
    extents : list of float or array [N]
        Extents of the loops around the block, outermost first.
    shape : list of float or array [N]
        Extents of the buffer.
    value : callable
        Evaluates a `Dim` to a float or an array [N].
    n : int
        Number of rows.
    """
    depth = len(extents)
    elements, lines, near, far = (np.empty((depth + 1, n)) for _ in range(4))
    rows = [[(t.loop, value(t.coef), value(t.extent), t.unit) for t in row] for row in acc.dims]
    width: list[Any] = [1.0] * len(rows)
    count: list[Any] = [1.0] * len(rows)
    elements[depth], lines[depth], near[depth], far[depth] = 1.0, LINE, LINE, LINE
    for k in range(depth - 1, -1, -1):
        if k not in acc.loops:
            for matrix in (elements, lines, near, far):
                matrix[k] = matrix[k + 1]
            continue
        for d, row in enumerate(rows):
            for loop, coef, extent, _ in row:
                if loop == k:
                    width[d] = width[d] + np.abs(coef) * (extent - 1.0)
                    count[d] = count[d] * extent
        elements[k], lines[k], near[k], far[k] = _size(width, count, shape, acc.itemsize)
    return Footprint(elements, lines, (near, far), _again(acc, extents, n), _strides(rows, shape, depth))


def _size(width: list[Any], count: list[Any], shape: list[Any], itemsize: int) -> tuple[Any, Any, Any, Any]:
    """Distinct elements, bytes in whole lines, and room that these take in caches with the ways in `WAYS`.

    A row that is covered completely runs on into the next.
    """
    span = [np.minimum(np.minimum(w, c), s) for w, c, s in zip(width, count, shape, strict=True)]
    elements: Any = 1.0
    for x in span:
        elements = elements * x
    if not span:
        return 1.0, LINE, LINE, LINE
    run = np.minimum(width[-1], shape[-1])
    rest: Any = 1.0
    full = run == shape[-1]
    pitch, step = shape[-1], shape[-1]
    for d in range(len(span) - 2, -1, -1):
        wide = np.minimum(width[d], shape[d])
        run = np.where(full, run * wide, run)
        rest = np.where(full, rest, rest * span[d])
        step = step * shape[d]
        pitch = np.where(full, step, pitch)
        full = full & (wide == shape[d])
    pieces = np.ceil(run * (itemsize / LINE)) * LINE
    lines = np.minimum(rest * pieces, elements * LINE)
    room = [lines * _crowding(pitch * itemsize, pieces, rest, way) for way in WAYS]
    return elements, lines, room[0], room[1]


def _crowding(pitch: Any, run: Any, pieces: Any, way: int) -> Any:
    """How many times its size a set of `pieces` runs of bytes, `pitch` bytes apart, takes in a cache."""
    starts = way / np.gcd(np.asarray(pitch).astype(np.int64), way)
    return np.maximum(1.0, np.minimum(way / (starts * run), pieces / starts))


def _again(acc: AccessPlan, extents: list[Any], n: int) -> Array:
    out = np.empty((len(extents) + 1, n))
    current: Any = 1.0
    out[0] = 1.0
    for k, extent in enumerate(extents):
        still = 1.0 if k in acc.loops else extent
        current = np.where(np.asarray(extent) > 1.0, still, current)
        out[k + 1] = current
    return out


def _strides(rows: list[list[tuple[int, Any, Any, bool]]], shape: list[Any], depth: int) -> tuple[Any, ...]:
    stride: list[Any] = [0.0] * depth
    step: Any = 1.0
    for row, size in zip(reversed(rows), reversed(shape), strict=True):
        for loop, coef, _, unit in row:
            if unit:
                stride[loop] = stride[loop] + coef * step
        step = step * size
    return tuple(stride)


def at_level(matrix: Array, level: NDArray[np.intp]) -> Array:
    """Pick one level per row: ``matrix[level[n], n]``."""
    picked: Array = np.take_along_axis(matrix, level[None], axis=0)[0]
    return picked
