"""Operators whose data decide how large a result is: of the largest size, and how much of it counts.

Each stands under its name in our own domain, with a further output: the number of slices along `axis` that count.
What lies behind them is 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.codegen.runtime_kernels.module import split
from workbench.graph.graph import Array, Node, TensorType
from workbench.graph.kernels.chosen import boxes_that_stay, marked_slices, places_of_others
from workbench.graph.kernels.different import different_slices
from workbench.graph.node_steps import OWN
from workbench.graph.opdef import OpDef, declared, operator, operators
from workbench.graph.operator_call import Call
from workbench.graph.ops.math import sorting  # noqa: F401 (declares what stands here once more)
from workbench.graph.ops.nn import boxes  # noqa: F401


class Counted(OpDef):
    """Base: results of the largest size, and the number of their slices that count."""

    multi = True
    results = 1  # of the operator itself

    def cut_axes(self, c: Call) -> tuple[int | None, ...]:
        """Axis of each result along which it is as long as its data say; None for one that is not."""
        return (0,)

    def largest(self, c: Call) -> tuple[TensorType, ...]:
        """Types of the largest results."""
        raise NotImplementedError

    def exact(self, c: Call, *args: Any) -> tuple[Array, ...]:
        """The results of the operator itself, that of data-dependent length first."""
        raise NotImplementedError

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return (*self.largest(c), TensorType((1,), "int64"))

    def reference(self, c: Call, *args: Any) -> tuple[Array, ...]:
        found, axes, padded = self.exact(c, *args), self.cut_axes(c), []
        for part, most in zip(found, self.largest(c), strict=True):
            padded.append(np.zeros(most.shape, most.dtype))
            padded[-1][tuple(slice(n) for n in part.shape)] = part
        return (*padded, np.array([found[0].shape[axes[0] or 0]], np.int64))


@operator("NonZero", "opaque", domain=OWN)
class NonZero(Counted):
    """Place of each element that is not 0, a column for each."""

    def cut_axes(self, c: Call) -> tuple[int | None, ...]:
        return (1,)

    def largest(self, c: Call) -> tuple[TensorType, ...]:
        return (TensorType((len(c.shape(0)), c.type(0).size), "int64"),)

    def exact(self, c: Call, *args: Any) -> tuple[Array, ...]:
        return (np.array(np.nonzero(np.atleast_1d(args[0])), np.int64)[: args[0].ndim],)

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(places_of_others)


@operator("Compress", "opaque", domain=OWN)
class Compress(Counted):
    """Slices along an axis, or elements where there is none, that a condition marks."""

    def _axis(self, c: Call) -> int:
        return c.named_axis(0) if "axis" in c.node.attrs else 0

    def cut_axes(self, c: Call) -> tuple[int | None, ...]:
        return (self._axis(c),)

    def _given(self, c: Call) -> tuple[int, ...]:
        return c.shape(0) if "axis" in c.node.attrs else (c.type(0).size,)

    def largest(self, c: Call) -> tuple[TensorType, ...]:
        if len(c.shape(1)) != 1 or c.type(1).dtype != "bool":
            raise c.error("shape_mismatch", f"takes a vector of truth values, not {c.type(1)}")
        x, axis = self._given(c), self._axis(c)
        return (TensorType((*x[:axis], min(x[axis], c.shape(1)[0]), *x[axis + 1 :]), c.type(0).dtype),)

    def exact(self, c: Call, *args: Any) -> tuple[Array, ...]:
        x, marks = args
        axis = self._axis(c)
        x = x.reshape(self._given(c))
        return (np.compress(marks[: x.shape[axis]], x, axis),)

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(marked_slices, split(self._given(c), self._axis(c)))


@operator("NonMaxSuppression", "opaque", domain=OWN)
class NonMaxSuppression(Counted):
    """Of boxes that overlap the one with the highest score, for each image and class: [image, class, box]."""

    parameters = (2,)

    def _most(self, c: Call) -> int:
        """Boxes of an image and class, at most; one where none is asked for, which then does not count."""
        asked = int(c.constant(2, "number of boxes").reshape(-1)[0]) if c.has(2) else 0
        return max(0, min(asked, c.shape(0)[1]))

    def largest(self, c: Call) -> tuple[TensorType, ...]:
        found, scores = c.shape(0), c.shape(1)
        if len(found) != 3 or len(scores) != 3 or found[2] != 4 or found[::2][:1] + found[1:2] != scores[::2]:
            raise c.error("shape_mismatch", f"takes boxes of shape {list(found)} with scores of shape {list(scores)}")
        return (TensorType((max(1, scores[0] * scores[1] * self._most(c)), 3), "int64"),)

    def exact(self, c: Call, *args: Any) -> tuple[Array, ...]:
        return (np.asarray(declared("NonMaxSuppression").reference(c, *args)),)

    def kernel(self, c: Call) -> KernelFunction | None:
        if not self._most(c):
            return None
        return KernelFunction(boxes_that_stay, (self._most(c), bool(c.get_int("center_point_box", 0))))


@operator("Unique", "opaque", domain=OWN)
class Unique(Counted):
    """Different elements, or slices along an axis, in their order or as they first occur; where, and how often."""

    results = 4

    def _axis(self, c: Call) -> int | None:
        return c.named_axis(0) if "axis" in c.node.attrs else None

    def cut_axes(self, c: Call) -> tuple[int | None, ...]:
        return self._axis(c) or 0, 0, None, 0

    def largest(self, c: Call) -> tuple[TensorType, ...]:
        axis, x = self._axis(c), c.type(0)
        count = x.size if axis is None else x.shape[axis]
        return (TensorType((count,) if axis is None else x.shape, x.dtype), *[TensorType((count,), "int64")] * 3)

    def exact(self, c: Call, *args: Any) -> tuple[Array, ...]:
        return tuple(np.asarray(v) for v in declared("Unique").reference(c, *args))

    def kernel(self, c: Call) -> KernelFunction | None:
        axis = self._axis(c)
        sizes = (1, c.type(0).size, 1) if axis is None else split(c.shape(0), axis)
        return KernelFunction(different_slices, (*sizes, bool(c.get_int("sorted", 1))))


def counted(node: Node) -> Node | None:
    """The node with results of the largest size, and a count; None where that is not known of its operator."""
    op = operators(lambda op: isinstance(op, Counted)).get(node.op)
    if node.domain or not isinstance(op, Counted) or any(node.outputs[op.results :]):
        return None
    names = (*node.outputs, *[""] * op.results)[: op.results]
    return replace(node, domain=OWN, outputs=(*names, f"{next(filter(None, names))}.count"))
