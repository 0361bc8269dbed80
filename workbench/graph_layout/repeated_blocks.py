"""Repeated blocks of a network: equal runs that stand one after the other in its topological order."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.cooperative_yield import pause

#: Nodes that a repetition has to leave out to be worth a frame around it. Chosen by eye.
FEWEST_HIDDEN = 2
#: Inputs of a node; one with more is taken for different from all others, so that the table of inputs stays narrow.
#: Chosen, not measured.
MOST_PRODUCERS = 64
_NONE = -(1 << 30)

Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`times` instances of `length` nodes each, one after the other; the first one begins at `start`."""

    start: int
    length: int
    times: int

    @property
    def end(self) -> int:
        """Position behind the last instance."""
        return self.start + self.length * self.times


def repeats(signatures: Sequence[Hashable], edges: Sequence[tuple[int, int]]) -> tuple[Repeat, ...]:
    """Find what is repeated; the repetitions do not overlap, those that cover most come first to choose.

    Two instances are alike when their nodes have equal signatures and read the same places: each a node so far back as
    its counterpart does, or the very node that its counterpart reads (a mask that all layers read). What the first
    instance reads from before it may be anything.

    Parameters
    ----------
    signatures : sequence
        One for each node, in topological order.
    edges : sequence of (int, int)
        From, to, as positions; a negative one is a node before the first.

    Returns
    -------
    tuple of Repeat
        In order. Where a repetition may begin at several nodes (``a b a b a``), it begins at the first one that
        nothing but a single value leads past, else at the first one.
    """
    n = len(signatures)
    if n <= FEWEST_HIDDEN:
        return ()
    codes = _codes(signatures)
    reads = _producers(codes, edges)
    narrow = _cuts(n, edges)
    heap: list[tuple[int, int, int, int]] = []
    for length in range(1, n // 2 + 1):
        pause()
        for start, end in _periodic(codes, reads, length):
            _offer(heap, start, end, length)
    taken = np.zeros(n, np.bool_)
    found: list[Repeat] = []
    while heap:
        _, length, start, end = heapq.heappop(heap)
        if taken[start:end].any():
            for a, b in _runs(~taken[start:end]):
                _offer(heap, start + a, start + b, length)
            continue
        times, spare = divmod(end - start, length)
        begin = next((s for s in range(start, start + spare + 1) if narrow[s]), start)
        found.append(Repeat(begin, length, times))
        taken[begin : begin + length * times] = True
    return tuple(sorted(found, key=lambda r: r.start))


def _offer(heap: list[tuple[int, int, int, int]], start: int, end: int, length: int) -> None:
    """Take a stretch of period `length` into account: the one that covers most first, then that of shorter blocks."""
    times = (end - start) // length
    if times > 1 and length * (times - 1) >= FEWEST_HIDDEN:
        heapq.heappush(heap, (-times * length, length, start, end))


def _codes(signatures: Sequence[Hashable]) -> Ints:
    known: dict[Hashable, int] = {}
    return np.fromiter((known.setdefault(s, len(known)) for s in signatures), np.int64, len(signatures))


def _producers(codes: Ints, edges: Sequence[tuple[int, int]]) -> Ints:
    """What each node reads, sorted, one row for each node; rows are filled up with `_NONE`.

    A node that reads too much gets a code of its own instead.
    """
    n = len(codes)
    of: list[list[int]] = [[] for _ in range(n)]
    for a, b in dict.fromkeys(edges):
        of[b].append(a)
    most = max((len(p) for p in of if len(p) <= MOST_PRODUCERS), default=0)
    out = np.full((n, max(most, 1)), _NONE, np.int64)
    for k, producers in enumerate(of):
        if len(producers) <= MOST_PRODUCERS:
            out[k, : len(producers)] = sorted(producers)
        else:
            codes[k] = -1 - k
    return out


def _cuts(n: int, edges: Sequence[tuple[int, int]]) -> Flags:
    """Whether at most one node is read across the point before each position."""
    last: dict[int, int] = {}
    for a, b in edges:
        last[a] = max(last.get(a, b), b)
    change = np.zeros(n + 2, np.int64)
    for a, b in last.items():
        change[max(a, -1) + 1] += 1
        change[b + 1] -= 1
    cuts: Flags = np.cumsum(change)[:n] <= 1
    return cuts


def _runs(flags: Flags) -> Iterator[tuple[int, int]]:
    """Stretches of True, as (first, behind the last)."""
    edge = np.diff(np.concatenate(([False], flags, [False])).astype(np.int8))
    yield from zip(np.flatnonzero(edge == 1).tolist(), np.flatnonzero(edge == -1).tolist(), strict=True)


def _periodic(codes: Ints, reads: Ints, length: int) -> Iterator[tuple[int, int]]:
    """Stretches in which every node is like the one `length` further on."""
    same = codes[length:] == codes[:-length]
    if np.count_nonzero(same) < length:
        return
    for low, high in _runs(same):
        if high - low < length:
            continue
        here, there = reads[low:high], reads[low + length : high + length]
        alike = (there - here == length) | (there == here)
        for a, b in _runs(alike.all(axis=1)):
            start = low + _earlier(here, there, alike, low, a, length)
            if low + b - start >= length:
                yield start, low + b + length


def _earlier(here: Ints, there: Ints, alike: Flags, low: int, a: int, length: int) -> int:
    """How far a stretch that begins at row `a` reaches back if its first instance may read anything before it."""
    first = max(0, a - length)
    odd = ~alike[first:a]
    if not len(odd):
        return a
    reader = np.where(here[first:a] == _NONE, 1 << 30, here[first:a])  # one that reads less is another one
    from_: Any = np.where(odd, reader, _NONE).max(axis=1)
    within: Any = np.where(odd, there[first:a], 1 << 30).min(axis=1)
    latest = np.maximum.accumulate(from_[::-1])[::-1]
    soonest = np.minimum.accumulate(within[::-1])[::-1]
    starts = np.arange(first, a) + low
    fits = np.flatnonzero((latest < starts) & (soonest >= starts))
    return int(first + fits[0]) if len(fits) else a
