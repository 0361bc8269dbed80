"""Which of two series of times is the shorter one, by their ratios in the same rounds and by ranks."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from itertools import combinations

import numpy as np

#: Half the width of the interval that holds the median of normal numbers in 99 of 100 cases, in their median absolute
#: deviations and for one number; with n numbers it is so much over the root of n.
#: Computed: quantile of the normal distribution, standard error of the median, scale of the deviation.
_NORMAL = 2.576
_WIDTH = _NORMAL * 1.253 * 1.4826

#: No contest knows the logarithm of a ratio better than to this: where code lies makes as much of a difference.
#: Chosen, not measured.
_LEAST_ERROR = 1e-4

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


def between(logs: Sequence[float], widths: Sequence[float]) -> tuple[float, float] | None:
    """Return the middle of several findings, and half the width of its interval (99 %), where two of them differ by
    more than they can tell; else None. Random effects after DerSimonian and Laird.

    Parameters
    ----------
    logs, widths : sequence of float
        Logarithm of the ratio that each has found, and its `resolution`.
    """
    known = [(x, max(w / _NORMAL, _LEAST_ERROR)) for x, w in zip(logs, widths, strict=True) if math.isfinite(x + w)]
    if not any(abs(x - y) > _NORMAL * math.hypot(e, f) for (x, e), (y, f) in combinations(known, 2)):
        return None
    weights = [error**-2.0 for _, error in known]
    total = math.fsum(weights)
    mean = math.fsum(w * x for w, (x, _) in zip(weights, known, strict=True)) / total
    beyond = math.fsum(w * (x - mean) ** 2 for w, (x, _) in zip(weights, known, strict=True)) - (len(known) - 1)
    spread = max(0.0, beyond / (total - math.fsum(w * w for w in weights) / total))
    weights = [1.0 / (error**2.0 + spread) for _, error in known]
    mean = math.fsum(w * x for w, (x, _) in zip(weights, known, strict=True)) / math.fsum(weights)
    return mean, _NORMAL / math.sqrt(math.fsum(weights))


def below_one(middle: float, width: float, findings: int) -> float:
    """How sure it is that a ratio is below one, given what `between` found of so many findings: by Student's t, because
    how much they differ is known from these few only. Of two, nothing is sure before they nearly say the same.
    """
    degrees = findings - 1
    angle = math.atan(-middle / (width / _NORMAL) / math.sqrt(degrees))
    term, total = (math.cos(angle), 0.0) if degrees % 2 else (1.0, 0.0)
    for k in range(degrees % 2 + 1, degrees, 2):
        total += term
        term *= math.cos(angle) ** 2 * k / (k + 1)
    within = math.sin(angle) * total
    return 0.5 + 0.5 * (2.0 / math.pi * (angle + within) if degrees % 2 else within)


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
