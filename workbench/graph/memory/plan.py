"""Memory: where each tensor of a partitioned network lives.

Intermediate results share one arena; a tensor's place is free again after its last reader, and a kernel that may do so
writes its result over an operand that nobody needs any more. Inputs, constants and outputs have memory of their own. A
view and a part have the place of what they are a view or a part of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from workbench.graph.graph import Graph
from workbench.graph.group import Group, Spot, gapless
from workbench.graph.memory.arena import Item, most_at_once, pack_items
from workbench.graph.memory.lifetimes import Home, homes, in_arena, lifetimes, padded

Kind: TypeAlias = Literal["input", "const", "output", "arena"]
#: Position of a group, and the pairs of its tensors (read, written) of which it may write the second over the first.
Reuses: TypeAlias = Mapping[int, Sequence[tuple[str, str]]]
#: Position of a group, tensor that dies there, result that takes its place.
Reused: TypeAlias = tuple[int, str, str]
#: Plans with one reuse less that are looked at, because keeping memory for several tensors can make the arena larger.
#: Chosen, not measured; each is a placement.
TRIES = 24


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lives: with the named input, constant or output, or in the arena at an offset in bytes.

    Attributes
    ----------
    kind : {"input", "const", "output", "arena"}
    name : str
        The input, constant or output; in the arena the tensor whose memory it is.
    offset : int
        Of that memory in the arena, in bytes.
    nbytes : int
        Size of that memory.
    skip : int
        Bytes from the start of that memory to the tensor's first element.
    """

    kind: Kind
    name: str
    offset: int
    nbytes: int
    skip: int = 0


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
        Most bytes that live at once when every kernel's operands and result lie apart: without `reused`, no plan can
        use less.
    bound_bytes : int
        The same where a result that is written over an operand counts once: no plan with these `reused` can use less.
    total_bytes : int
        What the arena would take without sharing.
    reused : tuple of (int, str, str)
        Position of a group, tensor that dies there, and the result that is written over it.
    """

    places: dict[str, Place]
    arena_bytes: int
    live_bytes: int
    bound_bytes: int
    total_bytes: int
    reused: tuple[Reused, ...] = ()


def plan_memory(graph: Graph, groups: Sequence[Group], reuses: Reuses | None = None) -> MemoryPlan:
    """Place every tensor.

    Parameters
    ----------
    graph : Graph
    groups : sequence of Group
        In execution order.
    reuses : mapping, optional
        Which results may be written over which operands; the compiler knows that from the scheduled kernels.
    """
    spots = {t: s for g in groups for t, s in g.spots.items()}
    home = homes(graph, groups, spots)
    spans = lifetimes(groups, home)
    inner = in_arena(graph, home, spans)
    size = {r: padded(graph.types[r].nbytes) for r in inner}
    apart = [Item(size[r], *spans[r]) for r in inner]
    reused = tuple(_reused(graph, groups, home, spans, set(inner), reuses or {}))
    best, bound = _packed(reused, home, spans, size), most_at_once(_items(_chains(inner, home, reused), size, spans))
    for without in ((), *(_without(reused, k) for k in range(min(len(reused), TRIES)))):
        if best.top > bound:
            best = min(best, _packed(without, home, spans, size), key=lambda p: p.top)
    places = {t: _place(graph, h, home, best.at) for t, h in home.items()}
    return MemoryPlan(places, best.top, most_at_once(apart), bound, sum(size.values()), best.reused)


@dataclass(frozen=True, slots=True)
class _Packed:
    at: dict[str, int]
    top: int
    reused: tuple[Reused, ...]


def _packed(
    reused: Sequence[Reused], home: Mapping[str, Home], spans: Mapping[str, tuple[int, int]], size: Mapping[str, int]
) -> _Packed:
    """Offsets when these results are written over operands."""
    chains = _chains(list(size), home, reused)
    offsets, top = pack_items(_items(chains, size, spans))
    return _Packed({r: offsets[k] for k, chain in enumerate(chains) for r in chain}, top, tuple(reused))


def _items(
    chains: Sequence[Sequence[str]], size: Mapping[str, int], spans: Mapping[str, tuple[int, int]]
) -> list[Item]:
    return [Item(size[c[0]], spans[c[0]][0], spans[c[-1]][1]) for c in chains]


def _without(reused: Sequence[Reused], k: int) -> tuple[Reused, ...]:
    return (*reused[:k], *reused[k + 1 :])


def _place(graph: Graph, h: Home, home: Mapping[str, Home], at: Mapping[str, int]) -> Place:
    nbytes = graph.types[h.root].nbytes
    if h.root in graph.inputs:
        return Place("input", h.root, 0, nbytes, h.skip)
    if h.root in graph.constants:
        return Place("const", h.root, 0, nbytes, h.skip)
    if h.root in at:
        return Place("arena", h.root, at[h.root], nbytes, h.skip)
    owner = next((o for o in graph.outputs if home[o].root == h.root), None)
    if owner is None:  # only views of it exist, which nobody reads
        return Place("arena", h.root, 0, 0, 0)
    return Place("output", owner, 0, nbytes, h.skip)


def _reused(
    graph: Graph,
    groups: Sequence[Group],
    home: Mapping[str, Home],
    spans: Mapping[str, tuple[int, int]],
    inner: set[str],
    reuses: Reuses,
) -> list[Reused]:
    """Of what may be written over an operand, that whose operand dies there and has the same memory for itself."""
    out: list[Reused] = []
    taken: set[str] = set()
    spots = {t: s for g in groups for t, s in g.spots.items()}
    for k, pairs in reuses.items():
        for old, new in pairs:
            a, b = home[old].root, home[new].root
            alone = [home[t].root for t in (*groups[k].inputs, *groups[k].outputs)]
            if (
                {a, b} <= inner
                and {a, b}.isdisjoint(taken)
                and spans[a][1] == k == spans[b][0]
                and spans[a][0] < k
                and alone.count(a) == alone.count(b) == 1
                and all(_whole(graph, home, spots, t) for t in (old, new))
                and graph.types[a].nbytes == graph.types[b].nbytes
            ):
                out.append((k, old, new))
                break
    return out


def _whole(graph: Graph, home: Mapping[str, Home], spots: Mapping[str, Spot], t: str) -> bool:
    """Whether a tensor is all that lies in its memory."""
    kind, dense = graph.types[t], t not in spots or gapless(graph.types[t].shape, spots[t].strides)
    return dense and kind.nbytes == graph.types[home[t].root].nbytes


def _chains(inner: Sequence[str], home: Mapping[str, Home], reused: Sequence[Reused]) -> list[list[str]]:
    """Memory that is handed from one tensor to the next."""
    following = {home[old].root: home[new].root for _, old, new in reused}
    later = set(following.values())
    chains = []
    for r in inner:
        if r not in later:
            chain = [r]
            while chain[-1] in following:
                chain.append(following[chain[-1]])
            chains.append(chain)
    return chains
