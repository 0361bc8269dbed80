"""Winograd's minimal filtering F(m, 3): the weights' transform, as a step of a buffer's layout.

A convolution with a 3x3 kernel computes m x m outputs of one channel from (m + 2) x (m + 2) products instead of 9 m m:
``Y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A``. The matrices are those of A. Lavin and S. Gray, "Fast Algorithms for Convolutional
Neural Networks" (arXiv:1509.09308). G is here, because weights are packed ahead of time; Bᵀ and Aᵀ are index conditions
in the nest that `workbench.schedule.primitives.winograd` makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.ir.poly import Dim

#: Outputs per tile and dimension -> G, of shape (m + 2, 3).
KERNEL_MATRIX = MappingProxyType(
    {
        2: ((1.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.0, 0.0, 1.0)),
        4: (
            (1 / 4, 0.0, 0.0),
            (-1 / 6, -1 / 6, -1 / 6),
            (-1 / 6, 1 / 6, -1 / 6),
            (1 / 24, 1 / 12, 1 / 6),
            (1 / 24, -1 / 12, 1 / 6),
            (0.0, 0.0, 1.0),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class WinogradStep:
    """Layout step: a kernel ``[3, 3, ...]`` becomes ``G g Gᵀ``, of shape ``[tile + 2, tile + 2, ...]``."""

    tile: int

    def logical_shape(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Shape before the step."""
        return (3, 3, *shape[2:])

    def apply(self, array: NDArray[Any]) -> NDArray[Any]:
        """Transform an array; in double precision, because it happens once."""
        g = np.asarray(KERNEL_MATRIX[self.tile])
        rows = np.tensordot(g, array.astype(np.float64), axes=(1, 0))
        both = np.tensordot(g, rows, axes=(1, 1))
        return np.ascontiguousarray(np.swapaxes(both, 0, 1).astype(array.dtype))
