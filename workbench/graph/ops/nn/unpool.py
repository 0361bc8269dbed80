"""Elements that are put back to where a pooling took them from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.graph.graph import Array
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call


@operator("MaxUnpool", "opaque")
class MaxUnpool(OpDef):
    """Elements put back to the places that MaxPool took them from, with 0 everywhere else."""

    parameters = (2,)

    def shape(self, c: Call) -> tuple[int, ...]:
        x, kernel = c.shape(0), c.get_ints("kernel_shape")
        if kernel is None:
            raise c.error("invalid_graph", "lacks the attribute kernel_shape")
        r = len(kernel)
        strides, pads = c.get_ints("strides") or (1,) * r, c.get_ints("pads") or (0,) * (2 * r)
        if not len(x) - 2 == r == len(strides) == len(pads) // 2 or c.shape(1) != x:
            raise c.error("shape_mismatch", f"has a kernel {list(kernel)} or places {list(c.shape(1))} for {list(x)}")
        if c.has(2):
            return tuple(int(d) for d in c.constant(2, "output_shape"))
        sizes = [(x[2 + d] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + r] for d in range(r)]
        return (*x[:2], *sizes)

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Write elements that are stored in a row of zeros."""
        shape, x = self.shape(c), c.type(0)
        if not x.size or not math.prod(shape):
            return False
        zeros = steps.constant("zeros", np.zeros(math.prod(shape), x.dtype))
        places, elements = steps.reshape(steps.name(1), (x.size, 1)), steps.reshape(steps.name(0), (x.size,))
        steps.reshape(steps.add("ScatterND", (zeros, places, elements), "stored"), shape)
        return steps.finish()

    def reference(self, c: Call, x: Array, places: Array, *_: Any) -> Array:
        y = np.zeros(self.shape(c), x.dtype)
        y.reshape(-1)[places.reshape(-1)] = x.reshape(-1)
        return y
