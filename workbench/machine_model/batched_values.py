"""Evaluating a plan over a population: dims as columns of float32, levels per row, rows that a block cannot tell apart.

Numbers are float32: extents, coefficients and shapes are whole and below 2**24, so they are exact; what is multiplied
from them is only used in ratios and logarithms. A dim without holes has one value ``[1]``, so what depends on no hole
is worked out once for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.ir import Dim
from workbench.ir.poly import evaluate

Array: TypeAlias = NDArray[np.float32]
Levels: TypeAlias = NDArray[np.intp]
_T = TypeVar("_T", bound=np.generic)


def column(x: Any) -> Array:
    """A number or an array as float32 column ``[1]`` or ``[N]``."""
    return np.atleast_1d(np.asarray(x, np.float32))


class Values:
    """Columns of the dims of one plan; a dim is looked up by identity, because hashing polynomials takes longer."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self._columns = columns
        self._memo: dict[object, Any] = {}
        self._known: dict[int, tuple[Dim, Array]] = {}

    def __call__(self, dim: Dim) -> Array:
        got = self._known.get(id(dim))
        if got is None:
            got = (dim, column(evaluate(dim, self._columns, self._memo)))
            self._known[id(dim)] = got
        return got[1]


class Level:
    """One level per row, ready to pick from matrices ``[D + 1, N]``."""

    __slots__ = ("_flat", "level")

    def __init__(self, level: Levels) -> None:
        self.level = level
        self._flat = level * len(level) + np.arange(len(level))

    def pick(self, matrix: NDArray[_T]) -> NDArray[_T]:
        """``matrix[level[n], n]`` for every row n."""
        return matrix.ravel().take(self._flat)


@dataclass(frozen=True, slots=True)
class Distinct:
    """Rows that differ in some holes: one row of the population for each of them, and which of them each row is."""

    columns: Mapping[str, Array]
    size: int
    places: Levels | None

    def spread(self, rows: Array) -> Array:
        """Rows ``[size, ...]`` for the whole population ``[N, ...]``."""
        return rows if self.places is None else rows.take(self.places, axis=0)


#: Rows of which more than this share differ are not worth telling apart.
_WORTH = 0.7
_DENSE = 1 << 17


class Telling:
    """Finds the distinct rows of a population for any set of holes."""

    def __init__(self, columns: Mapping[str, NDArray[Any]], n: int) -> None:
        self._floats = {h: column(c) for h, c in columns.items()}
        self._n = n
        self._codes: dict[str, tuple[Levels, int]] = {}
        self._columns = columns
        self._found: dict[tuple[str, ...], Distinct] = {}

    @property
    def all(self) -> Distinct:
        """Every row for itself."""
        return Distinct(self._floats, self._n, None)

    def of(self, holes: Sequence[str]) -> Distinct:
        """Rows that differ in one of `holes`."""
        key = tuple(holes)
        if key not in self._found:
            self._found[key] = self._distinct(key)
        return self._found[key]

    def _distinct(self, holes: tuple[str, ...]) -> Distinct:
        if self._n <= 1:
            return self.all
        places, size = np.zeros(self._n, np.intp), 1
        for h in holes:
            code, count = self._code(h)
            places, size = _dense(places * count + code, size * count)
            if size > _WORTH * self._n:
                return self.all
        first = np.empty(size, np.intp)
        first[places] = np.arange(self._n)
        return Distinct({h: self._floats[h].take(first) for h in holes}, size, places)

    def _code(self, hole: str) -> tuple[Levels, int]:
        if hole not in self._codes:
            values = np.asarray(self._columns[hole]).astype(np.intp)
            self._codes[hole] = _dense(values, int(values.max()) + 1)
        return self._codes[hole]


def _dense(codes: Levels, bound: int) -> tuple[Levels, int]:
    """Number codes below `bound` from 0 without gaps."""
    if bound > _DENSE:
        values, places = np.unique(codes, return_inverse=True)
        return places.astype(np.intp, copy=False), len(values)
    seat = np.zeros(bound, np.intp)
    seat[codes] = 1
    present = np.flatnonzero(seat)
    seat[present] = np.arange(len(present))
    return seat.take(codes), len(present)
