"""Comparison of arrays, with TVM's tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise AssertionError where arrays differ by more than the tolerances."""
    assert np.shape(actual) == np.shape(desired)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)
