"""Parallel regions: a small thread pool whose inner loop is machine code.

A region is ``launch(pool, fn, ctx, ntasks)``: it calls ``fn(ctx, task, tid)`` once for every task in ``[0, ntasks)``
and returns when all have finished. `tid` is in ``[0, nthreads)`` and no two calls with the same `tid` overlap.

How it works. The workers are ordinary Python daemon threads that sit inside one ctypes call (which releases the
interpreter lock), so creating them is portable. One 64-bit *ticket* word holds the number of tasks and the next task
together: taking a task is one atomic addition, and a worker that comes late can never run a task of a region that is
over. The join counts *finished tasks*, never workers, so a worker that got no processor time delays nobody; the
launching thread takes tasks too, and where it has to wait for the last ones it spins, then sleeps. An idle worker
spins for a moment, because the next region of a network follows within microseconds, then sleeps: on Linux in a
futex, elsewhere by yielding and short sleeps. If the pool is busy (a nested region, or a second launching thread),
the region runs inline in the caller, with the caller's own `tid`.

Nothing starts at import. A pool starts its threads on first use, survives `os.fork` (the child starts its own), and
is stopped with its last reference and at interpreter exit, before the machine code goes away. The threads themselves
hold the pool's memory, and no two threads ever have one `tid`: new ones wait until the old ones have left.
"""

from __future__ import annotations

import atexit
import ctypes
import platform
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from workbench.arguments import shown, whole
from workbench.errors import RunError, UsageError
from workbench.host import usable_threads
from workbench.locks import ForkLock, in_forked_child, once
from workbench.runtime.buffers import Array, aligned_empty
from workbench.runtime.native.jit import load
from workbench.runtime.thread_pool import native_pool
from workbench.runtime.thread_pool.native_pool import MAX_THREADS, POOL
from workbench.runtime.thread_pool.placement import Placement

if TYPE_CHECKING:
    from workbench.codegen.llvm.llvmlite_binding import Library

LAUNCH_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_WORKER_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)
_WAKE_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)

#: So many spins last some hours.
_FOR_EVER = 2**31 - 1


@once
def _code() -> Library:
    """The pool's machine code, loaded for ever: a sleeping worker may be inside it."""
    return load(*native_pool.ENTRIES)


def serial_launch_address() -> int:
    """Return the address of the launch function that runs every task in the caller."""
    return _code()["wb_launch_serial"]


_pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()


