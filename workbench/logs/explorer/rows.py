"""Which rows are chosen, and what has changed since the last choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]


class Chosen:
    """The rows that are chosen.

    Attributes
    ----------
    mask : ndarray of bool
        Whether each row is chosen.
    n : int
        How many are.
    serial : int
        Number of the choice; the one before has the number before.
    """

    def __init__(self, mask: Mask, before: Chosen | None = None) -> None:
        self.mask = mask
        self.n = int(np.count_nonzero(mask))
        self.serial: int = before.serial + 1 if before else 0
        self._before = before.mask if before and len(before.mask) == len(mask) else None

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """Numbers of the rows that are chosen."""
        return np.flatnonzero(self.mask)

    @cached_property
    def rest(self) -> npt.NDArray[np.int64]:
        """Numbers of the rows that are not."""
        return np.flatnonzero(~self.mask)

    @cached_property
    def change(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
        """Numbers of the rows that came and that went since the choice before; None where there is none."""
        if self._before is None:
            return None
        rows = np.flatnonzero(self.mask ^ self._before)
        self._before, came = None, self.mask[rows]
        return rows[came], rows[~came]


class Masks:
    """Masks of the parts of a selection, each made once as long as it does not change."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._made: dict[str, tuple[object, Mask]] = {}

    def all_of(self, parts: Mapping[str, tuple[object, Callable[[], Mask]]]) -> Mask:
        """Return which rows every part lets through.

        Parameters
        ----------
        parts : mapping
            Name of a part -> what it depends on, and the function that makes its mask.
        """
        mask = np.ones(self._n, bool)
        for name, (key, make) in parts.items():
            kept = self._made.get(name)
            if kept is None or kept[0] != key:
                kept = self._made[name] = (key, make())
            mask &= kept[1]
        self._made = {name: kept for name, kept in self._made.items() if name in parts}
        return mask
