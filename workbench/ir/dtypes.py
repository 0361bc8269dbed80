"""Element types by name: NumPy's own, and bfloat16, which NumPy learns from ml_dtypes.

NumPy gives bfloat16 the kind "V" and no `finfo`, so questions about a dtype are asked here.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes  # registers the name "bfloat16" with NumPy
import numpy as np

from workbench.memoize import remembered_by_value

#: The upper half of a float32: the same exponent, 8 bits of precision.
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@remembered_by_value(64)
def is_float(dtype: str | np.dtype[Any]) -> bool:
    """Whether the elements are floating-point numbers."""
    kind = np.dtype(dtype)
    return kind.kind == "f" or kind == BFLOAT16


def lowest(dtype: str) -> float | int:
    """Least value of an element type: no maximum is below it."""
    return -math.inf if is_float(dtype) else int(np.iinfo(dtype).min)


def element_type(name: object) -> str | None:
    """Full name of a type that elements may have: whole numbers, floats of up to 8 bytes, bool; None for others."""
    try:
        kind = np.dtype(name)  # type: ignore[call-overload]
    except (TypeError, ValueError):  # ValueError: what is no text for any machine
        return None
    known = kind.kind in "iub" or is_float(kind)
    return str(kind.name) if known and kind.itemsize <= 8 else None


@remembered_by_value(64)
def itemsize(dtype: str) -> int:
    """Bytes of one element."""
    return int(np.dtype(dtype).itemsize)
