"""Operators that move blocks of an image between its channels and its area, and parts of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array, Node
from workbench.graph.opdef import Index, OpDef, Places, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.arrays.movement import DTYPES
from workbench.graph.ops.lowering import compute, from_nchw, layout_of, place, spatial_names, to_nchw, unplace


class _Blocks(OpDef):
    """Images whose channels are blocks of a larger image: block rows and columns first (DCR), or channels (CRD)."""

    image = moves = picks = on_quantised = True

    def block(self, c: Call) -> tuple[int, bool]:
        """Side of a block, and whether the number within a block counts slower than the channel."""
        side, mode = c.get_int("blocksize", 0), c.get_str("mode", "DCR")
        if side < 1 or mode not in ("DCR", "CRD") or len(c.shape(0)) != 4:
            raise c.error("invalid_graph", f"takes blocks of {side} in the order {mode!r} of {list(c.shape(0))}")
        return side, mode == "DCR"

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        places, shape = self.places(c), self.shape(c)
        return compute(shape, lambda *i: x[places(i)], c.name(self.word), spatial_names(layout_of(c), 2))


@operator("DepthToSpace", "injective")
class DepthToSpace(_Blocks):
    """Blocks of channels become blocks of the area."""

    def shape(self, c: Call) -> tuple[int, ...]:
        side, _ = self.block(c)
        n, (h, w), ch = unplace(layout_of(c), c.shape(0))
        if ch % side**2:
            raise c.error("shape_mismatch", f"cannot cut {ch} channels into blocks of {side} x {side}")
        return place(layout_of(c), n, (h * side, w * side), ch // side**2)

    def places(self, c: Call) -> Places:
        side, first = self.block(c)
        few = unplace(layout_of(c), self.shape(c))[2]

        def at(i: Any) -> tuple[Index, ...]:
            n, (h, w), ch = unplace(layout_of(c), i)
            if side == 1:
                return place(layout_of(c), n, (h, w), ch)
            row, column = h % side, w % side
            deep = (row * side + column) * few + ch if first else ch * side**2 + row * side + column
            return place(layout_of(c), n, (h // side, w // side), deep)

        return at

    def reference(self, c: Call, x: Array) -> Array:
        side, first = self.block(c)
        x = to_nchw(x, layout_of(c))
        n, ch, h, w = x.shape
        few = ch // side**2
        parts = x.reshape(n, side, side, few, h, w) if first else x.reshape(n, few, side, side, h, w)
        turned = parts.transpose((0, 3, 4, 1, 5, 2) if first else (0, 1, 4, 2, 5, 3))
        return from_nchw(turned.reshape(n, few, h * side, w * side), layout_of(c))


@operator("SpaceToDepth", "injective")
class SpaceToDepth(_Blocks):
    """Blocks of the area become blocks of channels."""

    def shape(self, c: Call) -> tuple[int, ...]:
        side, _ = self.block(c)
        n, (h, w), ch = unplace(layout_of(c), c.shape(0))
        if h % side or w % side:
            raise c.error("shape_mismatch", f"cannot cut an image of {h} x {w} into blocks of {side} x {side}")
        return place(layout_of(c), n, (h // side, w // side), ch * side**2)

    def places(self, c: Call) -> Places:
        side, first = self.block(c)
        few = unplace(layout_of(c), c.shape(0))[2]

        def at(i: Any) -> tuple[Index, ...]:
            n, (h, w), deep = unplace(layout_of(c), i)
            if side == 1:
                return place(layout_of(c), n, (h, w), deep)
            if first:
                row, column, ch = deep // (side * few), (deep // few) % side, deep % few if few > 1 else 0
            else:
                row, column, ch = (deep // side) % side, deep % side, deep // side**2
            return place(layout_of(c), n, (h * side + row, w * side + column), ch)

        return at

    def reference(self, c: Call, x: Array) -> Array:
        side, first = self.block(c)
        x = to_nchw(x, layout_of(c))
        n, ch, h, w = x.shape
        parts = x.reshape(n, ch, h // side, side, w // side, side)
        turned = parts.transpose((0, 3, 5, 1, 2, 4) if first else (0, 1, 3, 5, 2, 4))
        return from_nchw(turned.reshape(n, ch * side**2, h // side, w // side), layout_of(c))


@operator("EyeLike", "opaque")
class EyeLike(OpDef):
    """Ones along a diagonal of a matrix as large as the input, a constant."""

    by_type = True

    def accepts(self, node: Node) -> bool:
        return node.attrs.get("dtype", 1) in DTYPES

    def dtype(self, c: Call) -> str:
        if len(c.shape(0)) != 2:
            raise c.error("shape_mismatch", f"makes a matrix, but its input has shape {list(c.shape(0))}")
        return DTYPES[c.get_int("dtype", 0)] if "dtype" in c.node.attrs else c.type(0).dtype

    def reference(self, c: Call, *_: Any) -> Array:
        rows, columns = c.shape(0)
        return np.eye(rows, columns, c.get_int("k", 0), self.dtype(c))


@operator("ReverseSequence", "injective")
class ReverseSequence(OpDef):
    """The first elements of each row in reverse, as many as its length says."""

    def axes(self, c: Call) -> tuple[int, int]:
        """Axes of the rows and of time."""
        rows, time = c.get_int("batch_axis", 1), c.get_int("time_axis", 0)
        if {rows, time} != {0, 1} or len(c.shape(0)) < 2 or c.shape(1) != (c.shape(0)[rows],):
            text = f"turns axis {time} of {list(c.shape(0))} by {list(c.shape(1))} lengths along axis {rows}"
            raise c.error("invalid_graph", text)
        return rows, time

    def shape(self, c: Call) -> tuple[int, ...]:
        self.axes(c)
        return c.shape(0)

    def reference(self, c: Call, x: Array, lengths: Array) -> Array:
        _, time = self.axes(c)
        t = np.arange(x.shape[time])
        back = np.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)
        back = (back.T if time == 0 else back).reshape(*x.shape[:2], *(1,) * (x.ndim - 2))
        return np.take_along_axis(x, back, time)

    def lower(self, c: Call, x: te.Tensor, lengths: te.Tensor) -> te.Tensor:
        rows, time = self.axes(c)

        def body(*i: te.Axis) -> te.Value:
            many = lengths[i[rows]]
            back = te.select(te.cast(i[time], many.dtype) < many, many - 1 - te.cast(i[time], many.dtype), i[time])
            return x[tuple(back if d == time else v for d, v in enumerate(i))]

        return compute(x.shape, body, c.name("reverse_sequence"))
