"""Locks that a forked child finds open, and results that are made once however many threads ask at the same time."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
_all: weakref.WeakSet[ForkLock] = weakref.WeakSet()


class ForkLock:
    """A lock that is open in a forked child, whichever thread of the parent held it.

    That thread does not exist in the child, so nobody else would open it there.

    Parameters
    ----------
    reentrant : bool
        Whether the thread that holds it may take it again.
    """

    def __init__(self, reentrant: bool = True) -> None:
        self._kind = threading.RLock if reentrant else threading.Lock
        self._lock = self._kind()
        _all.add(self)

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock; False where that would mean to wait and `blocking` is not set."""
        return self._lock.acquire(blocking)

    def release(self) -> None:
        """Open the lock."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _reopen(self) -> None:
        self._lock = self._kind()


def once(make: Callable[[], _T]) -> Callable[[], _T]:
    """Keep the result of a function; for use as a decorator.

    Unlike `functools.cache`, which runs the function again for a thread that asks while another one runs it, and so may
    drop a result that is already in use.
    """
    lock, made = ForkLock(), list[_T]()

    @functools.wraps(make)
    def get() -> _T:
        if not made:
            with lock:
                if not made:
                    made.append(make())
        return made[0]

    return get


def in_forked_child(function: Callable[[], None]) -> Callable[[], None]:
    """Call a function in each forked child, on systems that fork; for use as a decorator."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
    return function


@in_forked_child
def _reopen_all() -> None:
    for lock in list(_all):
        lock._reopen()
