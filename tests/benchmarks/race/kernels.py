"""The kernels of the race, as `metaschedule` declares them for the other side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench import workloads
from workbench.ir import Func

KERNELS: dict[str, Callable[[], Func]] = {
    "matmul_512": lambda: workloads.matmul(512, 512, 512),
    "conv_64_56": lambda: workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True),
    "conv_512_7": lambda: workloads.conv2d_nhwc(7, 7, 512, 512),
    "depthwise_256_28": lambda: workloads.depthwise_conv2d_nhwc(28, 28, 256),
}


def kernel(name: str, weights: str = "constant") -> Func:
    """Return a kernel; its weights are constants, which may be packed ahead of time, or inputs like any other."""
    func = KERNELS[name]()
    if weights == "constant":
        return func
    return replace(func, buffers=tuple(replace(b, role="input") if b.role == "const" else b for b in func.buffers))
