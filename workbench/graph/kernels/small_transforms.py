"""Fourier transforms of a few numbers, which are in registers: pairs of a real and an imaginary part.

A length is taken apart into its factors; each number of a pair may be a vector of as many transforms.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import TypeAlias

from workbench.codegen.runtime_kernels.language import Number

#: Real and imaginary part.
Pair: TypeAlias = tuple[Number, Number]


def factors(size: int) -> list[int]:
    """Lengths that `transformed` takes apart, the last one first: 4, then primes."""
    found = []
    for p in (4, 2, *range(3, size + 1, 2)):
        while size % p == 0:
            found.append(p)
            size //= p
    return found


def transformed(x: Sequence[Pair]) -> list[Pair]:
    """The transform of the numbers, in order."""
    size = len(x)
    first, *rest = factors(size) or [1]
    if not rest:
        return _whole(x)
    each = size // first
    parts = [transformed(x[j::first]) for j in range(first)]
    found: list[Pair] = [x[0]] * size
    for k in range(each):
        turned = [times_root(parts[j][k], j * k, size) for j in range(first)]
        found[k::each] = _whole(turned)
    return found


def _whole(x: Sequence[Pair]) -> list[Pair]:
    """The transform of 1, 4 or a prime number of numbers."""
    if len(x) == 1:
        return list(x)
    if len(x) == 4:
        a, b = _butterfly(x[0], x[2])
        c, d = _butterfly(x[1], x[3])
        (p, r), (q, s) = _butterfly(a, c), _butterfly(b, (d[1], -d[0]))
        return [p, q, r, s]
    if len(x) == 2:
        return list(_butterfly(*x))
    size, half = len(x), len(x) // 2 + 1
    pairs = [_butterfly(x[j], x[size - j]) for j in range(1, half)]
    found = [x[0]] * size
    for k in range(half):
        even, odd = x[0], None
        for j, (both, apart) in enumerate(pairs, 1):
            turn = 2 * math.pi * (j * k % size) / size
            even = (even[0] + both[0] * math.cos(turn), even[1] + both[1] * math.cos(turn)) if k else _sum(even, both)
            more = (apart[1] * math.sin(turn), apart[0] * -math.sin(turn))
            odd = more if odd is None else _sum(odd, more)
        assert odd is not None
        found[k], found[(size - k) % size] = (_sum(even, odd), _difference(even, odd)) if k else (even, even)
    return found


def _sum(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def _difference(a: Pair, b: Pair) -> Pair:
    return a[0] - b[0], a[1] - b[1]


def _butterfly(a: Pair, b: Pair) -> tuple[Pair, Pair]:
    return _sum(a, b), _difference(a, b)


def times(a: Pair, b: Pair) -> Pair:
    """Product of complex numbers."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def times_root(x: Pair, power: int, size: int) -> Pair:
    """Times a power of the root of unity ``exp(-2 pi i / size)``; of an eighth of a turn by sums."""
    re, im = x
    eighths, rest = divmod(8 * (power % size), size)
    if rest:
        w = cmath.exp(-2j * math.pi * power / size)
        return re * w.real + im * -w.imag, im * w.real + re * w.imag
    if eighths % 2:
        half = math.sqrt(0.5)
        re, im = (re + im) * half, (im - re) * half
    return [(re, im), (im, -re), (-re, -im), (-im, re)][eighths // 2]
