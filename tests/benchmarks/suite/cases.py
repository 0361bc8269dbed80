"""What the suite measures: each case is a computation of ours, and the numbers that a library needs to do the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from workbench import workloads
from workbench.ir import Func
from workbench.ir.flops import count_flops
from workbench.runtime.buffers import aligned_empty


@dataclass(frozen=True)
class Case:
    """One computation.

    Attributes
    ----------
    name : str
    kind : str
        Which function of a library does it: matmul, dense, conv, depthwise, softmax, layer_norm or max_pool.
    make : callable
        Gives our function. Weights are constants; the operands of a plain matmul are not.
    sizes : mapping
        Stride and padding, where there are any.
    """

    name: str
    kind: str
    make: Callable[[], Func]
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def flops(self) -> int:
        """Operations of the direct computation, whatever algorithm does it."""
        return count_flops(self.make())

    @property
    def bytes(self) -> int:
        """Inputs read once and outputs written once."""
        return sum(int(np.prod(b.logical_shape())) * np.dtype(b.dtype).itemsize for b in self.make().params)

    def inputs(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Operands by name, in the same memory for everybody: aligned, large ones on huge pages."""
        rng = np.random.default_rng(seed)
        arrays = {}
        for b in self.make().inputs:
            arrays[b.name] = aligned_empty(b.logical_shape(), b.dtype)
            arrays[b.name][...] = rng.standard_normal(b.logical_shape())
        return arrays


def _matmul(n: int) -> Case:
    return Case(f"matmul {n}", "matmul", lambda: workloads.matmul(n, n, n))


def _conv(name: str, size: int, ci: int, co: int, kernel: int, stride: int = 1) -> Case:
    padding = kernel // 2
    return Case(
        name,
        "conv",
        lambda: workloads.conv2d_nhwc(size, size, ci, co, kernel, stride, padding),
        {"stride": stride, "padding": padding},
    )


CASES: dict[str, Case] = {
    c.name: c
    for c in (
        _matmul(256),
        _matmul(512),
        _matmul(1024),
        _matmul(2048),
        _matmul(509),
        Case("dense 128x768·768x3072", "dense", lambda: workloads.matmul(128, 3072, 768, constant_b=True)),
        _conv("conv 3x3 64→64 @56", 56, 64, 64, 3),
        _conv("conv 1x1 256→64 @56", 56, 256, 64, 1),
        _conv("conv 3x3 512→512 @7", 7, 512, 512, 3),
        _conv("conv 7x7/2 3→64 @224", 224, 3, 64, 7, 2),
        Case(
            "depthwise 3x3 256 @28",
            "depthwise",
            lambda: workloads.depthwise_conv2d_nhwc(28, 28, 256),
            {"stride": 1, "padding": 1},
        ),
        _conv("conv 3x3 37→53 @29", 29, 37, 53, 3),
        Case("softmax 1000x1000", "softmax", lambda: workloads.softmax(1000, 1000)),
        Case("layer norm 512x768", "layer_norm", lambda: workloads.layer_norm(512, 768)),
        Case(
            "max-pool 3x3/2 64 @112",
            "max_pool",
            lambda: workloads.pool2d(112, 112, 64, "max", 3, 2, 1),
            {"kernel": 3, "stride": 2, "padding": 1},
        ),
    )
}


def chosen(words: list[str] | None) -> list[Case]:
    """Cases whose name holds one of the words; all without words."""
    return [c for c in CASES.values() if not words or any(w in c.name for w in words)]
