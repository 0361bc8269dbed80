"""Placing memory that is needed for a while into an arena that is as small as possible.

To find the smallest arena is hard in general, so several orders compete: in each, everything is placed in turn at the
lowest or at the tightest offset that is free while it is needed. What reaches the most bytes that are needed at once
cannot be beaten. Otherwise few items are placed in every order that could give less, and for many the order is changed
step by step: what ends highest goes earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: Items up to which every order of placement is tried, and steps after which that ends. Chosen, not measured: more of
#: both take time, and give a smaller arena now and then.
FEW, STEPS = 9, 20_000
#: Changes of the order that are tried where there are more items. Chosen, not measured: more give a smaller arena now
#: and then.
ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Item:
    """Memory of `size` bytes that is needed from step `first` to step `last`."""

    size: int
    first: int
    last: int

    def meets(self, other: Item) -> bool:
        """Whether both are needed at some step."""
        return self.first <= other.last and other.first <= self.last


def most_at_once(items: Sequence[Item]) -> int:
    """Most bytes that are needed at once: no arena is smaller."""
    change: dict[int, int] = {}
    for x in items:
        change[x.first] = change.get(x.first, 0) + x.size
        change[x.last + 1] = change.get(x.last + 1, 0) - x.size
    alive = most = 0
    for step in sorted(change):
        alive += change[step]
        most = max(most, alive)
    return most


def pack_items(items: Sequence[Item]) -> tuple[list[int], int]:
    """Offset of every item, and the size of the arena."""
    if not items:
        return [], 0
    search = _Search(items)
    for order in _orders(items):
        for tight in (False, True):
            if search.attempt(order, tight):
                return search.best, search.top
    if len(items) <= FEW:
        search.every_order()
    else:
        search.improve()
    return search.best, search.top


def _orders(items: Sequence[Item]) -> Iterator[list[int]]:
    """Orders to try: by size, by size and length, by length, by crowding, by time."""
    every = range(len(items))
    long = [x.last - x.first + 1 for x in items]
    crowd = [sum(y.size for y in items if x.meets(y)) for x in items] if len(items) <= 1000 else [x.size for x in items]
    yield sorted(every, key=lambda k: (-items[k].size, items[k].first))
    yield sorted(every, key=lambda k: (-items[k].size * long[k], items[k].first))
    yield sorted(every, key=lambda k: (-long[k], -items[k].size, items[k].first))
    yield sorted(every, key=lambda k: (-crowd[k], -items[k].size, items[k].first))
    yield sorted(every, key=lambda k: (items[k].first, -items[k].size))


class _Search:
    """The best placement so far."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.bound = most_at_once(items)
        self.best: list[int] = []
        self.top = 0
        self.order: list[int] = []
        self.near = [[j for j, y in enumerate(items) if j != k and x.meets(y)] for k, x in enumerate(items)]

    def attempt(self, order: Sequence[int], tight: bool = False) -> bool:
        """Place everything in an order and keep the result if it is smaller; whether nothing can be smaller still."""
        at = [-1] * len(self.items)
        for k in order:
            at[k] = self._free(k, at, tight)
        top = max(o + x.size for o, x in zip(at, self.items, strict=True))
        if not self.best or top < self.top:
            self.best, self.top, self.order = at, top, list(order)
        return self.top == self.bound

    def _free(self, k: int, at: Sequence[int], tight: bool) -> int:
        """Lowest free offset for an item, or that of the smallest gap that holds it."""
        size, start = self.items[k].size, 0
        gaps: list[tuple[int, int]] = []
        for offset, end in sorted((at[j], at[j] + self.items[j].size) for j in self.near[k] if at[j] >= 0):
            if start + size <= offset:
                if not tight:
                    return start
                gaps.append((offset - start, start))
            start = max(start, end)
        return min(gaps)[1] if gaps else start

    def every_order(self) -> None:
        """Try all orders in which items could lie from the bottom up, as long as that stays few."""
        self._steps = STEPS
        self._extend([], [-1] * len(self.items), 0)

    def _extend(self, order: list[int], at: list[int], top: int) -> None:
        self._steps -= 1
        if self._steps < 0 or top >= self.top or self.top == self.bound:
            return
        if len(order) == len(self.items):
            self.best, self.top, self.order = list(at), top, list(order)
            return
        for k in range(len(self.items)):
            if at[k] < 0:
                at[k] = self._free(k, at, False)
                self._extend([*order, k], at, max(top, at[k] + self.items[k].size))
                at[k] = -1

    def improve(self) -> None:
        """Move what ends highest towards the front of the order, again and again."""
        order = list(self.order)
        for turn in range(ROUNDS):
            at = self.best
            high = max(order, key=lambda k: at[k] + self.items[k].size)
            place = order.index(high)
            if place == 0:
                return
            order.insert(place * (turn % 3) // 3 if turn % 2 else max(0, place - 1 - turn // 2), order.pop(place))
            before = self.top
            if self.attempt(order):
                return
            if self.top == before and turn % 12 == 11:
                order = list(self.order)
