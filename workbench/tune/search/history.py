"""What a search has been told: the fastest programs, how long ago the last gain was, and how good predictions were."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

#: Measured programs that are kept.
KEPT = 256
#: Rounds that the quality of predictions is judged by.
ROUNDS = 8
#: Trials of each variant that tell how far the model is off there.
RECENT = 8


@dataclass(frozen=True, slots=True)
class Best:
    """A measured row: its speed in log2 of operations per nanosecond, and where it is."""

    speed: float
    variant: int
    row: Mapping[str, int]
    number: int


@dataclass(frozen=True, slots=True)
class Quality:
    """How well the predictions of the last rounds agree with the measurements that came after them.

    Attributes
    ----------
    tau, spearman : float or None
        Rank correlations within the rounds; None before anything can be compared.
    """

    tau: float | None = None
    spearman: float | None = None


@dataclass(slots=True)
class History:
    """Measurements in the order in which they came.

    Attributes
    ----------
    count : int
        Trials, failed ones included.
    best: list of Best
        The fastest rows, fastest first; equal speeds by key, so that their order does not depend on who told them.
    trials : dict of int to int
        Trials of each variant.
    recent : dict of int to list
        Features and speeds of the last trials of each variant.
    """

    count: int = 0
    best: list[Best] = field(default_factory=list)
    _speeds: list[float] = field(default_factory=list)
    trials: dict[int, int] = field(default_factory=dict)
    recent: dict[int, list[tuple[NDArray[np.float32], float]]] = field(default_factory=dict)
    _rounds: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=list)

    def observe(self, speed: float, variant: int, row: Mapping[str, int], number: int, x: NDArray[np.float32]) -> None:
        """Take one trial; NaN is the speed of a failed one."""
        self.count += 1
        self._speeds.append(speed)
        self.trials[variant] = self.trials.get(variant, 0) + 1
        self.recent[variant] = [*self.recent.get(variant, [])[1 - RECENT :], (x, speed)]
        if variant >= 0 and math.isfinite(speed):
            bisect.insort(self.best, Best(speed, variant, row, number), key=lambda b: (-b.speed, b.number))
            del self.best[KEPT:]

    def round(self, predicted: Sequence[float], speeds: Sequence[float]) -> None:
        """Take one round: scores from before the measurement, and speeds (NaN for what is missing)."""
        self._rounds = [*self._rounds[1 - ROUNDS :], (np.array(predicted), np.array(speeds))]

    def since_gain(self, least: float) -> int:
        """Trials since the last one that was faster by `least` in log2 than all before it."""
        top, last = -math.inf, 0
        for k, speed in enumerate(self._speeds):
            if speed > top + least:
                top, last = speed, k + 1
        return self.count - last

    @property
    def quality(self) -> Quality:
        """How well predictions were confirmed."""
        return Quality(_mean([_tau(p, s) for p, s in self._rounds]), _mean([_spearman(p, s) for p, s in self._rounds]))


def _mean(parts: Sequence[tuple[float, int]]) -> float | None:
    """Mean of the rounds' figures, weighted by their numbers of pairs."""
    pairs = sum(n for _, n in parts)
    return sum(v * n for v, n in parts) / pairs if pairs else None


def _tau(predicted: NDArray[np.float64], speed: NDArray[np.float64]) -> tuple[float, int]:
    """Kendall's tau over the pairs that differ in both, and their number."""
    upper = np.triu_indices(len(speed), 1)
    with np.errstate(invalid="ignore"):
        a = np.sign(predicted[:, None] - predicted)[upper]
        b = np.sign(speed[:, None] - speed)[upper]
    told = np.isfinite(a * b) & (a * b != 0)
    n = int(told.sum())
    return (float((a * b)[told].mean()), n) if n else (0.0, 0)


def _spearman(predicted: NDArray[np.float64], speed: NDArray[np.float64]) -> tuple[float, int]:
    """Correlation of the ranks, and how many pairs they make."""
    ok = np.isfinite(predicted) & np.isfinite(speed)
    a, b = predicted[ok], speed[ok]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0, 0
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1]), len(a) * (len(a) - 1) // 2


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts + 1) / 2)[inverse], np.float64)
