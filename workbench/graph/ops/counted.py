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
from workbench.graph.node_steps import OWN
from workbench.graph.opdef import OpDef, declared, operator, operators
from workbench.graph.operator_call import Call
from workbench.graph.ops.nn import boxes  # noqa: F401 (declares what stands here once more)


class Counted(OpDef):
    """Base: a result of the largest size, and the number of its slices that count."""

    multi = True

    def cut_axis(self, c: Call) -> int:
        """Axis along which the result is as long as its data say."""
        return 0

    def cut_axes(self, c: Call) -> tuple[int | None, ...]:
        """The same of each output but the count, which is the last; None of one that counts as a whole."""
        return (self.cut_axis(c),)

    def largest(self, c: Call) -> TensorType:
        """Type of the largest result."""
        raise NotImplementedError

    def exact(self, c: Call, *args: Any) -> Array:
        """The result of the operator itself."""
        raise NotImplementedError

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return self.largest(c), TensorType((1,), "int64")

    def reference(self, c: Call, *args: Any) -> tuple[Array, ...]:
        found, most, axis = self.exact(c, *args), self.largest(c), self.cut_axis(c)
        padded = np.zeros(most.shape, most.dtype)
        np.moveaxis(padded, axis, 0)[: found.shape[axis]] = np.moveaxis(found, axis, 0)
        return padded, np.array([found.shape[axis]], np.int64)


@operator("NonZero", "opaque", domain=OWN)
class NonZero(Counted):
    """Place of each element that is not 0, a column for each."""

    def cut_axis(self, c: Call) -> int:
        return 1

    def largest(self, c: Call) -> TensorType:
        return TensorType((len(c.shape(0)), c.type(0).size), "int64")

    def exact(self, c: Call, *args: Any) -> Array:
        return np.array(np.nonzero(np.atleast_1d(args[0])), np.int64)[: args[0].ndim]

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(places_of_others)


@operator("Compress", "opaque", domain=OWN)
class Compress(Counted):
    """Slices along an axis, or elements where there is none, that a condition marks."""

    def cut_axis(self, c: Call) -> int:
        return c.named_axis(0) if "axis" in c.node.attrs else 0

    def _given(self, c: Call) -> tuple[int, ...]:
        return c.shape(0) if "axis" in c.node.attrs else (c.type(0).size,)

    def largest(self, c: Call) -> TensorType:
        if len(c.shape(1)) != 1 or c.type(1).dtype != "bool":
            raise c.error("shape_mismatch", f"takes a vector of truth values, not {c.type(1)}")
        x, axis = self._given(c), self.cut_axis(c)
        return TensorType((*x[:axis], min(x[axis], c.shape(1)[0]), *x[axis + 1 :]), c.type(0).dtype)

    def exact(self, c: Call, *args: Any) -> Array:
        x, marks = args
        axis = self.cut_axis(c)
        x = x.reshape(self._given(c))
        return np.compress(marks[: x.shape[axis]], x, axis)

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(marked_slices, split(self._given(c), self.cut_axis(c)))


@operator("NonMaxSuppression", "opaque", domain=OWN)
class NonMaxSuppression(Counted):
    """Of boxes that overlap the one with the highest score, for each image and class: [image, class, box]."""

    parameters = (2,)

    def _most(self, c: Call) -> int:
        """Boxes of an image and class, at most; one where none is asked for, which then does not count."""
        asked = int(c.constant(2, "number of boxes").reshape(-1)[0]) if c.has(2) else 0
        return max(0, min(asked, c.shape(0)[1]))

    def largest(self, c: Call) -> TensorType:
        found, scores = c.shape(0), c.shape(1)
        if len(found) != 3 or len(scores) != 3 or found[2] != 4 or found[::2][:1] + found[1:2] != scores[::2]:
            raise c.error("shape_mismatch", f"takes boxes of shape {list(found)} with scores of shape {list(scores)}")
        return TensorType((max(1, scores[0] * scores[1] * self._most(c)), 3), "int64")

    def exact(self, c: Call, *args: Any) -> Array:
        return np.asarray(declared("NonMaxSuppression").reference(c, *args))

    def kernel(self, c: Call) -> KernelFunction | None:
        if not self._most(c):
            return None
        return KernelFunction(boxes_that_stay, (self._most(c), bool(c.get_int("center_point_box", 0))))


def counted(node: Node) -> Node | None:
    """The node with a result of the largest size, and a count; None where that is not known of its operator."""
    if node.domain or node.op not in operators(lambda op: isinstance(op, Counted)) or any(node.outputs[1:]):
        return None
    return replace(node, domain=OWN, outputs=(node.outputs[0], f"{node.outputs[0]}.count"))
