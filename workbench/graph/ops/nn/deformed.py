"""Convolutions whose windows are moved element by element."""

from __future__ import annotations

import math

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array, AttrValue
from workbench.graph.kernels.windows import Windows, moved_windows
from workbench.graph.node_steps import OWN, Steps
from workbench.graph.opdef import OpDef, foreign, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import BIAS, DATA, WEIGHT, Input


@operator("DeformConv", "opaque")
class DeformConv(OpDef):
    """Convolution each of whose elements is read at an offset of its own, and may have a factor, the mask."""

    inputs = (DATA, WEIGHT, Input("offset"), BIAS)

    def shape(self, c: Call) -> tuple[int, ...]:
        x, w, offset = c.shape(0), c.shape(1), c.shape(2)
        if len(x) != 4 or len(w) != 4 or len(offset) != 4:
            given = f"{list(x)}, {list(w)} and {list(offset)}"
            raise c.error("shape_mismatch", f"takes images, weights and offsets with two dimensions, not {given}")
        parts, taps = c.get_int("offset_group", 1), math.prod(w[2:])
        if offset[:2] != (x[0], 2 * parts * taps) or x[1] != w[1] * c.get_int("group", 1) or x[1] % parts:
            raise c.error("shape_mismatch", f"has weights {list(w)} and offsets {list(offset)} for {list(x)}")
        return (x[0], w[0], *offset[2:])

    def windows(self, c: Call) -> Windows:
        """The windows before they are moved."""
        pads = c.get_ints("pads") or (0,) * 4
        return c.shape(1)[2:], c.get_ints("strides") or (1, 1), c.get_ints("dilations") or (1, 1), pads[:2]

    def decompose(self, c: Call, steps: Steps) -> bool:
        """A column of elements for each window, and a 1x1 convolution of these."""
        w, shape = c.shape(1), self.shape(c)
        if {c.type(i).dtype for i in range(5) if c.has(i)} - {"float32", "float64"} or 0 in (*c.shape(0), *shape):
            return False
        numbers = tuple(n for of in self.windows(c) for n in of)
        mask = (steps.name(4),) if steps.name(4) else ()
        attrs: dict[str, AttrValue] = {"windows": numbers, "offset_group": c.get_int("offset_group", 1)}
        columns = steps.add("MovedWindows", (steps.name(0), steps.name(2), *mask), "columns", attrs, own=True)
        flat = steps.reshape(steps.name(1), (w[0], w[1] * math.prod(w[2:]), 1, 1))
        bias = (steps.name(3),) if steps.name(3) else ()
        steps.add("Conv", (columns, flat, *bias), "product", {"group": c.get_int("group", 1)})
        return steps.finish()

    def reference(
        self, c: Call, x: Array, w: Array, offset: Array, bias: Array | None = None, mask: Array | None = None
    ) -> Array:
        other = foreign("", self.name, c.version)
        assert other is not None
        return np.asarray(other.reference(c, x, w, offset, *(bias, mask)[: len(c.node.inputs) - 3])[0], x.dtype)


@operator("MovedWindows", "opaque", domain=OWN)
class MovedWindows(OpDef):
    """Elements of moved windows, a column for each window; offsets are rows and then columns of each element."""

    def _windows(self, c: Call) -> Windows:
        n = c.get_ints("windows") or ()
        return n[:2], n[2:4], n[4:6], n[6:8]

    def shape(self, c: Call) -> tuple[int, ...]:
        x = c.shape(0)
        return (x[0], x[1] * math.prod(self._windows(c)[0]), *c.shape(1)[2:])

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(moved_windows, (self._windows(c), c.get_int("offset_group", 1)))

    def reference(self, c: Call, x: Array, offset: Array, mask: Array | None = None) -> Array:
        (kernel, strides, dilations, begin), parts = self._windows(c), c.get_int("offset_group", 1)
        n, ch, *size = x.shape
        out = offset.shape[2:]
        moved = offset.reshape(n, parts, *kernel, 2, *out).astype(np.float64)
        at = []
        for d in range(2):
            first = np.arange(kernel[d]).reshape(-1, *(1,) * (3 - d)) * dilations[d] - begin[d]
            at.append(moved[:, :, :, :, d] + first + (np.arange(out[d]) * strides[d]).reshape(-1, *(1,) * (1 - d)))
        wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        low = [np.floor(p) for p in at]
        images = np.arange(n).reshape(-1, *(1,) * 6)
        channels = np.arange(ch).reshape(1, parts, ch // parts, *(1,) * 4)
        y = np.zeros((n, parts, ch // parts, *kernel, *out))
        for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
            spots = [np.clip(a + c + 1, 0, s + 1).astype(int) for a, c, s in zip(low, corner, size, strict=True)]
            share = [p - a if c else 1 - (p - a) for p, a, c in zip(at, low, corner, strict=True)]
            y += wide[images, channels, spots[0][:, :, None], spots[1][:, :, None]] * (share[0] * share[1])[:, :, None]
        y = y if mask is None else y * mask.reshape(n, parts, 1, *kernel, *out)
        return y.reshape(self.shape(c)).astype(x.dtype)