class ThreadPool:
    """Worker threads for parallel regions.

    Parameters
    ----------
    nthreads : int
        Number of threads that work on a region, the launching one included; at least 1.

    Notes
    -----
    Creating a pool starts nothing; `start` does, and so does the first run of a kernel that uses it. After `os.fork`
    the child's pool has no workers: regions still finish (the launching thread does all tasks) and `start` makes new
    ones.
    """

    def __init__(self, nthreads: int) -> None:
        whole("threads", nthreads, least=None, code="run.threads")
        if not 1 <= nthreads <= MAX_THREADS:
            raise UsageError("run.threads", f"a pool needs 1 to {MAX_THREADS} threads, not {shown(nthreads)}")
        self.nthreads = nthreads
        self.placement = Placement(nthreads)
        # A spinning worker that outnumbers the cores only takes time from one that has work.
        crowded = nthreads > usable_threads()
        self._spin = native_pool.idle_spins(platform.machine(), crowded)
        self._spin_timed = self._spin if crowded else _FOR_EVER
        self._memory = aligned_empty((POOL.size,), "uint8")
        self._address = int(self._memory.ctypes.data)
        self._lock = ForkLock()
        self._threads: list[threading.Thread] = []
        self._leaving: list[threading.Thread] = []
        self._finalizer: weakref.finalize[..., ThreadPool] | None = None
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        self._memory[...] = 0
        _word(self._memory, "spin")[0] = self._spin
        _word(self._memory, "nthreads")[0] = self.nthreads

    @contextmanager
    def spinning(self) -> Iterator[None]:
        """No worker sleeps meanwhile: those that have nothing to do spin."""
        self.start()
        _word(self._memory, "spin")[0] = self._spin_timed
        self.rouse()
        try:
            yield
        finally:
            _word(self._memory, "spin")[0] = self._spin
            self.rouse()  # whoever spins for ever looks again

    @property
    def members(self) -> list[int]:
        """The system's numbers of the workers."""
        return [thread.native_id for thread in self._threads if thread.native_id is not None]

    @property
    def address(self) -> int:
        """Address of the pool, the first argument of `launch`; it stays the same for the pool's life."""
        return self._address

    @property
    def launch_address(self) -> int:
        """Address of the launch function that fits this pool."""
        return _code()["wb_launch"] if self.nthreads > 1 else _code()["wb_launch_serial"]

    @property
    def started(self) -> bool:
        """Whether the worker threads exist."""
        return bool(self._threads)

    def start(self) -> None:
        """Start the workers unless they run already.

        Raises
        ------
        RunError
            ``run.threads`` when the system gives no more threads.
        """
        if self._threads or self.nthreads == 1:
            return
        with self._lock:
            if self._threads:
                return
            for thread in self._leaving:
                thread.join()
            self._leaving = []
            worker, seen = _WORKER_TYPE(_code()["wb_worker"]), int(_word(self._memory, "wake")[0])
            _word(self._memory, "stop")[0] = 0
            threads: list[threading.Thread] = []
            try:
                for tid in range(1, self.nthreads):
                    thread = threading.Thread(
                        target=_work, args=(worker, self._memory, tid, seen), name=f"workbench-{tid}", daemon=True
                    )
                    thread.start()
                    self.placement.place(tid, thread)
                    threads.append(thread)
            except BaseException as error:
                self._end(threads, 2.0)
                if not isinstance(error, RuntimeError):
                    raise
                text = f"a pool of {self.nthreads} threads cannot be started: {error}"
                raise RunError("run.threads", text, (), f"use fewer threads; {usable_threads()} run at once") from error
            self._threads = threads
            if self._finalizer is None:
                self._finalizer = weakref.finalize(self, _dismiss, self._memory)
                self._finalizer.atexit = False  # `_at_exit` also waits

    def stop(self, timeout: float = 2.0) -> None:
        """Let the workers leave and wait for them; a later `start` makes new ones. Regions still finish without them.

        Parameters
        ----------
        timeout : float
            Seconds to wait for each worker.
        """
        with self._lock:
            threads, self._threads = self._threads, []
            self._end(threads, timeout)

    def _end(self, threads: list[threading.Thread], timeout: float) -> None:
        if threads:
            _dismiss(self._memory)
        for thread in threads:
            thread.join(timeout)
        self._leaving += [thread for thread in threads if thread.is_alive()]

    def rouse(self) -> None:
        """Wake the workers that sleep; they find nothing to do, and spin."""
        _WAKE_TYPE(_code()["wb_wake"])(self.address, MAX_THREADS)

    def launch(self, fn: int, ctx: int, ntasks: int) -> None:
        """Run a region: `fn` and `ctx` are addresses, see the module's description."""
        self.start()
        LAUNCH_TYPE(self.launch_address)(self.address, fn, ctx, ntasks)

    def _after_fork(self) -> None:
        self._threads, self._leaving = [], []
        self._reset()


def _word(memory: Array, name: str) -> Array:
    """A word of a pool."""
    offset, kind = POOL.fields[name]
    dtype = np.dtype(kind.replace("i", "int"))
    return memory[offset : offset + dtype.itemsize].view(dtype)


def _work(worker: Callable[[int, int, int], None], memory: Array, tid: int, seen: int) -> None:
    """The life of a worker. It holds on to the pool's memory, and to no pool."""
    worker(memory.ctypes.data, tid, seen)


def _dismiss(memory: Array) -> None:
    """Tell the workers of a pool to leave."""
    _word(memory, "stop")[0] = 1
    _WAKE_TYPE(_code()["wb_wake"])(memory.ctypes.data, MAX_THREADS)


_shared: weakref.WeakValueDictionary[int, ThreadPool] = weakref.WeakValueDictionary()
#: Pools that stay although no kernel holds them, so that kernels that come and go do not start threads every time.
_recent: deque[ThreadPool] = deque(maxlen=4)
_shared_lock = ForkLock()


def shared_pool(nthreads: int) -> ThreadPool:
    """Return this process's pool of so many threads; those that are not in use sleep, and go when they are many.

    Parameters
    ----------
    nthreads : int
        The launching thread included.
    """
    with _shared_lock:
        pool = _shared.get(nthreads)
        if pool is None:
            pool = _shared[nthreads] = ThreadPool(nthreads)
        if pool not in _recent:
            _recent.append(pool)
        return pool


@in_forked_child
def _after_fork() -> None:
    for pool in list(_pools):
        pool._after_fork()


@atexit.register
def _at_exit() -> None:
    for pool in list(_pools):
        pool.stop(timeout=0.5)
