"""Times of several ways to compute the same: taken in turns, so that whatever else the machine does reaches all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from workbench.runtime.machine.blas_threads import settle

#: Rounds, at least: the first of a way may still load its code.
_ROUNDS = 3
#: Seconds of a turn, and runs, at least: the first finds threads asleep, and in caches the weights of the way before.
_TURN, _RUNS = 0.005, 3


def in_turns(runs: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Least time of each in milliseconds, of as many rounds as fit.

    Parameters
    ----------
    runs : mapping of str to callable
    seconds : float
        For all of them together.
    """
    best = dict.fromkeys(runs, math.inf)
    rounds, until = 0, time.perf_counter() + seconds
    while rounds <= _ROUNDS or time.perf_counter() < until:
        for name, run in runs.items():
            took = _turn(run)
            best[name] = min(best[name], took) if rounds else math.inf
        rounds += 1
    return best


def _turn(run: Callable[[], Any]) -> float:
    """Least milliseconds of the runs of a turn, which begins when threads of the way before have stopped to spin."""
    settle()
    best, runs, begin = math.inf, 0, time.perf_counter()
    start = begin
    while runs < _RUNS or start - begin < _TURN:
        run()
        end = time.perf_counter()
        best, runs, start = min(best, 1e3 * (end - start)), runs + 1, end
    return best
