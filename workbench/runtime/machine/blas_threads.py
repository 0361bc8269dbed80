"""Keeping this process off the cores while something of it is timed.

NumPy's linear algebra has threads of its own, and after a product they spin for a tenth of a second on the cores that
kernels need. So it has one thread while the workbench compiles or measures; and before a measurement those that still
spin, after a product of the user's, are waited for.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.locks import ForkLock, in_forked_child

#: So many seconds threads of this process are waited for, and over so many it is seen whether they run.
#: NumPy's threads spin for 0.1 s after a product (measured); the waits are chosen.
_WAIT_S, _LOOK_S = 0.25, 0.004

#: Threads that run for less than this part of the time are idle.
#: Chosen, not measured.
_IDLE = 0.25

_lock = ForkLock()
_users = 0
_limits: Any = None


@contextmanager
def quiet() -> Iterator[None]:
    """Numeric libraries use one thread meanwhile; what they had before comes back with the last user."""
    global _users, _limits
    with _lock:
        _users += 1
        if _users == 1:
            _limits = _limited()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _limits is not None:
                _limits, given_back = None, _limits
                _own_nothing()
                given_back.restore_original_limits()
                _own_nothing()


def _limited() -> Any:
    from threadpoolctl import threadpool_limits

    _own_nothing()
    return threadpool_limits(limits=1, user_api="blas")


def _own_nothing() -> None:
    """Let any thread set the limit of OpenBLAS.

    From version 3.8, threadpoolctl obeys the thread that has set it first, and ignores others without a word. Here the
    first user and the last one are often different threads.
    """
    import threadpoolctl

    blas = getattr(threadpoolctl, "OpenBLASController", None)
    if blas is not None and hasattr(blas, "clear_controlling_thread"):
        blas.clear_controlling_thread(force=True)


def settle() -> float:
    """Wait until the other threads of this process are idle, for a quarter of a second at most.

    Returns
    -------
    float
        For what part of the time they run still, counted in cores: 0.0 to the number of cores.
    """
    end = time.perf_counter() + _WAIT_S
    while True:
        busy = max(_others(), _runnable())
        if busy < _IDLE or time.perf_counter() >= end:
            return busy


def _others() -> float:
    """Cores that the other threads of this process keep busy."""
    begin, ran = time.perf_counter_ns(), time.process_time_ns() - time.thread_time_ns()
    time.sleep(_LOOK_S)
    ran = time.process_time_ns() - time.thread_time_ns() - ran
    return max(0.0, ran / max(1, time.perf_counter_ns() - begin))


def _runnable() -> float:
    """Other threads of this process that run or wait for a core: on a busy machine they use no time while they wait."""
    own, ready = threading.get_native_id(), 0
    for stat in Path("/proc/self/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread has ended
            text = stat.read_text(errors="replace")
            ready += text.partition(" ")[0] != str(own) and text.rpartition(") ")[2][:1] == "R"
    return float(ready)


@in_forked_child
def _after_fork() -> None:
    """A forked child has no other thread that would give anything back."""
    global _users
    _users = 0
