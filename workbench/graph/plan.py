"""Memory: where each tensor of a partitioned network lives.

Intermediate results share one arena; a tensor's place is free again after its last reader. Inputs, constants and
outputs have memory of their own. A view has the place of what it views.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .graph import Graph
from .group import Group

ALIGNMENT = 64
Kind: TypeAlias = Literal["input", "const", "output", "arena"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lives: with the named input, constant or output, or in the arena at an offset in bytes."""

    kind: Kind
    name: str
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Places of all tensors that kernels touch.

    Attributes
    ----------
    places : dict
        Tensor name -> `Place`.
    arena_bytes : int
        Size of the arena.
    live_bytes : int
        Most bytes that live at once: no plan can use less.
    total_bytes : int
        What the arena would take without sharing.
    """

    places: dict[str, Place]
    arena_bytes: int
    live_bytes: int
    total_bytes: int


def plan_memory(graph: Graph, groups: Sequence[Group]) -> MemoryPlan:
    """Place every tensor; larger ones first, each at the lowest offset that is free while it lives."""
    root = _roots(graph, groups)
    spans = _lifetimes(groups, root)
    places: dict[str, Place] = {}
    arena: dict[str, tuple[int, int]] = {}
    for r in dict.fromkeys(root.values()):
        kind = _kind(graph, r, root)
        if kind != "arena":
            owner = r if kind in ("input", "const") else next(o for o in graph.outputs if root.get(o) == r)
            places[r] = Place(kind, owner, 0, graph.types[r].nbytes)
    inner = [r for r in spans if r not in places]
    for r in sorted(inner, key=lambda r: (-graph.types[r].nbytes, spans[r])):
        arena[r] = (_lowest(graph, r, spans, arena), _padded(graph.types[r].nbytes))
        places[r] = Place("arena", r, arena[r][0], graph.types[r].nbytes)
    every = {t: places[r] for t, r in root.items()}
    top = max((o + n for o, n in arena.values()), default=0)
    steps = len(groups)
    live = max((sum(arena[r][1] for r in inner if spans[r][0] <= k <= spans[r][1]) for k in range(steps)), default=0)
    return MemoryPlan(every, top, live, sum(n for _, n in arena.values()))


def _padded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _roots(graph: Graph, groups: Sequence[Group]) -> dict[str, str]:
    """Tensor -> the tensor whose memory it has: itself, or what it is a view of."""
    root = {t: t for t in graph.inputs}
    for g in groups:
        for t in g.inputs:
            root.setdefault(t, t)
        for t in g.outputs:
            root[t] = root[g.inputs[0]] if g.view else t
    for t in graph.outputs:
        root.setdefault(t, t)
    return root


def _lifetimes(groups: Sequence[Group], root: dict[str, str]) -> dict[str, tuple[int, int]]:
    """Root tensor -> positions of the kernel that writes it and of the last one that reads it."""
    spans: dict[str, tuple[int, int]] = {}
    for k, g in enumerate(groups):
        for t in (*g.outputs, *g.inputs):
            r = root[t]
            spans[r] = (spans[r][0], k) if r in spans else (k, k)
    return spans


def _kind(graph: Graph, r: str, root: dict[str, str]) -> Kind:
    if r in graph.inputs:
        return "input"
    if r in graph.constants:
        return "const"
    return "output" if any(root.get(o) == r for o in graph.outputs) else "arena"


def _lowest(graph: Graph, r: str, spans: dict[str, tuple[int, int]], arena: dict[str, tuple[int, int]]) -> int:
    """Lowest aligned offset where `r` meets nothing that lives at the same time."""
    first, last = spans[r]
    busy = sorted(place for other, place in arena.items() if spans[other][0] <= last and first <= spans[other][1])
    at, need = 0, _padded(graph.types[r].nbytes)
    for offset, size in busy:
        if at + need <= offset:
            break
        at = max(at, offset + size)
    return at
