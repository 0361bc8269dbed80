"""Caches of pure functions: declared over the function, bounded, and listed by `tables`.

`remembered` finds an answer by which objects the arguments are: every step of a schedule asks the same of most parts of
a nest, and comparing large parts would cost as much as the answer. `remembered_by_value` finds it by equal arguments.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Key: TypeAlias = int | tuple[int, ...]

_TABLES: dict[str, Callable[[], tuple[int, int]]] = {}


def tables() -> dict[str, tuple[int, int]]:
    """Say of every function whose answers are remembered how many are kept now, and how many at most."""
    return {name: filling() for name, filling in _TABLES.items()}


class _Trial(threading.local):
    """Answers that this thread has worked out during a trial: the entries each is in, and its key there."""

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
        for entries, key in self._log:
            if key not in keep if isinstance(key, int) else not keep.issuperset(key):
                entries.pop(key, None)


class _Table:
    """Answers by the ``id`` of objects, which are held: no other one can take their place in memory.

    When there are more than `most`, all of them are forgotten at once.
    """

    __slots__ = ("entries", "most")

    def __init__(self, most: int) -> None:
        self.entries: dict[Key, tuple[tuple[object, ...], Any]] = {}
        self.most = most

    def keep(self, key: Key, parts: tuple[object, ...], answer: T) -> T:
        if len(self.entries) >= self.most:
            self.entries = {}  # another thread may still read the old one
        entries = self.entries
        entries[key] = (parts, answer)
        if (log := _TRIAL.log) is not None:
            log.append((entries, key))
        return answer


def remembered(most: int, parts: Callable[..., tuple[object, ...]] | None = None) -> Callable[[F], F]:
    """Remember the answers of a pure question about immutable objects, by which objects they are.

    Parameters
    ----------
    most : int
        Answers to keep.
    parts : callable, optional
        From the arguments to the objects that decide the answer; by default the one argument itself.
    """

    def declare(work_out: F) -> F:
        table = _Table(most)
        _TABLES[_name(work_out)] = lambda: (len(table.entries), most)

        def about_one(part: object) -> Any:
            hit = table.entries.get(id(part))
            return table.keep(id(part), (part,), work_out(part)) if hit is None else hit[1]

        def about(*args: Any, **kwargs: Any) -> Any:
            assert parts is not None
            held = parts(*args, **kwargs)
            hit = table.entries.get(key := tuple(map(id, held)))
            return table.keep(key, held, work_out(*args, **kwargs)) if hit is None else hit[1]

        return cast("F", functools.wraps(work_out)(about_one if parts is None else about))

    return declare


def remembered_by_value(most: int) -> Callable[[F], F]:
    """Remember the answers of a pure function of small values, by equal arguments; the oldest ones are forgotten."""

    def declare(work_out: F) -> F:
        cached = functools.lru_cache(maxsize=most)(work_out)
        _TABLES[f"{_name(work_out)} (by value)"] = lambda: (cached.cache_info().currsize, most)
        return cast("F", cached)

    return declare


def _name(function: Callable[..., object]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
