"""Operators that pick elements by numbers: Gather, GatherElements, GatherND.

The numbers may be known only at run time (``table[ids[i], j]``, see `te.Tensor`). As ONNX has it, negative ones count
from the end. What lies outside of the tensor all the same, which ONNX leaves undefined, is the nearest element.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench import te
from workbench.graph.graph import Array
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import Permuted, left_axes
from workbench.graph.ops.lowering import Idx, compute


def counted(c: Call, i: int, value: te.Value, extent: int) -> te.Value:
    """A position in a dimension: negative numbers count from its end."""
    known = c.values[i]
    if value.dtype.startswith("u") or (known is not None and known.size and known.min() >= 0):
        return value
    return te.select(value < 0, value + extent, value)


def positions(index: Array, extent: int) -> Array:
    """As `counted`, for arrays; numbers that lie outside become the nearest position."""
    at = index.astype(np.int64)
    return np.clip(np.where(at < 0, at + extent, at), 0, max(extent - 1, 0))


class _Picking(OpDef):
    """One index is part of the code where it is constant."""

    def in_code(self, i: int, value: Array) -> bool:
        return i == 1 and value.size == 1

    def index(self, c: Call, t: te.Tensor | None, at: Sequence[Idx], extent: int) -> te.Value | int:
        """Position along a dimension of the tensor: that of the index tensor's element at `at`."""
        v = c.scalar(1)
        if v is not None:
            return int(v) % extent
        assert t is not None
        return counted(c, 1, t[tuple(at)], extent)

    def check_index(self, c: Call, extents: Sequence[int]) -> None:
        """Refuse what is no whole number, and known ones that lie outside of the dimensions."""
        if c.type(1).dtype not in ("int32", "int64"):
            raise c.error("unsupported_dtype", f"takes {c.type(1).dtype} for an index", "cast it to int64")
        known = c.values[1]
        if known is not None and known.size and ((known < -np.array(extents)) | (known >= np.array(extents))).any():
            raise c.error("bad_value", f"picks elements that do not exist, of {' x '.join(map(str, extents))}")


@operator("Gather", "injective", picks=True)
class Gather(_Picking):
    """Slices along one axis, by number."""

    def shape(self, c: Call) -> tuple[int, ...]:
        x, axis = c.shape(0), c.named_axis(0)
        self.check_index(c, x[axis : axis + 1])
        return (*x[:axis], *c.shape(1), *x[axis + 1 :])

    def keeps_slices(self, c: Call, i: int, axis: int, at: int) -> bool:
        return i == 1 or axis != c.named_axis(0)  # a negative number would count from the largest end

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        axis, index = c.get_int("axis", 0) % len(perm), len(c.shape(1))
        if index > 1:
            return None
        return Permuted({**c.node.attrs, "axis": perm.index(axis)}, perm if index else left_axes(perm, (axis,)))

    def reference(self, c: Call, x: Array, index: Array) -> Array:
        axis = c.get_int("axis", 0)
        return np.asarray(np.take(x, positions(index, x.shape[axis]), axis=axis))

    def lower(self, c: Call, x: te.Tensor, index: te.Tensor | None = None) -> te.Tensor:
        axis, width = c.named_axis(0), len(c.shape(1))

        def body(*i: te.Axis) -> te.Value:
            at = self.index(c, index, i[axis : axis + width], x.shape[axis])
            return x[(*i[:axis], at, *i[axis + width :])]

        return compute(self.shape(c), body, c.name("gather"))


@operator("GatherElements", "injective", picks=True)
class GatherElements(_Picking):
    """Elements along one axis, each by a number of its own."""

    def shape(self, c: Call) -> tuple[int, ...]:
        x, index, axis = c.shape(0), c.shape(1), c.named_axis(0)
        if len(x) != len(index) or any(b > a for d, (a, b) in enumerate(zip(x, index, strict=True)) if d != axis):
            raise c.error("shape_mismatch", f"picks {list(index)} elements of {list(x)} along axis {axis}")
        self.check_index(c, x[axis : axis + 1])
        return index

    def reference(self, c: Call, x: Array, index: Array) -> Array:
        axis = c.named_axis(0)
        grid: list[Array] = list(np.indices(index.shape))
        grid[axis] = positions(index, x.shape[axis])
        return np.asarray(x[tuple(grid)])

    def lower(self, c: Call, x: te.Tensor, index: te.Tensor | None = None) -> te.Tensor:
        axis = c.named_axis(0)

        def body(*i: te.Axis) -> te.Value:
            at = self.index(c, index, i, x.shape[axis])
            return x[tuple(at if d == axis else v for d, v in enumerate(i))]

        return compute(c.shape(1), body, c.name("gather"))


@operator("GatherND", "injective", picks=True)
class GatherND(_Picking):
    """Slices by tuples of numbers, the last dimension of the index tensor."""

    def in_code(self, i: int, value: Array) -> bool:
        return False

    def parts(self, c: Call) -> tuple[int, int]:
        """(dimensions that both tensors share, numbers in a tuple)."""
        x, index, batch = c.shape(0), c.shape(1), c.get_int("batch_dims", 0)
        if not index or not 0 <= batch < min(len(x), len(index)) or batch + index[-1] > len(x):
            text = f"picks from {list(x)} by tuples in {list(index)} with {batch} shared dimensions"
            raise c.error("shape_mismatch", text)
        if x[:batch] != index[:batch]:
            raise c.error("shape_mismatch", f"shares {batch} dimensions of {list(x)} with {list(index)}")
        return batch, index[-1]

    def shape(self, c: Call) -> tuple[int, ...]:
        batch, width = self.parts(c)
        self.check_index(c, c.shape(0)[batch : batch + width])
        return (*c.shape(1)[:-1], *c.shape(0)[batch + width :])

    def reference(self, c: Call, x: Array, index: Array) -> Array:
        batch, width = self.parts(c)
        own = np.indices(index.shape[:-1])[:batch]
        picked = [positions(index[..., k], x.shape[batch + k]) for k in range(width)]
        return np.asarray(x[(*own, *picked)])

    def lower(self, c: Call, x: te.Tensor, index: te.Tensor) -> te.Tensor:
        batch, width = self.parts(c)
        rank = index.ndim - 1

        def body(*i: te.Axis) -> te.Value:
            picked = [counted(c, 1, index[(*i[:rank], k)], x.shape[batch + k]) for k in range(width)]
            return x[(*i[:batch], *picked, *i[rank:])]

        return compute(self.shape(c), body, c.name("gather"))
