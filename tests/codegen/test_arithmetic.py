"""Arithmetic of compiled code at its edges: traps, wrapping, signs, truth values, NaN and infinities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen.running import check, compiled, marked

from workbench.ir import interp, te
from workbench.ir.stmt import For

# ---- integers --------------------------------------------------------------------------------------------------------

INTEGERS = ["int8", "int32", "int64", "uint8", "uint32"]


@pytest.mark.parametrize("op", ["__truediv__", "__mod__"])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("kind", ["serial", "vectorize"])
def test_integer_quotients_of_all_signs_and_by_zero(op, dtype, kind):
    """A zero divisor gives 0 and must not trap, and neither may the smallest number by -1."""
    info = np.iinfo(dtype)
    values = np.array([0, 1, 2, 3, 7, 100, info.min, info.min + 1, info.max], dtype)
    if info.min < 0:
        values = np.concatenate([values, np.array([-1, -2, -3, -7, -100], dtype)])
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    n = len(a)
    ta, tb = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    f = marked(te.func(te.compute((n,), lambda i: getattr(ta[i], op)(tb[i]), name="Y")), i=kind)
    check(f, {"A": a, "B": b}, rtol=0)


def test_quotient_is_safe_in_a_branch_that_is_not_taken():
    a = te.placeholder((33,), "int32", name="A")
    f = te.func(te.compute((33,), lambda i: te.select(a[i] > 0, 100 / a[i], -1), name="Y"))
    values = np.arange(-16, 17, dtype=np.int32)
    check(marked(f, i="vectorize"), {"A": values}, rtol=0)
    f = te.func(te.compute((35,), lambda i: te.select((i >= 1) & (i < 34), 100 / a[i - 1], -1), name="Y"))
    check(marked(f, i="vectorize"), {"A": np.ones(33, np.int32)}, rtol=0)


def test_signedness_is_part_of_an_operation():
    """Equal text on signed and unsigned views of one value must not be one value."""
    x = te.placeholder((40,), "uint8", name="X")
    z = te.placeholder((40,), "uint8", name="Z")

    def value(i):
        unsigned = te.cast(x[i] + z[i], "float32")
        signed = te.cast(te.cast(x[i], "int8") + te.cast(z[i], "int8"), "float32")
        return unsigned * 1000 + signed

    f = te.func(te.compute((40,), value, name="Y"))
    inputs = {"X": np.arange(40, dtype=np.uint8) * 3, "Z": np.arange(40, dtype=np.uint8)}
    want = (inputs["X"] + inputs["Z"]).astype(np.float32) * 1000 + (
        inputs["X"].astype(np.int8) + inputs["Z"].astype(np.int8)
    ).astype(np.float32)
    np.testing.assert_array_equal(compiled(f, **inputs), want)
    check(f, inputs)


def test_narrow_integers_wrap_before_they_are_used():
    x = te.placeholder((16,), "uint8", name="X")
    f = te.func(te.compute((16,), lambda i: te.cast(x[i] - 5, "float32"), name="Y"))
    check(f, {"X": np.arange(16, dtype=np.uint8)})


@pytest.mark.parametrize("kind", ["serial", "vectorize"])
def test_truth_values(kind):
    a, b = te.placeholder((40,), "bool", name="A"), te.placeholder((40,), "bool", name="B")
    va, vb = np.arange(40) % 2 == 1, np.arange(40) // 2 % 2 == 1
    for op, want in [
        (te.maximum, va | vb),
        (te.minimum, va & vb),
        (lambda p, q: p < q, ~va & vb),
        (lambda p, q: p >= q, va | ~vb),
        (lambda p, q: p + q, va | vb),
        (lambda p, q: p * q, va & vb),
    ]:
        f = marked(te.func(te.compute((40,), lambda i, op=op: op(a[i], b[i]), name="Y")), i=kind)
        got = compiled(f, va, vb)
        assert (got == want).all(), op
        assert (interp.run(f, {"A": va, "B": vb})["Y"] == want).all(), op


# ---- floating point --------------------------------------------------------------------------------------------------

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 100.0, -100.0, 1e30, -1e30, 1e-40], np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["serial", "vectorize"])
def test_nan_survives_maximum_and_minimum(dtype, kind):
    a, b = (x.ravel().astype(dtype) for x in np.meshgrid(SPECIAL, SPECIAL))
    n = len(a)
    ta, tb = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    for op, want in [
        (lambda i: te.maximum(ta[i], tb[i]), np.maximum(a, b)),
        (lambda i: te.minimum(ta[i], tb[i]), np.minimum(a, b)),
        (lambda i: te.maximum(ta[i], 0.0), np.maximum(a, 0)),
        (lambda i: te.maximum(0.0, ta[i]), np.maximum(0, a)),
        (lambda i: te.maximum(ta[i], float("nan")), np.full_like(a, np.nan)),
        (lambda i: te.minimum(6.0, te.maximum(0.0, ta[i])), np.clip(a, 0, 6)),
    ]:
        f = marked(te.func(te.compute((n,), op, name="Y")), i=kind)
        given = {x.name: {"A": a, "B": b}[x.name] for x in f.inputs}
        np.testing.assert_array_equal(compiled(f, **given), want)


@pytest.mark.parametrize("place", [0, 3, 17, 32])
@pytest.mark.parametrize("kind", ["serial", "vectorize"])
def test_nan_survives_a_largest_element(place, kind):
    x, k = te.placeholder((33, 20), name="X"), te.reduce_axis(33, "k")
    f = te.func(te.compute((20,), lambda i: te.max(x[k, i], axis=k), name="Y"))
    f = replace(f, body=(For("k", 33, (For("i", 20, (f.block("Y")[0],), kind),)),))
    values = np.random.default_rng(0).standard_normal((33, 20)).astype(np.float32)
    values[place, 5] = np.nan
    np.testing.assert_array_equal(compiled(f, values), values.max(0))
    np.testing.assert_array_equal(interp.run(f, {"X": values})["Y"], values.max(0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["exp", "tanh", "sigmoid", "erf", "abs", "sqrt", "floor", "ceil", "rsqrt", "log"])
def test_special_values_through_functions(op, dtype):
    import math

    own = {
        "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "erf": np.vectorize(math.erf, otypes=[np.float64]),
        "rsqrt": lambda v: 1 / np.sqrt(v),
    }
    x = te.placeholder((len(SPECIAL),), dtype, name="X")
    f = te.func(te.compute((len(SPECIAL),), lambda i: getattr(te, op)(x[i]), name="Y"))
    values = SPECIAL.astype(dtype)
    with np.errstate(all="ignore"):
        want = own.get(op, getattr(np, op, None))(values.astype(np.float64))
        want = want.astype(dtype)
    for kind in ("serial", "vectorize"):
        got = compiled(marked(f, i=kind), values)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-37, err_msg=kind)
    np.testing.assert_allclose(interp.run(f, {"X": values})["Y"], want, rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainder_has_the_sign_of_the_divisor(dtype):
    values = np.array([0.0, 0.5, -0.5, 1.5, -1.5, 7.25, -7.25, 3.0, -3.0], dtype)
    a, b = (x.ravel() for x in np.meshgrid(values, values[1:]))
    ta, tb = te.placeholder(a.shape, dtype, name="A"), te.placeholder(a.shape, dtype, name="B")
    f = te.func(te.compute(a.shape, lambda i: ta[i] % tb[i], name="Y"))
    for kind in ("serial", "vectorize"):
        np.testing.assert_allclose(compiled(marked(f, i=kind), a, b), np.mod(a, b))


def test_casts_of_values_in_range():
    x = np.array([-127.9, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 126.9, 3.0] * 5, np.float32)
    for dtype in ("int8", "int32", "int64", "bool", "float64"):
        t = te.placeholder(x.shape, name="X")
        f = te.func(te.compute(x.shape, lambda i, t=t, d=dtype: te.cast(t[i], d), name="Y"))
        for kind in ("serial", "vectorize"):
            np.testing.assert_array_equal(compiled(marked(f, i=kind), x), x.astype(dtype))
    t = te.placeholder(x.shape, name="X")
    f = te.func(te.compute(x.shape, lambda i: te.cast(t[i], "uint8"), name="Y"))
    np.testing.assert_array_equal(compiled(marked(f, i="vectorize"), abs(x) * 2), (abs(x) * 2).astype("uint8"))


def test_half_precision():
    x = te.placeholder((37,), "float16", name="X")
    f = te.func(te.compute((37,), lambda i: te.tanh(x[i] * 1.1 + 0.3), name="Y"))
    values = np.linspace(-3, 3, 37).astype(np.float16)
    want = np.tanh(values.astype(np.float32) * 1.1 + 0.3)
    np.testing.assert_allclose(compiled(marked(f, i="vectorize"), values), want, rtol=3e-3, atol=3e-3)
