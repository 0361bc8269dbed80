"""Measuring: what a user of the runtime imports, and a shortcut for a single function."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from workbench.locks import ForkLock
from workbench.runtime.machine.blas_threads import quiet, settle
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.results.options import ContestRules, MeasureOptions
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner

if TYPE_CHECKING:
    from workbench.ir.func import Func
    from workbench.target import Target

__all__ = [
    "Contest",
    "LocalRunner",
    "MeasureInput",
    "MeasureOptions",
    "Measurement",
    "Runner",
    "contest_funcs",
    "measure_func",
]


#: A kernel that somebody looks at is repeated for so many milliseconds, and where the machine is busy for so many.
#: Chosen, not measured.
_LEAST_MS, _PATIENCE_MS = 20.0, 1000.0


class Runner(Protocol):
    """Who builds, checks and times candidates: `LocalRunner`, or anything else with these methods.

    All of them may be called from any thread. One batch or contest is worked on at a time; a second one waits.
    """

    def measure_many(
        self, inputs: Iterable[MeasureInput], options: MeasureOptions | None = None
    ) -> Iterator[tuple[int, Measurement]]:
        """Begin at once, and yield (index, measurement) for every candidate, each once, in any order.

        What goes wrong with a candidate is the status of its measurement, with the full text; an exception means that
        nothing can be measured at all. After `cancel` the iterator ends. Closing it early gives up the rest.
        """

    def contest(
        self, inputs: Sequence[MeasureInput], options: MeasureOptions | None = None, rules: ContestRules | None = None
    ) -> Contest:
        """Time candidates of one task in alternating blocks, on one machine; the first one is the incumbent.

        `rules` say for how long; ``ContestRules()`` when they are left out.
        """

    def hold(self, on: bool) -> None:
        """Start no more work, or go on; what has begun is finished."""

    def cancel(self) -> None:
        """Throw away what is running, at once. The runner can be used again."""

    def close(self) -> None:
        """Let go of processes and connections; harmless when repeated."""


_shared: dict[tuple[int, Target, str], LocalRunner] = {}
_shared_lock = ForkLock()


def measure_func(
    func: Func,
    target: Target,
    options: MeasureOptions | None = None,
    task_func: Func | None = None,
    flops: int = 0,
) -> Measurement:
    """Measure one function: build it, check its result, time it, each in a worker process.

    Parameters
    ----------
    func : Func
        A concrete function.
    target : Target
        What to compile for.
    options : MeasureOptions, optional
        How to measure.
    task_func : Func, optional
        The unscheduled function that the result is checked against; `func` itself by default.
    flops : int
        Floating-point operations of one call, for `Measurement.gflops`.

    Returns
    -------
    Measurement
        Its `status` says whether it worked; only an unusable worker process raises.

    Notes
    -----
    The worker processes stay for the next call with the same target. Unlike in tuning, a slow candidate is measured in
    full.
    """
    options = options or MeasureOptions()
    reference = task_func or func
    with _shared_lock, quiet():
        runner = _runner_for(target)
        settle()
        item = MeasureInput(f"{reference!r}", reference, func, "kernel", flops)
        return runner.measure(item, _in_full(options))


def _in_full(options: MeasureOptions) -> MeasureOptions:
    """Options for one kernel that somebody looks at: nothing is given up early, and a busy machine is waited for."""
    least, patience = max(options.least_ms, _LEAST_MS), max(options.patience_ms, _PATIENCE_MS)
    return replace(options, early_stop=0.0, least_ms=least, patience_ms=patience)


def contest_funcs(
    funcs: Sequence[Func],
    target: Target,
    options: MeasureOptions | None = None,
    task_func: Func | None = None,
    flops: int = 0,
    rules: ContestRules | None = None,
) -> Contest:
    """Time functions that compute the same against each other, in alternating blocks in one worker process.

    Parameters
    ----------
    funcs : sequence of Func
        Concrete functions; the first one is the incumbent.
    target, options, flops
        As for `measure_func`.
    task_func : Func, optional
        The unscheduled function that the results are checked against; the first of `funcs` by default.
    rules : ContestRules, optional
        How long it lasts.
    """
    reference = task_func or funcs[0]
    with _shared_lock, quiet():
        runner = _runner_for(target)
        settle()
        items = [MeasureInput(f"{reference!r}", reference, func, "kernel", flops) for func in funcs]
        return runner.contest(items, options or MeasureOptions(), rules)


def close_runners() -> None:
    """Let go of the worker processes that `measure_func` and `contest_funcs` keep; the next call starts new ones."""
    with _shared_lock:
        for key in list(_shared):
            runner = _shared.pop(key)
            if key[0] == os.getpid():
                runner.close()


def _runner_for(target: Target) -> LocalRunner:
    """Return this process's runner for the target; the two used last are kept."""
    key = (os.getpid(), target, os.environ.get("CC", ""))  # workers keep the environment that they started with
    runner = _shared.pop(key, None) or LocalRunner(target, builders=1)
    _shared[key] = runner
    while len(_shared) > 2:
        old = next(iter(_shared))
        forgotten = _shared.pop(old)
        if old[0] == os.getpid():
            forgotten.close()
    return runner
