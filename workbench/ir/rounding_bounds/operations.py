"""Values of expressions with bounds on what rounding may have changed, one operator at a time.

A `Near` is a value in double precision and, for each element, how far what a kernel computes may lie from it. Truth
values have in place of a distance whether they may be the other way round.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.ir.dtypes import is_float
from workbench.ir.expr import COMPARE_OPS
from workbench.ir.numpy_reference.math import BINARY, UNARY, convert

Array: TypeAlias = NDArray[Any]

#: Largest relative error of one rounding. That of float64 counts twice: what it is compared with is rounded like it.
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-52}
#: Small results that are not 0 may be wrong by so much: the least normal number, below which a network makes 0 of them.
#: Of float16, which is never flushed, the least distance of two numbers. From `LEAST` / `UNIT` on roundings are larger.
LEAST = {"float16": 2.0**-24, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
           "float64": 1.7976931348623157e308}  # fmt: skip

#: Error of a function of a dtype in units in the last place.
Ulps: TypeAlias = Callable[[str, str], float]


class Near(NamedTuple):
    """Values, and the largest distance of what a kernel computes (None: exact; not finite: anything may come out)."""

    value: Array
    error: Array | None = None

    @property
    def margin(self) -> Array:
        """The distance, 0 where values are exact; False for truth values."""
        return np.zeros((1,) * self.value.ndim, _margin_dtype(self.value)) if self.error is None else self.error


def _margin_dtype(value: Array) -> type:
    return bool if value.dtype == bool else float


def double(x: Array) -> Array:
    """Floats in double precision."""
    return x.astype(np.float64, copy=False) if x.dtype.kind == "f" else x


def _wide(x: Array) -> Array:
    """Whole numbers as floats, which have room for their bounds."""
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def rounded(value: Array, error: Array | None, dtype: str, units: float | Array = 1.0) -> Near:
    """Add the error of an operation with a result of `dtype` that is wrong by `units` roundings."""
    if not is_float(dtype):
        return Near(value, error if error is None else _unwrapped(value, error))
    size = np.abs(value)
    margin = size * (units * UNIT[dtype]) + np.where(
        (size > 0) & (size < LEAST[dtype] / UNIT[dtype]), LEAST[dtype], 0.0
    )
    if error is not None:
        margin = margin + error
    if size.size and not float(size.max()) < LARGEST[dtype] * (1 - UNIT[dtype]):
        return _overflown(value, margin, error, dtype)
    return Near(value, margin)


def _overflown(value: Array, margin: Array, error: Array | None, dtype: str) -> Near:
    """What is too large becomes infinite; what may be too large is anything."""
    size = np.abs(value)
    margin = np.where(np.isinf(value), 0.0 if error is None else error, margin)
    over = np.isfinite(value) & (size - margin > LARGEST[dtype])
    maybe = np.isfinite(value) & ~over & (size + margin > LARGEST[dtype])
    return Near(np.where(over, np.copysign(np.inf, value), value), np.where(over, 0.0, np.where(maybe, np.inf, margin)))


def _unwrapped(value: Array, error: Array) -> Array:
    """Whole numbers wrap: those that may do so may be any."""
    if value.dtype.kind not in "iu":
        return error
    info = np.iinfo(value.dtype)
    ends = _wide(value)
    return np.where((error > 0) & ((ends - error < info.min) | (ends + error > info.max)), np.inf, error)


def _around(x: Near, fn: Callable[[Array], Any]) -> tuple[Array, Array]:
    """A function that only rises or only falls: its value, and how far it gets from it."""
    value = np.asarray(fn(x.value))
    low, high = (_wide(np.asarray(fn(end))) for end in (_wide(x.value) - x.margin, _wide(x.value) + x.margin))
    mid = _wide(value)
    with_inf = np.isinf(mid) & (low == mid) & (high == mid)
    return value, np.where(with_inf, 0.0, np.maximum(np.abs(high - mid), np.abs(low - mid)))


def unary(op: str, x: Near, dtype: str, ulps: Ulps) -> Near:
    """``op(x)``."""
    if op in ("neg", "abs", "not"):
        return Near(np.asarray(UNARY[op](x.value)), x.error)
    if not is_float(dtype):
        return Near(np.asarray(UNARY[op](x.value)), x.error)
    value, error = (np.asarray(UNARY[op](x.value)), None) if x.error is None else _around(x, UNARY[op])
    units = 2.0 * ulps(op, dtype)
    return rounded(value, error, dtype, units) if units else Near(value, error)


def binary(op: str, a: Near, b: Near, dtype: str, ulps: Ulps) -> Near:
    """``a op b`` with operands of `dtype`."""
    if op in COMPARE_OPS:
        return _compared(op, a, b)
    value = np.asarray(BINARY[op](a.value, b.value))
    exact = a.error is None and b.error is None
    if value.dtype == bool:
        return Near(value) if exact else Near(value, _doubtful(op, a, b))
    if op in ("max", "min"):
        return Near(value) if exact else Near(value, _between(BINARY[op], value, a, b))
    error = None if exact else _spread(op, _wide(value), a, b, is_float(dtype))
    units: float | Array = 2.0 * ulps(op, dtype) if op in ("pow", "mod") else 1.0
    factors = [x for x in {"mul": (a, b), "div": (b,)}.get(op, ()) if x.error is None and _few(x.value, value)]
    powers = [np.abs(np.frexp(x.value)[0]) == 0.5 for x in factors if is_float(dtype)]
    if any(p.any() for p in powers):  # only the exponent changes
        units = np.where(functools.reduce(np.logical_or, powers), 0.0, units)
    return rounded(value, error, dtype, units)


def _few(x: Array, others: Array) -> bool:
    """Whether looking at every element costs little beside the work on others."""
    return x.size == 1 or x.size * 8 <= others.size


def _compared(op: str, a: Near, b: Near) -> Near:
    """A comparison; it is in doubt where the operands may be equal or change sides."""
    value = np.asarray(BINARY[op](a.value, b.value))
    if a.error is None and b.error is None:
        return Near(value)
    if a.value.dtype == bool:
        return Near(value, a.margin | b.margin)
    room = a.margin + b.margin
    distance = np.abs(_wide(a.value) - _wide(b.value))
    apart = (distance > room) | ((_wide(a.value) != _wide(b.value)) & np.isinf(distance) & np.isfinite(room))
    return Near(value, ~apart & (room != 0) & ~np.isnan(a.value) & ~np.isnan(b.value))


def _doubtful(op: str, a: Near, b: Near) -> Array:
    """Whether a truth value made of two may be the other way round."""
    low, high = (BINARY[op](*(_end(x, up) for x in (a, b))) for up in (False, True))
    return np.asarray(low != high)


def _end(x: Near, up: bool) -> Array:
    """The least or the largest that a truth value may be."""
    return x.value | x.margin if up else x.value & ~x.margin


def _between(fn: Callable[[Array, Array], Any], value: Array, a: Near, b: Near) -> Array:
    low, high = (fn(_wide(a.value) + s * a.margin, _wide(b.value) + s * b.margin) for s in (-1, 1))
    mid = _wide(value)
    return np.where(np.isinf(mid) & (low == high), 0.0, np.maximum(high - mid, mid - low))


def _spread(op: str, value: Array, a: Near, b: Near, floating: bool) -> Array:
    """How far errors of the operands carry a result."""
    x, y, of_x, of_y = np.abs(_wide(a.value)), np.abs(_wide(b.value)), a.margin, b.margin
    if op in ("add", "sub"):
        return np.asarray(of_x + of_y)
    if op == "mul":
        return np.asarray(x * of_y + of_x * (y + of_y))
    if not floating:  # a quotient or remainder of whole numbers that are not sure
        return np.where((of_x > 0) | (of_y > 0), np.inf, 0.0)
    if op == "div":
        return np.where(y > of_y, (of_x + np.abs(value) * of_y) / (y - of_y), np.inf)
    if op == "mod":
        whole = [np.floor((a.value + s * of_x) / (b.value + t * of_y)) for s in (-1, 1) for t in (-1, 1)]
        same = (whole[0] == whole[1]) & (whole[0] == whole[2]) & (whole[0] == whole[3])
        return np.where(same, of_x + np.abs(whole[0]) * of_y, y + of_y)
    corners = [np.power(a.value + s * of_x, b.value + t * of_y) for s in (-1, 1) for t in (-1, 1)]
    far = np.max([np.abs(c - value) for c in corners], axis=0)
    return np.where((x <= of_x) & (of_x > 0) & (b.value - of_y < 0), np.inf, far)


def choice(cond: Near, a: Near, b: Near) -> Near:
    """`a` or `b` by what the data say; either of them where that is in doubt."""
    value = np.where(cond.value, a.value, b.value)
    if cond.error is None and a.error is None and b.error is None:
        return Near(value)
    error = np.where(cond.value, a.margin, b.margin)
    if cond.error is None:
        return Near(value, error)
    if value.dtype == bool:
        other = a.margin | b.margin | (a.value != b.value)
    else:
        apart = np.where(a.value == b.value, 0.0, np.abs(_wide(a.value) - _wide(b.value)))
        other = apart + np.maximum(a.margin, b.margin)
    return Near(value, np.where(cond.error, other, error))


def cast(x: Near, before: str, dtype: str) -> Near:
    """Conversion from one dtype to another."""
    if before == dtype:
        return x
    if dtype == "bool":
        return Near(x.value != 0, None if x.error is None else (x.error > 0) & (np.abs(x.value) <= x.error))
    if is_float(dtype):
        return _to_float(
            Near(x.value.astype(np.float64), None if x.error is None else x.error.astype(float)), before, dtype
        )
    kind = np.dtype(dtype)
    if x.error is None:
        return Near(convert(x.value, kind))
    if before == "bool":
        return Near(x.value.astype(kind), x.error.astype(np.float64))
    if is_float(before):
        return Near(*_around(x, lambda v: convert(v, kind)))
    return rounded(x.value.astype(kind), np.where(x.error < 2.0 ** (8 * kind.itemsize), x.error, np.inf), dtype)


def _to_float(x: Near, before: str, dtype: str) -> Near:
    digits = round(-math.log2(UNIT[dtype]))
    if is_float(before):
        wider = np.dtype(dtype).itemsize > np.dtype(before).itemsize
        return x if wider else rounded(x.value, x.error, dtype)
    if before == "bool" or np.iinfo(before).bits <= min(digits, 15):
        return x
    near = rounded(x.value, x.error, dtype)
    return Near(near.value, np.where(np.abs(x.value) <= 2.0**digits, x.margin, near.margin))
