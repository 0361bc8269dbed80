"""Parameters of records as arrays: codes of their values, and numbers that a model can learn from."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST = 1e38
"""What stands for an endless number, or one that no model can have. Chosen: single precision still has it."""

ABSENT = "—"
"""What stands where a record does not have a parameter."""


def said(value: Any) -> str:
    """Return a value of a parameter as text."""
    return value if isinstance(value, str) else json.dumps(value, default=str).replace('"', "")


@dataclass(frozen=True, eq=False)
class Parameters:
    """The parameters of some records.

    Attributes
    ----------
    names : tuple of str
        The parameters, in the order of their first appearance.
    levels : tuple of list
        Values of each that occur: numbers by size, others by their text.
    codes : array ``[N, P]`` of int32
        Number of the level; -1 where a record does not have the parameter.
    """

    names: tuple[str, ...]
    levels: tuple[list[Any], ...]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, params: Sequence[Mapping[str, Any]], names: Iterable[str] | None = None) -> Parameters:
        """Read them from a mapping per record."""
        if names is None:
            names = dict.fromkeys(name for one in params for name in one)
        names = tuple(names)
        columns = [_coded([one.get(name, _MISSING) for one in params]) for name in names]
        codes = np.stack([c for c, _ in columns], axis=1) if columns else np.empty((len(params), 0), np.int32)
        return cls(names, tuple(levels for _, levels in columns), np.ascontiguousarray(codes))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def varying(self) -> list[int]:
        """Numbers of the parameters with more than one value."""
        return [k for k in range(len(self.names)) if len(np.unique(self.codes[:, k])) > 1]

    def at(self, row: int) -> dict[str, Any]:
        """Return the parameters of one record."""
        pairs = zip(self.names, self.levels, self.codes[row], strict=True)
        return {name: levels[code] for name, levels, code in pairs if code >= 0}

    def taken(self, rows: NDArray[Any]) -> Parameters:
        """Return some records, or a boolean mask of them."""
        return Parameters(self.names, self.levels, self.codes[rows])

    @cached_property
    def configuration(self) -> NDArray[np.int64]:
        """A number per record ``[N]``: the same for the same parameters."""
        return combined(self.codes)

    @cached_property
    def features(self) -> Features:
        """Numbers that a model can learn from."""
        return Features.of(self)


@dataclass(frozen=True, eq=False)
class Features:
    """Parameters as numbers: a list of numbers is a column per element, text is a code.

    Attributes
    ----------
    names : tuple of str
        ``tile_x``, or ``tile_x[1]`` for an element.
    owner : array ``[F]``
        Which parameter each column belongs to.
    categorical : array ``[F]`` of bool
        Whether the number is only a name.
    x : array ``[N, F]`` of float64
        NaN where a record does not have it.
    levels : tuple of list
        Values of each column that occur, in order.
    codes : array ``[N, F]`` of int32
        Number of the level; -1 where a record does not have it.
    """

    names: tuple[str, ...]
    owner: NDArray[np.intp]
    categorical: NDArray[np.bool_]
    x: NDArray[np.float64]
    levels: tuple[list[Any], ...]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, parameters: Parameters) -> Features:
        """Make them; parameters with one value are left out."""
        names: list[str] = []
        owner: list[int] = []
        kinds: list[bool] = []
        levels: list[list[Any]] = []
        columns: list[tuple[NDArray[Any], NDArray[Any]]] = []
        for k in parameters.varying:
            table, kind = _numbers(parameters.levels[k])
            table = np.vstack([table, np.full((1, table.shape[1]), np.nan, np.float64)])  # code -1
            for j in range(table.shape[1]):
                values, place = np.unique(table[:, j], return_inverse=True)
                place = np.where(np.isnan(table[:, j]), -1, place).astype(np.int32)
                code = place[parameters.codes[:, k]]
                if len(np.unique(code)) < 2:
                    continue
                names.append(parameters.names[k] + (f"[{j}]" if table.shape[1] > 1 else ""))
                owner.append(k)
                kinds.append(kind)
                levels.append(parameters.levels[k] if table.shape[1] == 1 else [_whole(v) for v in values if v == v])
                columns.append((table[parameters.codes[:, k], j], code))
        x = np.stack([c[0] for c in columns], axis=1) if columns else np.empty((len(parameters), 0), np.float64)
        codes = np.stack([c[1] for c in columns], axis=1) if columns else np.empty((len(parameters), 0), np.int32)
        return cls(tuple(names), np.array(owner, np.intp), np.array(kinds, np.bool_), x, tuple(levels), codes)


def _whole(value: Any) -> Any:
    return int(value) if float(value).is_integer() else float(value)


def combined(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return a number per row ``[N]`` of ``[N, P]``: equal for equal rows, below N."""
    key = np.zeros(len(codes), np.int64)
    for column in codes.T:
        _, key = np.unique(key * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)
    return key


_MISSING = object()


def _coded(values: list[Any]) -> tuple[NDArray[np.int32], list[Any]]:
    """Return the codes of values, and the levels in their order."""
    seen: dict[Hashable, int] = {}
    levels: list[Any] = []
    codes = np.empty(len(values), np.int32)
    for row, value in enumerate(values):
        if value is _MISSING:
            codes[row] = -1
            continue
        key = value if isinstance(value, str | int | float) else repr(value)
        code = seen.get(key)
        if code is None:
            code = seen[key] = len(levels)
            levels.append(value)
        codes[row] = code
    order = _order(levels)
    place = np.empty(len(levels) + 1, np.int32)
    place[order] = np.arange(len(levels), dtype=np.int32)
    place[-1] = -1
    return place[codes], [levels[k] for k in order]


def _order(levels: list[Any]) -> list[int]:
    if all(isinstance(v, int | float) for v in levels):
        return sorted(range(len(levels)), key=lambda k: levels[k])
    if all(_is_numbers(v) for v in levels):
        return sorted(range(len(levels)), key=lambda k: list(levels[k]))
    return sorted(range(len(levels)), key=lambda k: said(levels[k]))


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(v, int | float) for v in value)


def _bounded(value: float) -> float:
    """Return a number as a model can have it: of an endless or too large one its sign at the largest."""
    return value if value != value else float(max(-_LARGEST, min(_LARGEST, value)))


def _numbers(levels: list[Any]) -> tuple[NDArray[np.float64], bool]:
    """Return numbers of the levels ``[L, elements]``, and whether they are mere names."""
    if all(isinstance(v, int | float) for v in levels):
        return np.array([_bounded(v) for v in levels], np.float64).reshape(-1, 1), False
    if all(_is_numbers(v) for v in levels) and any(levels):
        table = np.full((len(levels), max(map(len, levels))), np.nan, np.float64)
        for row, value in enumerate(levels):
            table[row, : len(value)] = [_bounded(v) for v in value]
        return table, False
    return np.arange(len(levels), dtype=np.float64).reshape(-1, 1), True
