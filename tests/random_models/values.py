"""Random arrays: usual numbers, ties, and the edges of a type."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

#: A tensor, or a sequence of them.
Value: TypeAlias = "np.ndarray | list[np.ndarray]"
FLOATS = ("float32", "float64", "float16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
WHOLE = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *WHOLE)
PLAIN = (*NUMBERS, "bool")
WORDS = ("", "a", "Über", "two words", "1.5", "A", "the", "x\ty")


def array(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], kind: str = "usual") -> np.ndarray:
    """Array of a type and shape.

    `kind`: "usual" (a tenth of the floats with special values, a third of the integers over the whole range), "mild"
    (no large numbers: for sums and functions whose result would overflow), "special" (many edges), "positive".
    """
    if dtype == "string":
        return rng.choice(np.array(WORDS, object), shape) if shape else np.array(rng.choice(WORDS), object)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype in WHOLE:
        return _whole(rng, dtype, shape, kind)
    x = np.asarray(rng.standard_normal(shape) * rng.choice([0.5, 1, 1, 4]))
    if rng.random() < 0.3:  # ties, and halves that rounding has to decide
        x = np.asarray(np.round(x * 2) / 2)
    if kind == "positive":
        x = np.abs(x) + 0.1
    x = x.astype(dtype)
    if kind == "special" or (kind == "usual" and rng.random() < 0.1):
        x = np.asarray(np.where(rng.random(shape) < 0.3, rng.choice(_edges(dtype), shape), x), dtype)
    return x


def _whole(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    info = np.iinfo(dtype)
    if kind == "positive":
        return rng.integers(1, 5, shape).astype(dtype)
    if kind == "mild" or rng.random() < 0.65:
        return np.asarray(rng.integers(max(int(info.min), -4), 9, shape)).astype(dtype)
    return np.asarray(rng.integers(info.min, info.max, shape, dtype, endpoint=True))


def _edges(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    tiny = info.smallest_subnormal * 3
    return np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, info.max, info.min, info.tiny, tiny, -tiny, 1.0], dtype)


def shape(rng: np.random.Generator, rank: int, empty: float = 0.02, most: int = 600) -> tuple[int, ...]:
    """Shape with many ones, few zeros, and not too many elements."""
    while True:
        dims = rng.choice([1, 1, 2, 3, 4, 5, 6, 7, 9], rank)
        dims[rng.random(rank) < empty] = 0
        if dims.prod() <= most:
            return tuple(int(n) for n in dims)
