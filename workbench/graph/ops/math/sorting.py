"""Operators that put the elements along an axis in order, add them up or multiply them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array, TensorType
from workbench.graph.kernels.ordering import top_k
from workbench.graph.kernels.running import running
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call


@operator("TopK", "opaque")
class TopK(OpDef):
    """The k largest or smallest elements along an axis in their order, and their places; of equal ones the first."""

    multi = True
    parameters = (1,)

    def _count(self, c: Call) -> int:
        return c.get_int("k", -1) if c.version < 10 else int(c.constant(1, "number of elements").reshape(-1)[0])

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        x, k = c.shape(0), self._count(c)
        axis = c.axis(c.get_int("axis", -1), len(x))
        if not 0 <= k <= x[axis]:
            code = "shape_mismatch" if k > 0 else "invalid_graph"
            raise c.error(code, f"takes {k} of {x[axis]} elements along axis {axis}")
        shape = (*x[:axis], k, *x[axis + 1 :])
        return TensorType(shape, c.type(0).dtype), TensorType(shape, "int64")

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(top_k, (c.named_axis(-1), self._count(c), bool(c.get_int("largest", 1))))

    def reference(self, c: Call, x: Array, *_: Any) -> tuple[Array, ...]:
        k = self._count(c)
        axis = c.named_axis(-1)
        if c.get_int("largest", 1):
            order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        else:
            order = np.argsort(x, axis, kind="stable")
        first = np.take(order, np.arange(k), axis)
        return np.take_along_axis(x, first, axis), first.astype(np.int64)


@operator("Unique", "opaque")
class Unique(OpDef):
    """Different elements, or slices along an axis, in their order or as they first occur; where, and how often."""

    multi = True

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        hint = "cut the model there; `wb.compile(graph)` compiles it for what a run brings"
        raise c.error("dynamic_shape", "gives tensors whose shapes depend on what is computed at run time", hint)

    def reference(self, c: Call, x: Array) -> tuple[Array, ...]:
        axis = c.named_axis(0) if "axis" in c.node.attrs else None
        y, first, back, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
        order = np.arange(len(first)) if c.get_int("sorted", 1) else np.argsort(first)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        found = np.take(y, order, 0 if axis is None else axis), first[order], place[back.reshape(-1)], counts[order]
        return (found[0], *(v.astype(np.int64) for v in found[1:]))


class _Running(OpDef):
    parameters = (1,)
    what: ClassVar[str] = "sum"

    def shape(self, c: Call) -> tuple[int, ...]:
        c.constant(1, "axis")
        return c.shape(0)

    def kernel(self, c: Call) -> KernelFunction | None:
        if not c.shape(0):
            return None
        axis = c.axis(int(c.constant(1, "axis").reshape(-1)[0]), len(c.shape(0)))
        settings = self.what, axis, bool(c.get_int("exclusive", 0)), bool(c.get_int("reverse", 0))
        return KernelFunction(running, settings, c.type(0).size)

    def reference(self, c: Call, x: Array, at: Array) -> Array:
        axis, turned = c.axis(int(at.reshape(-1)[0]), x.ndim), c.get_int("reverse", 0)
        x = np.flip(x, axis) if turned else x
        joined, first = (np.cumsum, 0) if self.what == "sum" else (np.cumprod, 1)
        if c.get_int("exclusive", 0):
            before = np.full_like(np.take(x, [0], axis), first) if x.shape[axis] else x
            x = np.concatenate([before, np.take(x, range(x.shape[axis] - 1), axis)], axis) if x.shape[axis] else x
        y = joined(x, axis, dtype=x.dtype)
        return np.asarray(np.flip(y, axis) if turned else y)


@operator("CumSum", "opaque", what="sum")
class CumSum(_Running):
    """Sum of all elements up to each one along an axis, without it where `exclusive`, from the end where `reverse`."""


@operator("CumProd", "opaque", what="product")
class CumProd(_Running):
    """Product of all elements up to each one along an axis, as CumSum has their sum."""
