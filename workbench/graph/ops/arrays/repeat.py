"""Operators that repeat or blank out elements: Expand, Tile, Trilu, OneHot."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import te
from workbench.graph.call import Call, Case
from workbench.graph.facts import Permuted
from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.ops.common import at, broadcast_shape, compute, ints, sample


@operator("Expand", "injective", picks=True)
class Expand(OpDef):
    """The input broadcast against a shape."""

    parameters = (1,)

    def idle(self, c: Call) -> bool:
        return True

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        shape = None if c.moving(1) else self.infer(c)[0].shape
        if shape is None or len(c.shape(0)) != len(shape):
            return None
        return Permuted(dict(c.node.attrs), perm, {1: ints(*(shape[p] for p in perm))})

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        want = tuple(int(d) for d in c.constant(1, "shape"))
        return (TensorType(broadcast_shape(c, [c.shape(0), want]), c.type(0).dtype),)

    def reference(self, c: Call, x: Array, *_: Any) -> Array:
        return np.broadcast_to(x, self.infer(c)[0].shape).copy()

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:
        return compute(self.infer(c)[0].shape, lambda *i: at(x, i), c.name("expand"))

    def cases(self) -> list[Case]:
        return [
            Case("both ways", (sample(3, 1), ints(2, 1, 4)), const=(1,)),
            Case("fewer dimensions", (sample(2, 3, 1), ints(4)), const=(1,)),
        ]


@operator("Tile", "injective", picks=True)
class Tile(OpDef):
    """The input repeated along each axis."""

    parameters = (1,)

    def idle(self, c: Call) -> bool:
        return True

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        return None if c.moving(1) else Permuted(dict(c.node.attrs), perm, {1: c.constant(1, "repeats")[list(perm)]})

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        x, times = c.shape(0), [int(r) for r in c.constant(1, "repeats")]
        if len(times) != len(x) or any(t < 0 for t in times):
            raise c.error("invalid_graph", f"repeats a tensor of shape {list(x)} {times} times")
        return (TensorType(tuple(e * t for e, t in zip(x, times, strict=True)), c.type(0).dtype),)

    def reference(self, c: Call, x: Array, *_: Any) -> Array:
        return np.tile(x, [int(r) for r in c.constant(1, "repeats")])

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:

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

    def reference(self, c: Call, x: Array, *_: Any) -> Array:
        return (np.triu if c.get_int("upper", 1) else np.tril)(x, self._diagonal(c))

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:
        k, upper = self._diagonal(c), bool(c.get_int("upper", 1))
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


@operator("OneHot", "injective")
class OneHot(OpDef):
    """One value where the index along a new axis is the element of the input, another elsewhere."""

    parameters = (1,)

    def _axis(self, c: Call) -> int:
        return c.axis(c.get_int("axis", -1), len(c.shape(0)) + 1)

    def _depth(self, c: Call) -> int:
        depth = int(c.constant(1, "depth").reshape(-1)[0])
        if depth < 1:
            raise c.error("invalid_graph", f"has the depth {depth}")
        return depth

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        if c.shape(2) != (2,):
            raise c.error("shape_mismatch", f"needs two values, but has {list(c.shape(2))}")
        x, axis = c.shape(0), self._axis(c)
        return (TensorType((*x[:axis], self._depth(c), *x[axis:]), c.type(2).dtype),)

    def reference(self, c: Call, x: Array, _: Array, values: Array) -> Array:
        depth = self._depth(c)
        x = x.astype(np.int64)
        hot = np.expand_dims(np.where(x < 0, x + depth, x), self._axis(c))
        number = np.arange(depth).reshape(-1, *(1,) * (x.ndim - self._axis(c)))
        return np.asarray(np.where(hot == number, values[1], values[0]))

    def lower(self, c: Call, x: te.Tensor, _: te.Tensor | None, values: te.Tensor) -> te.Tensor:
        axis, depth = self._axis(c), self._depth(c)

        def body(*i: te.Axis) -> te.Value:
            at = te.cast(x[(*i[:axis], *i[axis + 1 :])], "int64")
            return te.select(te.equal(te.select(at < 0, at + depth, at), i[axis]), values[1], values[0])

        return compute(self.infer(c)[0].shape, body, c.name("one_hot"))

    def cases(self) -> list[Case]:
        values = np.array([0.5, 2], np.float32)
        return [
            Case("last", (ints(0, 2, -1, 7), np.array(3), values), const=(1,)),
            Case("first", (ints(0, 2, -1, -4).reshape(2, 2), ints(3), values), {"axis": 0}, const=(1,)),
            Case("fractions", (sample(3, low=1.0), np.array(3.0, np.float32), values), const=(1,)),
        ]
