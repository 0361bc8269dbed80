"""Measuring: what a user of the runtime imports, and a shortcut for a single function."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.locks import ForkLock
from workbench.runtime.batch import MeasureInput
from workbench.runtime.local_runner import LocalRunner
from workbench.runtime.results import Measurement, MeasureOptions

if TYPE_CHECKING:
    from workbench.ir.func import Func
    from workbench.target import Target

__all__ = ["LocalRunner", "MeasureInput", "MeasureOptions", "Measurement", "measure_func"]

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
    with _shared_lock:
        runner = _runner_for(target)
        item = MeasureInput(f"{reference!r}", reference, func, "kernel", flops)
        return runner.measure(item, replace(options, early_stop=0.0))


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
