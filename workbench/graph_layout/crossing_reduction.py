"""Order of the nodes within each layer: sweeps by the mean place of the neighbours, the best order seen wins."""

from __future__ import annotations

import itertools
from bisect import bisect_left, insort
from collections.abc import Sequence

from workbench.cooperative_yield import pause

#: Sweeps over all layers: each takes as long as counting the crossings. Chosen, not measured.
SWEEPS = 12
#: Sweeps without an improvement before giving up. Chosen, not measured.
PATIENCE = 4
#: Boxes and bends from which on a drawing is large: it gets `LARGE_SWEEPS`, and none after one that takes less than the
#: share `LITTLE` of the crossings away. Chosen, not measured.
LARGE = 800
LARGE_SWEEPS = 4
LITTLE = 0.01

Adjacent = Sequence[Sequence[int]]


def order_layers(layers: Sequence[Sequence[int]], down: Adjacent, up: Adjacent) -> list[list[int]]:
    """Return every layer in an order with few crossings."""
    current = _first_order(layers, down, up)
    large = sum(map(len, layers)) >= LARGE
    best, fewest, stale = [list(x) for x in current], crossings(current, down), 0
    for sweep in range(min(SWEEPS, LARGE_SWEEPS) if large else SWEEPS):
        if not fewest or stale >= PATIENCE:
            break
        downward = sweep % 2 == 0
        rows = range(1, len(current)) if downward else range(len(current) - 2, -1, -1)
        for r in rows:
            pause()
            _sort(current, r, up if downward else down, r - 1 if downward else r + 1)
        _swap_neighbours(current, up, down)
        count = crossings(current, down)
        stale += 1
        if count < fewest:
            stale = PATIENCE if large and fewest - count < LITTLE * fewest else 0
            best, fewest = [list(x) for x in current], count
    return best


def _first_order(layers: Sequence[Sequence[int]], down: Adjacent, up: Adjacent) -> list[list[int]]:
    """Depth first from the top, so that what belongs together starts side by side."""
    out: list[list[int]] = [[] for _ in layers]
    row = {k: r for r, layer in enumerate(layers) for k in layer}
    seen: set[int] = set()
    for start in (k for layer in layers for k in layer if not up[k]):
        stack = [start]
        while stack:
            k = stack.pop()
            if k in seen:
                continue
            seen.add(k)
            out[row[k]].append(k)
            stack.extend(reversed(down[k]))
    return out


def _sort(layers: list[list[int]], r: int, beside: Adjacent, other: int) -> None:
    """Sort a layer by the mean place of the neighbours in the layer `other`; nodes without any keep their place."""
    place = {k: i for i, k in enumerate(layers[other])}
    keys: dict[int, float] = {}
    for i, k in enumerate(layers[r]):
        near = [place[j] for j in beside[k]]
        keys[k] = sum(near) / len(near) if near else float(i)
    layers[r].sort(key=lambda k: keys[k])


def _swap_neighbours(layers: list[list[int]], up: Adjacent, down: Adjacent) -> None:
    """Swap two neighbours wherever that removes crossings with both adjacent layers taken together."""
    for r, layer in enumerate(layers):
        pause()
        if len(layer) < 2 or len(layer) > 64:
            continue
        if not (_tangled(layers, r - 1, down) or _tangled(layers, r, down)):
            continue
        above = {k: i for i, k in enumerate(layers[r - 1])} if r else {}
        below = {k: i for i, k in enumerate(layers[r + 1])} if r + 1 < len(layers) else {}
        near = {k: (sorted(above[j] for j in up[k]), sorted(below[j] for j in down[k])) for k in layer}
        for i in range(len(layer) - 1):
            a, b = near[layer[i]], near[layer[i + 1]]
            if _inversions(a[0], b[0]) + _inversions(a[1], b[1]) > _inversions(b[0], a[0]) + _inversions(b[1], a[1]):
                layer[i], layer[i + 1] = layer[i + 1], layer[i]


def _tangled(layers: list[list[int]], r: int, down: Adjacent) -> bool:
    """Whether links between a layer and the next cross."""
    if not 0 <= r < len(layers) - 1:
        return False
    place = {k: i for i, k in enumerate(layers[r + 1])}
    furthest = -1
    for k in layers[r]:
        ends = [place[j] for j in down[k]]
        if ends and min(ends) < furthest:
            return True
        furthest = max(furthest, *ends, -1)
    return False


def _inversions(left: list[int], right: list[int]) -> int:
    """Crossings of two nodes' links when the first stands left of the second."""
    return sum(len(left) - bisect_left(left, j + 1) for j in right) if left and right else 0


def crossings(layers: Sequence[Sequence[int]], down: Adjacent) -> int:
    """Number of pairs of links that cross."""
    total = 0
    for upper, lower in itertools.pairwise(layers):
        pause()
        place = {k: i for i, k in enumerate(lower)}
        seen: list[int] = []
        for k in upper:
            ends = sorted(place[j] for j in down[k])
            total += sum(len(seen) - bisect_left(seen, e + 1) for e in ends)
            for e in ends:
                insort(seen, e)
    return total
