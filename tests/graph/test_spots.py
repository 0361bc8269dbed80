"""Strides of parts, against NumPy's own views."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from workbench.graph.group import Spot, gapless, restrided, row_major


def elements(array: np.ndarray) -> tuple[int, ...]:
    return tuple(s // array.itemsize for s in array.strides)


def random_shape(rng: random.Random, n: int) -> tuple[int, ...]:
    out: list[int] = []
    while n > 1 and rng.random() < 0.8:
        out.append(rng.choice([k for k in range(1, n + 1) if n % k == 0]))
        n //= out[-1]
    out.append(n)
    for _ in range(rng.randrange(3)):
        out.insert(rng.randrange(len(out) + 1), 1)
    return tuple(out)


def random_part(rng: random.Random, n: int) -> np.ndarray:
    """A part of a larger array, from its start on."""
    shape = random_shape(rng, n)
    wide = tuple(d + rng.choice((0, 0, 0, 1, d)) for d in shape)
    return np.arange(math.prod(wide)).reshape(wide)[tuple(slice(d) for d in shape)]


def test_another_shape_without_moving_anything():
    rng, possible = random.Random(0), 0
    for _ in range(2000):
        n = rng.choice((1, 6, 12, 24, 60))
        part, new = random_part(rng, n), random_shape(rng, n)
        view = part.view()
        try:
            view.shape = new
        except AttributeError:
            view = None
        got = restrided(part.shape, elements(part), new)
        assert (got is None) == (view is None), (part.shape, part.strides, new)
        if got is not None:
            strides = tuple(s * part.itemsize for s in got)
            np.testing.assert_array_equal(np.lib.stride_tricks.as_strided(part, new, strides), view)
            possible += 1
    assert 500 < possible < 1900


def test_the_array_around_a_part():
    rng = random.Random(1)
    for _ in range(500):
        part = random_part(rng, rng.choice((6, 24, 60)))
        spot = Spot("whole", 0, part.shape, elements(part))
        if part.shape[-1] > 1 and spot.strides[-1] != 1:
            continue
        wide = spot.widened(part.shape)
        assert (wide is None) == gapless(part.shape, spot.strides)
        if wide is not None:
            apart = [(s, o) for n, s, o in zip(part.shape, row_major(wide), spot.strides, strict=True) if n > 1]
            assert all(s == o for s, o in apart), (part.shape, wide, spot)


@pytest.mark.parametrize("strides", [(12, 4, 2), (12, 5, 1), (11, 4, 1), (4, 4, 1), (12, 1, 4)])
def test_parts_that_no_array_is_around(strides):
    """Columns apart, rows that overlap, distances that are no multiples."""
    with pytest.raises(ValueError, match="whole"):
        Spot("whole", 0, (2, 3, 4), strides).widened((2, 3, 4))
