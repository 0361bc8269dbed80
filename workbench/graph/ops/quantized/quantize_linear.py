"""Numbers as small integers: quantising, and the way back.

A quantised tensor stands for ``(q - zero_point) * scale``. Rounding is to the nearest integer, of two equally near ones
to the even one, before the zero point is added; what does not fit the type is cut to its range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, foreign, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import Permuted
from workbench.graph.ops.arrays.movement import CODES, DTYPES
from workbench.graph.ops.lowering import compute, operand
from workbench.ir import Const

#: Types that quantised numbers have here.
QUANTISED = ("uint8", "int8", "uint16", "int16", "int32")


def rounded(v: te.Value) -> te.Value:
    """Nearest integer of a value that counts as the float32 that it is."""
    return te.round(te.cast(v, "float32"))


def np_saturated(v: Array, dtype: str) -> Array:
    """Whole numbers cut to the range of a type; NaN is 0."""
    info = np.iinfo(dtype)
    return np.clip(np.nan_to_num(np.asarray(v, np.float64), nan=0.0), info.min, info.max).astype(dtype)


def np_quantised(real: Array, zero: Array | None, dtype: str) -> Array:
    """Nearest whole numbers, moved by a zero point where there is one and cut to the range of a type."""
    whole = np.rint(real).astype(np.float64)
    return np_saturated(whole if zero is None else whole + zero.astype(np.float64), dtype)


def np_number(x: Array | None) -> Array | None:
    """A scale or zero point of one element without dimensions."""
    return None if x is None else x.reshape(())


def number(v: te.Value, dtype: str) -> te.Value:
    """`v` in another type, as a literal where it is one."""
    if isinstance(v.expr, Const):
        return te.const(v.expr.value, dtype)
    return v if v.dtype == dtype else te.cast(v, dtype)


# ---- how scales and zero points lie along a tensor -------------------------------------------------------------------


def spread_shape(c: Call, i: int) -> tuple[int, ...]:
    """Shape in which a scale or zero point that is no blocked one broadcasts to the tensor."""
    shape, size = c.shape(0), int(np.prod(c.shape(i), dtype=np.int64))
    if size == 1:
        return ()
    return (size, *(1 for _ in shape[c.named_axis(1) + 1 :]))


def _block(c: Call) -> int:
    """Elements along the axis that share a scale; 0 where the scales are no blocks."""
    return c.get_int("block_size", 0) if len(c.shape(1)) > 1 else 0


def _check_spread(c: Call, i: int) -> None:
    x, p, axis = c.shape(0), c.shape(i), 0
    if int(np.prod(p, dtype=np.int64)) == 1 and len(p) <= 1:
        return
    axis = c.named_axis(1)
    if len(p) == 1 and p[0] == x[axis]:
        return
    block = _block(c)
    fits = len(p) == len(x) and block > 0
    if fits and all(n == (-(-e // block) if d == axis else e) for d, (n, e) in enumerate(zip(p, x, strict=True))):
        return
    raise c.error("shape_mismatch", f"has a scale or zero point of shape {list(p)} for a tensor of shape {list(x)}")


def _reader(c: Call, i: int, args: Sequence[te.Tensor | None]) -> Callable[[Sequence[te.Axis]], te.Value]:
    """Reader of a scale or zero point at a place of the tensor."""
    t, axis = args[i], -1
    if c.scalar(i) is not None:
        return operand(c, i, args)
    assert t is not None
    if all(e == 1 for e in t.shape) and t.ndim <= 1:
        return lambda idx: t[(0,) * t.ndim]
    axis, block = c.named_axis(1), _block(c)
    if t.ndim == 1:
        return lambda idx: t[idx[axis]]
    return lambda idx: t[tuple(v // block if d == axis else v for d, v in enumerate(idx))]


def _np_spread(c: Call, i: int, value: Array) -> Array:
    """A scale or zero point in a shape that broadcasts to the tensor."""
    block = _block(c)
    if value.ndim <= 1 or not block:
        return value.reshape(spread_shape(c, i))
    axis = c.named_axis(1)
    return np.repeat(value, block, axis)[tuple(slice(e) for e in c.shape(0))]


def foreign_of(c: Call, why: str) -> OpDef:
    """Implementation of the onnx package; `ModelError` "model.unsupported_dtype" where it has none."""
    found = foreign(c.node.domain, c.node.op, c.version)
    if found is None:
        raise c.error("unsupported_dtype", f"is not possible here: {why}")
    return found


class _Linear(OpDef):
    """What quantising and dequantising have in common; types beyond small integers, float32 and float16 go to the
    reference implementation of the standard.
    """

    scalars = True
    tensors = (0,)

    def unusual(self, c: Call) -> str:
        """Why this use is left to the standard's own implementation; "" where it is not."""
        raise NotImplementedError

    def obstacle(self, c: Call) -> str:
        return self.unusual(c)

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        scale = c.shape(1)
        if len(scale) > 1 or c.get_int("block_size", 0):
            return None
        return Permuted({**c.node.attrs, **({"axis": c.moved_axis(perm, 1)} if scale else {})}, perm)

    def values(self, c: Call, x: Array, scale: Array, zero: Array | None = None) -> Array:
        """Result for the usual types."""
        raise NotImplementedError

    def reference(self, c: Call, *args: Any) -> Array | tuple[Array, ...]:
        return foreign_of(c, self.unusual(c)).reference(c, *args) if self.unusual(c) else self.values(c, *args)


