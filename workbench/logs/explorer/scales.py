"""Where the values of a column stand on an axis: bins, and ticks with their texts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from workbench.markup import shortened

BINS = 64
"""Bins of an axis of numbers. Chosen: on an axis of 240 pixels a bin is four pixels, which a pointer can hit."""

TICKS = 6
"""Ticks that an axis of numbers wants; it gets about as many."""

SHOWN_LABELS = 24
"""Labels of an axis of words that all get a tick."""

LABEL, ROOM = 28, 12
"""Letters of a tick; how many of them a narrow axis has room for. Chosen by eye."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the values of a column stand.

    Attributes
    ----------
    low, high : float
        Ends; of ordinals half a step below the first and above the last.
    bins : int
        Bins between them; the bin after the last is that of rows without a value.
    log : bool
        Whether equal steps are equal factors.
    ticks : tuple of (float, str)
        Where a tick stands, and its text.
    """

    low: float
    high: float
    bins: int
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def place(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return places from 0 (`low`) to 1 (`high`); NaN without a value."""
        low, high = self.low, self.high
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.log:
                values, low, high = np.log(values), math.log(low), math.log(high)
            return (values - low) / ((high - low) or 1.0)

    def bin(self, values: npt.NDArray[np.float64], bins: int = 0) -> npt.NDArray[np.uint16]:
        """Return the bin of each value, `bins` where there is none."""
        bins = bins or self.bins
        places = self.place(values) * bins
        found = np.full(len(values), bins, np.uint16)
        there = np.isfinite(places)
        found[there] = np.clip(places[there], 0, bins - 1).astype(np.uint16)
        return found


def of_ordinals(labels: Sequence[str], most: int = BINS) -> Scale:
    """Return the scale of words in an order."""
    n = max(1, len(labels))
    step = 1 if n <= SHOWN_LABELS else math.ceil(n / 12)
    texts = _ends(labels)
    ticks = tuple((float(k), shortened(texts[k], LABEL)) for k in range(0, len(labels), step))
    return Scale(-0.5, n - 0.5, min(n, most), False, ticks)


def _ends(labels: Sequence[str]) -> Sequence[str]:
    """Return labels without the words that all begin with, where they are too long to be told apart otherwise."""
    if len(labels) < 2 or max(map(len, labels)) <= ROOM:
        return labels
    low, high = min(labels), max(labels)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False)))
    words = re.match(r".*[\W_]", low[:same], re.DOTALL)
    return [f"…{label[words.end() :]}" for label in labels] if words else labels


def of_numbers(low: float, high: float, log: bool) -> Scale:
    """Return the scale of numbers between `low` and `high`; a scale of factors needs positive ones."""
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    log = log and low > 0
    if high <= low:
        pad = abs(low) * 0.5 or 1.0
        low, high = (low / 2, low * 2) if log else (low - pad, high + pad)
    ticks = _powers(low, high) if log else _steps(low, high)
    return Scale(low, high, BINS, log, tuple((t, number(t)) for t in ticks))


def _steps(low: float, high: float) -> list[float]:
    size = 10 ** math.floor(math.log10((high - low) / TICKS))
    step = next(k * size for k in (1, 2, 5, 10) if (high - low) / (k * size) <= TICKS + 1)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1,), (1, 3), (1, 2, 5)):
        if len(decades) > TICKS:
            parts = (1,)
        found = [p * 10.0**d for d in decades for p in parts if low <= p * 10.0**d <= high]
        if len(found) >= 3:
            return found[:: math.ceil(len(found) / (TICKS + 2))]
    return _steps(low, high)


def number(value: float) -> str:
    """Return a number in at most four digits, as a tick or a limit of a brush says it."""
    if value != value:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6 or size < 1e-4:
        return f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    return f"{value:.4g}" if size < 1e4 else f"{value:.0f}"
