"""Images read at computed positions, for a vector of positions and one channel after the other.

Where and how much of each neighbour is read is the same for all channels, and is computed once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from workbench.codegen.runtime_kernels.language import Array, Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter
from workbench.graph.group import row_major

#: Coefficient of cubic means.
_CUBIC = -0.75
#: Place of a neighbour along a dimension, how much of it is read, and whether there is one (None: always).
_Tap = tuple[Number, Number | None, Number | None]


def grid_sample(k: KernelEmitter, taps: int, padding: str, aligned: bool) -> None:
    """Elements at the positions of a grid: the nearest (1 tap), linear (2) or cubic (4) means of neighbours."""
    channels, sizes, places = k.shape("in0")[1], k.shape("in0")[2:], k.shape("out0")[2:]
    count, volume, rank = math.prod(places), math.prod(sizes), len(sizes)
    kind = "float64" if "float64" in (k.dtype("in0"), k.dtype("in1")) else "float32"
    lanes = k.target.lanes(kind) if count >= k.target.lanes(kind) else 1
    vectors = -(-count // lanes)

    def row(code: Code, number: Number) -> None:
        image = number // vectors
        start = (number % vectors * lanes).smallest(count - lanes)  # the last vector may have some of the one before
        grid = code.array("in1").at((image * count + start) * rank)
        sides = []
        for d, n in enumerate(sizes):
            g = grid.gather(code.lane_numbers(lanes, "int32") * rank + (rank - 1 - d)).to(kind)
            at = (g + 1) * (0.5 * (n - 1)) if aligned else ((g + 1) * n - 1) * 0.5
            sides.append(_side(at, n, taps, padding, aligned))
        neighbours = [_neighbour(parts, row_major(sizes)) for parts in itertools.product(*sides)]
        with code.loop(channels) as c:
            x = code.array("in0").at((image * channels + c) * volume)
            code.array("out0").store((image * channels + c) * count + start, _mean(x, neighbours, kind))

    k.rows(k.shape("in0")[0] * vectors, row, lanes * (taps**rank * channels + 20 * taps))


def _mean(x: Array, neighbours: list[_Tap], kind: str) -> Number:
    """Sum of the weighted neighbours of a channel."""
    total: Number | None = None
    for at, weight, there in neighbours:
        part = x.gather(at, there).to(kind)
        part = part if weight is None else part * weight
        total = part if total is None else total + part
    assert total is not None
    return total.to(x.dtype)


def _neighbour(parts: tuple[_Tap, ...], strides: tuple[int, ...]) -> _Tap:
    """The element at one place along each dimension."""
    at, weight, there = None, None, None
    for (place, w, inside), stride in zip(parts, strides, strict=True):
        step = place * stride
        at = step if at is None else at + step
        weight = w if weight is None or w is None else weight * w
        there = inside if there is None else there if inside is None else there & inside
    assert at is not None
    return at, weight, there


def _side(at: Number, n: int, taps: int, padding: str, aligned: bool) -> list[_Tap]:
    """Neighbours along a dimension of `n` elements."""
    if taps < 4:
        at = _inside(at, n, padding, aligned)
    first = at.apply("round" if taps == 1 else "floor")
    part, found = at - first, list[_Tap]()
    for tap, weigh in enumerate(_WEIGHTS[taps]):
        place = first + (tap - taps // 4)
        place = _inside(place, n, padding, aligned) if taps == 4 else place
        inside = (place >= 0) & (place <= n - 1) if padding == "zeros" else None
        # NaN is no place; it is read at 0.
        kept = place.ne(place).select(0, place).largest(0).smallest(n - 1).to("int32")
        found.append((kept, None if weigh is None else weigh(part), inside))
    return found


def _near(d: Number) -> Number:
    return (d * (_CUBIC + 2) - (_CUBIC + 3)) * d * d + 1


def _far(d: Number) -> Number:
    return ((d * _CUBIC - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC


#: Number of neighbours -> weight of each by how far the position lies behind the one at or before it.
_WEIGHTS: dict[int, tuple[Callable[[Number], Number] | None, ...]] = {
    1: (None,),
    2: (lambda t: 1 - t, lambda t: t),
    4: (lambda t: _far(t + 1), _near, lambda t: _near(1 - t), lambda t: _far(2 - t)),
}


def _inside(at: Number, n: int, padding: str, aligned: bool) -> Number:
    """Positions beyond an edge moved onto it, or mirrored; as they are where zeros stand there."""
    if padding == "border":
        return at.largest(0).smallest(n - 1)
    low, span = (0.0, n - 1.0) if aligned else (-0.5, float(n))
    if padding == "zeros":
        return at
    if not span:
        return at * 0
    beyond = (at - low).apply("abs")
    beyond = beyond - (beyond * (0.5 / span)).apply("floor") * (2 * span)
    return (beyond > span).select(2 * span - beyond, beyond) + low
