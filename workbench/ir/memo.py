"""Remembering what was worked out about parts of a nest: every step of a schedule asks the same of most of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

P = TypeVar("P")
T = TypeVar("T")


class _Trial(threading.local):
    """Answers that this thread has worked out during a trial: the table each is in, and its key there."""

    log: list[tuple[dict[Any, Any], Any]] | None = None


_TRIAL = _Trial()


class trial:
    """Forget at the end what was worked out in it, but for questions about objects alone whose ``id`` is in `keep`.

    What is made only to see whether it can be would live on in the tables otherwise, and push out what is still needed.
    """

    __slots__ = ("_before", "_keep", "_log")

    def __init__(self, keep: Iterable[int]) -> None:
        self._keep = frozenset(keep)

    def __enter__(self) -> None:
        self._before = _TRIAL.log
        self._log: list[tuple[dict[Any, Any], Any]] = []
        _TRIAL.log = self._log

    def __exit__(self, *_: object) -> None:
        _TRIAL.log = self._before
        keep = self._keep
        for table, key in self._log:
            if key not in keep if isinstance(key, int) else not keep.issuperset(key):
                table.pop(key, None)


class Remembered(Generic[T]):
    """Results of a pure question about immutable objects, found by which objects they are.

    Two equal objects are two questions: comparing large ones would cost as much as the answer. The objects are kept, so
    no other one can take their place in memory; of very many, all are forgotten at once.
    """

    __slots__ = ("_most", "_table")

    def __init__(self, most: int = 4096) -> None:
        self._table: dict[int | tuple[int, ...], tuple[tuple[object, ...], T]] = {}
        self._most = most

    def about(self, part: P, work_out: Callable[[P], T]) -> T:
        """Answer for one object, which `work_out` is given."""
        hit = self._table.get(id(part))
        return self._keep(id(part), (part,), work_out(part)) if hit is None else hit[1]

    def of(self, parts: tuple[object, ...], work_out: Callable[[], T]) -> T:
        """Answer for these objects; worked out when it is asked for the first time."""
        key = id(parts[0]) if len(parts) == 1 else tuple(map(id, parts))
        hit = self._table.get(key)
        return self._keep(key, parts, work_out()) if hit is None else hit[1]

    def _keep(self, key: int | tuple[int, ...], parts: tuple[object, ...], answer: T) -> T:
        if len(self._table) >= self._most:
            self._table = {}  # another thread may still read the old one
        table = self._table
        table[key] = (parts, answer)
        if (log := _TRIAL.log) is not None:
            log.append((table, key))
        return answer
