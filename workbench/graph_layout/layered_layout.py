"""Coordinates for a directed acyclic graph, drawn in layers from top to bottom.

Layers by longest path; an edge that spans several layers gets a bend in each (edges of one source share them); median
sweeps reduce crossings; `place` finds x coordinates that keep chains straight. Equal input gives equal output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from workbench.cooperative_yield import pause
from workbench.errors import InputError
from workbench.graph_layout.crossing_reduction import order_layers
from workbench.graph_layout.horizontal_coordinates import place

#: Bends that a drawing may have beyond four per node; edges that would need more are drawn as one straight line.
#: Chosen, not measured: the time of a drawing grows with them.
SPARE_BENDS = 2000
#: Pixels across that an edge takes where it passes between nodes. Chosen by eye.
LANE = 8.0


@dataclass(frozen=True, slots=True)
class Box:
    """A node to place: its id and its size in pixels."""

    id: str
    w: float
    h: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Top left corner of every box, one polyline per edge in the order given, and the size of the whole drawing."""

    positions: Mapping[str, tuple[float, float]]
    edges: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float


def layout(
    boxes: Sequence[Box], edges: Sequence[tuple[str, str]], *, gap_x: float = 20.0, gap_y: float = 26.0
) -> Layout:
    """Place boxes so that every edge goes down.

    Parameters
    ----------
    boxes : sequence of Box
    edges : sequence of (str, str)
        From, to.
    gap_x, gap_y : float
        Room between neighbours of a layer, and between layers.

    Raises
    ------
    InputError
        "layout.duplicate" (two boxes of one id), "layout.unknown" (an edge to no box), "layout.cycle".
    """
    index = _index(boxes)
    pairs = [(_find(index, a), _find(index, b)) for a, b in edges]
    links = sorted(set(pairs))
    layer = _layers(boxes, links)
    net = _Net(boxes, layer, links)
    order = order_layers(net.layers, net.down, net.up)
    half = [b.w / 2 for b in boxes] + [LANE / 2] * (len(net.row) - len(boxes))
    x = place(order, net.up, net.down, half, len(boxes), gap_x)
    tops, heights = _rows(boxes, layer, gap_y)
    left = min((c - r for c, r in zip(x, half, strict=True)), default=0.0)
    x = [c - left for c in x]
    spots = {
        b.id: (round(x[k] - b.w / 2, 2), round(tops[layer[k]] + (heights[layer[k]] - b.h) / 2, 2))
        for k, b in enumerate(boxes)
    }
    runs = net.runs(x)
    lines: list[tuple[tuple[float, float], ...]] = []
    for a, b in pairs:
        pause()
        start = (x[a], spots[boxes[a].id][1] + boxes[a].h)
        lines.append(_simple([start, *net.line(a, b, x, tops, heights, runs[a]), (x[b], spots[boxes[b].id][1])]))
    width = max((c + r for c, r in zip(x, half, strict=True)), default=0.0)
    return Layout(spots, tuple(lines), round(width, 2), round(tops[-1] + heights[-1], 2) if tops else 0.0)


def _index(boxes: Sequence[Box]) -> dict[str, int]:
    index = {b.id: k for k, b in enumerate(boxes)}
    if len(index) < len(boxes):
        twice = next(b.id for k, b in enumerate(boxes) if index[b.id] != k)
        raise InputError("layout.duplicate", f"Two boxes are called {twice!r}.", (twice,))
    return index


def _find(index: Mapping[str, int], id: str) -> int:
    if id not in index:
        raise InputError("layout.unknown", f"An edge names {id!r}, which is no box.", (id,))
    return index[id]


def _layers(boxes: Sequence[Box], links: Sequence[tuple[int, int]]) -> list[int]:
    """Longest path from the sources; a source itself stands right above its first reader."""
    above: list[list[int]] = [[] for _ in boxes]
    below: list[list[int]] = [[] for _ in boxes]
    for a, b in links:
        above[b].append(a)
        below[a].append(b)
    layer = [0] * len(boxes)
    try:
        for k in TopologicalSorter(dict(enumerate(above))).static_order():
            layer[k] = max((layer[a] + 1 for a in above[k]), default=0)
    except CycleError as error:
        stuck = tuple(boxes[k].id for k in error.args[1])
        text = "The edges go around in a circle: nothing can stand on top."
        raise InputError("layout.cycle", text, stuck) from None
    for a, readers in enumerate(below):
        if readers and not above[a]:
            layer[a] = min(layer[b] for b in readers) - 1
    return layer


