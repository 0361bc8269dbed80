"""Where the extremes of a tensor lie: ArgMax, ArgMin."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import Permuted, left_axes
from workbench.graph.ops.lowering import compute
from workbench.ir.dtypes import is_float


class Arg(OpDef):
    """Number of the first extreme along an axis, or of the last; NaN counts as extreme, as in NumPy.

    As a loop nest: first the extreme, then the least (or greatest) number of an element that is it.
    """

    result = "int64"

    least = False

    def shape(self, c: Call) -> tuple[int, ...]:
        x, axis = c.shape(0), c.named_axis(0)
        if not x[axis]:
            raise c.error("shape_mismatch", f"looks for an extreme of nothing along axis {axis}")
        return (*x[:axis], *((1,) if c.get_int("keepdims", 1) else ()), *x[axis + 1 :])

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted:
        axis = c.named_axis(0)
        out = perm if c.get_int("keepdims", 1) else left_axes(perm, (axis,))
        return Permuted({**c.node.attrs, "axis": perm.index(axis)}, out)

    def reference(self, c: Call, x: Array) -> Array:
        axis, last = c.named_axis(0), c.get_int("select_last_index", 0)
        x = np.flip(x, axis) if last else x
        found = np.argmin(x, axis) if self.least else np.argmax(x, axis)
        found = x.shape[axis] - 1 - found if last else found
        return np.asarray(np.expand_dims(found, axis) if c.get_int("keepdims", 1) else found, np.int64)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        axis, last = c.named_axis(0), c.get_int("select_last_index", 0)
        shape, kept = self.shape(c), bool(c.get_int("keepdims", 1))
        size = x.shape[axis]
        narrow = "int32" if size < 2**31 else "int64"  # half as many vectors

        def element(i: tuple[te.Axis, ...], k: te.Axis) -> te.Value:
            return x[(*i[:axis], k, *i[axis + kept :])]

        def extreme(*i: te.Axis) -> Any:
            k = te.reduce_axis(size, "k")
            return (te.min if self.least else te.max)(element(i, k), axis=k)

        best = compute(shape, extreme, c.name("extreme"))

        def number(*i: te.Axis) -> Any:
            k = te.reduce_axis(size, "k")
            v = element(i, k)
            hit = te.equal(v, best[i])
            hit = te.logical_or(hit, te.not_equal(v, v)) if is_float(x.dtype) else hit
            at = te.select(hit, te.cast(k, narrow), te.const(-1 if last else size, narrow))
            return te.max(at, axis=k) if last else te.min(at, axis=k)

        found = compute(shape, number, c.name("number"))
        return compute(shape, lambda *i: te.cast(found[i], "int64"), c.name("wide"))


@operator("ArgMax", "reduction")
class ArgMax(Arg):
    """Number of the largest element along an axis."""


@operator("ArgMin", "reduction")
class ArgMin(Arg):
    """Number of the smallest element along an axis."""

    least = True
