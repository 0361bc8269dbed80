"""Two schedules written by hand through the public primitives, as a performance engineer would write them.

The default run checks that they compute the right thing; ``pytest -m bench tests/examples`` measures them on one core
and asserts what they are for: at least 120 GFLOP/s for the matmul and 110 for the convolution.
"""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb


def matmul_512(target: wb.Target) -> wb.Schedule:
    """8 rows by 2 vectors stay in registers; 8 rows of A stay in the first cache while all of B passes by."""
    s = wb.Schedule(wb.workloads.matmul(512, 512, 512), target)
    i0, i1 = s.split("i", [None, 8])
    j0, j1 = s.split("j", [None, 2 * target.vector_bytes // 4])
    s.reorder(i0, j0, "k", i1, j1)
    s.unroll(i1)
    s.vectorize(j1)
    return s


def conv3x3_64_56(target: wb.Target) -> wb.Schedule:
    """14 pixels by 2 vectors of channels stay in registers; weights packed by block; padding decided outside."""
    s = wb.Schedule(wb.workloads.conv2d_nhwc(56, 56, 64, 64, kernel=3, stride=1, padding=1), target)
    block = 2 * target.vector_bytes // 4
    w0, w1 = s.split("w", [None, 14])
    o0, o1 = s.split("o", [None, block])
    s.transform_layout("W", 3, block)
    s.compute_inline("pad")
    s.reorder(o0, "h", w0, "kh", "kw", "c", w1, o1)
    s.unroll(w1)
    s.vectorize(o1)
    return s


SCHEDULES = [(matmul_512, 120.0), (conv3x3_64_56, 110.0)]


@pytest.mark.parametrize("make", [m for m, _ in SCHEDULES])
def test_computes_the_right_thing(make):
    s = make(wb.Target.host(threads=1))
    rng = np.random.default_rng(0)
    inputs = {b.name: rng.standard_normal(b.logical_shape()).astype(b.dtype) for b in s.func.inputs}
    from workbench.ir.numpy_reference.evaluate import evaluate

    (expected,) = evaluate(make(wb.Target.host(threads=1)).undo(99).func, inputs).values()
    got = s.build(poison=True)(**inputs)
    assert np.max(np.abs(got - expected)) <= 1e-5 * np.max(np.abs(expected))


@pytest.mark.bench
@pytest.mark.parametrize(("make", "gflops"), SCHEDULES)
def test_reaches_the_speed_it_was_written_for(make, gflops):
    s = make(wb.Target.host(threads=1))
    runs = [s.measure(repeat=30) for _ in range(5)]
    assert all(m.status == "ok" for m in runs)
    best = sorted(m.gflops for m in runs)
    print(f"{make.__name__}: {best[len(best) // 2]:.0f} GFLOP/s (min {best[0]:.0f}, max {best[-1]:.0f} of 5 runs)")
    assert best[len(best) // 2] >= gflops
