"""Spaces of all kinds of computations on small odd shapes: every variant, several vector widths, compiled and
interpreted.
"""

from __future__ import annotations

import numpy as np
import pytest

from workbench import te, workloads
from workbench.codegen.backend import build_func
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.verify import verify
from workbench.runtime.kernel import Kernel
from workbench.space.space import make_space
from workbench.target import Target


def total(shape, result):
    """Sum of all elements, as a tensor of one element."""
    x = te.placeholder(shape, name="X")
    axes = [te.reduce_axis(n, f"r{k}") for k, n in enumerate(shape)]
    return te.func(te.compute(result, lambda *at: te.sum(x[tuple(axes)], axis=axes), name="Y"))


#: Kinds of the tutorial's suite and beyond, with primes and extents that no vector divides.
KINDS = {
    "matmul": lambda: workloads.matmul(37, 53, 29),
    "matmul_relu": lambda: workloads.matmul(41, 67, 8, bias=True, relu=True, constant_b=True),
    "matmul_long": lambda: workloads.matmul(40, 256, 64),
    "batch_matmul": lambda: workloads.batch_matmul(3, 19, 23, 17),
    "matvec": lambda: workloads.matvec(53, 37),
    "matvec_rows": lambda: workloads.matvec(19, 80, transposed=True),
    "conv1x1": lambda: workloads.conv2d_nhwc(7, 5, 19, 37, 1, padding=0, bias=True, relu=True),
    "conv3x3": lambda: workloads.conv2d_nhwc(11, 11, 3, 21),
    "conv7x7": lambda: workloads.conv2d_nhwc(17, 17, 3, 16, 7, stride=2, padding=3, relu=True),
    "conv_dilated": lambda: workloads.conv2d_nhwc(9, 9, 3, 20, dilation=2, padding=2),
    "conv_grouped": lambda: workloads.conv2d_nhwc(7, 7, 6, 34, groups=2),
    "conv_transposed": lambda: workloads.conv2d_transpose_nhwc(5, 4, 3, 17),
    "conv_transposed_odd": lambda: workloads.conv2d_transpose_nhwc(4, 4, 3, 8, kernel=3),
    "depthwise": lambda: workloads.depthwise_conv2d_nhwc(9, 9, 21, relu=True),
    "depthwise_stride": lambda: workloads.depthwise_conv2d_nhwc(9, 9, 32, stride=2),
    "max_pool": lambda: workloads.pool2d(11, 11, 19, "max", 3, 2, 1),
    "avg_pool": lambda: workloads.pool2d(8, 8, 33, "avg"),
    "global_avg_pool": lambda: workloads.global_avg_pool(5, 5, 37),
    "softmax": lambda: workloads.softmax(13, 72),
    "softmax_prime": lambda: workloads.softmax(7, 101),
    "layer_norm": lambda: workloads.layer_norm(10, 96),
    "reduce_rows": lambda: workloads.reduce(14, 120),
    "reduce_columns": lambda: workloads.reduce(13, 53, "max", axis=0),
    "transpose": lambda: workloads.transpose(37, 53),
    "elementwise": lambda: workloads.elementwise(13, 101),
    "elementwise_long": lambda: workloads.elementwise(2, 2003),
    "layer_norm_long": lambda: workloads.layer_norm(3, 2003),
    "gelu": lambda: workloads.gelu(5, 67),
    "softmax_one_row": lambda: workloads.softmax(1, 1000),
    "layer_norm_one_row": lambda: workloads.layer_norm(1, 96),
    "dot": lambda: workloads.matmul(1, 1, 1200),
    "dot_long": lambda: workloads.matmul(1, 1, 9000),
    "sum_of_one_row": lambda: workloads.reduce(1, 8232),
    "sum_of_everything": lambda: total((6, 20, 24, 64), (1,)),
    "sum_of_everything_scalar": lambda: total((40, 30, 17), ()),
    "few_columns": lambda: workloads.reduce(700, 5, "max", axis=0),
    "few_results": lambda: workloads.matmul(3, 7, 600, bias=True, relu=True),
    "pool_few_channels": lambda: workloads.global_avg_pool(19, 17, 6),
    "conv_to_one_channel": lambda: workloads.conv2d_nhwc(9, 7, 24, 1, bias=True, relu=True),
    "conv1x1_to_one_channel": lambda: workloads.conv2d_nhwc(5, 11, 48, 1, 1, padding=0),
    "conv_transposed_to_one_channel": lambda: workloads.conv2d_transpose_nhwc(5, 4, 16, 1),
    "conv_grouped_wide": lambda: workloads.conv2d_nhwc(6, 5, 32, 64, groups=4, bias=True, relu=True),
}
TARGETS = {
    "avx512": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=1",
    "avx2": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3 -l1=32K -l2=1M -l3=32M -threads=2",
}


@pytest.mark.parametrize("machine", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_variant_are_right(kind, machine):
    check(KINDS[kind](), Target(TARGETS[machine]), rows=2, seed=sum(map(ord, kind)))


@pytest.mark.slow
@pytest.mark.parametrize("machine", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_of_every_variant_are_right(kind, machine):
    check(KINDS[kind](), Target(TARGETS[machine]), rows=24, seed=1)


def check(func, target, rows, seed):
    """Compiled equals reference for some rows of every variant; for one of them, so does the interpreter."""
    if target.missing_here():
        pytest.skip("this machine has no such vectors")
    inputs = interp.random_inputs(func, seed)
    want = evaluate(func, inputs)
    rng = np.random.default_rng(seed)
    for k, variant in enumerate(make_space(func, target).variants):
        picks = variant.sampler.draw(rows, rng)
        assert len(picks), f"variant {k} has no row"
        for n, row in enumerate(picks):
            nest = variant.schedule.fill(variant.sampler.row(row)).func
            verify(nest)
            kernel = Kernel(nest, build_func(nest, target, "k"), target)
            out = kernel(**{b.name: inputs[b.name] for b in nest.inputs})
            out = out if isinstance(out, tuple) else (out,)
            agree(nest, {b.name: x for b, x in zip(nest.outputs, out, strict=True)}, want)
            if n == 0 and k == 0:
                run = interp.trace_run(nest, inputs)
                agree(nest, run.outputs, want)
                assert all((run.writes[b.name] == 1).all() for b in nest.outputs)


def agree(nest, got, want):
    for b in nest.outputs:
        np.testing.assert_allclose(got[b.name], want[b.name], rtol=2e-4, atol=2e-4 * np.abs(want[b.name]).max())
