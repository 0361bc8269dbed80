"""Operator families; importing this package registers them all."""

from . import (
    control,
    conv,
    conv_transpose,
    elementwise,
    linear,
    logic,
    norm,
    pool,
    quant,
    reduce,
    repeat,
    resize,
    shape,
    tensor,
)

__all__ = [
    "control",
    "conv",
    "conv_transpose",
    "elementwise",
    "linear",
    "logic",
    "norm",
    "pool",
    "quant",
    "reduce",
    "repeat",
    "resize",
    "shape",
    "tensor",
]
