"""What quantised operators are made of once zero points and scales are taken out of them: operators of our own.

Their parameters broadcast as those of any arithmetic, so that every layout may carry them along.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from workbench import te
from workbench.graph.call import Call, Case
from workbench.graph.facts import DATA, FACTOR, ZERO
from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.ops.common import compute, operand
from workbench.graph.ops.quantized.quant import np_saturated, number, rounded

#: Domain of the operators that only our own passes write.
OWN = "workbench"
#: Least number of elements side by side by which extremes are looked for.
_SIDE = 64


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

    def reference(self, c: Call, x: Array, scale: Array, zero: Array) -> Array:
        with np.errstate(all="ignore"):
            y = np.rint(x / scale).astype(np.float64)
        return np_saturated(y + zero, self.dtype(c))

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        scale, zero = rest
        return te.cast(rounded(x / scale) + number(zero, "float32"), dtype)


@operator("Requantize", "injective", elementwise=True, domain=OWN, inputs=(DATA, FACTOR, ZERO))
class Requantize(_Elementwise):
    """round(x * factor) + zero point, of sums in int32."""

    stage = "requantize"

    def reference(self, c: Call, x: Array, factor: Array, zero: Array) -> Array:
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

    def reference(self, c: Call, x: Array, scale: Array, zero: Array) -> Array:
        return np.asarray((x.astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale)

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        scale, zero = rest
        return te.cast(number(x, "int32") - number(zero, "int32"), "float32") * scale


@operator("Signed", "injective", elementwise=True, domain=OWN)
class Signed(_Elementwise):
    """Bytes without sign, less 128."""

    stage = "signed"

    def dtype(self, c: Call) -> str:
        return "int8"

    def reference(self, c: Call, x: Array) -> Array:
        return (x.astype(np.int16) - 128).astype(np.int8)

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        return te.cast(number(x, "int32") - 128, dtype)


@operator("Offset", "injective", elementwise=True, domain=OWN)
class Offset(_Elementwise):
    """x - zero point * sum, all of them int32 but the zero point: what a zero point adds to sums of products."""

    stage = "offset"

    def dtype(self, c: Call) -> str:
        return "int32"

    def reference(self, c: Call, x: Array, zero: Array, sums: Array) -> Array:
        return np.asarray(x - zero.astype(np.int32) * sums)

    def scalar(self, x: te.Value, *rest: te.Value, dtype: str) -> te.Value:
        zero, sums = rest
        return x - number(zero, "int32") * sums


@operator("Extremes", "opaque", domain=OWN)
class Extremes(OpDef):
    """Least and largest of all numbers and 0."""

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return (TensorType((2,), c.type(0).dtype),)

    def reference(self, c: Call, x: Array) -> Array:
        return np.array([min(x.min(initial=0), 0), max(x.max(initial=0), 0)], x.dtype)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        """First along the leading dimensions, where vectors hold neighbours, then along what is left."""
        keep = next((d for d in range(x.ndim - 1, 0, -1) if prod(x.shape[d:]) >= _SIDE), 0)
        keep = keep if keep or x.ndim == 1 else x.ndim - 1

        def extreme(op: Callable[..., te.Reduction | te.Value], name: str) -> te.Tensor:
            first = [te.reduce_axis(e, f"r{d}") for d, e in enumerate(x.shape[:keep])]
            rest = [te.reduce_axis(e, f"k{d}") for d, e in enumerate(x.shape[keep:])]
            side = x
            if first:
                side = compute(x.shape[keep:], lambda *i: op(x[(*first, *i)], axis=first), c.name(f"{name}_side"))
            return te.compute((1,), lambda i: op(side[tuple(rest)], axis=rest), c.name(name))

        low, high = extreme(te.min, "low"), extreme(te.max, "high")

        def body(i: te.Axis) -> te.Value:
            return te.select(i < 1, te.minimum(low[0], 0.0), te.maximum(high[0], 0.0))

        return te.compute((2,), body, c.name("extremes"))

    def cases(self) -> list[Case]:
        """Tested with the pass that writes it."""
        return []


class _OfExtremes(OpDef):
    """A number that follows from extremes."""

    dtype = "float32"

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        if c.shape(0) != (2,):
            raise c.error("shape_mismatch", f"needs two numbers, not {list(c.shape(0))}")
        return (TensorType((), self.dtype),)

    def cases(self) -> list[Case]:
        """Tested with the pass that writes it."""
        return []


@operator("RangeScale", "injective", domain=OWN)
class RangeScale(_OfExtremes):
    """Distance of bytes that covers what lies between two numbers."""

    def reference(self, c: Call, x: Array) -> Array:
        low, high = x
        return np.asarray(1.0 if low == high else (high - low) / np.float32(255), np.float32)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        span = te.cast(x[1] - x[0], "float32") / 255.0
        return compute((), lambda: te.select(te.equal(x[0], x[1]), te.const(1.0), span), c.name("scale"))


@operator("RangeZero", "injective", domain=OWN)
class RangeZero(_OfExtremes):
    """Byte that stands for 0, of two numbers and the distance of bytes."""

    dtype = "uint8"

    def reference(self, c: Call, x: Array, scale: Array) -> Array:
        return np_saturated(np.rint(-x[0] / scale), "uint8")

    def lower(self, c: Call, x: te.Tensor, scale: te.Tensor) -> te.Tensor:
        return compute((), lambda: te.cast(rounded((0.0 - x[0]) / scale[()]), "uint8"), c.name("zero"))
