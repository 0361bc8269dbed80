"""Ranges of tensors from what samples make of them, and the scales and zero points that cover a range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from workbench.graph.graph import Array

#: Bins of a histogram: an odd number, so that one of them lies around 0. Chosen: eight for each step of a byte.
BINS = 2049
#: Share of the numbers, in percent, that `percentile` keeps by default.
PERCENT = 99.99
#: What takes the place of an empty bin where distributions are compared.
_EPSILON = 1e-4


@dataclass(slots=True)
class Observed:
    """What samples made of a tensor.

    Attributes
    ----------
    low, high : float
        Least and largest number.
    counts : array of int64[BINS]
        Histogram between -m and m, with m the largest magnitude; empty until `count` was called.
    """

    low: float = np.inf
    high: float = -np.inf
    counts: Array = field(default_factory=lambda: np.zeros(BINS, np.int64))

    @property
    def magnitude(self) -> float:
        """Largest distance from 0."""
        return max(-self.low, self.high, 0.0)

    def see(self, x: Array) -> None:
        """Let the extremes cover more numbers."""
        if x.size:
            self.low, self.high = min(self.low, float(x.min())), max(self.high, float(x.max()))

    def count(self, x: Array) -> None:
        """Put numbers into the histogram, whose ends are those of all that was seen."""
        m = self.magnitude or 1.0
        self.counts += np.histogram(x, BINS, (-m, m))[0]


Method: TypeAlias = Callable[[Observed, float], tuple[float, float]]
METHODS: dict[str, Method] = {}


def _method(fn: Method) -> Method:
    METHODS[fn.__name__] = fn
    return fn


@_method
def minmax(seen: Observed, percent: float) -> tuple[float, float]:
    """All numbers fit."""
    return seen.low, seen.high


@_method
def percentile(seen: Observed, percent: float) -> tuple[float, float]:
    """`percent` of the numbers fit; as many are cut on either side, on one where none are below (or above) 0."""
    total, m = int(seen.counts.sum()), seen.magnitude
    if not total or not m:
        return seen.low, seen.high
    outside = (1 - percent / 100) * total
    share = outside if seen.low >= 0 or seen.high <= 0 else outside / 2
    edges, sums = np.linspace(-m, m, BINS + 1), np.concatenate(([0], np.cumsum(seen.counts)))
    low = edges[np.searchsorted(sums, share, "right") - 1] if seen.low < 0 else seen.low
    high = edges[np.searchsorted(sums, total - share)] if seen.high > 0 else seen.high
    return max(float(low), seen.low), min(float(high), seen.high)


@_method
def entropy(seen: Observed, percent: float) -> tuple[float, float]:
    """Numbers in bytes tell the most of those before: the divergence of their distributions is least."""
    if not seen.counts.any() or not seen.magnitude:
        return seen.low, seen.high
    levels = 255 if seen.low < 0 < seen.high else 511  # bytes that the numbers of one sign have are 127, or all
    limit = threshold(seen.counts, seen.magnitude, levels)
    return max(seen.low, -limit), min(seen.high, limit)


def threshold(counts: Array, magnitude: float, levels: int) -> float:
    """Magnitude to cut at, such that `levels` numbers tell the most of a distribution.

    Parameters
    ----------
    counts : array of int
        Histogram between -magnitude and magnitude, of an odd number of bins.
    magnitude : float
    levels : int
        Numbers that the range is divided into; each candidate has at least as many bins.

    Returns
    -------
    float
        The edge of a bin; `magnitude` where there are fewer bins than levels.
    """
    middle = len(counts) // 2
    least = (magnitude, np.inf)
    before = np.concatenate(([0], np.cumsum(counts)))
    for half in range(levels // 2, middle + 1):
        start, stop = middle - half, middle + half + 1
        cut = counts[start:stop].astype(np.float64)
        whole = cut.copy()
        whole[0] += before[start]
        whole[-1] += before[-1] - before[stop]
        at = (2 * half + 1) * magnitude / len(counts)
        least = min(least, (at, _divergence(whole, _coarse(cut, whole > 0, levels))), key=lambda pair: pair[1])
    return least[0]


def _coarse(cut: Array, present: Array, levels: int) -> Array:
    """Distribution in steps: each holds what its bins held, in equal parts where there was anything."""
    width = len(cut) // levels
    starts = np.arange(levels) * width
    sums, shares = np.add.reduceat(cut, starts), np.add.reduceat(present.astype(np.float64), starts)
    each = np.divide(sums, shares, out=np.zeros(levels), where=shares > 0)
    lengths = np.diff(np.append(starts, len(cut)))
    return np.asarray(np.repeat(each, lengths) * present)


def _divergence(p: Array, q: Array) -> float:
    """Kullback-Leibler divergence of q from p, empty bins filled up with a little."""
    if not p.any() or not q.any():
        return np.inf
    p, q = _filled(p), _filled(q)
    p, q = p / p.sum(), q / q.sum()
    return float(np.sum(p * np.log(p / q)))


def _filled(p: Array) -> Array:
    empty = p == 0
    taken = _EPSILON * empty.sum() / max((~empty).sum(), 1)
    return np.where(empty, _EPSILON, np.maximum(p - taken, _EPSILON))


# ---- scales ----------------------------------------------------------------------------------------------------------


def covering(low: float, high: float, dtype: str) -> tuple[Array, Array]:
    """Scale (float32) and zero point of bytes that cover a range and 0, which a byte stands for exactly."""
    info = np.iinfo(dtype)
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / (int(info.max) - int(info.min)))
    zero = np.clip(np.rint(info.min - low / np.float64(scale)), info.min, info.max)
    return np.array(scale, np.float32), np.array(zero, dtype)


def usable(low: float, high: float) -> bool:
    """Whether a range has a scale: it is finite, and larger than what float32 tells from 0."""
    span = max(high, 0.0) - min(low, 0.0)
    return bool(np.isfinite(span) and np.float32(span / 255) > np.finfo(np.float32).tiny)


def symmetric(w: Array, axis: int | None, least: Array | float = 0.0) -> tuple[Array, Array]:
    """Weights as int8 around 0, and their scales: one for each place along an axis, or one of all.

    `least` are scales that are not gone below, so that a bias in units of the sums fits 32 bits.
    """
    others = tuple(d for d in range(w.ndim) if d != axis) if axis is not None else None
    top = np.abs(w).max(axis=others, initial=0) if w.size else np.zeros(w.shape[axis or 0])
    scale = np.maximum(np.asarray(top, np.float64) / 127, least)
    scale = np.where(scale > np.finfo(np.float32).tiny, scale, 1.0).astype(np.float32)  # all weights are 0
    spread = scale.reshape([-1 if d == axis else 1 for d in range(w.ndim)]) if axis is not None else scale
    return np.clip(np.rint(w / spread), -127, 127).astype(np.int8), scale
