"""Reductions over the last axis in vectors: several partial results in registers, one horizontal step at the end."""

from __future__ import annotations

import numpy as np
import pytest
from codegen.guarded import AVX2, HOST, PLAIN, run_guarded

from workbench import te, workloads
from workbench.ir.interpreter import interp
from workbench.schedule import Schedule

TARGETS = pytest.mark.parametrize("target", [HOST, AVX2, PLAIN], ids=["host", "avx2", "plain"])


def rows(m: int, n: int, op: str, dtype: str) -> object:
    x, k = te.placeholder((m, n), dtype, name="X"), te.reduce_axis(n, "k")
    return te.func(
        te.compute((m,), lambda i: {"sum": te.sum, "max": te.max, "min": te.min}[op](x[i, k], axis=k), name="Y")
    )


def in_vectors(s: Schedule, width: int) -> Schedule:
    """`width` partial results for each row, which follow their row at once."""
    if s.func.loop("k")[0].extent % width:
        s.pad("Y", "k", -(-s.func.loop("k")[0].extent // width) * width)
    _, lanes = s.split("k", [None, width])
    partial = s.rfactor(lanes, -1)
    s.compute_at(partial, s.func.block("Y")[1][0].name)
    s.vectorize(s.func.block(partial)[1][-1].name)
    s.unroll(s.func.block("Y")[1][-1].name)
    return s


@TARGETS
@pytest.mark.parametrize("width", [2, 6, 16, 24, 64])
@pytest.mark.parametrize(
    ("op", "dtype"), [("sum", "float32"), ("max", "float32"), ("min", "float64"), ("sum", "int32"), ("max", "uint8")]
)
def test_rows(op, dtype, width, target):
    for n in (width * 3, width * 2 + 1, 5):
        s = in_vectors(Schedule(rows(3, n, op, dtype), target), width)
        inputs = interp.random_inputs(s.func)
        want = interp.run(s.func, inputs)["Y"]
        got = run_guarded(s.func, target, inputs)["Y"]
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)


@TARGETS
@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_and_infinity_survive(op, dtype, target):
    s = in_vectors(Schedule(rows(6, 96, op, dtype), target), 32)
    x = np.zeros((6, 96), dtype)
    x[1, 70], x[2, 5], x[3, :], x[4, 0], x[5, 95] = np.nan, np.inf, -np.inf, np.nan, -np.nan
    got = run_guarded(s.func, target, {"X": x})["Y"]
    np.testing.assert_array_equal(got, getattr(x, op)(1))


def test_partial_results_never_leave_the_registers():
    s = in_vectors(Schedule(workloads.reduce(32, 1024), HOST), 4 * HOST.lanes("float32"))
    from workbench.codegen.llvm.llvmlite_binding import optimised_ir

    text = optimised_ir(s.build().llvm, HOST)
    assert text.count("store") == 1, "the result of a row"
    assert "alloca" not in text
