"""What a search has been told: the fastest programs, how long ago the last gain was, and how good predictions were."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model import HeldOut, Quality


def log_speed(flops: int, ms: float | None) -> float:
    """Speed in log2 of operations per nanosecond; NaN where there is no time."""
    return math.log2(max(flops, 1) / (ms * 1e6)) if ms is not None and ms > 0 else math.nan


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """A measured row: its speed in log2 of operations per nanosecond, and where it is."""

    speed: float
    variant: int
    row: Mapping[str, int]
    number: int


@dataclass(slots=True)
class History:
    """Measurements in the order in which they came.

    Attributes
    ----------
    count : int
        Trials, failed ones included.
    best: list of MeasuredRow
        The fastest rows, fastest first; equal speeds by key, so that their order does not depend on who told them.
    trials : dict of int to int
        Trials of each variant.
    recent : dict of int to list
        Features and speeds of the last trials of each variant.
    beaten : dict of int to int
        Program that lost a comparison -> the one that won it.
    """

    #: Fastest rows that are kept: more than any strategy asks for. Chosen, not measured.
    KEPT: ClassVar[int] = 256
    #: Last rounds that the quality of predictions is judged by: the model of earlier ones was another. Chosen.
    ROUNDS: ClassVar[int] = 8
    #: Last trials of each variant that tell how far the model is off there. Chosen, not measured.
    RECENT: ClassVar[int] = 8

    count: int = 0
    best: list[MeasuredRow] = field(default_factory=list)
    _speeds: list[float] = field(default_factory=list)
    trials: dict[int, int] = field(default_factory=dict)
    recent: dict[int, list[tuple[NDArray[np.float32], float]]] = field(default_factory=dict)
    beaten: dict[int, int] = field(default_factory=dict)
    _held_out: HeldOut = field(default_factory=HeldOut)

    def observe(self, speed: float, variant: int, row: Mapping[str, int], number: int, x: NDArray[np.float32]) -> None:
        """Take one trial; NaN is the speed of a failed one."""
        self.count += 1
        self._speeds.append(speed)
        self.trials[variant] = self.trials.get(variant, 0) + 1
        self.recent[variant] = [*self.recent.get(variant, [])[1 - self.RECENT :], (x, speed)]
        if variant >= 0 and math.isfinite(speed):
            bisect.insort(self.best, MeasuredRow(speed, variant, row, number), key=lambda b: (-b.speed, b.number))
            del self.best[self.KEPT :]

    def round(self, predicted: Sequence[float], speeds: Sequence[float]) -> None:
        """Take one round: scores from before the measurement, and speeds (NaN for what is missing)."""
        if any(map(math.isfinite, predicted)):  # one that proves nothing is not to push out one that does
            self._held_out.observe(predicted, speeds)

    def ranked(self) -> list[MeasuredRow]:
        """The fastest rows; one that lost a comparison stands no better than directly behind the one that won it."""
        if not self.beaten:
            return self.best
        speeds = {b.number: b.speed for b in self.best}

        def level(number: int) -> tuple[float, int]:
            speed, steps, seen = speeds[number], 0, {number}
            while (number := self.beaten.get(number, -1)) in speeds and number not in seen:
                seen.add(number)
                if speeds[number] <= speed:
                    speed, steps = speeds[number], steps + 1
            return -speed, steps

        return sorted(self.best, key=lambda b: (*level(b.number), b.number))

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
        return self._held_out.quality(last=self.ROUNDS)
