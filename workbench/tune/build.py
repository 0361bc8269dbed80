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

from workbench.codegen import ObjectCode, ParamInfo, build_func
from workbench.errors import BuildError
from workbench.host import usable_threads
from workbench.ir.func import Func
from workbench.runtime.buffers import concrete_shape
from workbench.runtime.pool import Event, Worker
from workbench.runtime.results import BuildJob, Built
from workbench.runtime.worker import HELLO
from workbench.target import Target

ALONE_S = 0.4
"""So long, in seconds, this process compiles alone."""

WORTH_IT = 6
"""Call in helpers only when more kernels than this are left."""


def build_kernels(funcs: Sequence[Func], target: Target, helpers: int | None = None) -> list[ObjectCode]:
    """Compile concrete functions.

    Parameters
    ----------
    funcs : sequence of Func
        What to compile; the order of the result.
    target : Target
        What to compile for.
    helpers : int, optional
        Number of builder processes that may be started; one less than the cores, at most 3, when left out. What a
        helper compiles comes without its LLVM text.

    Raises
    ------
    BuildError
        ``build.*`` with the function's name.
    """
    count = min(3, usable_threads() - 1) if helpers is None else helpers
    results: dict[int, ObjectCode] = {}
    pending = deque(range(len(funcs)))
    crew: _Crew | None = None
    began = time.monotonic()
    try:
        while pending or (crew is not None and crew.busy):
            late = time.monotonic() - began > ALONE_S or helpers is not None
            if crew is None and count > 0 and late and len(pending) > WORTH_IT:
                crew = _Crew(count, target)
            if crew is not None:
                crew.hand_out(pending, funcs)
                results.update(crew.collect(funcs, wait=not pending))
            if pending:
                index = pending.popleft()
                results[index] = build_func(funcs[index], target, "kernel")
    finally:
        if crew is not None:
            crew.dismiss()
    return [results[i] for i in range(len(funcs))]


class _Crew:
    """Builder processes that share the work."""

    def __init__(self, count: int, target: Target) -> None:
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._target = target
        self._idle: list[Worker] = []
        self.busy: dict[Worker, int] = {}
        self._workers = [Worker("build", self._inbox) for _ in range(count)]
        for worker in self._workers:
            worker.start()

    def hand_out(self, pending: deque[int], funcs: Sequence[Func]) -> None:
        """Give every idle helper a kernel, the last ones first: the front is this process's own end."""
        while self._idle and len(pending) > 1:
            worker, index = self._idle.pop(), pending.pop()
            self.busy[worker] = index
            worker.send(BuildJob(funcs[index], self._target, "kernel"))

    def collect(self, funcs: Sequence[Func], wait: bool) -> dict[int, ObjectCode]:
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

    def _take(self, event: Event, funcs: Sequence[Func], done: dict[int, ObjectCode]) -> None:
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
            done[index] = _object_code(funcs[index], event.message)
            self._idle.append(worker)

    def dismiss(self) -> None:
        """End all helpers."""
        for worker in self._workers:
            worker.kill()
            worker.end()


def _object_code(func: Func, built: Built) -> ObjectCode:
    image = built.image
    if image is None:
        raise BuildError("build.failed", f"The kernel cannot be compiled: {built.error}", [func.name])
    params = tuple(ParamInfo(b.name, b.role, concrete_shape(b.shape), b.dtype) for b in func.params)
    return ObjectCode(image.code, image.symbol, "", params, image.shared_bytes, image.per_thread_bytes)
