"""Which tensors share memory, and from which kernel to which one each memory is needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.graph.graph import Graph
from workbench.graph.group import Group, Spot

#: Bytes, a multiple of the line of every supported processor: each tensor of an arena begins at a multiple of it, so no
#: two share a line.
ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Home:
    """The tensor whose memory a tensor has, and how many bytes into it its first element lies."""

    root: str
    skip: int


def padded(nbytes: int) -> int:
    """Bytes that memory of its own takes."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def homes(graph: Graph, groups: Sequence[Group], spots: Mapping[str, Spot]) -> dict[str, Home]:
    """Home of every tensor that a group touches, and of every output."""
    shape_of: dict[str, str] = {}
    for g in groups:
        # The only part of a tensor lies in that, not the other way round.
        if g.view and len(g.inputs) == 1 and _whole_of(g.inputs[0], spots) not in g.outputs:
            shape_of.update(dict.fromkeys(g.outputs, g.inputs[0]))
    found: dict[str, Home] = {}

    def home(t: str) -> Home:
        if t not in found:
            spot = spots.get(t)
            if spot is not None:
                at = home(spot.whole)
                found[t] = Home(at.root, at.skip + spot.offset * np.dtype(graph.types[t].dtype).itemsize)
            else:
                found[t] = home(shape_of[t]) if t in shape_of else Home(t, 0)
        return found[t]

    for t in (*graph.inputs, *(t for g in groups for t in (*g.inputs, *g.outputs)), *graph.outputs):
        home(t)
    return found


def _whole_of(t: str, spots: Mapping[str, Spot]) -> str:
    return spots[t].whole if t in spots else ""


def lifetimes(
    groups: Sequence[Group], home: Mapping[str, Home], views: Collection[int] = ()
) -> dict[str, tuple[int, int]]:
    """Root -> positions of the first and the last group that touches its memory; views touch nothing."""
    spans: dict[str, tuple[int, int]] = {}
    for k, g in enumerate(groups):
        for t in () if g.view or k in views else (*g.outputs, *g.inputs):
            r = home[t].root
            spans[r] = (spans[r][0], k) if r in spans else (k, k)
    return spans


def in_arena(graph: Graph, home: Mapping[str, Home], spans: Mapping[str, tuple[int, int]]) -> list[str]:
    """Roots that need a place in the arena: neither inputs nor constants nor what an output is."""
    own = {*graph.inputs, *graph.constants, *(home[t].root for t in graph.outputs)}
    return [r for r in spans if r not in own]


def most_alive(graph: Graph, groups: Sequence[Group], spots: Mapping[str, Spot], views: Collection[int]) -> int:
    """Most bytes of the arena that are needed at once when the groups at `views` do nothing."""
    home = homes(graph, groups, spots)
    spans = lifetimes(groups, home, views)
    change = [0] * (len(groups) + 1)
    for r in in_arena(graph, home, spans):
        first, last = spans[r]
        change[first] += padded(graph.types[r].nbytes)
        change[last + 1] -= padded(graph.types[r].nbytes)
    alive = most = 0
    for c in change:
        alive += c
        most = max(most, alive)
    return most
