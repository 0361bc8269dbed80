"""What workloads are made of: padding, the stages behind a product, and a check of their sizes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import ParamSpec

from workbench import te
from workbench.arguments import whole
from workbench.errors import ExpressionError
from workbench.ir import Func
from workbench.te import Tensor

P = ParamSpec("P")


def checked(make: Callable[P, Func]) -> Callable[P, Func]:
    """Refuse sizes that are no positive whole numbers (padding may be 0) before anything is computed with them."""
    signature = inspect.signature(make)
    sizes = {n: n != "padding" for n, p in signature.parameters.items() if p.annotation == "int" and n != "axis"}

    @functools.wraps(make)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Func:
        given = signature.bind(*args, **kwargs).arguments
        for name in sizes.keys() & given.keys():
            whole(name, given[name], int(sizes[name]), "te.shape")
        return make(*args, **kwargs)

    return checked


def out_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Height or width of what a kernel makes of an image."""
    span = dilation * (kernel - 1) + 1
    if size + 2 * padding < span:
        raise ExpressionError(
            "te.shape", f"A kernel that spans {span} does not fit an image of {size} padded by {padding}."
        )
    return (size + 2 * padding - span) // stride + 1


def pad(x: Tensor, padding: int, value: float = 0.0, behind: Sequence[int] | None = None) -> Tensor:
    """Frame of `value` around an NHWC image, by default as wide behind the rows and columns as before them; the image
    itself without padding.
    """
    below, right = behind or (padding, padding)
    if padding == below == right == 0:
        return x
    batch, height, width, channels = x.shape

    def at(n: te.Axis, h: te.Axis, w: te.Axis, c: te.Axis) -> te.Value:
        inside = (h >= padding) & (h < height + padding) & (w >= padding) & (w < width + padding)
        return te.select(inside, x[n, h - padding, w - padding, c], value)

    return te.compute((batch, height + padding + below, width + padding + right, channels), at, name="pad")


def relu_of(x: Tensor, name: str = "relu") -> Tensor:
    """Return ``max(x, 0)`` of a matrix or an NHWC image."""
    if x.ndim == 2:
        return te.compute(x.shape, lambda i, j: te.maximum(x[i, j], 0.0), name=name)
    return te.compute(x.shape, lambda n, h, w, o: te.maximum(x[n, h, w, o], 0.0), name=name)


def epilogue(y: Tensor, bias: int | None, relu: bool, residual: bool = False) -> Tensor:
    """Append bias (of that many channels, innermost), residual and relu to a matrix or an NHWC image."""
    x = y
    if bias is not None:
        b, before = te.placeholder((bias,), y.dtype, "bias", constant=True), x
        if x.ndim == 2:
            x = te.compute(x.shape, lambda i, j: before[i, j] + b[j], name="bias_add")
        else:
            x = te.compute(x.shape, lambda n, h, w, o: before[n, h, w, o] + b[o], name="bias_add")
    if residual:
        r, sum_of = te.placeholder(x.shape, y.dtype, "R"), x
        x = te.compute(x.shape, lambda n, h, w, o: sum_of[n, h, w, o] + r[n, h, w, o], name="add")
    return relu_of(x) if relu else x


def narrow(x: Tensor, shift: int | None) -> Tensor:
    """Make int8 of int32 sums: ``min(max(x, 0) / 2**shift, 127)``, stage ``narrow``; the sums themselves for None."""
    if shift is None:
        return x

    def at(*axes: te.Axis) -> te.Value:
        kept = te.maximum(x[axes], 0)
        return te.cast(te.minimum(kept / 2**shift if shift else kept, 127), "int8")

    return te.compute(x.shape, at, name="narrow")
