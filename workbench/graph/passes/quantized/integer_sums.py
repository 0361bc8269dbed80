"""Sums of products in int32 whose zero points have left the inner loop."""

from __future__ import annotations

import numpy as np

from workbench.graph.graph import Array
from workbench.graph.passes.node_steps import Steps


def centred(w: Array, zero: Array) -> tuple[Array, Array]:
    """Weights and zero point; bytes without sign that have one become bytes with sign, as most instructions want."""
    if w.dtype == np.uint8 and zero.any():
        return (w.astype(np.int16) - 128).astype(np.int8), zero - 128
    return w, zero


def zero_of(s: Steps, x: str) -> Array | None:
    """Value of a zero point, 0 where none is given; None where it is computed."""
    value = np.zeros((), np.int64) if not x else s.value(x)
    return None if value is None else value.astype(np.int64)


def is_number(s: Steps, x: str) -> bool:
    """Whether a zero point is one number."""
    return not x or s.graph.types[x].size == 1


def int32(value: Array) -> Array:
    """Whole numbers as int32, which wraps."""
    return value.astype(np.int64).astype(np.int32)


def product(s: Steps, a: str, b: str, za: str, zb: str) -> str | None:
    """Sums of products in int32, without zero points in the inner loop; None where they have to stay."""
    w, zero = s.value(b), zero_of(s, zb)
    rank = s.graph.types[a].rank
    if w is None:
        return _of_computed(s, a, b, zero_of(s, za), zero)
    if zero is None or not is_number(s, za) or w.ndim < 2 or rank < 2:
        return None
    zero = zero.reshape(()) if zero.size == 1 else zero
    w, zero = centred(w, zero)
    y = s.add("MatMulInteger", (a, s.constant("weights", w)), "sums")
    sums = w.astype(np.int64).sum(-2, keepdims=True) - w.shape[-2] * zero
    sums = int32(sums.reshape(-1) if w.ndim == 2 else sums)
    if zero.any():
        y = s.add("Offset", (y, s.constant("zeros", int32(zero)), _sums(s, a, rank - 1)), "offset", own=True)
    return less_zero(s, y, za, sums)


def _sums(s: Steps, x: str, axis: int) -> str:
    """Sums of bytes along an axis, in int32."""
    wide = s.add("Cast", (x,), "wide", {"to": 6})
    return s.add("ReduceSum", (wide, s.constant("axes", np.array([axis]))), "along", {"keepdims": 1})


def _of_computed(s: Steps, a: str, b: str, za: Array | None, zb: Array | None) -> str | None:
    """Product of two tensors that are both computed, with a constant zero point each."""
    left, right = s.graph.types[a], s.graph.types[b]
    if za is None or zb is None or za.size != 1 or zb.size != 1 or min(left.rank, right.rank) < 2:
        return None
    first, second = int(za.reshape(-1)[0]), int(zb.reshape(-1)[0])
    if right.dtype == "uint8":
        b, second = s.add("Signed", (b,), "signed", own=True), second - 128
    y = s.add("MatMulInteger", (a, b), "sums")
    for zero, x, axis in ((second, a, left.rank - 1), (first, b, right.rank - 2)):
        if zero:
            along = _sums(s, x, axis)
            y = s.add("Offset", (y, s.constant("zero", np.array(zero, np.int32)), along), "offset", own=True)
    both = int32(np.array(left.shape[-1] * first * second))
    return s.add("Add", (y, s.constant("shift", both)), "shifted") if both else y


def requantised(s: Steps, y: str, factor: Array, zero: str) -> bool:
    """Finish with sums scaled back to bytes; `zero` is a number, constant or not, or absent."""
    known, dtype = zero_of(s, zero), s.graph.types[s.base].dtype
    value = None if known is None else known.reshape(()).astype(np.float32)
    moved = s.add("Cast", (zero,), "moved", {"to": 1}) if value is None else s.constant("zero", value)
    s.add("Requantize", (y, s.constant("factor", factor), moved), "bytes", {"dtype": dtype}, own=True)
    return s.finish()


def less_zero(s: Steps, y: str, zero: str, sums: Array, more: Array | None = None) -> str:
    """``y - zero * sums + more``; `zero` is a number, constant or not."""
    known = zero_of(s, zero)
    if known is None:
        y = s.add("Offset", (y, zero, s.constant("weighed", sums)), "offset", own=True)
        shift = np.zeros((), np.int64)
    else:
        shift = -known.reshape(()) * sums
    shift = int32(shift if more is None else shift + more)
    return s.add("Add", (y, s.constant("shift", shift)), "shifted") if shift.any() else y
