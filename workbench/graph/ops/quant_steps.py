"""What quantised operators are made of once zero points and scales are taken out of them: operators of our own.

Their parameters broadcast as those of any arithmetic, so that every layout may carry them along.
"""

from __future__ import annotations

import numpy as np

from ...ir import te
from ..graph import Array, TensorType
from ..opdef import Call, Case, OpDef, operator
from .common import compute, operand
from .quant import np_saturated, number, rounded

#: Domain of the operators that only our own passes write.
OWN = "workbench"


class _Elementwise(OpDef):
    """The first input keeps its shape; the others broadcast to it."""

    scalars = True
    stage = ""

    def dtype(self, c: Call) -> str:
        """Type of the result."""
        return c.type(len(c.types) - 1).dtype

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        for i in range(1, len(c.types)):
            if np.broadcast_shapes(c.shape(0), c.shape(i)) != c.shape(0):
                raise c.error("shape_mismatch", f"cannot broadcast {list(c.shape(i))} to {list(c.shape(0))}")
        return (TensorType(c.shape(0), self.dtype(c)),)

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        """The result at one place."""
        raise NotImplementedError

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        reads = [operand(c, i, args) for i in range(len(args))]
        dtype = self.dtype(c)
        return compute(c.shape(0), lambda *i: self.scalar(*(r(i) for r in reads), dtype=dtype), c.name(self.stage))

    def cases(self) -> list[Case]:
        """Tested with the passes that write it."""
        return []


@operator("Quantize", "injective", elementwise=True, domain=OWN)
class Quantize(_Elementwise):
    """round(x / scale) + zero point."""

    stage = "quantize"

    def reference(self, c: Call, *args: Array | None) -> Array:
        x, scale, zero = (np.asarray(a) for a in args)
        with np.errstate(all="ignore"):
            y = np.rint(x / scale).astype(np.float64)
        return np_saturated(y + zero, self.dtype(c))

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        scale, zero = rest
        return te.cast(rounded(x / scale) + number(zero, "float32"), dtype)


@operator("Requantize", "injective", elementwise=True, domain=OWN)
class Requantize(_Elementwise):
    """round(x * factor) + zero point, of sums in int32."""

    stage = "requantize"

    def reference(self, c: Call, *args: Array | None) -> Array:
        x, factor, zero = (np.asarray(a) for a in args)
        y = np.rint(x.astype(np.float32) * factor).astype(np.float64)
        return np_saturated(y + zero, self.dtype(c))

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        factor, zero = rest
        return te.cast(rounded(number(x, "float32") * factor) + number(zero, "float32"), dtype)


@operator("Dequantize", "injective", elementwise=True, domain=OWN)
class Dequantize(_Elementwise):
    """(x - zero point) * scale."""

    stage = "dequantize"

    def dtype(self, c: Call) -> str:
        return "float32"

    def reference(self, c: Call, *args: Array | None) -> Array:
        x, scale, zero = (np.asarray(a) for a in args)
        return np.asarray((x.astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale)

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        scale, zero = rest
        return te.cast(number(x, "int32") - number(zero, "int32"), "float32") * scale


@operator("Offset", "injective", elementwise=True, domain=OWN)
class Offset(_Elementwise):
    """x - zero point * sum, all of them int32 but the zero point: what a zero point adds to sums of products."""

    stage = "offset"

    def dtype(self, c: Call) -> str:
        return "int32"

    def reference(self, c: Call, *args: Array | None) -> Array:
        x, zero, sums = (np.asarray(a) for a in args)
        return np.asarray(x - zero.astype(np.int32) * sums)

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        zero, sums = rest
        return x - number(zero, "int32") * sums


@operator("RangeScale", "injective", elementwise=True, domain=OWN)
class RangeScale(_Elementwise):
    """Distance of bytes that covers 0, a largest and a smallest number."""

    stage = "scale"

    def reference(self, c: Call, *args: Array | None) -> Array:
        high, low = np.maximum(np.asarray(args[0]), 0), np.minimum(np.asarray(args[1]), 0)
        return np.where(high == low, np.float32(1), (high - low) / np.float32(255)).astype(np.float32)

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        high, low = te.maximum(x, 0.0), te.minimum(rest[0], 0.0)
        return te.select(te.equal(high, low), te.const(1.0), te.cast(high - low, "float32") / 255.0)


@operator("RangeZero", "injective", elementwise=True, domain=OWN)
class RangeZero(_Elementwise):
    """Byte that stands for 0, of a smallest number and the distance of bytes."""

    stage = "zero"

    def dtype(self, c: Call) -> str:
        return "uint8"

    def reference(self, c: Call, *args: Array | None) -> Array:
        return np_saturated(np.rint(-np.minimum(np.asarray(args[0]), 0) / np.asarray(args[1])), "uint8")

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        return te.cast(rounded((0.0 - te.minimum(x, 0.0)) / rest[0]), dtype)
