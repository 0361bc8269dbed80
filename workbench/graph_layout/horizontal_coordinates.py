"""Horizontal coordinates of a layered graph, after Brandes and Köpf: straight chains, balanced joins, no overlaps.

Nodes are aligned in vertical blocks four times (from above or below, from the left or right); each time the blocks are
packed, and every node takes the mean of its two middle places. Links between two bends win over others, so long edges
stay straight.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from workbench.cooperative_yield import pause

Adjacent = Sequence[Sequence[int]]


def place(
    order: Sequence[Sequence[int]], up: Adjacent, down: Adjacent, half: Sequence[float], boxes: int, gap: float
) -> list[float]:
    """Return the centre of every node.

    Parameters
    ----------
    order : sequence of sequence of int
        Nodes of each layer from left to right.
    up, down : sequence of sequence of int
        Neighbours in the layer above and below.
    half : sequence of float
        Half the width of each node.
    boxes : int
        Nodes from this number on are bends.
    gap : float
        Room between neighbours.
    """
    n = len(half)
    if not n:
        return []
    conflicts = _conflicts(order, up, boxes)
    found: list[list[float]] = []
    for vertical in (False, True):
        layers = [list(x) for x in (reversed(order) if vertical else order)]
        beside = down if vertical else up
        for mirrored in (False, True):
            rows = [x[::-1] for x in layers] if mirrored else layers
            x = _pack(rows, _align(rows, beside, conflicts, n), half, gap)
            found.append([-c for c in x] if mirrored else x)
    _shift(found, half)
    return [sum(sorted(xs)[1:3]) / 2 for xs in zip(*found, strict=True)]


def _conflicts(order: Sequence[Sequence[int]], up: Adjacent, boxes: int) -> set[tuple[int, int]]:
    """Links that cross a link between two bends; such a link is never made straight."""
    out: set[tuple[int, int]] = set()
    for above, layer in itertools.pairwise(order):
        pause()
        place = {k: i for i, k in enumerate(above)}
        low, start = 0, 0
        for i, k in enumerate(layer):
            inner = next((j for j in up[k] if j >= boxes), None) if k >= boxes else None
            if inner is None and i < len(layer) - 1:
                continue
            high = place[inner] if inner is not None else len(above) - 1
            for m in layer[start : i + 1]:
                out |= {(j, m) for j in up[m] if not low <= place[j] <= high and not (j >= boxes and m >= boxes)}
            low, start = high, i + 1
    return out


def _align(rows: list[list[int]], beside: Adjacent, conflicts: set[tuple[int, int]], n: int) -> list[int]:
    """Root of the block of every node."""
    root = list(range(n))
    place = [0] * n
    taken = [False] * n
    for layer in rows:
        for i, k in enumerate(layer):
            place[k] = i
    for layer in rows[1:]:
        pause()
        last = -1
        for k in layer:
            near = sorted(beside[k], key=place.__getitem__)
            middle = len(near) // 2
            for j in near[middle - 1 : middle + 1] if near and len(near) % 2 == 0 else near[middle : middle + 1]:
                if place[j] > last and not taken[j] and (j, k) not in conflicts and (k, j) not in conflicts:
                    root[k], last, taken[j] = root[j], place[j], True
                    break
    return root


def _pack(rows: list[list[int]], root: list[int], half: Sequence[float], gap: float) -> list[float]:
    """Push every block as far left as its neighbours allow, then right again where there is room."""
    n = len(root)
    room: dict[tuple[int, int], float] = {}
    for layer in rows:
        pause()
        for a, b in itertools.pairwise(layer):
            key = (root[a], root[b])
            room[key] = max(room.get(key, 0.0), half[a] + half[b] + gap)
    right: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    missing = [0] * n
    for (a, b), d in room.items():
        right[a].append((b, d))
        missing[b] += 1
    x = [0.0] * n
    ready = [k for k in range(n) if root[k] == k and not missing[k]]
    for a in ready:  # grows while it is walked
        for b, d in right[a]:
            x[b] = max(x[b], x[a] + d)
            missing[b] -= 1
            if not missing[b]:
                ready.append(b)
    for a in reversed(ready):
        if right[a]:
            x[a] = max(x[a], min(x[b] - d for b, d in right[a]))
    return [x[root[k]] for k in range(n)]


def _shift(found: list[list[float]], half: Sequence[float]) -> None:
    """Line the four results up with the narrowest one, at the left or the right edge."""
    ends = [
        (min(c - h for c, h in zip(x, half, strict=True)), max(c + h for c, h in zip(x, half, strict=True)))
        for x in found
    ]
    low, high = min(ends, key=lambda e: e[1] - e[0])
    for k, (x, (a, b)) in enumerate(zip(found, ends, strict=True)):
        move = high - b if k % 2 else low - a
        found[k] = [c + move for c in x]
