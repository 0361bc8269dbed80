"""Arrays in TVM's words: NumPy's, with a method that gives them as such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class NDArray(np.ndarray):
    """An array of NumPy."""

    def numpy(self) -> Any:
        """The array itself."""
        return self.view(np.ndarray)

    asnumpy = numpy


def array(values: Any, device: Any = None) -> NDArray:
    """Copy of an array."""
    return np.array(values).view(NDArray)


def empty(shape: Sequence[int], dtype: str = "float32", device: Any = None) -> NDArray:
    """Array whose elements are not set."""
    return np.empty(tuple(shape), dtype).view(NDArray)
