"""Where the names of points have room: beside them, on no other point and on no other name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Pixels of the narrowest plot that is meant; in a wider one names stand further apart. Chosen by eye.
PLOT = (500.0, 210.0)

#: Pixels: height of a line of text, width of a letter, and how far a point reaches. Chosen by eye, for type of 11
#: pixels.
LINE, LETTER, REACH = 13.0, 6.5, 6.0

#: How plotly calls the places, and where the middle of a text of size 1 lies from the point, across and down.
PLACES = {
    "middle right": (1, 0), "middle left": (-1, 0), "top center": (0, -1), "bottom center": (0, 1),
    "top right": (1, -1), "bottom right": (1, 1), "top left": (-1, -1), "bottom left": (-1, 1),
}  # fmt: skip


class Room:
    """What is taken of a plot.

    Parameters
    ----------
    ranges : (low, high) across and up
    points : sequence of (x, y)
        All points, in the units of the ranges.
    """

    def __init__(self, ranges: tuple[Sequence[float], Sequence[float]], points: Sequence[tuple[float, float]]) -> None:
        self._low = np.array([axis[0] for axis in ranges])
        self._size = np.array([axis[1] - axis[0] for axis in ranges])
        self._at = self._pixels(points)
        self._points = np.concatenate([self._at - REACH, self._at + REACH], axis=1)
        self._names = np.zeros((0, 4))

    def _pixels(self, points: Sequence[tuple[float, float]]) -> Array:
        at = (np.array(points, np.float64).reshape(-1, 2) - self._low) / self._size
        pixels: Array = np.stack([at[:, 0], 1.0 - at[:, 1]], axis=1) * np.array(PLOT)
        return pixels

    def _box(self, at: Array, text: str, side: tuple[int, int], lines: int = 1) -> Array:
        half = np.array([len(text) * LETTER, lines * LINE]) / 2.0
        middle = at + np.array(side) * (half + REACH)
        return np.concatenate([middle - half, middle + half])

    def _inside(self, box: Array) -> bool:
        return bool((box[:2] >= 0.0).all() and (box[2:] <= PLOT).all())

    def free(self, at: tuple[float, float], text: str, place: str, lines: int = 1) -> bool:
        """Whether a text at a place of its own lies in the plot, on no point and on no text that is kept clear."""
        box = self._box(self._pixels([at])[0], text, PLACES[place], lines)
        return self._inside(box) and not _meets(box, self._points) and not _meets(box, self._names)

    def keep(self, at: tuple[float, float], text: str, place: str, lines: int = 1) -> None:
        """Keep a text clear that stands at a place of its own."""
        self._names = np.vstack([self._names, self._box(self._pixels([at])[0], text, PLACES[place], lines)])

    def place(self, point: int, text: str) -> str:
        """Take a place beside a point, the first one that is free; return its name, or nothing when none is."""
        others = np.delete(self._points, point, axis=0)
        # Of points in one and the same place the first has its name there, the others find theirs around it.
        others = others[np.abs(others - self._points[point]).max(axis=1) > 0.5]
        for name, side in PLACES.items():
            box = self._box(self._at[point], text, side)
            if self._inside(box) and not _meets(box, others) and not _meets(box, self._names):
                self._names = np.vstack([self._names, box])
                return name
        return ""


def _meets(box: Array, others: Array) -> bool:
    return bool(((box[:2] < others[:, 2:]) & (others[:, :2] < box[2:])).all(axis=1).any())
