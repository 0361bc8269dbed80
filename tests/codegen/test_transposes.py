"""Tiles that are read across their rows: transposed by shuffles where whole rows exist, else gathered."""

from __future__ import annotations

import numpy as np
import pytest
from codegen.guarded import AVX2, HOST, PLAIN, run_guarded

from workbench import te
from workbench.ir import Func
from workbench.ir.interpreter import interp
from workbench.schedule import Schedule
from workbench.target import Target

TARGETS = pytest.mark.parametrize("target", [HOST, AVX2, PLAIN], ids=["host", "avx2", "plain"])


def transpose(m: int, n: int, dtype: str = "float32", padded: bool = False) -> Func:
    x = te.placeholder((m, n), dtype, name="X")

    def at(i, j):
        inside = (i >= 1) & (i < n + 1)
        return te.select(inside, x[j, i - 1], 0) if padded else x[j, i]

    return te.func(te.compute((n + 2 * padded, m), lambda i, j: at(i, j), name="Y"))


def tiled(f: Func, target: Target, rows: int, columns: int) -> Schedule:
    s = Schedule(f, target)
    i0, i1 = s.split("i", [None, rows], tail="guard")
    j0, j1 = s.split("j", [None, columns], tail="guard")
    s.reorder(i0, j0, i1, j1)
    s.unroll(i1)
    s.vectorize(j1)
    return s


def check(s: Schedule, target: Target) -> None:
    inputs = interp.random_inputs(s.func)
    got = run_guarded(s.func, target, inputs)
    np.testing.assert_array_equal(got["Y"], interp.run(s.func, inputs)["Y"])


@TARGETS
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool"])
@pytest.mark.parametrize(("rows", "columns"), [(16, 16), (8, 32), (24, 8), (4, 4), (5, 16)])
def test_tiles(rows, columns, dtype, target):
    check(tiled(transpose(2 * columns, 2 * rows, dtype), target, rows, columns), target)


@TARGETS
@pytest.mark.parametrize("padded", [False, True])
def test_tiles_that_are_cut_or_padded(padded, target):
    for m, n in ((32, 35), (35, 32), (33, 31)):
        check(tiled(transpose(m, n, padded=padded), target, 16, 16), target)


@TARGETS
@pytest.mark.parametrize("columns", [9, 3, 13])
def test_fewer_rows_than_lanes(columns, target):
    """A vector whose last lanes do not run, over tiles that are wide enough for all of them."""
    check(tiled(transpose(columns, 16), target, 16, columns), target)


@TARGETS
def test_rows_in_a_product(target):
    """Both operands of a product are read along the reduction; one of them across the lanes."""
    a, b, k = te.placeholder((5, 32), name="A"), te.placeholder((16, 32), name="B"), te.reduce_axis(32, "k")
    f = te.func(te.compute((5, 16), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="Y"))
    s = Schedule(f, target)
    _, k1 = s.split("k", [None, 16])
    s.reorder("i", "k.0", k1, "j")
    s.unroll(k1)
    s.vectorize("j")
    inputs = interp.random_inputs(f)
    got = run_guarded(s.func, target, inputs)
    np.testing.assert_allclose(got["Y"], interp.run(f, inputs)["Y"], rtol=1e-5, atol=1e-5)


def test_a_whole_tile_is_loaded_row_by_row():
    lanes = HOST.lanes("float32")
    text = tiled(transpose(64, 64), HOST, lanes, lanes).build().llvm
    assert text.count("shufflevector") == lanes * (lanes.bit_length() - 1)
    assert text.count("load <") == lanes
    assert "insertelement" not in text
