"""Results against what is expected of them, and the inputs that they are computed from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench import te, workloads
from workbench.ir.rounding_bounds.operations import Near
from workbench.runtime.measuring import expected_results, operands
from workbench.runtime.measuring.expected_results import Expected
from workbench.runtime.measuring.random_inputs import DRAWINGS, draw


def around(values, margin=0.0, dtype="float32"):
    wide = np.array(values, "float64" if np.dtype(dtype).kind != "i" else dtype)
    return Expected.of(Near(wide, np.broadcast_to(np.asarray(margin, float), wide.shape)), dtype)


def test_an_error_is_told_by_its_bound():
    one = around([1.0, 1e6, 1e-6], [1e-6, 1.0, 1e-12])
    assert one.worst(one.array.copy()) == 0
    assert one.worst(np.float32([1.0, 1e6 + 0.5, 1e-6])) == pytest.approx(0.5, rel=1e-3)
    assert one.worst(np.float32([1.0, 1e6, 0.0])) > 1e5, "small numbers count as much as large ones"
    assert one.worst(np.float32([1.0, 1e6, math.nan])) == math.inf


def test_values_that_are_no_numbers_are_compared_by_class():
    one = around([math.inf, math.nan, 2.0])
    assert one.worst(np.float32([math.inf, math.nan, 2.0])) == 0
    for wrong in ([-math.inf, math.nan, 2], [math.inf, 1, 2], [1e30, math.nan, 2], [math.inf, math.nan, math.inf]):
        assert one.worst(np.float32(wrong)) == math.inf
    assert around([2.0], math.inf).worst(np.float32([math.nan])) == 0, "anything may come out"
    assert around([2.0, 1.0], [math.inf, 0.0]).share == 0.5


def test_whole_numbers_are_equal_except_where_they_are_in_doubt():
    exact, doubtful = around([1, 2, 3], 0, "int8"), around([1, 2, 3], [0, 1, 0], "int8")
    assert exact.bound is None
    assert exact.worst(np.int8([1, 2, 3])) == 0
    assert exact.worst(np.int8([1, 3, 3])) == math.inf
    assert doubtful.worst(np.int8([1, 3, 3])) == 1
    assert doubtful.worst(np.int8([2, 2, 3])) > 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_one_place_of_many_in_every_type(dtype):
    size = 3 * expected_results._CHUNK + 17
    one = around(np.random.default_rng(1).standard_normal(size), 1e-3, dtype)
    for place in (0, expected_results._CHUNK - 1, expected_results._CHUNK, size - 1):
        result = one.array.copy()
        result[place] += np.asarray(0.5).astype(dtype)
        assert one.worst(result) > 20
        assert one.mismatch("Y", result).startswith(
            f"Y: 1 of {size} elements differ from the reference; worst at [{place}]:"
        )


def test_the_message_names_the_worst_element_and_its_bound():
    one = around([[1.0, 2.0], [3.0, 4.0]], 0.25)
    text = one.mismatch("C", np.float32([[1.5, 2.0], [3.0, 6.0]]))
    assert text == (
        "C: 2 of 4 elements differ from the reference; worst at [1, 1]: "
        "6.0 instead of 4.0, where rounding explains 0.25"
    )
    assert "; 1 are NaN, as before the run" in one.mismatch("C", np.float32([[1, 2], [3, math.nan]]))
    assert "where it is exact" in around([1, 2], 0, "int32").mismatch("C", np.int32([1, 3]))
    assert one.mismatch("C", one.array.copy()) == "C is right"


def test_empty_and_scalar_results():
    assert around(np.zeros((0, 3))).worst(np.zeros((0, 3), np.float32)) == 0
    one = around(1.0, 0.5)
    assert one.worst(np.array(2.0, np.float32)) == pytest.approx(2, rel=1e-3)
    assert "worst at []: 2.0 instead of 1.0" in one.mismatch("Y", np.array(2.0, np.float32))
    x = te.placeholder((), name="X")
    task = operands.prepare(te.func(te.compute((), lambda: te.exp(x[()]), name="Y")), 0)
    assert task.expected["Y"].array.shape == task.expected["Y"].bound.shape == ()


def test_winograd_has_more_room_and_only_then():
    from workbench.schedule import Schedule

    base = workloads.conv2d_nhwc(12, 12, 32, 16)
    task = operands.prepare(base, 0)
    s = Schedule(base)
    s.winograd("conv", 4)
    direct, wide = task.expected_of(base.params)["conv"], task.expected_of(s.func.params)["conv"]
    assert direct is task.expected["conv"]
    assert wide is task.expected_of(s.func.params)["conv"], "worked out once"
    ratio = np.median(wide.bound / direct.bound)
    assert 3 < ratio < 100
    np.testing.assert_array_equal(wide.array, direct.array)
    assert task.nbytes > sum(a.nbytes for a in direct.arrays) + wide.bound.nbytes


# ---- inputs ----


def drawn(shape, dtype, constant=False, seed=0):
    x = te.placeholder(shape, dtype, "X", constant)
    func = te.func(te.compute(shape, lambda *i: x[i], name="Y"))
    return draw(func, seed)["X"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_have_their_whole_range(dtype):
    x, info = drawn((4096,), dtype), np.iinfo(dtype)
    assert x.min() == info.min
    assert x.max() == info.max
    assert len(np.unique(x)) > 200
    if info.bits > 16:
        assert (np.abs(x.astype(float)) < 1000).mean() > 0.1, "sums beside them are short"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_floats_have_extremes_and_nothing_slow(dtype):
    x = drawn((64, 128), dtype).astype(np.float64)
    assert np.isfinite(x).all()
    assert np.abs(x).max() > 50
    assert {0.0, 0.5, -1.5} <= set(x.ravel().tolist())
    assert np.median(np.abs(x[x != 0])) > 0.1
    if dtype != "float16":  # which is converted with all its numbers at one speed
        assert np.abs(x[x != 0]).min() > 2.0**-100


def test_rows_of_positive_and_of_faint_numbers():
    x = drawn((64, 128), "float32")
    assert sum((row >= -1.5).all() and (row > 0).mean() > 0.9 for row in x) >= 4
    assert sum(np.median(np.abs(row)) < 1e-5 for row in x) == 8
    w = drawn((64, 128), "float32", constant=True)
    assert sum(np.median(np.abs(column)) < 1e-5 for column in w.T) == 16


def test_indices_lie_in_what_they_index_but_for_a_few():
    x, ids = te.placeholder((30000, 4), name="X"), te.placeholder((512,), "int64", "ids")
    row = te.compute((512,), lambda i: te.select(ids[i] < 0, ids[i] + 30000, ids[i]), name="row")
    func = te.func(te.compute((512, 4), lambda i, j: x[row[i], j], name="Y"))
    got = draw(func, 0)["ids"]
    inside = (got >= 0) & (got < 30000)
    assert 0.9 < inside.mean() < 1
    assert got.min() < 0
    assert got.max() >= 30000
    assert len(np.unique(got)) > 400


def test_truth_values_are_both():
    assert set(drawn((64,), "bool").tolist()) == {False, True}


def test_inputs_are_those_of_the_seed():
    a, b, c = drawn((64, 64), "float32"), drawn((64, 64), "float32"), drawn((64, 64), "float32", seed=1)
    assert (a == b).all()
    assert (a != c).any()


def test_inputs_are_tamer_where_results_tell_nothing():
    x = te.placeholder((256, 64), name="X")
    k = te.reduce_axis(64, "k")
    steep = te.func(te.compute((256,), lambda i: te.sum(te.exp(x[i, k]), axis=k), name="Y"))
    root = te.func(te.compute((256, 64), lambda i, j: te.log(x[i, j]), name="Y"))
    for func in (steep, root):
        task = operands.prepare(func, 0)
        assert task.expected["Y"].share > 0.98
        assert task.expected["Y"].worst(task.expected["Y"].array.copy()) == 0
    assert (operands.prepare(root, 0).inputs["X"] > 0).all()


def test_factors_are_so_small_that_bytes_are_not_all_cut():
    """And large enough that some are."""
    m, n, k = 32, 64, 96
    a, b = te.placeholder((m, k), "uint8", "A"), te.placeholder((k, n), "int8", "B", constant=True)
    factor, r = te.placeholder((n,), name="factor", constant=True), te.reduce_axis(k, "k")
    c = te.compute((m, n), lambda i, j: te.sum(te.cast(a[i, r], "int32") * te.cast(b[r, j], "int32"), axis=r), name="c")
    y = te.compute((m, n), lambda i, j: te.cast(te.round(te.cast(c[i, j], "float32") * factor[j]), "int8"), name="Y")
    task = operands.prepare(te.func(y), 0)
    cut = np.isin(task.expected["Y"].array, (-128, 127)).mean()
    assert 0.02 < cut < 0.7
    assert len({tuple(d) for d in DRAWINGS}) == len(DRAWINGS)
