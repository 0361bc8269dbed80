"""Exported networks in Python: nothing but NumPy and ctypes, no compiler."""

from __future__ import annotations

import ctypes
import os
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.arguments import is_a, whole
from workbench.errors import RunError, TargetError, UsageError
from workbench.host import usable_threads
from workbench.locks import ForkLock
from workbench.runtime.buffers import Array, pointer_table
from workbench.runtime.export.ctypes_library import Functions, open_library
from workbench.runtime.export.native_contexts import CODES
from workbench.runtime.networks.network import Network, TimedRuns
from workbench.runtime.thread_pool.native_pool import MAX_THREADS
from workbench.safe_text import shown_legibly


def load_exported(path: str | os.PathLike[str], threads: int | None = None) -> ExportedNetwork:
    """Open a library that `Executable.export` wrote.

    The code in the file is run, so it has to come from someone whom you trust. The compiler is not needed, and neither
    is what it was made from.

    Parameters
    ----------
    path : path
        The library.
    threads : int, optional
        Threads to use; the number chosen at export by default.

    Returns
    -------
    ExportedNetwork
        With ``inputs``, ``outputs``, ``run`` and ``benchmark`` as an `Executable` has them.

    Raises
    ------
    ExportError
        ``export.missing`` for no file, ``export.format`` for a file that is no exported network, ``export.abi`` for
        one of another version.
    TargetError
        ``target.host`` when this machine lacks what the code was compiled for.
    """
    is_a("path", path, (str, os.PathLike), "the file to open, such as 'net.so'")
    file = Path(path)
    functions = open_library(file)
    if lacks := functions.text("missing_feature"):
        raise TargetError(
            "target.host",
            f"This machine cannot run {file.name}: it lacks {lacks}.",
            (str(file), functions.text("target")),
            "export the network again for a target that this machine has, see `workbench export --target`",
        )
    return ExportedNetwork(functions, threads)


class ExportedNetwork(Network):
    """A network from a shared library; made by `load_exported`.

    Attributes
    ----------
    inputs, outputs : tuple of ArraySpec
        Name, shape and dtype of each.
    name, version, target : str
        The network's name, what wrote the library, and the target that it was compiled for.

    Notes
    -----
    Safe to call from several threads, which run at the same time: each run takes one of the library's contexts, and a
    new one is made where all are taken. Runs that overlap share the threads: each gets the larger of an equal part and
    of what is left. Results do not depend on that.
    """

    def __init__(self, functions: Functions, threads: int | None = None) -> None:
        self._call = functions
        super().__init__(functions.specs("input"), functions.specs("output"))
        self.name, self.version, self.target = (functions.text(n) for n in ("name", "version", "target"))
        self._lock = ForkLock()
        self._process = os.getpid()
        self._free: list[_Context] = []
        self._lent: list[int] = []  # threads of each run under way
        self._threads = 0 if threads is None else _count(threads)
        first = self._take()  # what can go wrong goes wrong now
        self._threads = int(functions("threads", first.handle))
        self._give(first)

    @shown_legibly
    def __repr__(self) -> str:
        return f"<ExportedNetwork {self.name}: {len(self.inputs)} inputs, {self.threads} threads>"

    @property
    def threads(self) -> int:
        """Number of threads that a run may use."""
        return self._threads

    def set_threads(self, threads: int) -> None:
        """Set the number of threads for the runs that follow.

        Raises
        ------
        UsageError
            ``run.threads``.
        """
        before, self._threads = self._threads, _count(threads)
        try:
            self._give(self._take())
        except BaseException:
            self._threads = before
            raise

    # ---- contexts ----

    def _take(self) -> _Context:
        """A context that nobody else uses, with the threads that are there for it."""
        with self._lock:
            if self._process != os.getpid():  # a forked child: what ran in the parent can never be taken here
                self._process, self._free, self._lent = os.getpid(), [], []
            wanted = self._threads
            threads = wanted and max(1, wanted // (len(self._lent) + 1), wanted - sum(self._lent))
            fits = [k for k, c in enumerate(self._free) if c.threads == threads]
            context = self._free.pop(fits[-1] if fits else -1) if self._free else None
            self._lent.append(threads)
        try:
            if context is None:
                context = _Context(self._call, threads)
            elif context.threads != threads:
                context.set_threads(threads)
        except BaseException:
            with self._lock:
                self._lent.remove(threads)
            raise
        context.lent = threads
        return context

    def _give(self, context: _Context) -> None:
        with self._lock:
            if self._process == os.getpid():
                self._free.append(context)
                self._lent.remove(context.lent)

    # ---- running ----

    def _compute(self, inputs: list[Array], outputs: list[Array]) -> None:
        context = self._take()
        try:
            context.run(_pointers(inputs), _pointers(outputs))
        finally:
            self._give(context)

    def _arrays(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        arrays = super()._arrays(args, named)
        return [a if a.flags.c_contiguous and a.flags.aligned else a.copy() for a in arrays]

    @contextmanager
    def _timed(self, inputs: list[Array]) -> Iterator[TimedRuns]:
        outputs = self._memory.take()
        given, wanted = _pointers(inputs), _pointers(outputs)
        context = self._take()

        def run(repeat: int, number: int) -> list[float]:
            return [context.time(given, wanted, number) for _ in range(repeat)]

        try:
            yield TimedRuns(run, context.threads, pool=None, watched=1)
        finally:
            self._give(context)


def _count(threads: int) -> int:
    """Return a number of threads that a context may have."""
    if whole("threads", threads, least=1, code="run.threads") > MAX_THREADS:
        raise UsageError("run.threads", f"a network needs 1 to {MAX_THREADS} threads, not {threads}")
    return threads


def _pointers(arrays: list[Array]) -> Array:
    return pointer_table([int(array.ctypes.data) for array in arrays])


class _Context:
    """One context of a library; it goes with its last reference."""

    def __init__(self, functions: Functions, threads: int) -> None:
        self._call = functions
        handle = ctypes.c_void_p()
        self._check(functions("create", threads, ctypes.addressof(handle)), threads)
        self.handle = int(handle.value or 0)
        self.threads = self.lent = int(functions("threads", self.handle))
        # Not at exit: a thread that nobody waits for may still be in it.
        weakref.finalize(self, functions, "destroy", self.handle).atexit = False

    def _check(self, code: int, threads: int) -> None:
        if not code:
            return
        text = self._call.text("error_text", code)
        if code == CODES["NO_THREADS"]:
            hint = f"use fewer threads; {usable_threads()} run at once"
            raise RunError("run.threads", f"{threads} threads cannot be started: {text}", (), hint)
        if code == CODES["NO_MEMORY"]:
            raise RunError("run.memory", f"The network cannot run: {text}", (), "choose smaller shapes")
        raise RunError("run.export", f"The library answers: {text}")

    def set_threads(self, threads: int) -> None:
        self._check(self._call("set_threads", self.handle, threads), threads)
        self.threads = threads

    def run(self, inputs: Array, outputs: Array) -> None:
        self._check(self._call("run", self.handle, inputs.ctypes.data, outputs.ctypes.data), self.threads)

    def time(self, inputs: Array, outputs: Array, number: int) -> float:
        """Milliseconds of one run, on average."""
        start = time.perf_counter_ns()
        for _ in range(number):
            self.run(inputs, outputs)
        return (time.perf_counter_ns() - start) / number * 1e-6
