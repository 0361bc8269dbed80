"""What quantised operators are made of once zero points and scales are taken out of them: operators of our own.

Their parameters broadcast as those of any arithmetic, so that every layout may carry them along.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array
from workbench.graph.node_steps import OWN
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import DATA, FACTOR, ZERO, Input
from workbench.graph.ops.lowering import compute
from workbench.graph.ops.pointwise import Pointwise, pointwise
from workbench.graph.ops.quantized.quantize_linear import np_quantised, np_saturated, number, rounded

#: Least number of elements side by side by which extremes are looked for. Chosen, not measured: several vectors.
_SIDE = 64


class _Step(Pointwise):
    """The first input keeps its shape; the others broadcast to it."""

    def shape(self, c: Call) -> tuple[int, ...]:
        for i in range(1, len(c.types)):
            if np.broadcast_shapes(c.shape(0), c.shape(i)) != c.shape(0):
                raise c.error("shape_mismatch", f"cannot broadcast {list(c.shape(i))} to {list(c.shape(0))}")
        return c.shape(0)


def _step(name: str, doc: str, numpy: Any, scalar: Any, **facts: Any) -> None:
    pointwise(name, doc, numpy, scalar, _Step, OWN, scalars=True, **facts)


_step(
    "Quantize",
    "round(x / scale) + zero point.",
    lambda x, scale, zero: np_quantised(x / scale, zero, zero.dtype.name),
    lambda x, scale, zero: te.cast(rounded(x / scale) + number(zero, "float32"), zero.dtype),
    typed_by=2,
)
_step(
    "Dequantize",
    "(x - zero point) * scale.",
    lambda x, scale, zero: (x.astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale,
    lambda x, scale, zero: te.cast(number(x, "int32") - number(zero, "int32"), "float32") * scale,
    result="float32",
)
_step(
    "Signed",
    "Bytes without sign, less 128.",
    lambda x: x.astype(np.int16) - 128,
    lambda x: te.cast(number(x, "int32") - 128, "int8"),
    result="int8",
)
_step(
    "Offset",
    "x - zero point * sum, all of them int32 but the zero point: what a zero point adds to sums of products.",
    lambda x, zero, sums: x - zero.astype(np.int32) * sums,
    lambda x, zero, sums: x - number(zero, "int32") * sums,
    result="int32",
)


class _Bytes(_Step):
    """Bytes by numbers that are no literals in the code, so layers of one shape are one task, whatever their scales."""

    def dtype(self, c: Call) -> str:
        return c.get_str("dtype", "uint8")

    def apply(self, c: Call, function: Callable[..., Any], values: list[Any]) -> Any:
        """As bytes of the type that the node says."""
        real = function(*(number(v, "float32") if isinstance(v, te.Value) else v.astype(np.float32) for v in values))
        return te.cast(real, self.dtype(c)) if isinstance(real, te.Value) else np_saturated(real, self.dtype(c))


def _nearest(v: Any) -> Any:
    return rounded(v) if isinstance(v, te.Value) else np.rint(v)


def _bytes(name: str, doc: str, function: Any, *inputs: Input) -> None:
    pointwise(name, doc, function, function, _Bytes, OWN, inputs=inputs)


_bytes(
    "Requantize",
    "round(x * factor) + zero point, of sums in int32.",
    lambda x, factor, zero: _nearest(x * factor) + zero,
    *(DATA, FACTOR, ZERO),
)
_bytes(
    "Mix",
    "round(x * factor + (y * factor + shift)), of bytes: a sum of quantised tensors, quantised again.",
    lambda x, y, of_x, of_y, shift: _nearest(x * of_x + (y * of_y + shift)),
    *(DATA, DATA, FACTOR, FACTOR, Input("factor", "shift")),
)


@operator("Extremes", "opaque", domain=OWN)
class Extremes(OpDef):
    """Least and largest of all numbers and 0."""

    def shape(self, c: Call) -> tuple[int, ...]:
        return (2,)

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


class _OfExtremes(OpDef):
    """A number that follows from extremes."""

    def shape(self, c: Call) -> tuple[int, ...]:
        if c.shape(0) != (2,):
            raise c.error("shape_mismatch", f"needs two numbers, not {list(c.shape(0))}")
        return ()


@operator("RangeScale", "injective", domain=OWN)
class RangeScale(_OfExtremes):
    """Distance of bytes that covers what lies between two numbers."""

    def dtype(self, c: Call) -> str:
        return "float32"

    def reference(self, c: Call, x: Array) -> Array:
        low, high = x
        return np.asarray(1.0 if low == high else (high - low) / np.float32(255), np.float32)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        span = te.cast(x[1] - x[0], "float32") / 255.0
        return compute((), lambda: te.select(te.equal(x[0], x[1]), te.const(1.0), span), c.name("scale"))


@operator("RangeZero", "injective", domain=OWN)
class RangeZero(_OfExtremes):
    """Byte that stands for 0, of two numbers and the distance of bytes."""

    def dtype(self, c: Call) -> str:
        return "uint8"

    def reference(self, c: Call, x: Array, scale: Array) -> Array:
        return np_saturated(np.rint(-x[0] / scale), "uint8")

    def lower(self, c: Call, x: te.Tensor, scale: te.Tensor) -> te.Tensor:
        return compute((), lambda: te.cast(rounded((0.0 - x[0]) / scale[()]), "uint8"), c.name("zero"))
