"""What a kernel is called with besides its operands: threads, launch function, workspace."""

from __future__ import annotations

import ctypes

from workbench.arguments import whole
from workbench.runtime.buffers import ALIGNMENT, KERNEL_TYPE, Array, RuntimeStruct, aligned_empty, poison
from workbench.runtime.thread_pool.pool import ThreadPool, serial_launch_address, shared_pool


class LaunchContext:
    """Threads and workspace for kernels; not to be used by two callers at once.

    Parameters
    ----------
    threads : int
        Number of threads that kernels may use.

    Raises
    ------
    UsageError
        ``run.threads`` for an impossible number.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads = whole("threads", threads, least=None, code="run.threads")
        self.pool: ThreadPool | None = shared_pool(threads) if threads != 1 else None
        self._space: Array = aligned_empty((0,), "uint8")
        if self.pool is None:
            self.rt = RuntimeStruct(1, None, serial_launch_address())
        else:
            self.rt = RuntimeStruct(threads, self.pool.address, self.pool.launch_address)

    def reserve(self, nbytes: int, guard: int = 0) -> Array:
        """Return a workspace of at least `nbytes` (kept for the next call), with `guard` further bytes after it."""
        if self._space.nbytes < nbytes + guard:
            self._space = aligned_empty((nbytes + guard + ALIGNMENT,), "uint8")
        return self._space[: nbytes + guard]

    @property
    def workspace(self) -> int:
        """Address of the workspace that `reserve` made last."""
        return int(self._space.ctypes.data)

    def poison(self) -> None:
        """Fill the workspace with NaN."""
        poison(self._space)

    def ready(self) -> None:
        """Start the threads if they are not running; call it before running a kernel."""
        if self.pool is not None and not self.pool.started:
            self.pool.start()

    def call(self, address: int, bufs: Array) -> None:
        """Call a kernel (or a driver with a kernel's ABI) with a table of buffers."""
        self.ready()
        KERNEL_TYPE(address)(bufs.ctypes.data, self.workspace, ctypes.addressof(self.rt))
