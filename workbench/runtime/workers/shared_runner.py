"""Worker processes that stay from one measurement of a person's kernel to the next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.locks import ForkLock
from workbench.queue_settings import VARIABLE
from workbench.runtime.machine.blas_threads import quiet, settle
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.target import Target

_shared: dict[tuple[int, Target, str, str], LocalRunner] = {}
_lock = ForkLock()


@contextmanager
def shared_runner(target: Target) -> Iterator[LocalRunner]:
    """A runner for the target that nobody else uses meanwhile, on cores that this process leaves alone."""
    with _lock, quiet():
        runner = _runner_for(target)
        settle()
        yield runner


def close_runners() -> None:
    """Let go of the worker processes that are kept; the next call starts new ones."""
    with _lock:
        for key in list(_shared):
            runner = _shared.pop(key)
            if key[0] == os.getpid():
                runner.close()


def _runner_for(target: Target) -> LocalRunner:
    """Return this process's runner for the target; the two used last are kept."""
    given = (os.environ.get("CC", ""), os.environ.get(VARIABLE, ""))  # workers keep what they started with
    key = (os.getpid(), target, *given)
    runner = _shared.pop(key, None) or LocalRunner(target, builders=1)
    _shared[key] = runner
    while len(_shared) > 2:
        old = next(iter(_shared))
        forgotten = _shared.pop(old)
        if old[0] == os.getpid():
            forgotten.close()
    return runner
