"""Operators that store at places that are known at run time: ScatterElements, ScatterND, TensorScatter.

Numbers that lie outside of the tensor, which ONNX leaves undefined, store nothing; where several name one element, the
last one wins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array
from workbench.graph.kernels.scattering import new_slices, scatter_elements, scatter_slices
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call

_NUMPY: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
#: The tensor that the result may be written over.
_OVER = (("in0", "out0"),)


class _Scatter(OpDef):
    """What both share: the result is the tensor with some elements replaced, or joined by an operation."""

    def shape(self, c: Call) -> tuple[int, ...]:
        if c.type(1).dtype not in ("int32", "int64"):
            raise c.error("unsupported_dtype", f"takes {c.type(1).dtype} for an index", "cast it to int64")
        self.check(c)
        return c.shape(0)

    def check(self, c: Call) -> None:
        """Refuse shapes that do not belong together."""
        raise NotImplementedError

    def runtime(self, c: Call, body: Callable[..., None], *settings: int) -> KernelFunction | None:
        """The kernel with this body, but for texts."""
        if c.type(0).dtype == "str":
            return None
        return KernelFunction(body, (*settings, self.how(c)), overwrites=_OVER)

    def obstacle(self, c: Call) -> str:
        return "storing texts"

    def how(self, c: Call) -> str:
        """What joins the old and the new element; "none" where the new one takes its place."""
        how = c.get_str("reduction", "none")
        if how not in ("none", *_NUMPY):
            raise c.error("unsupported_attr", f"joins elements by {how!r}, which is not known")
        return how

    def stored(self, c: Call, x: Array, where: tuple[Array, ...], values: Array) -> Array:
        """The tensor after storing values at index arrays; numbers outside store nothing."""
        inside = np.ones(where[0].shape, bool)
        places = []
        for at, size in zip(where, x.shape, strict=False):
            at = np.where(at < 0, at + size, at)
            inside &= (at >= 0) & (at < size)
            places.append(at)
        out, how = x.copy(), self.how(c)
        index = tuple(p[inside] for p in places)
        if how == "none":
            out[index] = values[inside]
        else:
            _NUMPY[how].at(out, index, values[inside])
        return out


@operator("ScatterElements", "opaque")
class ScatterElements(_Scatter):
    """The tensor with elements stored along one axis, each at a number of its own."""

    def check(self, c: Call) -> None:
        x, index, axis = c.shape(0), c.shape(1), c.named_axis(0)
        smaller = len(x) == len(index) and all(
            b <= a for d, (a, b) in enumerate(zip(x, index, strict=True)) if d != axis
        )
        if not smaller or c.shape(2) != index:
            raise c.error("shape_mismatch", f"stores {list(c.shape(2))} at {list(index)} places of {list(x)}")

    def kernel(self, c: Call) -> KernelFunction | None:
        return self.runtime(c, scatter_elements, c.named_axis(0))

    def reference(self, c: Call, x: Array, index: Array, values: Array) -> Array:
        grid: list[Array] = list(np.indices(index.shape))
        grid[c.named_axis(0)] = index.astype(np.int64)
        return self.stored(c, x, tuple(grid), values)


@operator("ScatterND", "opaque")
class ScatterND(_Scatter):
    """The tensor with slices stored at tuples of numbers, the last dimension of the index tensor."""

    def check(self, c: Call) -> None:
        x, index = c.shape(0), c.shape(1)
        if not index or not 1 <= index[-1] <= len(x) or c.shape(2) != (*index[:-1], *x[index[-1] :]):
            raise c.error("shape_mismatch", f"stores {list(c.shape(2))} at {list(index)} of {list(x)}")

    def kernel(self, c: Call) -> KernelFunction | None:
        return self.runtime(c, scatter_slices)

    def reference(self, c: Call, x: Array, index: Array, values: Array) -> Array:
        return self.stored(c, x, tuple(np.moveaxis(index.astype(np.int64), -1, 0)), values)


@operator("TensorScatter", "opaque")
class TensorScatter(OpDef):
    """A cache with new slices stored along one axis, in each batch from a number on; in a circle if asked for."""

    def shape(self, c: Call) -> tuple[int, ...]:
        x, new, axis = c.shape(0), c.shape(1), c.named_axis(-2)
        fits = (*new[:axis], x[axis], *new[axis + 1 :]) == x and new[axis] <= x[axis]
        if not axis or not fits or (c.has(2) and c.shape(2) != x[:1]):
            raise c.error("shape_mismatch", f"stores {list(new)} in {list(x)} along axis {axis}")
        return x

    def _circular(self, c: Call) -> bool:
        return c.get_str("mode", "linear") == "circular"

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(new_slices, (c.named_axis(-2), self._circular(c)), overwrites=_OVER)

    def reference(self, c: Call, x: Array, new: Array, first: Array | None = None) -> Array:
        axis, y = c.named_axis(-2), x.copy()
        for b in range(len(x)):
            at = (0 if first is None else int(first[b])) + np.arange(new.shape[axis])
            at = at % x.shape[axis] if self._circular(c) else at
            inside = (at >= 0) & (at < x.shape[axis])
            to, source = np.moveaxis(y[b], axis - 1, 0), np.moveaxis(new[b], axis - 1, 0)
            to[at[inside]] = source[inside]
        return y
