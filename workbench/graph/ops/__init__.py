"""Operator families; importing this package registers them all."""

from . import control, conv, elementwise, linear, logic, norm, pool, reduce, repeat, resize, shape, tensor

__all__ = [
    "control",
    "conv",
    "elementwise",
    "linear",
    "logic",
    "norm",
    "pool",
    "reduce",
    "repeat",
    "resize",
    "shape",
    "tensor",
]