class _Net:
    """The graph with bends: nodes ``0 .. len(boxes) - 1`` are boxes, the rest bends; links join adjacent layers."""

    def __init__(self, boxes: Sequence[Box], layer: list[int], links: Sequence[tuple[int, int]]) -> None:
        self.row = list(layer)
        self.up: list[list[int]] = [[] for _ in boxes]
        self.down: list[list[int]] = [[] for _ in boxes]
        self.chains: dict[int, list[int]] = {}
        room = 4 * len(boxes) + SPARE_BENDS
        self.loose: set[tuple[int, int]] = set()
        for a, b in sorted(links, key=lambda e: (layer[e[1]] - layer[e[0]], e)):
            need = layer[b] - layer[a] - 1
            pause()
            chain = self.chains.setdefault(a, [])
            if len(self.row) - len(boxes) + need - len(chain) > room:
                self.loose.add((a, b))
                continue
            while len(chain) < need:
                self._bend(a, chain)
            self._link(chain[need - 1] if need else a, b)
        self.layers: list[list[int]] = [[] for _ in range(max(self.row, default=-1) + 1)]
        for k, r in enumerate(self.row):
            self.layers[r].append(k)

    def _bend(self, a: int, chain: list[int]) -> None:
        new = len(self.row)
        self.row.append(self.row[a] + len(chain) + 1)
        self.up.append([])
        self.down.append([])
        self._link(chain[-1] if chain else a, new)
        chain.append(new)

    def _link(self, a: int, b: int) -> None:
        self.down[a].append(b)
        self.up[b].append(a)

    def runs(self, x: Sequence[float]) -> dict[int, list[tuple[int, int]]]:
        """Per chain of bends its vertical pieces, as (first, last) position in the chain."""
        out: dict[int, list[tuple[int, int]]] = {}
        for a, chain in self.chains.items():
            pieces = out.setdefault(a, [])
            pause()
            for k, bend in enumerate(chain):
                if k and abs(x[bend] - x[chain[k - 1]]) < 0.01:
                    pieces[-1] = (pieces[-1][0], k)
                else:
                    pieces.append((k, k))
        return out

    def line(
        self, a: int, b: int, x: list[float], tops: list[float], heights: list[float], pieces: list[tuple[int, int]]
    ) -> tuple[tuple[float, float], ...]:
        """Polyline from below the layer of `a` through the bends, vertical within each layer, to above that of `b`."""
        ra, rb = self.row[a], self.row[b]
        need = 0 if (a, b) in self.loose else rb - ra - 1
        points = [(x[a], tops[ra] + heights[ra])]
        for first, last in pieces:
            if first >= need:
                break
            at = x[self.chains[a][first]]
            end = ra + 1 + min(last, need - 1)
            points += [(at, tops[ra + 1 + first]), (at, tops[end] + heights[end])]
        points.append((x[b], tops[rb]))
        return tuple(points)


def _simple(points: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Drop repeated points and those in the middle of a vertical piece."""
    out: list[tuple[float, float]] = []
    for px, py in points:
        p = (round(px, 2), round(py, 2))
        if out and out[-1] == p:
            continue
        if len(out) > 1 and out[-1][0] == out[-2][0] == p[0]:
            out.pop()
        out.append(p)
    return tuple(out)


def _rows(boxes: Sequence[Box], layer: Sequence[int], gap: float) -> tuple[list[float], list[float]]:
    heights = [0.0] * (max(layer, default=-1) + 1)
    for b, r in zip(boxes, layer, strict=True):
        heights[r] = max(heights[r], b.h)
    tops, y = [], 0.0
    for h in heights:
        tops.append(y)
        y += h + gap
    return tops, heights
