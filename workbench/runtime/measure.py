"""Measuring: what a user of the runtime imports, and a shortcut for a single function."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from workbench.runtime.local_runner import LocalRunner, MeasureInput, available_cores
from workbench.runtime.results import Measurement, MeasureOptions

if TYPE_CHECKING:
    from workbench.ir.func import Func
    from workbench.target import Target

__all__ = ["LocalRunner", "MeasureInput", "MeasureOptions", "Measurement", "available_cores", "measure_func"]

_shared: dict[tuple[Any, ...], LocalRunner] = {}
_shared_lock = threading.Lock()


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
    The worker processes stay for the next call with the same target and options.
    """
    options = options or MeasureOptions()
    reference = task_func or func
    with _shared_lock:
        runner = _shared.get((os.getpid(), target, options))
        if runner is None:
            for old in list(_shared):
                if old[0] == os.getpid():
                    _shared[old].close()
                del _shared[old]
            runner = _shared[(os.getpid(), target, options)] = LocalRunner(target, options, builders=1)
        return runner.measure(MeasureInput(f"{reference!r}", reference, func, func.name or "kernel", flops))
