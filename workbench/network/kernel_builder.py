"""Compiling many kernels: in this process at first, with builder processes beside it when that goes on for long.

A builder process takes as long to start as a dozen kernels take to compile, so helpers are only called in when there is
enough left to do.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from workbench.codegen.backend import build_func
from workbench.codegen.lowering import ObjectCode
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.errors import BuildError
from workbench.host import usable_threads
from workbench.ir import Func
from workbench.network.code_cache import CodeCache
from workbench.runtime.measuring.jobs import BuildJob, Built
from workbench.runtime.workers.pipe import HELLO
from workbench.runtime.workers.process import Event, Worker
from workbench.target import Target

#: Seconds that this process compiles alone: chosen as about what a helper takes to start.
ALONE_S = 0.4

#: Kernels that must be left for helpers to be called in: for fewer the start does not pay. Chosen, not measured.
WORTH_IT = 6

#: Kernels that must have been compiled for helpers to be called in for functions that are still to come. Chosen, not
#: measured.
EARLY = 3


def build_kernels(
    funcs: Sequence[Func], target: Target, helpers: int | None = None, cache: CodeCache | None = None
) -> list[ObjectCode]:
    """Compile concrete functions.

    Parameters
    ----------
    funcs : sequence of Func
        What to compile; the order of the result.
    target, helpers, cache
        As for `KernelBuilder`.

    Raises
    ------
    BuildError
        ``build.*`` with the function's name.
    """
    with KernelBuilder(target, helpers, cache) as builder:
        for func in funcs:
            builder.add(func)
        return builder.codes()


class KernelBuilder:
    """Compiles functions while the caller makes further ones; to be used as a context manager.

    Parameters
    ----------
    target : Target
        What to compile for.
    helpers : int, optional
        Number of builder processes that may be started; one less than the cores, at most 3, when left out. What a
        helper compiles comes without its LLVM text.
    cache : CodeCache, optional
        Where kernels are looked for first and kept afterwards; they come without their LLVM text, too.
    expected : int
        How many functions there are going to be: helpers are only called in early where it pays.
    """

    def __init__(
        self, target: Target, helpers: int | None = None, cache: CodeCache | None = None, expected: int = 0
    ) -> None:
        self._target, self._cache, self._expected = target, cache, expected
        self._at_once = helpers is not None
        self._count = min(3, usable_threads() - 1) if helpers is None else helpers
        self._funcs: list[Func | KernelFunction] = []
        self._keys: list[bytes] = []
        self._results: dict[int, ObjectCode] = {}
        self._pending: deque[int] = deque()
        self._missed = 0
        self._helpers: _Helpers | None = None

    def __enter__(self) -> KernelBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._helpers is not None:
            self._helpers.dismiss()

    def add(self, func: Func | KernelFunction) -> None:
        """Take a function or runtime kernel; helpers that are there and idle begin with it."""
        index = len(self._funcs)
        self._funcs.append(func)
        if self._cache is not None:
            self._keys.append(self._cache.key(func, self._target))
            kept = self._cache.get(self._keys[-1], func)
            if kept is not None:
                self._results[index] = kept
                return
        self._pending.append(index)
        self._missed += 1
        if self._helpers is None and self._missed >= EARLY and self._expected - index > WORTH_IT:
            self._call_in()
        self._share(least=0)

    def codes(self) -> list[ObjectCode]:
        """Compile what is left, and return all code in the order of the functions."""
        began = time.monotonic()
        while self._pending or (self._helpers is not None and self._helpers.busy):
            late = time.monotonic() - began > ALONE_S or self._at_once
            if self._helpers is None and late and len(self._pending) > WORTH_IT:
                self._call_in()
            self._share(least=1)
            if self._pending:
                index = self._pending.popleft()
                self._done(index, build_func(self._funcs[index], self._target))
        if self._cache is not None:
            self._cache.trim()
        return [self._results[i] for i in range(len(self._funcs))]

    def _call_in(self) -> None:
        if self._count > 0:
            self._helpers = _Helpers(self._count, self._target)

    def _share(self, least: int) -> None:
        """Give idle helpers work, but for the last `least` functions, and take what they have finished."""
        if self._helpers is None:
            return
        self._helpers.hand_out(self._pending, self._funcs, least)
        for index, code in self._helpers.collect(self._funcs, wait=least > 0 and not self._pending).items():
            self._done(index, code)

    def _done(self, index: int, code: ObjectCode) -> None:
        self._results[index] = code
        if self._cache is not None:
            self._cache.put(self._keys[index], code)


class _Helpers:
    """Builder processes that share the work."""

    def __init__(self, count: int, target: Target) -> None:
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._target = target
        self._idle: list[Worker] = []
        self.busy: dict[Worker, int] = {}
        self._workers = [Worker("build", self._inbox) for _ in range(count)]
        for worker in self._workers:
            worker.start()

    def hand_out(self, pending: deque[int], funcs: Sequence[Func | KernelFunction], least: int) -> None:
        """Give every idle helper a kernel, the last ones first: the front is this process's own end."""
        while self._idle and len(pending) > least:
            worker, index = self._idle.pop(), pending.pop()
            self.busy[worker] = index
            worker.send(BuildJob(funcs[index], self._target, "kernel"))

    def collect(self, funcs: Sequence[Func | KernelFunction], wait: bool) -> dict[int, ObjectCode]:
        """Return what has come in; with `wait`, at least one answer when any is outstanding."""
        done: dict[int, ObjectCode] = {}
        while True:
            try:
                event: Event = self._inbox.get(block=wait and not done and bool(self.busy))
            except queue.Empty:
                return done
            self._take(event, funcs, done)
            if not self.busy and wait:
                return done

    def _take(self, event: Event, funcs: Sequence[Func | KernelFunction], done: dict[int, ObjectCode]) -> None:
        worker = event.worker
        if event.message == HELLO:
            self._idle.append(worker)
            return
        index = self.busy.pop(worker, None)
        if event.message is None:
            if index is not None:
                raise BuildError("build.crash", f"The compiler process ended: {worker.end()}", [funcs[index].name])
            return
        if index is not None and isinstance(event.message, Built):
            code = event.message.code
            if code is None:
                text = f"The kernel cannot be compiled: {event.message.error}"
                raise BuildError("build.failed", text, [funcs[index].name])
            done[index] = code
            self._idle.append(worker)

    def dismiss(self) -> None:
        """End all helpers."""
        for worker in self._workers:
            worker.kill()
            worker.end()
