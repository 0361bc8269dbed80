"""Maxima of windows together with their places."""

from __future__ import annotations

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array, TensorType
from workbench.graph.kernels.windows import places_of_maxima
from workbench.graph.node_steps import OWN
from workbench.graph.opdef import OpDef, declared, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.nn.pool import pool_window


@operator("MaxPool", "opaque", domain=OWN)
class PlacedMaxPool(OpDef):
    """MaxPool that also gives the places of the maxima."""

    multi = True

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        shape = (*c.shape(0)[:2], *pool_window(c).out)
        return TensorType(shape, c.type(0).dtype), TensorType(shape, "int64")

    def kernel(self, c: Call) -> KernelFunction | None:
        win = pool_window(c)
        windows = win.kernel, win.strides, win.dilations, win.begin
        return KernelFunction(places_of_maxima, (windows, bool(c.get_int("storage_order", 0))))

    def reference(self, c: Call, x: Array) -> tuple[Array, ...]:
        found = declared("MaxPool").reference(c, x)
        assert isinstance(found, tuple)
        return found
