from __future__ import annotations

import numpy as np
import pytest
from references import REFERENCES, conv_transposed

from workbench import workloads
from workbench.errors import ExpressionError, WorkbenchError
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.verify import verify


def test_every_workload_has_a_reference():
    assert set(REFERENCES) == set(workloads.ALL)


@pytest.mark.parametrize("name", workloads.ALL)
def test_workload_computes_what_it_says(name):
    func = workloads.ALL[name]()
    verify(func)
    inputs = interp.random_inputs(func, seed=3)
    result = interp.trace_run(func, inputs)
    (out,) = result.outputs.values()
    np.testing.assert_allclose(out, REFERENCES[name](inputs), rtol=1e-5, atol=1e-5)
    for counts in result.writes.values():
        assert (counts == 1).all()


def test_the_stage_that_works_keeps_the_short_loop_names():
    func = workloads.conv2d_nhwc(6, 6, 4, 8, bias=True, relu=True)
    _, path = func.block("conv")
    assert [lp.name for lp in path] == ["n", "h", "w", "o", "kh", "kw", "c"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: workloads.conv2d_nhwc(4, 4, 3, 8, groups=2),
        lambda: workloads.conv2d_nhwc(2, 2, 3, 8, kernel=5, padding=0),
        lambda: workloads.pool2d(4, 4, 4, "median"),
        lambda: workloads.reduce(4, 4, "median"),
    ],
)
def test_impossible_workloads_are_refused(call):
    with pytest.raises(ExpressionError):
        call()


@pytest.mark.parametrize(
    "make",
    [
        lambda: workloads.conv2d_nhwc(8, 8, 2, 2, dilation=-1),
        lambda: workloads.conv2d_nhwc(8, 8, 2, 2, stride=0),
        lambda: workloads.conv2d_nhwc(8, 8, 2, 2, groups=0),
        lambda: workloads.conv2d_nhwc(8, 8, 2, 2, kernel="3"),
        lambda: workloads.conv2d_transpose_nhwc(4, 4, 2, 2, padding=-1),
        lambda: workloads.pool2d(8, 8, 2, kernel=-1),
        lambda: workloads.reduce(8, 8, axis=2),
        lambda: workloads.concat(8, 8, 0),
        lambda: workloads.matmul(2.5, 8, 8),
    ],
)
def test_sizes_that_make_no_sense_are_refused(make):
    with pytest.raises(WorkbenchError) as caught:
        make()
    assert caught.value.code in ("te.shape", "te.value")


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
def test_transposed_convolutions_of_any_stride(kernel, stride):
    done = 0
    for padding in range(3):
        if min(3 * stride, 2 * stride) - 2 * padding + kernel < 1:
            continue
        func = workloads.conv2d_transpose_nhwc(3, 4, 2, 3, kernel, stride, padding)
        inputs = interp.random_inputs(func)
        want = conv_transposed(inputs, stride, padding)
        (got,) = evaluate(func, inputs).values()
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, atol=1e-5)
        done += 1
    assert done
    whole = workloads.conv2d_transpose_nhwc(3, 4, 2, 3, 2 * stride, stride, stride // 2)
    assert len(whole.body) == (2 if stride < 3 else 3), "nothing is cut off where the stride divides the result"
