"""What features and spaces make of reads at numbers that are known at run time only."""

from __future__ import annotations

import numpy as np

from workbench import te
from workbench.codegen.backend import build_func
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.machine_model.nest_summary import plan
from workbench.runtime.kernel import Kernel
from workbench.space.space import make_space
from workbench.target import Target

TARGET = Target.host(threads=2)


def embedding():
    table, ids = te.placeholder((50, 64), name="T"), te.placeholder((12,), "int64", name="ids")
    k, w = te.reduce_axis(64, "k"), te.placeholder((64, 32), name="W", constant=True)
    y = te.compute((12, 32), lambda i, j: te.sum(table[ids[i], k] * w[k, j], axis=k), name="C")
    return te.func(te.compute((12, 32), lambda i, j: te.maximum(y[i, j], 0.0), name="Y"))


def test_a_row_by_number_counts_as_another_row_in_each_iteration():
    block = next(b for b in plan(embedding()).blocks if b.name == "C")
    names = [lp.name for lp in block.loops]
    found = {a.buffer: {names[k] for k in a.loops} for a in block.accesses if not a.is_write}
    i, _, k = names
    assert found["T"] == {i, k}
    assert found["ids"] == {i}
    assert block.rank[2] == 3  # table, numbers and weights


def test_every_kind_of_schedule_of_a_space_computes_the_same():
    func, rng = embedding(), np.random.default_rng(0)
    feeds = {"T": rng.standard_normal((50, 64)).astype("f4"), "W": rng.standard_normal((64, 32)).astype("f4"),
             "ids": rng.integers(-5, 55, 12)}  # fmt: skip
    want = evaluate(func, feeds)["Y"]
    for variant in make_space(func, TARGET).variants:
        for row in variant.sampler.draw(2, rng):
            s = variant.schedule.fill(variant.sampler.row(row))
            got = Kernel(s.func, build_func(s.func, TARGET, poison=True), TARGET, poison=True)(**feeds)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