@operator("QuantizeLinear", "injective")
class QuantizeLinear(_Linear):
    """round(x / scale) + zero point, by tensor, axis or blocks of an axis."""

    def dtype(self, c: Call) -> str:
        """Type of the result; "" for one that is not computed here."""
        return c.type(2).dtype if c.has(2) else DTYPES.get(c.get_int("output_dtype", 0) or 2, "")

    def unusual(self, c: Call) -> str:
        real = (c.type(0).dtype, c.type(1).dtype)
        same = real in (("float32", "float32"), ("float16", "float16")) and c.get_int("precision", 0) <= 1
        return "" if same and self.dtype(c) in QUANTISED[:4] else "quantising other types than floats to 8 or 16 bits"

    def quotients(self, c: Call) -> str:
        """Type in which numbers are divided by their scale."""
        return "float32" if c.get_int("precision", 0) == 1 else c.type(1).dtype

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        if self.unusual(c):
            return foreign_of(c, self.unusual(c)).infer(c)
        for i in (1, 2):
            if c.has(i):
                _check_spread(c, i)
        return (TensorType(c.shape(0), self.dtype(c)),)

    def values(self, c: Call, x: Array, scale: Array, zero: Array | None = None) -> Array:
        with np.errstate(all="ignore"):
            real = x.astype(self.quotients(c)) / _np_spread(c, 1, scale).astype(self.quotients(c))
        return np_quantised(real, None if zero is None else _np_spread(c, 2, zero), self.dtype(c))

    def lower(self, c: Call, x: te.Tensor, *spread: te.Tensor | None) -> te.Tensor:
        scale, dtype, short = _reader(c, 1, (x, *spread)), self.dtype(c), self.quotients(c)
        zero = _reader(c, 2, (x, *spread)) if c.has(2) else None

        def body(*i: te.Axis) -> te.Value:
            v = rounded(te.cast(x[i], short) / te.cast(scale(i), short))
            return te.cast(v if zero is None else v + number(zero(i), "float32"), dtype)

        return compute(x.shape, body, c.name("quantize"))


@operator("DequantizeLinear", "injective")
class DequantizeLinear(_Linear):
    """(x - zero point) * scale, by tensor, axis or blocks of an axis."""

    def unusual(self, c: Call) -> str:
        plain = c.type(0).dtype in QUANTISED and c.type(1).dtype in ("float32", "float16")
        plain = plain and c.get_int("output_dtype", 0) in (0, CODES[c.type(1).dtype])
        return "" if plain else "dequantising other types than small integers"

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        if self.unusual(c):
            return foreign_of(c, self.unusual(c)).infer(c)
        for i in (1, 2):
            if c.has(i):
                _check_spread(c, i)
        return (TensorType(c.shape(0), c.type(1).dtype),)

    def values(self, c: Call, x: Array, scale: Array, zero: Array | None = None) -> Array:
        q = x.astype(np.int32)
        q = q if zero is None else q - _np_spread(c, 2, zero).astype(np.int32)
        return np.asarray(q.astype(np.float32) * _np_spread(c, 1, scale).astype(np.float32), scale.dtype)

    def lower(self, c: Call, x: te.Tensor, *spread: te.Tensor | None) -> te.Tensor:
        scale = _reader(c, 1, (x, *spread))
        zero = _reader(c, 2, (x, *spread)) if c.has(2) else None

        def body(*i: te.Axis) -> te.Value:
            q = number(x[i], "int32")
            q = q if zero is None else q - number(zero(i), "int32")
            return te.cast(te.cast(q, "float32") * te.cast(scale(i), "float32"), c.type(1).dtype)

        return compute(x.shape, body, c.name("dequantize"))


@operator("DynamicQuantizeLinear", "opaque")
class DynamicQuantizeLinear(OpDef):
    """Quantise to bytes with the scale and zero point that just cover the tensor and 0."""

    multi = True

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return (TensorType(c.shape(0), "uint8"), TensorType((), "float32"), TensorType((), "uint8"))

    def reference(self, c: Call, x: Array) -> tuple[Array, ...]:
        high, low = np.float32(max(x.max(initial=0), 0)), np.float32(min(x.min(initial=0), 0))
        scale = np.float32(1) if high == low else (high - low) / np.float32(255)
        zero = np_saturated(np.rint(-low / scale), "uint8")
        return np_saturated(np.rint(x / scale) + np.float64(zero), "uint8"), np.asarray(scale), zero

    def obstacle(self, c: Call) -> str:
        return "it has three results; the pass integer_products makes steps of it"
