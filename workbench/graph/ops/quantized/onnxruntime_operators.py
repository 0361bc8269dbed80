"""Quantised operators that onnxruntime's tools write in a domain of their own, com.microsoft.

Most are declared by what they compute alone; the pass `integer_products` makes steps of them, and so kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, declared, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.lowering import Idx, broadcast_shape, compute, operand
from workbench.graph.ops.math.linear import gemm_sizes
from workbench.graph.ops.pointwise import Pointwise
from workbench.graph.ops.quantized.quantize_linear import np_number, np_quantised, number, rounded

DOMAIN = "com.microsoft"


def _real(q: Array, scale: Array, zero: Array | None) -> Array:
    plain = q.astype(np.int32) - (0 if zero is None else zero.reshape(()).astype(np.int32))
    return np.asarray(plain.astype(np.float32) * scale.reshape(()))


def _bytes(x: Array, scale: Array, zero: Array | None, dtype: str) -> Array:
    return np_quantised((x / scale.reshape(())).astype(np.float32), np_number(zero), dtype)


class _Contrib(OpDef):
    """One result of the type of the first input; scales and zero points are single numbers."""

    scales: tuple[int, ...] = ()

    def check(self, c: Call) -> None:
        """Refuse scales that are not float32 numbers."""
        for i in self.scales:
            if c.type(i).dtype != "float32" or c.type(i).size != 1:
                raise c.error("unsupported_dtype", f"has a scale of type {c.type(i).dtype}{list(c.shape(i))}")

    def obstacle(self, c: Call) -> str:
        return "the pass integer_products makes steps of it"


class _Pair(_Contrib):
    """Two quantised tensors; a residual is read as the bytes that it is, so these are not taken apart."""

    scales = (1, 4, 6)
    scalars = True

    def obstacle(self, c: Call) -> str:
        single = all(c.type(i).size == 1 for i in (1, 2, 4, 5, 6, 7) if c.has(i))
        return "" if single else "zero points for each channel"

    def shape(self, c: Call) -> tuple[int, ...]:
        self.check(c)
        return broadcast_shape(c, [c.shape(0), c.shape(3)])

    @property
    def of(self) -> Callable[[Any, Any], Any]:
        """The operation on real numbers, of arrays and of tensor expressions."""
        op = declared(self.real)
        assert isinstance(op, Pointwise)
        return type(op).scalar

    def reference(self, c: Call, *args: Any) -> Array:
        zero = args[7] if len(args) > 7 else None
        return _bytes(self.of(_real(*args[:3]), _real(*args[3:6])), args[6], zero, c.type(0).dtype)

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        reads = [operand(c, i, args) if c.has(i) else None for i in range(8)]

        def real(at: int, idx: Sequence[Idx]) -> te.Value:
            x, scale, zero = (r(idx) if r is not None else None for r in reads[at : at + 3])
            assert x is not None
            assert scale is not None
            q = number(x, "int32")
            return te.cast(q if zero is None else q - number(zero, "int32"), "float32") * scale

        def body(*idx: te.Axis) -> te.Value:
            scale, zero = (r(idx) if r is not None else None for r in reads[6:])
            assert scale is not None
            v = rounded(self.of(real(0, idx), real(3, idx)) / scale)
            return te.cast(v if zero is None else v + number(zero, "float32"), c.type(0).dtype)

        return compute(self.shape(c), body, c.name(self.name.lower()))


class _One(_Contrib):
    scales = (1, 3)

    def shape(self, c: Call) -> tuple[int, ...]:
        self.check(c)
        return c.shape(0)

    def reference(self, c: Call, x: Array, sx: Array, zx: Array, sy: Array, zy: Array | None = None) -> Array:
        real = replace(c, types=(TensorType(c.shape(0)),))  # an operator gives its result the type of what it takes
        return _bytes(np.asarray(declared(self.real).reference(real, _real(x, sx, zx))), sy, zy, c.type(0).dtype)


@operator("QLinearAdd", "injective", elementwise=True, domain=DOMAIN, real="Add")
class QLinearAdd(_Pair):
    """Sum of quantised tensors, quantised again."""


@operator("QLinearMul", "injective", elementwise=True, domain=DOMAIN, real="Mul")
class QLinearMul(_Pair):
    """Product of quantised tensors, quantised again."""


@operator("QLinearSigmoid", "opaque", domain=DOMAIN, real="Sigmoid")
class QLinearSigmoid(_One):
    """Logistic function of quantised numbers."""


@operator("QLinearLeakyRelu", "opaque", domain=DOMAIN, real="LeakyRelu")
class QLinearLeakyRelu(_One):
    """x where it is not negative, else alpha * x, of quantised numbers."""


@operator("QLinearGlobalAveragePool", "opaque", domain=DOMAIN, real="GlobalAveragePool")
class QLinearGlobalAveragePool(_Contrib):
    """Mean of every channel of a quantised image."""

    scales = (1, 3)

    def axes(self, c: Call) -> tuple[int, ...]:
        """Spatial axes."""
        rank = len(c.shape(0))
        return tuple(range(1, rank - 1)) if c.get_int("channels_last", 0) else tuple(range(2, rank))

    def shape(self, c: Call) -> tuple[int, ...]:
        self.check(c)
        axes = self.axes(c)
        return tuple(1 if d in axes else e for d, e in enumerate(c.shape(0)))

    def factor(self, c: Call, x_scale: Array, y_scale: Array) -> Array:
        """What the sums are multiplied with."""
        count = np.float32(np.prod([c.shape(0)[a] for a in self.axes(c)], dtype=np.int64))
        return np.asarray(x_scale.reshape(()) / (y_scale.reshape(()) * count), np.float32)

    def reference(self, c: Call, x: Array, sx: Array, zx: Array | None, sy: Array, zy: Array | None = None) -> Array:
        plain = x.astype(np.int32) - (0 if zx is None else zx.reshape(()).astype(np.int32))
        acc = plain.sum(self.axes(c), keepdims=True).astype(np.float32) * self.factor(c, sx, sy)
        return np_quantised(acc, np_number(zy), c.type(0).dtype)


@operator("QLinearConcat", "opaque", domain=DOMAIN, typed_by=1)
class QLinearConcat(_Contrib):
    """Quantised tensors, brought to one scale and joined: scale and zero point of the result, then those of each."""

    def shape(self, c: Call) -> tuple[int, ...]:
        shapes = [c.shape(i) for i in range(2, len(c.types), 3)]
        axis = c.axis(c.get_int("axis", 0), len(shapes[0]))
        if len({s[:axis] + s[axis + 1 :] for s in shapes}) != 1:
            raise c.error("shape_mismatch", f"cannot join {', '.join(str(list(s)) for s in shapes)} along axis {axis}")
        whole = (*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1 :])
        return whole

    def reference(self, c: Call, *args: Any) -> Array:
        parts = [_real(*args[i : i + 3]) for i in range(2, len(args), 3)]
        return _bytes(np.concatenate(parts, c.get_int("axis", 0)), args[0], args[1], c.type(1).dtype)


@operator("QGemm", "opaque", domain=DOMAIN)
class QGemm(_Contrib):
    """alpha * A' * B' + C of quantised matrices, quantised again where a scale of the result is given."""

    scales = (1,)

    def shape(self, c: Call) -> tuple[int, ...]:
        self.check(c)
        return gemm_sizes(c, 0, 3)[:2]

    def dtype(self, c: Call) -> str:
        return "float32" if not c.has(7) else c.type(8 if c.has(8) else 0).dtype

    def factor(self, c: Call, sa: Array, sb: Array, sy: Array | None) -> Array:
        """What the sums are multiplied with, a number or one for each column."""
        both = np.float32(c.get_float("alpha", 1.0)) * sa.reshape(()) * (sb.reshape(()) if sb.size == 1 else sb)
        return np.asarray(both if sy is None else both / sy.reshape(()), np.float32)

    def reference(
        self, c: Call, a: Array, sa: Array, za: Array | None, b: Array, sb: Array, zb: Array | None,
        bias: Array | None = None, sy: Array | None = None, zy: Array | None = None,
    ) -> Array:  # fmt: skip
        left, right = a.astype(np.float64), b.astype(np.float64)
        left = left if za is None else left - za.reshape(())
        left = left.T if c.get_int("transA", 0) else left
        right = right.T if c.get_int("transB", 0) else right
        right = right if zb is None else right - (zb.reshape(()) if zb.size == 1 else zb)
        acc = np.matmul(left, right).astype(np.int64)
        acc = acc if bias is None else acc + bias
        y = acc.astype(np.int32).astype(np.float32) * self.factor(c, sa, sb, sy)
        return np.asarray(y) if sy is None else np_quantised(y, np_number(zy), self.dtype(c))
