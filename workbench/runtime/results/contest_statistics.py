"""Which of two series of times is the shorter one, by their ratios in the same rounds and by ranks."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence

import numpy as np

#: Half the width of the interval that holds the median of normal numbers in 99 of 100 cases, in their median absolute
#: deviations and for one number; with n numbers it is so much over the root of n.
#: Computed: quantile of the normal distribution, standard error of the median, scale of the deviation.
_WIDTH = 2.576 * 1.253 * 1.4826

#: A difference is plain, and needs no statistics, when in so many rounds every block of one takes so many times as
#: long as every block of the other.
#: Chosen, not measured; `bench_measuring` and the simulated clocks of `test_contest` tell what comes of it.
PLAIN_ROUNDS, _PLAIN = 4, 1.25

#: What counts for a block in which a coarse clock did not move, in milliseconds.
_LEAST_MS = 1e-9


def plain(mine: Sequence[float], other: Sequence[float], factor: float = _PLAIN) -> bool:
    """Whether one of two is faster beyond all doubt, by so much in every block, whichever it is."""
    if min(len(mine), len(other)) < PLAIN_ROUNDS:
        return False
    slowest, rival = max(*mine, _LEAST_MS), max(*other, _LEAST_MS)
    return min(mine) >= factor * rival or min(other) >= factor * slowest


def ratio(mine: Sequence[float], other: Sequence[float]) -> float:
    """Median ratio of two participants' times in the same rounds; infinite or 0 where only one of them was timed."""
    if not mine or not other:
        return 1.0 if not mine and not other else (math.inf if not mine else 0.0)
    return math.exp(statistics.median(_logs(mine, other)))


def distance(found: float) -> float:
    """How far a ratio is from one, as the logarithm: the same for twice as fast and for twice as slow."""
    return math.inf if found <= 0.0 or not math.isfinite(found) else abs(math.log(found))


def resolution(mine: Sequence[float], other: Sequence[float]) -> float:
    """Half the width of the interval in which the logarithm of the true ratio lies; infinite for under two rounds."""
    logs = _logs(mine, other)
    if len(logs) < 2:
        return math.inf
    middle = statistics.median(logs)
    return _WIDTH * statistics.median(abs(x - middle) for x in logs) / math.sqrt(len(logs))


def confidence(mine: Sequence[float], other: Sequence[float]) -> float:
    """Return one minus the chance that equal kernels look at least so much in favour of `mine` (signed ranks)."""
    if not mine or not other:
        return 1.0 if mine else 0.0
    logs = [x for x in _logs(mine, other) if x != 0.0]
    ranked = sorted(logs, key=abs)
    won = sum(rank for rank, x in enumerate(ranked, 1) if x < 0)
    return float(_below(len(logs))[won])


def _logs(mine: Sequence[float], other: Sequence[float]) -> list[float]:
    return [math.log(max(a, _LEAST_MS) / max(b, _LEAST_MS)) for a, b in zip(mine, other, strict=False)]


@functools.lru_cache(maxsize=128)
def _below(n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The chance, for every sum of ranks, that n fair coins give less than this sum to the heads."""
    chances = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.zeros(chances.size + rank)
        longer[: chances.size] += 0.5 * chances
        longer[rank:] += 0.5 * chances
        chances = longer
    return np.concatenate([[0.0], np.cumsum(chances)[:-1]])


def joint_level(level: float, challengers: int) -> float:
    """How sure each of several has to be, so that the chance of an unjust winner is no larger than with one."""
    return 1.0 - (1.0 - level) / max(1, challengers)
