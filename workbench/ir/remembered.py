"""Remembering what was worked out about parts of a nest: every step of a schedule asks the same of most of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """Results of a pure question about immutable objects, found by which objects they are.

    Two equal objects are two questions: comparing large ones would cost as much as the answer. The objects are kept, so
    no other one can take their place in memory; of very many, all are forgotten at once.
    """

    __slots__ = ("_most", "_table")

    def __init__(self, most: int = 4096) -> None:
        self._table: dict[tuple[int, ...], tuple[tuple[object, ...], T]] = {}
        self._most = most

    def of(self, parts: tuple[object, ...], work_out: Callable[[], T]) -> T:
        """Answer for these objects; worked out when it is asked for the first time."""
        table = self._table
        key = tuple(map(id, parts))
        hit = table.get(key)
        if hit is None:
            hit = (parts, work_out())
            if len(table) >= self._most:
                table = self._table = {}  # another thread may still read the old one
            table[key] = hit
        return hit[1]
