"""Operator families; importing this package registers them all."""

from . import control, conv, elementwise, linear, logic, norm, pool, reduce, repeat, shape, tensor

__all__ = ["control", "conv", "elementwise", "linear", "logic", "norm", "pool", "reduce", "repeat", "shape", "tensor"]
