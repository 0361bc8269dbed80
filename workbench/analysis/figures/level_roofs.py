"""What each level of memory allows a schedule: its own operations per byte below the roof that was measured there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from workbench.analysis.loop_nest.schedule_estimate import Estimate
from workbench.runtime.machine.measured_roofline import MEMORY, Roofs

CACHES = ("L1", "L2", "L3")


@dataclass(frozen=True, slots=True)
class LevelRoof:
    """A schedule at one level.

    Attributes
    ----------
    level : str
        Where the bytes come from: "L2", "L3" or "memory".
    nbytes : int
        Bytes that the cache before it fetches from there, by the estimate.
    intensity : float
        Operations for each of them.
    most : float or None
        GFLOP/s that the roof of this level allows; None where it was not measured.
    """

    level: str
    nbytes: int
    intensity: float
    most: float | None


def level_roofs(estimate: Estimate, roofs: Mapping[str, Roofs], top: float | None) -> tuple[LevelRoof, ...]:
    """Return what the levels allow that a schedule fetches something from, the nearest first.

    Parameters
    ----------
    roofs : mapping of str to Roofs
        Measured roofs by level, as `roofline.stored_roofs` returns them.
    top : float or None
        The peak of arithmetic, which no level goes beyond.
    """
    there = [cache for cache in CACHES if cache in estimate.bytes]  # none of a device
    found = []
    for cache, level in pairwise([*there, MEMORY]):
        if nbytes := estimate.bytes[cache]:
            intensity, roof = estimate.flops / nbytes, roofs.get(level)
            most = None if roof is None else min(roof.gbytes * intensity, top or float("inf"))
            found.append(LevelRoof(level, nbytes, intensity, most))
    return tuple(found)
