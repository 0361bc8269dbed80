"""Rests of vectors in temporaries: stored whole behind the end of a row, and read again without a mask."""

from __future__ import annotations

import numpy as np
import pytest
from codegen.guarded import AVX2, HOST, PLAIN, run_guarded

from workbench import te
from workbench.codegen.llvm.module import emit_module
from workbench.codegen.lowering import lowered
from workbench.codegen.row_padding import with_slack
from workbench.ir import Func
from workbench.ir.interpreter import interp
from workbench.schedule import Schedule
from workbench.target import Target

WIDE = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=icelake-server -threads=1")
TARGETS = pytest.mark.parametrize("target", [HOST, AVX2, PLAIN], ids=["host", "avx2", "plain"])


def product(n: int, dtype: str = "float32") -> Func:
    """A matrix product and what follows it, which computes something."""
    a, b = te.placeholder((6, 5), dtype, name="A"), te.placeholder((5, n), dtype, name="B")
    k = te.reduce_axis(5, "k")
    c = te.compute((6, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.func(te.compute((6, n), lambda i, j: te.maximum(c[i, j] * c[i, j] + b[0, j], 0), name="D"))


def tile(func: Func, rows: int, target: Target, unrolled: bool = True) -> Schedule:
    s = Schedule(func, target)
    i0, i1 = s.split("i", [None, rows])
    s.reorder(i0, "k", i1, "j")
    s.unroll(i1)
    s.vectorize("j")
    s.reverse_compute_at("D", i0)
    *_, row, lane = s.func.block("D")[1]
    if unrolled and rows > 1:
        s.unroll(row.name)
    s.vectorize(lane.name)
    return s


@TARGETS
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
@pytest.mark.parametrize("unrolled", [True, False], ids=["unrolled", "loop"])
def test_any_rest_in_any_rows(target, dtype, unrolled):
    for n in (3, 12, 28, 45):
        for rows in (1, 2):
            s = tile(product(n, dtype), rows, target, unrolled)
            inputs = interp.random_inputs(s.func)
            want, got = interp.run(s.func, inputs)["D"], run_guarded(s.func, target, inputs)["D"]
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("n", [7, 27, 31])
def test_a_rest_is_not_masked_on_its_way(n):
    text, _, _ = emit_module(tile(product(n), 2, WIDE).func, WIDE, "kernel")
    masked = [line for line in text.splitlines() if "call void @llvm.masked.store" in line]
    assert len(masked) == 2, "a row of the result each, and nothing else"


def test_rows_become_whole_vectors_where_a_vector_runs_along_them():
    func = lowered(tile(product(28), 2, WIDE).func)
    assert func.buffer("C").strides() == (28, 1)
    assert with_slack(func, 64).buffer("C").strides() == (32, 1)
    assert with_slack(func, 16).buffer("C").strides() == (28, 1)
    scalar = Schedule(product(28), WIDE)
    scalar.reverse_compute_at("D", "i")
    assert with_slack(lowered(scalar.func), 64).buffer("C").strides() == (28, 1)


def test_many_vectors_and_a_narrow_one_are_not_unrolled():
    """Two iterations of four rows of 4 vectors and a half would leave no accumulator in a register."""

    def rounds(n: int) -> int:
        text, _, _ = emit_module(tile(wide(n), 4, WIDE).func, WIDE, "kernel")
        inner = text[text.index("\nk") :]
        return inner[: inner.index("br i1")].count("fmul") // (4 * (-(-n // 16)))

    assert rounds(68) == 1
    assert rounds(64) == 4
    assert rounds(34) > 1


def wide(n: int) -> Func:
    a, b = te.placeholder((8, 64), name="A"), te.placeholder((64, n), name="B")
    k = te.reduce_axis(64, "k")
    c = te.compute((8, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.func(te.compute((8, n), lambda i, j: te.maximum(c[i, j], 0.0), name="D"))


@pytest.mark.parametrize("rest", [3, 14])
def test_copies_store_their_rests_in_pieces(rest):
    def text(value):
        x = te.placeholder((rest, 8, 8), name="X")
        s = Schedule(te.func(te.compute((8, 8, rest), lambda h, w, c: value(x[c, h, w]), name="T")), WIDE)
        s.vectorize("c")
        return emit_module(s.func, WIDE, "kernel")[0]

    assert "masked.store" not in text(lambda v: v)
    assert "masked.store" in text(te.exp), "what is computed is computed once"
