"""Operator families; importing this package registers them all."""

from . import conv, elementwise, linear, norm, pool, reduce, shape, tensor

__all__ = ["conv", "elementwise", "linear", "norm", "pool", "reduce", "shape", "tensor"]
