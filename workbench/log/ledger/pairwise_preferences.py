"""Who ranks before whom by comparisons, free of circles, and the order that follows."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

Key: TypeAlias = tuple[Any, ...]
Node = TypeVar("Node", bound=Hashable)


class Preferences(Generic[Node]):
    """Pairs of a winner and a loser.

    Attributes
    ----------
    behind : dict of node to set of node
        Node -> those that won against it.
    weak : set of tuple
        Pairs that say who ranks first, and nothing about numbers.
    """

    def __init__(self) -> None:
        self.behind: dict[Node, set[Node]] = {}
        self.weak: set[tuple[Node, Node]] = set()
        self._losers: dict[Node, set[Node]] = {}

    def add(self, winner: Node, loser: Node, firm: bool = True) -> bool:
        """Prefer `winner` to `loser`, unless that would close a circle; whether it could be done."""
        if winner == loser or self._follows(winner, loser):
            return False
        if firm:
            self.weak.discard((winner, loser))
        elif winner not in self.behind.get(loser, ()):
            self.weak.add((winner, loser))
        self.behind.setdefault(loser, set()).add(winner)
        self._losers.setdefault(winner, set()).add(loser)
        return True

    def _follows(self, start: Node, goal: Node) -> bool:
        """Whether `start` ranks behind `goal`, directly or by way of others."""
        open_, seen = [start], {start}
        while open_:
            for winner in self.behind.get(open_.pop(), ()):
                if winner == goal:
                    return True
                if winner not in seen:
                    seen.add(winner)
                    open_.append(winner)
        return False

    def places(self, keys: Mapping[Node, Key], firm: bool = False) -> dict[Node, Key]:
        """Return the least key of each node and of all that it has beaten, directly or by way of others; with `firm`,
        those that it beat only in `weak` pairs left out.
        """
        places = dict(keys)
        for node in reversed(list(self.order(keys, {}))):
            for winner in self.behind.get(node, ()):
                if not firm or (winner, node) not in self.weak:
                    places[winner] = min(places[winner], places[node])
        return places

    def order(self, nodes: Iterable[Node], places: Mapping[Node, Key]) -> Iterator[Node]:
        """Yield nodes by their places, each after all that won against it; of equal ones, that which comes first."""
        known = list(nodes)
        number = {node: i for i, node in enumerate(known)}
        waiting = {node: len(self.behind.get(node, ())) for node in known}
        ready = [(places.get(node, ()), number[node]) for node in known if not waiting[node]]
        heapq.heapify(ready)
        while ready:
            node = known[heapq.heappop(ready)[1]]
            yield node
            for loser in self._losers.get(node, ()):
                waiting[loser] -= 1
                if not waiting[loser]:
                    heapq.heappush(ready, (places.get(loser, ()), number[loser]))
