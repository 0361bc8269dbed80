"""Why a task or a variant is faster than the peak, in one sentence; empty where it is not."""

from __future__ import annotations

from workbench.ir import Func
from workbench.ir.flops import product_share
from workbench.log import Record
from workbench.runtime.machine.above_roofline import tile_in, tile_of, why_above
from workbench.session.state.session_state import SessionState


def of_schedule(state: SessionState, func: Func, gflops: float | None) -> str:
    """Say it of a schedule with its speed."""
    return _why(state, state.index, gflops, tile_of(func), func)


def of_trial(state: SessionState, index: int, record: Record | None, gflops: float | None) -> str:
    """Say it of a trial of a task."""
    task = state.infos[index].task
    tile = tile_in(record.trace if record is not None else ())
    return _why(state, index, gflops, tile, None if task is None else task.func)


def of_task(state: SessionState, index: int, gflops: float | None) -> str:
    """Say it of the best schedule of a task."""
    best = state.best(index)
    return of_trial(state, index, None if best is None else state.traced(index, best.record), gflops)


def _why(state: SessionState, index: int | None, gflops: float | None, tile: int | None, func: Func | None) -> str:
    top = state.peak_for(index)
    if not gflops or not top:
        return ""
    own = index is not None and state.products[index] in state.peaks
    dtypes = [] if func is None or own else [b.dtype for b in func.params]
    threads = 1 if own or state.peak_measured else state.target.threads
    task = None if index is None else state.infos[index].task
    products = 1.0 if own or task is None else product_share(task.func)
    return why_above(gflops / top, tile, dtypes, threads, products)
