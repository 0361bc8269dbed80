"""Operators of PyTorch, each written as nodes of a graph.

ATen's operators after decomposition, by name, overloads together: a function takes a `Writer` and the arguments as
the operator's schema has them. What it cannot write it refuses with `Unsupported`, and that call stays in torch.
"""

from workbench.torch_backend.aten import arrays, layers, pointwise, reductions  # declare themselves
from workbench.torch_backend.aten.writer import ATEN, MOVES, Unsupported, Value, Writer, dtype_name

__all__ = [
    "ATEN", "MOVES", "Unsupported", "Value", "Writer", "arrays", "dtype_name", "layers", "pointwise", "reductions",
]  # fmt: skip
