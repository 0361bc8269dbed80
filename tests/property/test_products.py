"""Products that are copied, padded, tiled and packed in random ways mean what they meant."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from property import checks, randoms
from property.products import product


def concrete(count: int, seed: int) -> Counter[str]:
    rng, used = random.Random(seed), Counter()
    for _ in range(count):
        made = product(rng)
        checks.check_all(made)
        used.update(set(made.names))
    return used


def symbolic(count: int, seed: int) -> tuple[Counter[str], int]:
    rng, used, rows = random.Random(seed), Counter(), 0
    for _ in range(count):
        made = product(rng, holes=True)
        checks.check_states(made)
        checks.check_text(made)
        used.update(set(made.names))
        row = randoms.random_row(rng, made.schedule)
        if row is not None:
            filled = checks.check_filling(made, row)
            checks.check_states(filled)
            checks.check_compiled(filled, checks.check_meaning(filled))
            rows += 1
    return used, rows


def test_products_with_numbers():
    used = concrete(10, seed=5)
    assert used["pad"] >= 5
    assert used["transform_layout"] >= 4


def test_products_with_holes():
    used, rows = symbolic(8, seed=6)
    assert rows >= 5
    assert used["pad"] >= 4


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_many_products_with_numbers(capsys):
    used = concrete(600, seed=21)
    with capsys.disabled():
        print(f"\n600 products: {dict(used)}")
    assert min(used[n] for n in ("pad", "cache_read", "transform_layout", "compute_at", "reverse_compute_at")) >= 100


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_many_products_with_holes(capsys):
    used, rows = symbolic(300, seed=22)
    with capsys.disabled():
        print(f"\n{rows} rows of products: {dict(used)}")
    assert rows >= 200
    assert used["transform_layout"] >= 100
