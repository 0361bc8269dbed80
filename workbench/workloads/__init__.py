"""Ready-made computations with good axis names: what a beginner schedules and what the tests run.

Each function returns a `Func` that is not scheduled yet. Sizes are in elements, images are NHWC, kernels HWIO. The
stage that does the work keeps the short loop names (``i j k``; ``n h w o kh kw c``).

>>> from workbench import workloads
>>> print(workloads.matmul(64, 64, 64))  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from workbench.ir import Func
from workbench.workloads.elementwise_and_reductions import (
    concat,
    elementwise,
    gelu,
    layer_norm,
    reduce,
    softmax,
    transpose,
)
from workbench.workloads.images import (
    conv2d_int8_nhwc,
    conv2d_nhwc,
    conv2d_transpose_nhwc,
    depthwise_conv2d_nhwc,
    global_avg_pool,
    pool2d,
)
from workbench.workloads.products import batch_matmul, dense, matmul, matmul_int8, matvec
from workbench.workloads.sparse import sparse_dense, spmm

__all__ = [
    "ALL", "batch_matmul", "concat", "conv2d_nhwc", "conv2d_transpose_nhwc", "dense", "depthwise_conv2d_nhwc",
    "elementwise", "gelu", "global_avg_pool", "layer_norm", "matmul", "matmul_int8", "matvec", "pool2d", "reduce",
    "softmax", "sparse_dense", "spmm", "transpose",
]  # fmt: skip

#: Small instances of every workload, by name: for tests and first steps.
ALL: Mapping[str, Callable[[], Func]] = MappingProxyType(
    {
        "matmul": lambda: matmul(16, 12, 8),
        "matmul_bfloat16": lambda: matmul(8, 12, 10, dtype="bfloat16"),
        "matmul_int8": lambda: matmul_int8(8, 12, 10),
        "matmul_bias_relu": lambda: matmul(12, 16, 8, bias=True, relu=True, constant_b=True),
        "dense": lambda: dense(1, 24, 16, relu=True),
        "batch_matmul": lambda: batch_matmul(3, 8, 6, 4),
        "matvec": lambda: matvec(24, 10),
        "matvec_rows": lambda: matvec(10, 24, transposed=True),
        "sparse_dense": lambda: sparse_dense(6, 24, 12, 3, width=8, rows=2, bias=True, relu=True),
        "spmm": lambda: spmm(9, 16, 10, 4),
        "conv": lambda: conv2d_nhwc(6, 6, 4, 8),
        "conv_bias_relu": lambda: conv2d_nhwc(6, 6, 4, 8, bias=True, relu=True),
        "conv_stride_bias_relu": lambda: conv2d_nhwc(8, 8, 4, 8, stride=2, bias=True, relu=True),
        "conv_residual": lambda: conv2d_nhwc(4, 4, 4, 8, kernel=1, padding=0, bias=True, relu=True, residual=True),
        "conv_dilated": lambda: conv2d_nhwc(8, 8, 2, 4, dilation=2, padding=2),
        "conv_grouped": lambda: conv2d_nhwc(6, 6, 4, 8, groups=2),
        "conv_int8": lambda: conv2d_int8_nhwc(6, 6, 4, 8, shift=5),
        "conv_transposed": lambda: conv2d_transpose_nhwc(4, 4, 3, 8),
        "conv_transposed_odd": lambda: conv2d_transpose_nhwc(3, 4, 2, 5, kernel=3),
        "depthwise": lambda: depthwise_conv2d_nhwc(6, 6, 8, bias=True, relu=True),
        "max_pool": lambda: pool2d(9, 9, 8, "max", kernel=3, stride=2),
        "max_pool_padded": lambda: pool2d(8, 8, 4, "max", kernel=3, stride=2, padding=1),
        "avg_pool": lambda: pool2d(8, 8, 4, "avg"),
        "global_avg_pool": lambda: global_avg_pool(4, 6, 8),
        "softmax": lambda: softmax(6, 16),
        "layer_norm": lambda: layer_norm(6, 16),
        "reduce_sum": lambda: reduce(12, 16),
        "reduce_max": lambda: reduce(12, 16, "max", axis=0),
        "transpose": lambda: transpose(12, 16),
        "elementwise": lambda: elementwise(12, 16),
        "gelu": lambda: gelu(12, 16),
        "concat": lambda: concat(6, 8),
    }
)
