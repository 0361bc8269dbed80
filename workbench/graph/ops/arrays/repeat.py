"""Operators that repeat or blank out elements: Expand, Tile, Trilu, OneHot."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import Permuted
from workbench.graph.ops.lowering import at, broadcast_shape, compute, ints


@operator("Expand", "injective", picks=True)
class Expand(OpDef):
    """The input broadcast against a shape."""

    parameters = (1,)

    def idle(self, c: Call) -> bool:
        return True

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        shape = None if c.moving(1) else self.shape(c)
        if shape is None or len(c.shape(0)) != len(shape):
            return None
        return Permuted(dict(c.node.attrs), perm, {1: ints(*(shape[p] for p in perm))})

    def shape(self, c: Call) -> tuple[int, ...]:
        want = tuple(int(d) for d in c.constant(1, "shape"))
        return broadcast_shape(c, [c.shape(0), want])

    def reference(self, c: Call, x: Array, *_: Any) -> Array:
        return np.broadcast_to(x, self.shape(c)).copy()

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:
        return compute(self.shape(c), lambda *i: at(x, i), c.name("expand"))


@operator("Tile", "injective", picks=True)
class Tile(OpDef):
    """The input repeated along each axis."""

    parameters = (1,)

    def idle(self, c: Call) -> bool:
        return True

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        return None if c.moving(1) else Permuted(dict(c.node.attrs), perm, {1: c.constant(1, "repeats")[list(perm)]})

    def shape(self, c: Call) -> tuple[int, ...]:
        x, times = c.shape(0), [int(r) for r in c.constant(1, "repeats")]
        if len(times) != len(x) or any(t < 0 for t in times):
            raise c.error("invalid_graph", f"repeats a tensor of shape {list(x)} {times} times")
        return tuple(e * t for e, t in zip(x, times, strict=True))

    def reference(self, c: Call, x: Array, *_: Any) -> Array:
        return np.tile(x, [int(r) for r in c.constant(1, "repeats")])

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:

        def body(*i: te.Axis) -> te.Value:
            return x[tuple(0 if e == 1 else k % e for k, e in zip(i, x.shape, strict=True))]

        return compute(self.shape(c), body, c.name("tile"))


@operator("Trilu", "injective")
class Trilu(OpDef):
    """The upper or lower triangle of matrices; the rest is zero."""

    parameters = (1,)

    def shape(self, c: Call) -> tuple[int, ...]:
        if len(c.shape(0)) < 2:
            raise c.error("shape_mismatch", f"takes a triangle of a tensor of shape {list(c.shape(0))}")
        self._diagonal(c)
        return c.shape(0)

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


@operator("OneHot", "injective", typed_by=2)
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

    def shape(self, c: Call) -> tuple[int, ...]:
        if c.shape(2) != (2,):
            raise c.error("shape_mismatch", f"needs two values, but has {list(c.shape(2))}")
        x, axis = c.shape(0), self._axis(c)
        return (*x[:axis], self._depth(c), *x[axis:])

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

        return compute(self.shape(c), body, c.name("one_hot"))
