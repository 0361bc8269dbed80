"""Bounds on rounding: around the right value, wide enough for every kernel, and no wider than that takes."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import te, workloads
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.rounding_bounds.expressions import boxes
from workbench.ir.rounding_bounds.operations import Near
from workbench.runtime.measuring.expected_results import near_results

U = 2.0**-24


def near(make, *arrays):
    """Evaluate a function of vectors, element by element."""
    tensors = [te.placeholder(np.shape(a), str(a.dtype), f"X{k}") for k, a in enumerate(arrays)]
    func = te.func(te.compute(arrays[0].shape, lambda i: make(*(t[i] for t in tensors)), name="Y"))
    return near_results(func, {f"X{k}": a for k, a in enumerate(arrays)}).near["Y"]


def f32(*values):
    return np.array(values, np.float32)


def inexact(v):
    """The same number, known to a rounding: what kernels make of it may be the next one."""
    return v * 3.0 / 3.0


@pytest.mark.parametrize("name", workloads.ALL)
def test_values_are_those_of_the_reference_in_double_precision(name):
    func = workloads.ALL[name]()
    inputs = interp.random_inputs(func, 4)
    (found,) = near_results(func, inputs).near.values()
    (want,) = evaluate(func, inputs, precise=True).values()
    np.testing.assert_allclose(found.value, want, rtol=1e-7, atol=1e-9)  # constants are those of the kernel, in float32
    assert (found.error is None) == (
        name in {"matmul_int8", "conv_int8", "transpose", "concat"} or name.startswith(("max_", "reduce_max"))
    )


def test_what_is_exact_has_no_bound():
    x = f32(1.5, -2.25, 1e-3)
    assert near(lambda v: te.maximum(te.abs(v), 0.5), x).error is None
    assert not near(lambda v: v * -4.0, x).margin.any()
    assert not near(lambda v: v / 8.0, x).margin.any()
    assert near(lambda v: v * 3.0, x).margin == pytest.approx(np.abs(x * 3) * U)


def test_a_function_adds_its_declared_error_and_what_its_argument_brings():
    x = f32(10.0, -3.0)
    plain, scaled = near(te.exp, x), near(lambda v: te.exp(v * 3.0), x)
    assert plain.margin == pytest.approx(np.exp(x.astype(float)) * 1.25 * 2 * U)
    assert scaled.margin == pytest.approx(np.exp(3 * x.astype(float)) * (2.5 * U + np.abs(3 * x) * U), rel=1e-3)


def test_a_quotient_of_what_may_be_zero_is_unknown():
    found = near(lambda v: 1.0 / (inexact(v) - 1.0), f32(1.0, 2.0))
    assert np.isinf(found.margin[0])
    assert 0 < found.margin[1] < 1e-6


def test_rounding_to_whole_numbers_is_in_doubt_at_ties_only():
    x = f32(0.4, 0.5, 0.6, 1.5, -2.5)
    found = near(lambda v: te.round(inexact(v)), x)
    np.testing.assert_array_equal(found.value, [0, 0, 1, 2, -2])
    np.testing.assert_array_equal(found.margin, [0, 1, 0, 1, 1])
    assert near(te.round, x).error is None


def test_a_cast_saturates_and_is_in_doubt_at_whole_numbers():
    found = near(lambda v: te.cast(inexact(v), "int8"), f32(2.0, 2.5, 127.5, 300.0, -300.0))
    np.testing.assert_array_equal(found.value, [2, 2, 127, 127, -128])
    np.testing.assert_array_equal(found.margin, [1, 0, 0, 0, 0])


def test_a_choice_is_in_doubt_where_the_condition_is():
    found = near(lambda v: te.select(inexact(v) > 1.0, v * 0.0 + 5.0, 7.0), f32(0.5, 1.0, 2.0))
    np.testing.assert_array_equal(found.value, [7, 7, 5])
    assert found.margin[1] == pytest.approx(2.0)
    assert (found.margin[[0, 2]] < 1e-5).all()


def test_truth_values_are_in_doubt_only_as_far_as_they_matter():
    x = f32(0.5, 1.0, 2.0)
    both = near(lambda v: te.logical_and(inexact(v) > 1.0, v > 3.0), x)
    either = near(lambda v: te.logical_or(inexact(v) > 1.0, v > 3.0), x)
    assert not both.margin.any(), "the second one is false for sure"
    assert either.margin.tolist() == [False, True, False]


def test_what_leaves_the_range_is_infinite_or_anything():
    found = near(lambda v: te.exp(v * 3.0), f32(10.0, np.log(float(np.finfo(np.float32).max)) / 3, 40.0))
    assert found.margin[0] < found.value[0] < np.inf
    assert np.isinf(found.margin[1])
    assert (found.value[2], found.margin[2]) == (np.inf, 0)


def test_an_index_in_doubt_makes_the_element_unknown():
    x, t = te.placeholder((3,), name="X"), te.placeholder((4,), name="T")
    at = te.compute((3,), lambda i: te.cast(inexact(x[i]), "int32"), name="at")
    func = te.func(te.compute((3,), lambda i: t[at[i]], name="Y"))
    found = near_results(func, {"X": f32(0.5, 1.0, 2.5), "T": f32(1, 2, 3, 4)}).near["Y"]
    assert np.isinf(found.margin).tolist() == [False, True, False]


@pytest.mark.parametrize("k", [4, 100, 5000])
def test_a_sum_is_bounded_by_its_magnitudes(k, rng):
    func = workloads.matmul(3, 4, k)
    inputs = {"A": rng.standard_normal((3, k)).astype("f4"), "B": rng.standard_normal((k, 4)).astype("f4")}
    found = near_results(func, inputs).near["C"]
    sizes = np.abs(inputs["A"]).astype(float) @ np.abs(inputs["B"]).astype(float)
    assert (found.margin <= sizes * U * (min(k, 4 * k**0.5) + 2) * 1.02).all()
    serial = np.zeros((3, 4), np.float32)
    for q in range(k):
        serial += np.outer(inputs["A"][:, q], inputs["B"][q])
    error = np.abs(serial - found.value)
    assert error.any()
    assert (error <= found.margin).all()


def test_equal_terms_whose_errors_all_point_one_way_are_within_the_bound():
    x, k = te.placeholder((1 << 15,), name="X"), te.reduce_axis(1 << 15, "k")
    func = te.func(te.compute((1,), lambda i: te.sum(te.minimum(x[k], 0.1), axis=k), name="Y"))
    serial = np.add.accumulate(np.full(1 << 15, 0.1, np.float32), dtype=np.float32)[-1]
    found = near_results(func, {"X": np.ones(1 << 15, np.float32)}).near["Y"]
    error = abs(float(serial) - found.value[0])
    assert 8 * (1 << 15) ** 0.5 * U * found.value[0] < error < found.margin[0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_short_type_that_stops_growing_is_within_the_bound(dtype):
    """Terms smaller than half a unit of the sum all vanish: their errors point one way, whatever their digits."""
    x, k = te.placeholder((8192,), dtype, "X"), te.reduce_axis(8192, "k")
    func = te.func(te.compute((1,), lambda i: te.sum(x[k], axis=k), name="Y"))
    array = (np.abs(np.random.default_rng(0).standard_normal(8192)) + 0.5).astype(dtype)
    total = np.zeros((), array.dtype)
    for v in array:
        total = (total + v).astype(array.dtype)
    found = near_results(func, {"X": array}).near["Y"]
    error = abs(float(total) - found.value[0])
    assert error > 0.3 * found.value[0]
    assert error < found.margin[0]


def test_a_product_of_sums_with_errors_carries_both(rng):
    x, w = te.placeholder((8, 8), name="X"), te.placeholder((8, 8), name="W")
    k = te.reduce_axis(8, "k")
    a = te.compute((8, 8), lambda i, j: x[i, j] * 3.0, name="a")
    b = te.compute((8, 8), lambda i, j: w[i, j] * 3.0, name="b")
    func = te.func(te.compute((8, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="Y"))
    inputs = {n: rng.standard_normal((8, 8)).astype("f4") for n in "XW"}
    found = near_results(func, inputs).near["Y"]
    sizes = 9 * np.abs(inputs["X"]).astype(float) @ np.abs(inputs["W"]).astype(float)
    assert (found.margin > sizes * U * 10).all()
    assert (found.margin < sizes * U * 13).all()


@pytest.mark.parametrize("fold", [te.max, te.sum, te.prod])
def test_terms_may_be_exact_in_one_part_of_a_reduction_only(fold):
    x, k = te.placeholder((6,), name="X"), te.reduce_axis(6, "k")

    def term(i):
        doubtful = te.cast(te.round(inexact(x[k])), "int32")
        return te.select(k < 3, te.cast(k + 1, "int32"), doubtful)

    func = te.func(te.compute((1,), lambda i: fold(term(i), axis=k), name="Y"))
    found = near_results(func, {"X": f32(1, 1, 1, 1, 1, 0.5)}).near["Y"]
    assert found.value[0] == {te.max: 3, te.sum: 8, te.prod: 0}[fold]
    assert found.margin[0] == {te.max: 0, te.sum: 1, te.prod: 6}[fold]


def test_boxes_cover_a_domain_once():
    seen = np.zeros((5, 7, 3), int)
    for box in boxes({"a": 5, "b": 7, "c": 3}, 10):
        assert np.prod([len(r) for r in box.values()]) <= 10
        seen[tuple(slice(r.start, r.stop) for r in box.values())] += 1
    assert (seen == 1).all()


def test_near_says_what_it_is_without_a_bound():
    assert not Near(np.ones(3)).margin.any()
    assert Near(np.ones(3, bool)).margin.dtype == bool


def test_a_result_below_the_least_normal_number_may_be_zero():
    """A network flushes it; what is made of it may be wrong by as much as that says."""
    x = np.array([-88.0, -87.5, -100.0], np.float32)
    found = near(lambda v: te.sigmoid(v) * 1000.0, x)
    flushed = np.where(np.exp(x.astype(float)) < np.finfo(np.float32).tiny, 0.0, found.value)
    assert (np.abs(flushed - found.value) <= found.margin).all()
    assert (found.margin < 1e-33).all()


def test_partial_sums_below_the_least_normal_number_may_be_zero():
    """Each of them; so the bound of a sum grows with their number."""
    x = np.random.default_rng(0).standard_normal(4096).astype(np.float32) * np.float32(3e-38)
    k = te.reduce_axis(4096, "k")
    v = te.placeholder((4096,), name="X")
    func = te.func(te.compute((1,), lambda i: te.sum(v[k], axis=k), name="S"))
    assert near_results(func, {"X": x}).near["S"].margin.min() >= 4096 * np.finfo(np.float32).tiny
