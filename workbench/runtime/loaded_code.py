"""Machine code in memory, and what it needs around it: threads, launch function, workspace."""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.arguments import whole
from workbench.runtime.buffers import ALIGNMENT, KERNEL_TYPE, Array, RuntimeStruct, aligned_empty, poison
from workbench.runtime.machine.interference import Interference
from workbench.runtime.thread_pool.pool import ThreadPool, serial_launch_address, shared_pool, timing

if TYPE_CHECKING:
    from workbench.codegen import ObjectCode
    from workbench.codegen.llvm.llvm_bind import Library


@dataclass(frozen=True, slots=True)
class CodeImage:
    """A kernel in the form that crosses process borders: bytes and numbers.

    Parameters
    ----------
    code : bytes
        The object file.
    symbol : str
        The kernel's name in it.
    shared_bytes, per_thread_bytes : int
        Workspace: one block of ``shared_bytes + nthreads * per_thread_bytes``.
    """

    code: bytes
    symbol: str
    shared_bytes: int = 0
    per_thread_bytes: int = 0

    @classmethod
    def of(cls, code: ObjectCode) -> CodeImage:
        """Take what a runner needs out of the code generator's result."""
        return cls(code.object, code.symbol, code.shared_bytes, code.per_thread_bytes)

    def workspace_bytes(self, threads: int) -> int:
        """Return the size of the workspace for so many threads."""
        return self.shared_bytes + threads * self.per_thread_bytes


class LoadedCode:
    """A kernel linked into this process.

    Parameters
    ----------
    image : CodeImage
        What to link.

    Raises
    ------
    BuildError
        ``build.link``.
    """

    __slots__ = ("_library", "address", "image")

    def __init__(self, image: CodeImage) -> None:
        from workbench.codegen.llvm import llvm_bind

        self.image = image
        self._library: Library = llvm_bind.load_object(image.code, (image.symbol,))
        self.address = self._library[image.symbol]

    def close(self) -> None:
        """Unload the code."""
        self._library.close()


class Surroundings:
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
        self._pool: ThreadPool | None = shared_pool(threads) if threads != 1 else None
        self._space: Array = aligned_empty((0,), "uint8")
        if self._pool is None:
            self.rt = RuntimeStruct(1, None, serial_launch_address())
        else:
            self.rt = RuntimeStruct(threads, self._pool.address, self._pool.launch_address)

    def reserve(self, nbytes: int, guard: int = 0) -> Array:
        """Return a workspace of at least `nbytes` (kept for the next call), with `guard` further bytes after it."""
        if self._space.nbytes < nbytes + guard:
            self._space = aligned_empty((nbytes + guard + ALIGNMENT,), "uint8")
        return self._space[: nbytes + guard]

    @property
    def workspace(self) -> int:
        """Address of the workspace that `reserve` made last."""
        return int(self._space.ctypes.data)

    def timing(self) -> AbstractContextManager[Interference]:
        """Time kernels, see `threads.timing`."""
        return timing(self._pool)

    def poison(self) -> None:
        """Fill the workspace with NaN."""
        poison(self._space)

    def ready(self) -> None:
        """Start the threads if they are not running; call it before running a kernel."""
        if self._pool is not None and not self._pool.started:
            self._pool.start()

    def call(self, address: int, bufs: Array) -> None:
        """Call a kernel (or a driver with a kernel's ABI) with a table of buffers."""
        self.ready()
        KERNEL_TYPE(address)(bufs.ctypes.data, self.workspace, ctypes.addressof(self.rt))
