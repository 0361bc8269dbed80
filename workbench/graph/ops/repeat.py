"""Operators that repeat or blank out elements: Expand, Tile, Trilu."""

from __future__ import annotations

import numpy as np

from ...ir import te
from ..graph import Array, TensorType
from ..opdef import Call, Case, OpDef, operator
from .common import at, broadcast_shape, compute, ints, sample


@operator("Expand", "injective")
class Expand(OpDef):
    """The input broadcast against a shape."""

    parameters = (1,)

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        want = tuple(int(d) for d in c.constant(1, "shape"))
        return (TensorType(broadcast_shape(c, [c.shape(0), want]), c.type(0).dtype),)

    def reference(self, c: Call, *args: Array | None) -> Array:
        assert args[0] is not None
        return np.broadcast_to(args[0], self.infer(c)[0].shape).copy()

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        x = args[0]
        assert x is not None
        return compute(self.infer(c)[0].shape, lambda *i: at(x, i), c.name("expand"))

    def cases(self) -> list[Case]:
        return [
            Case("both ways", (sample(3, 1), ints(2, 1, 4)), const=(1,)),
            Case("fewer dimensions", (sample(2, 3, 1), ints(4)), const=(1,)),
        ]


@operator("Tile", "injective")
class Tile(OpDef):
    """The input repeated along each axis."""

    parameters = (1,)

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        x, times = c.shape(0), [int(r) for r in c.constant(1, "repeats")]
        if len(times) != len(x) or any(t < 0 for t in times):
            raise c.error("invalid_graph", f"repeats a tensor of shape {list(x)} {times} times")
        return (TensorType(tuple(e * t for e, t in zip(x, times, strict=True)), c.type(0).dtype),)

    def reference(self, c: Call, *args: Array | None) -> Array:
        assert args[0] is not None
        return np.tile(args[0], [int(r) for r in c.constant(1, "repeats")])

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        x = args[0]
        assert x is not None

        def body(*i: te.Axis) -> te.Value:
            return x[tuple(0 if e == 1 else k % e for k, e in zip(i, x.shape, strict=True))]

        return compute(self.infer(c)[0].shape, body, c.name("tile"))

    def cases(self) -> list[Case]:
        return [
            Case("2d", (sample(2, 3), ints(2, 3)), const=(1,)),
            Case("unit", (sample(1, 4), ints(3, 1)), const=(1,)),
        ]


@operator("Trilu", "injective")
class Trilu(OpDef):
    """The upper or lower triangle of matrices; the rest is zero."""

    parameters = (1,)

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        if len(c.shape(0)) < 2:
            raise c.error("shape_mismatch", f"takes a triangle of a tensor of shape {list(c.shape(0))}")
        self._diagonal(c)
        return (c.type(0),)

    def _diagonal(self, c: Call) -> int:
        return int(c.constant(1, "diagonal").reshape(-1)[0]) if c.has(1) else 0

    def reference(self, c: Call, *args: Array | None) -> Array:
        assert args[0] is not None
        return (np.triu if c.get_int("upper", 1) else np.tril)(args[0], self._diagonal(c))

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        x, k, upper = args[0], self._diagonal(c), bool(c.get_int("upper", 1))
        assert x is not None
        low, high = x.shape[-1] + x.shape[-2], x.shape[-1] + x.shape[-2]

        def body(*i: te.Axis) -> te.Value:
            along = i[-1] - i[-2]
            inside = (along >= k) & (along < high) if upper else (along >= -low) & (along < k + 1)
            return te.select(inside, x[i], te.const(False if x.dtype == "bool" else 0, x.dtype))

        return compute(x.shape, body, c.name("trilu"))

    def cases(self) -> list[Case]:
        x = sample(2, 4, 5)
        return [
            Case("upper", (x,)),
            Case("lower", (x, np.array(1)), {"upper": 0}, const=(1,)),
            Case("upper above", (x, np.array(2)), {"upper": 1}, const=(1,)),
        ]
