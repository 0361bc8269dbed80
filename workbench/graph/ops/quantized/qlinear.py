"""Products and convolutions of quantised numbers: sums of (x - zero point) * (w - zero point) in int32.

As declared here they subtract zero points in the inner loop. The pass `integer_products` takes those that are constant
out of it, and makes steps of the operators that scale their sums back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import BIAS, DATA, QUANTISATION, WEIGHT, ZERO, Weights, dims
from workbench.graph.ops.lowering import Idx, at, compute, from_nchw, operand, pad_stage, to_nchw, unplace
from workbench.graph.ops.math.linear import product_shape, product_stage
from workbench.graph.ops.nn.conv import ConvShape, check_bias, conv_shape, conv_stage, conv_words, np_conv, with_bias
from workbench.graph.ops.quantized.quantize_linear import foreign_of, np_number, np_quantised, number, rounded

BYTES = ("uint8", "int8")
#: Data, weights and result with their scales and zero points.
_QUANTISED = (DATA, *2 * (QUANTISATION,), WEIGHT, *4 * (QUANTISATION,))
Reader = Callable[[Sequence[Idx]], te.Value]


def zero_of(c: Call, i: int, args: Sequence[te.Tensor | None]) -> te.Value | None:
    """Zero point for a whole tensor as int32; None where there is nothing to subtract."""
    if not c.has(i) or c.scalar(i) == 0:
        return None
    t = args[i]
    if c.scalar(i) is not None or t is None:
        return number(operand(c, i, args)(()), "int32")
    return te.cast(t[(0,) * t.ndim], "int32")


def _single(c: Call, *inputs: int) -> bool:
    """Whether these inputs have one element each, where they are given."""
    return all(not c.has(i) or c.type(i).size == 1 for i in inputs)


def _minus(v: te.Value, zero: te.Value | None) -> te.Value:
    wide = te.cast(v, "int32")
    return wide if zero is None else wide - zero


def _wrapped(v: Array) -> Array:
    """Exact sums in float64 as int32, which wraps."""
    return v.astype(np.int64).astype(np.int32)


def np_factor(x_scale: Array, w_scale: Array, y_scale: Array) -> Array:
    """What sums are multiplied with, in the order in which it is usually rounded."""
    return np.asarray(np.float32(x_scale) * w_scale.astype(np.float32) / np.float32(y_scale), np.float32)


def _requantised(
    c: Call, acc: te.Tensor, factor: Callable[[Sequence[te.Axis]], te.Value], zero: te.Value | None, dtype: str
) -> te.Tensor:
    def body(*i: te.Axis) -> te.Value:
        v = rounded(te.cast(acc[i], "float32") * factor(i))
        return te.cast(v if zero is None else v + number(zero, "float32"), dtype)

    return compute(acc.shape, body, c.name("requantize"))


def _factor(c: Call, x: int, w: int, y: int, args: Sequence[te.Tensor | None]) -> Callable[[te.Axis | int], te.Value]:
    """Reader of the factor of a channel or column."""

    def one(i: int) -> te.Value:
        t = args[i]
        return operand(c, i, args)(()) if t is None else t[(0,) * t.ndim]

    def read(column: te.Axis | int) -> te.Value:
        t = args[w]
        scale = one(w) if t is None or c.type(w).size == 1 else t[column]
        return te.cast(te.cast(one(x) * scale, "float32") / one(y), "float32")

    return read


# ---- products --------------------------------------------------------------------------------------------------------


def _zero_at(
    c: Call, i: int, args: Sequence[te.Tensor | None], row: bool
) -> Callable[[Sequence[Idx]], te.Value | None]:
    """Zero point of an operand at a place of it: for the tensor, or one for each row (of the left one) or column."""
    t = args[i] if i < len(args) else None
    if t is None or c.type(i).size == 1:
        whole = zero_of(c, i, args)
        return lambda at_: whole
    return lambda at_: te.cast(t[at_[-2]] if row and t.ndim == 1 else at(t, at_), "int32")


def _np_product(a: Array, b: Array, za: Array | None, zb: Array | None) -> Array:
    left, right = a.astype(np.float64), b.astype(np.float64)
    if za is not None:
        left = left - (za.reshape(-1, 1) if za.ndim == 1 and za.size > 1 else za)
    return _wrapped(np.asarray(np.matmul(left, right if zb is None else right - zb)))


def _product(c: Call, args: Sequence[te.Tensor | None], b: int, zeros: tuple[int, int]) -> te.Tensor:
    x, w = args[0], args[b]
    assert x is not None
    assert w is not None
    za, zb = _zero_at(c, zeros[0], args, True), _zero_at(c, zeros[1], args, False)
    return product_stage(c, x, w, lambda p, q, left, right: _minus(p, za(left)) * _minus(q, zb(right)))


def _check_spreads(c: Call, a: int, of_a: tuple[int, ...], b: int, of_b: tuple[int, ...]) -> None:
    """Scales and zero points in one dimension: one number, or one for each row (left) or column (right)."""
    left, right = c.shape(a), c.shape(b)
    for tensor, inputs, length in ((left, of_a, left[-2:-1]), (right, of_b, right[-1:] if len(right) > 1 else ())):
        for i in inputs:
            if c.has(i) and len(c.shape(i)) == 1 and c.shape(i) not in ((1,), length):
                text = f"has a scale or zero point of shape {list(c.shape(i))} for a tensor of shape {list(tensor)}"
                raise c.error("shape_mismatch", text)


@operator("MatMulInteger", "complex", inputs=(WEIGHT, WEIGHT, ZERO, ZERO), result="int32")
class MatMulInteger(OpDef):
    """Matrix product of bytes in int32, with zero points for each tensor, row or column."""

    scalars = True
    tensors = (0, 1)

    def words(self, c: Call, out: TensorType) -> str:
        return f"matmul_int8 {dims(c.shape(0))} · {dims(c.shape(1))}"

    def shape(self, c: Call) -> tuple[int, ...]:
        _check_bytes(c, 0, 1)
        _check_spreads(c, 0, (2,), 1, (3,))
        return product_shape(c, c.shape(0), c.shape(1))

    def reference(self, c: Call, a: Array, b: Array, za: Array | None = None, zb: Array | None = None) -> Array:
        return _np_product(a, b, za, zb)

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        return _product(c, args, 1, (2, 3))


@operator("QLinearMatMul", "complex", inputs=_QUANTISED, typed_by=7)
class QLinearMatMul(OpDef):
    """Matrix product of quantised tensors, quantised again."""

    scalars = True
    tensors = (0, 3)

    def words(self, c: Call, out: TensorType) -> str:
        return f"matmul_int8 {dims(c.shape(0))} · {dims(c.shape(3))}"

    def obstacle(self, c: Call) -> str:
        bytes_only = all(c.type(i).dtype in BYTES for i in (0, 2, 3, 5, 7))
        single = all(c.type(i).dtype == "float32" for i in (1, 4, 6)) and _single(c, 1, 6, 7) and len(c.shape(4)) < 2
        return "" if bytes_only and single else "it has other types than bytes and float32, or scales for each row"

    def shape(self, c: Call) -> tuple[int, ...]:
        _check_spreads(c, 0, (1, 2), 3, (4, 5))
        return product_shape(c, c.shape(0), c.shape(3))

    def reference(self, c: Call, *args: Any) -> Array | tuple[Array, ...]:
        if any(c.type(i).dtype not in BYTES for i in (0, 3, 7)):
            return foreign_of(c, self.obstacle(c)).reference(c, *args)
        a, sa, za, b, sb, zb, sy, zy = (np.asarray(v) for v in args)
        sa, sy, zy = (v.reshape(-1, 1) if v.size > 1 else v.reshape(()) for v in (sa, sy, zy))
        return np_quantised(_np_product(a, b, za, zb).astype(np.float32) * np_factor(sa, sb, sy), zy, self.dtype(c))

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        factor = _factor(c, 1, 4, 6, args)
        acc = _product(c, args, 3, (2, 5))
        return _requantised(c, acc, lambda i: factor(i[-1]), zero_of(c, 7, args), c.type(7).dtype)


# ---- convolutions ----------------------------------------------------------------------------------------------------


def _np_conv(c: Call, s: ConvShape, x: Array, w: Array, zx: Array | None, zw: Array | None) -> Array:
    """Sums in int32, in NCHW."""
    left, right, fill = x.astype(np.float64), w.astype(np.float64), 0.0
    if zx is not None and c.get_int("pad_only", 0):
        fill = float(zx.reshape(-1)[0])
    elif zx is not None:
        left = left - float(zx.reshape(-1)[0])
    if zw is not None:
        right = right - (zw if s.layout == "NHWC" or zw.size == 1 else zw.reshape(-1, *(1,) * (w.ndim - 1)))
    return _wrapped(np_conv(s, to_nchw(left, s.layout), right, fill))


def _convolved(c: Call, s: ConvShape, args: Sequence[te.Tensor | None], w: int, zeros: tuple[int, int]) -> te.Tensor:
    """Sums in int32. The image is surrounded with what stands for 0, so that all taps count everywhere."""
    x, weights = args[0], args[w]
    assert x is not None
    assert weights is not None
    zx = zero_of(c, zeros[0], args)
    xp = pad_stage(c, x, s.win, s.layout, 0.0 if zx is None else number(zx, x.dtype))
    zx = None if c.get_int("pad_only", 0) else zx
    t = args[zeros[1]] if zeros[1] < len(args) else None
    whole = zero_of(c, zeros[1], args) if t is None or c.type(zeros[1]).size == 1 else None

    def term(data: te.Value, weight: te.Value, o: te.Axis) -> te.Value:
        zw = te.cast(t[o], "int32") if t is not None and c.type(zeros[1]).size > 1 else whole
        return _minus(data, zx) * _minus(weight, zw)

    return conv_stage(c, s, xp, weights, term)


@operator("ConvInteger", "complex", image=True, weights=Weights(1), inputs=(DATA, WEIGHT, ZERO, ZERO), result="int32")
class ConvInteger(OpDef):
    """Convolution of bytes in int32.

    With the attribute pad_only, which only our passes set, the image is surrounded with its zero point, and that is
    subtracted nowhere.
    """

    scalars = True
    tensors = (0, 1)

    def words(self, c: Call, out: TensorType) -> str:
        return conv_words(c, conv_shape(c), "_int8")

    def by_pixel(self, c: Call) -> bool:
        s = conv_shape(c)
        return s.layout == "NHWC" and s.by_pixel  # no instruction for bytes takes channels first

    def shape(self, c: Call) -> tuple[int, ...]:
        _check_bytes(c, 0, 1)
        s = conv_shape(c)
        _check_channels(c, s, 3)
        return s.out

    def reference(self, c: Call, x: Array, w: Array, zx: Array | None = None, zw: Array | None = None) -> Array:
        s = conv_shape(c)
        return from_nchw(_np_conv(c, s, x, w, zx, zw), s.layout)

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        return _convolved(c, conv_shape(c), args, 1, (2, 3))


@operator("QLinearConv", "complex", image=True, weights=Weights(3), inputs=(*_QUANTISED, BIAS), typed_by=7)
class QLinearConv(OpDef):
    """Convolution of quantised tensors, quantised again, with a bias in units of the sums."""

    scalars = True
    tensors = (0, 3, 8)

    def words(self, c: Call, out: TensorType) -> str:
        return conv_words(c, conv_shape(c, 3), "_int8")

    def obstacle(self, c: Call) -> str:
        ok = all(c.type(i).dtype in BYTES for i in (0, 2, 3, 5, 7)) and _single(c, 1, 2, 6, 7)
        ok = ok and all(c.type(i).dtype == "float32" for i in (1, 4, 6))
        return "" if ok else "it has other types than bytes and float32, or several scales for the image"

    def shape(self, c: Call) -> tuple[int, ...]:
        s = conv_shape(c, 3)
        for i in (4, 5):
            _check_channels(c, s, i)
        check_bias(c, 8, s.co)
        return s.out

    def reference(self, c: Call, *args: Any) -> Array | tuple[Array, ...]:
        if self.obstacle(c):
            return foreign_of(c, self.obstacle(c)).reference(c, *args)
        x, sx, zx, w, sw, zw, sy, zy = (np.asarray(v) for v in args[:8])
        s, along = conv_shape(c, 3), (-1, *(1,) * (x.ndim - 2))
        acc = _np_conv(c, s, x, w, zx, zw)
        if len(args) > 8 and args[8] is not None:
            acc = acc + args[8].reshape(along)
        y = acc.astype(np.float32) * np_factor(sx.reshape(()), sw.reshape(along), sy.reshape(()))
        return from_nchw(np_quantised(y, np_number(zy), self.dtype(c)), s.layout)

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        s = conv_shape(c, 3)
        bias = args[8] if len(args) > 8 else None
        acc = with_bias(c, s.layout, _convolved(c, s, args, 3, (2, 5)), bias, "c" if s.depthwise else "o")
        factor = _factor(c, 1, 4, 6, args)
        zero = zero_of(c, 7, args)
        return _requantised(c, acc, lambda i: factor(unplace(s.layout, i)[2]), zero, c.type(7).dtype)


def _check_bytes(c: Call, *inputs: int) -> None:
    for i in inputs:
        if c.type(i).dtype not in BYTES:
            raise c.error("unsupported_dtype", f"multiplies {c.type(i).dtype}, but is for uint8 and int8")


def _check_channels(c: Call, s: ConvShape, i: int) -> None:
    if c.has(i) and c.type(i).size not in (1, s.co):
        raise c.error("shape_mismatch", f"has input {i} of shape {list(c.shape(i))} for {s.co} output channels")
