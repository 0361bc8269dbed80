"""Where a search may start from: schedules by hand and records of this task, of similar tasks and of other machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from workbench.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Seed:
    """A program to try before all others.

    Attributes
    ----------
    variant : int
        -1 when it is no row of the space; then `schedule` is set.
    row : mapping of hole to number
    key : str
        Structural key of the program.
    x : array [F]
        Its features.
    note : str
        One sentence: where it came from, and what was adapted.
    parent : str or None
        Key of the program that it was adapted from.
    schedule : Schedule or None
    """

    variant: int
    row: Mapping[str, int]
    key: str
    x: NDArray[np.float32]
    note: str
    parent: str | None = None
    schedule: Schedule | None = None
