"""Operator families; importing this package registers them all."""

from . import control, conv, elementwise, linear, norm, pool, reduce, shape, tensor

__all__ = ["control", "conv", "elementwise", "linear", "norm", "pool", "reduce", "shape", "tensor"]
