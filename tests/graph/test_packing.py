"""The arena: never two things in one place, close to the least possible, and exactly that where there are few."""

from __future__ import annotations

import itertools
import random

import pytest

from workbench.graph.memory.arena import FEW, Item, _orders, _Search, most_at_once, pack_items


def random_items(rng: random.Random, n: int, steps: int = 12) -> list[Item]:
    items = []
    for _ in range(n):
        first = rng.randrange(steps)
        items.append(Item(rng.randrange(1, 20) * 64, first, min(steps, first + rng.choice((1, 1, 2, 3, 8)))))
    return items


def valid(items: list[Item], offsets: list[int], top: int) -> None:
    for (a, x), (b, y) in itertools.combinations(zip(items, offsets, strict=True), 2):
        if a.first <= b.last and b.first <= a.last:
            assert x + a.size <= y or y + b.size <= x, (a, b, x, y)
    assert top == max(o + i.size for i, o in zip(items, offsets, strict=True))
    assert min(offsets) >= 0


def least(items: list[Item]) -> int:
    """Smallest arena: every order, each item at the lowest free offset."""
    best = sum(i.size for i in items)
    for order in itertools.permutations(range(len(items))):
        at: dict[int, int] = {}
        for k in order:
            near = sorted((at[j], at[j] + items[j].size) for j in at if items[j].meets(items[k]))
            offset = 0
            for start, end in near:
                if offset + items[k].size <= start:
                    break
                offset = max(offset, end)
            at[k] = offset
        best = min(best, max(at[k] + items[k].size for k in at))
    return best


def test_few_items_are_placed_as_well_as_can_be():
    rng = random.Random(3)
    for _ in range(60):
        items = random_items(rng, rng.randrange(2, 7), 6)
        offsets, top = pack_items(items)
        valid(items, offsets, top)
        assert top == least(items), items


def test_orders_that_chance_finds_late():
    """What no simple order reaches, the search over all of them does."""
    found = 0
    for seed in range(400):
        items = random_items(random.Random(seed), 8, 8)
        search = _Search(items)
        for order in _orders(items):
            search.attempt(order)
            search.attempt(order, tight=True)
        before = search.top
        offsets, top = pack_items(items)
        valid(items, offsets, top)
        found += top < before
    assert found


@pytest.mark.parametrize("n", [FEW + 1, 30, 120])
def test_many_items_come_close_to_the_bound(n):
    rng, sizes = random.Random(n), []
    for _ in range(10):
        items = random_items(rng, n, n)
        offsets, top = pack_items(items)
        valid(items, offsets, top)
        assert top >= most_at_once(items)
        sizes.append(top / most_at_once(items))
    assert sum(sizes) / len(sizes) < 1.08, sizes
    assert max(sizes) < 1.2, sizes


def test_nothing_to_place():
    assert pack_items([]) == ([], 0)
    assert most_at_once([]) == 0


def test_what_lives_at_once():
    items = [Item(64, 0, 2), Item(128, 2, 3), Item(256, 3, 5)]
    assert most_at_once(items) == 384
    assert pack_items(items)[1] == 384
