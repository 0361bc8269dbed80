"""Operator families; importing this package registers them all."""

from workbench.graph.ops import control
from workbench.graph.ops.arrays import gather, repeat, scatter, shape, tensor, text
from workbench.graph.ops.math import along, arg, elementwise, linear, logic, reduce, signal
from workbench.graph.ops.nn import (
    activations,
    boxes,
    conv,
    conv_transpose,
    norm,
    pool,
    recurrent,
    resize,
    sampling,
    softmax,
)
from workbench.graph.ops.quantized import contrib, qlinear, quant
from workbench.graph.ops.quantized import steps as quant_steps

__all__ = [
    "activations",
    "along",
    "arg",
    "boxes",
    "contrib",
    "control",
    "conv",
    "conv_transpose",
    "elementwise",
    "gather",
    "linear",
    "logic",
    "norm",
    "pool",
    "qlinear",
    "quant",
    "quant_steps",
    "recurrent",
    "reduce",
    "repeat",
    "resize",
    "sampling",
    "scatter",
    "shape",
    "signal",
    "softmax",
    "tensor",
    "text",
]
