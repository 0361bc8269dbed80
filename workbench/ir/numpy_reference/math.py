"""The scalar operators of the IR as NumPy functions, for the reference evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.ir.dtypes import is_float
from workbench.memoize import remembered_by_value

Array: TypeAlias = NDArray[Any]


def _sigmoid(x: Array) -> Array:
    """From the exponential of -|x|, which neither overflows nor makes small results 0."""
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, e, np.ones_like(e)) / (1 + e))


def _rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def _div(a: Array, b: Array) -> Array:
    """Quotient; of integers towards zero as in C, and 0 for a zero divisor."""
    if np.result_type(a, b).kind not in "iu":
        return np.asarray(a / b)
    floor = np.floor_divide(a, b)
    return np.where(b == 0, 0, floor + ((floor < 0) & (floor * b != a))).astype(floor.dtype)


_ERF_STEP, _ERF_END, _ERF_ORDER = 128, 6, 7


@remembered_by_value(1)
def _erf_table() -> tuple[Array, ...]:
    """Value and Taylor coefficients of erf at the multiples of 1/128 in [-6, 6]."""
    x = np.arange(-_ERF_END * _ERF_STEP, _ERF_END * _ERF_STEP + 1) / _ERF_STEP
    # Of the slope s: s' = -2 x s.
    before, slope = np.zeros_like(x), 2 / math.sqrt(math.pi) * np.exp(-x * x)
    columns = [np.array([math.erf(float(v)) for v in x])]
    for k in range(1, _ERF_ORDER + 1):
        columns.append(slope / k)
        before, slope = slope, -2 * (x * slope + before) / k
    return tuple(columns)


def erf(x: Array) -> Array:
    """Error function to about two units in the last place: the Taylor polynomial at the nearest entry of a table."""
    wide = np.clip(np.asarray(x, np.float64), -_ERF_END, _ERF_END)
    at = np.rint(np.nan_to_num(wide) * _ERF_STEP).astype(np.intp)
    d = wide - at / _ERF_STEP
    out = np.zeros_like(wide)
    for column in reversed(_erf_table()):
        out = out * d + column[at + _ERF_END * _ERF_STEP]
    return out.astype(np.asarray(x).dtype)


def convert(x: Array, dtype: np.dtype[Any]) -> Array:
    """Convert values; floats go to integers towards zero, to the nearest one that there is, and NaN to 0."""
    if x.dtype == dtype:
        return x
    if is_float(x.dtype) and dtype.kind in "iu":
        info, wide = np.iinfo(dtype), x.astype(np.float64)
        # The largest integer may round up to a float that is out of range, so the ends are set and not clipped to.
        inside = (wide > info.min) & (wide < info.max)
        ends = np.where(wide >= info.max, info.max, np.where(wide <= info.min, info.min, 0)).astype(dtype)
        return np.where(inside, np.where(inside, wide, 0).astype(dtype), ends)
    return x.astype(dtype)


UNARY: dict[str, Callable[[Array], Any]] = {
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "rsqrt": _rsqrt, "tanh": np.tanh,
    "sigmoid": _sigmoid, "erf": erf, "floor": np.floor, "ceil": np.ceil, "round": np.rint,
    "not": np.logical_not,
}  # fmt: skip
BINARY: dict[str, Callable[[Array, Array], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _div, "max": np.maximum, "min": np.minimum,
    "pow": np.power, "mod": np.mod, "and": np.logical_and, "or": np.logical_or,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
