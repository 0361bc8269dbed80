"""Exact counts of the cells of a view, kept up to date with the least work."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.logs.explorer.rows import Chosen

Counts = npt.NDArray[np.int64]


class Count:
    """Rows in each cell: of all rows, and of those that are chosen.

    To count again what is chosen takes the shortest of three ways: to add and take away what has changed since the last
    choice, to count the rows that are chosen, or to take those that are not from all.

    Parameters
    ----------
    cells : ndarray of unsigned int
        The cell of each row.
    n : int
        Number of cells.
    """

    def __init__(self, cells: npt.NDArray[np.uint16], n: int) -> None:
        self._cells, self._n = cells, n
        self.all: Counts = self._of(None)
        self._now, self._serial = self.all, -1

    def chosen(self, chosen: Chosen) -> Counts:
        """Return the counts of the rows that are chosen."""
        if chosen.serial != self._serial:
            self._now, self._serial = self._count(chosen), chosen.serial
        return self._now

    def _count(self, chosen: Chosen) -> Counts:
        fewest = min(chosen.n, len(self._cells) - chosen.n)
        change = chosen.change if chosen.serial == self._serial + 1 else None
        if change is not None and len(change[0]) + len(change[1]) < fewest:
            return self._now + self._of(change[0]) - self._of(change[1])
        if chosen.n == fewest:
            return self._of(chosen.rows)
        return self.all - self._of(chosen.rest)

    def _of(self, rows: npt.NDArray[np.int64] | None) -> Counts:
        cells = self._cells if rows is None else self._cells.take(rows)
        return np.bincount(cells, minlength=self._n)
