"""Arithmetic of compiled code at its edges: traps, wrapping, signs, truth values, NaN and infinities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen.running import check, compiled, marked

from workbench import Schedule, Target, te, workloads
from workbench.codegen.llvm.vmath import DECLARED
from workbench.ir import For
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference import evaluate

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
@pytest.mark.parametrize(
    "op", ["exp", "tanh", "sigmoid", "erf", "abs", "sqrt", "floor", "ceil", "round", "rsqrt", "log"]
)
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


def everywhere(f, *arrays):
    """The result in compiled code, serial and in vectors, in the interpreter and by NumPy: all the same."""
    given = dict(zip((b.name for b in f.inputs), arrays, strict=True))
    want = interp.run(f, given)[f.outputs[0].name]
    plain = np.float64 if want.dtype == np.dtype("bfloat16") else want.dtype
    got = [evaluate.evaluate(f, given, precise=True)[f.outputs[0].name]]
    got += [compiled(marked(f, i=kind), *arrays) for kind in ("serial", "vectorize")]
    for y in got:
        with np.errstate(over="ignore"):
            same = y.astype(plain), want.astype(plain)
        np.testing.assert_array_equal(*same)
    return want


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_casts_to_integers_saturate(source, dtype):
    """Cut towards zero, then to the nearest integer that there is; NaN is 0. Truth values hold where it is not 0."""
    x = [0.0, 0.5, 1.0, 1.5, 2.9, 100.7, 127, 128, 255, 256, 3e4, 32767, 32768, 65535, 65536, 2**31, 2**32, 2.0**31 - 1,
         2.0**63, 2.0**64, 2.0**63 - 1024, 1e30, np.inf, np.nan]  # fmt: skip
    with np.errstate(over="ignore"):
        values = np.array([*x, *(-v for v in x)], np.float64).astype(np.dtype(source))
    t = te.placeholder(values.shape, source, name="X")
    got = everywhere(te.func(te.compute(values.shape, lambda i: te.cast(t[i], dtype), name="Y")), values)
    if dtype == "bool":
        np.testing.assert_array_equal(got, values.astype(np.float64) != 0)
        return
    info = np.iinfo(dtype)
    want = [0 if np.isnan(v) else int(min(max(v, info.min), info.max)) for v in values.astype(np.float64).tolist()]
    assert got.tolist() == want


@pytest.mark.parametrize("source", ["float64", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_casts_to_floats_round_once(source, dtype):
    """Also from float64 to float16, where two roundings would give another number."""
    x = [0, 1, -1, 2049, 2**24 + 1, 65519, 65520, -(2**31), 2**53 + 1]
    if source == "float64":
        near = 1 + 2.0**-11
        x = [*x, near, near + 2.0**-30, near - 2.0**-30, 65519.999999999, 2.0**-25, 2.0**-25 + 1e-20, 1e-300, 1e300,
             np.inf, -np.inf, np.nan, -0.0]  # fmt: skip
    with np.errstate(all="ignore"):
        values = np.array(x, np.float64 if source == "float64" else np.int64).astype(source)
        want = values.astype(dtype)
    t = te.placeholder(values.shape, source, name="X")
    got = everywhere(te.func(te.compute(values.shape, lambda i: te.cast(t[i], dtype), name="Y")), values)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("op", ["max", "min"])
def test_extremes_of_infinities_and_nan(op, dtype):
    """The largest of nothing but -inf is -inf, and NaN wins wherever it stands."""
    worst = -np.inf if op == "max" else np.inf
    x = np.full((19, 5), worst, np.float32)
    x[3, 1], x[0, 2], x[18, 3], x[:, 4] = 1.0, np.nan, np.nan, -worst
    t, k = te.placeholder(x.shape, dtype, name="X"), te.reduce_axis(19, "k")
    f = te.func(te.compute((5,), lambda i: getattr(te, op)(t[k, i], axis=k), name="Y"))
    f = replace(f, body=(For("k", 19, (For("i", 5, (f.block("Y")[0],)),)),))
    got = everywhere(f, x.astype(np.dtype(dtype))).astype(np.float32)
    np.testing.assert_array_equal(got, [worst, 1.0, np.nan, np.nan, -worst])


@pytest.mark.parametrize("op", ["floor", "ceil", "round", "sigmoid", "exp", "tanh", "pow", "mod"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_interpreter_and_reference_have_the_same_edges(op, dtype):
    """Signs of zero, denormal results, odd powers of negative numbers and what is infinite."""
    v = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 100.0, 720.0, 1e30, np.inf, np.nan]).astype(dtype)
    v = np.concatenate([v, -v])
    x, y = (a.ravel() for a in np.meshgrid(v, v))
    one, two = te.placeholder(x.shape, dtype, name="A"), te.placeholder(x.shape, dtype, name="B")
    binary = {"pow": te.power, "mod": lambda p, q: p % q}
    f = te.func(
        te.compute(x.shape, lambda i: binary[op](one[i], two[i]) if op in binary else getattr(te, op)(one[i]), name="Y")
    )
    given = {b.name: {"A": x, "B": y}[b.name] for b in f.inputs}
    want = interp.run(f, given)["Y"]
    small = 4 * np.finfo(dtype).tiny if (op, dtype) in DECLARED and DECLARED[op, dtype].flushes else 0
    found = ((evaluate.evaluate(f, given)["Y"], 0), (compiled(marked(f, i="vectorize"), **given), small))
    for got, near in found:
        np.testing.assert_allclose(got, want, rtol=2e-6 if dtype == "float32" else 1e-14, atol=near)
        np.testing.assert_array_equal(np.signbit(got)[want == 0], np.signbit(want)[want == 0])


def test_pooling_and_softmax_of_minus_infinity():
    x = np.full((1, 6, 6, 2), -np.inf, np.float32)
    x[0, 2, 2] = -3.2e38
    f = workloads.pool2d(6, 6, 2, kernel=3, stride=2, padding=1)
    want = interp.run(f, {"X": x})["pool"]
    assert (want[0, 0, 0] == -np.inf).all()
    assert (want[0, 1, 1] == np.float32(-3.2e38)).all()
    np.testing.assert_array_equal(compiled(f, x), want)
    rows = np.array([[-np.inf] * 8, [-np.inf] * 7 + [2.0], [0.0, -200.0] * 4, [np.inf, 1.0] * 4], np.float32)
    f = workloads.softmax(4, 8)
    want = np.array([[np.nan] * 8, [0] * 7 + [1], [0.25, 0] * 4, [np.nan] * 8])
    for got in (interp.run(f, {"X": rows})["softmax"], compiled(f, rows)):
        np.testing.assert_allclose(got, want, atol=1e-30, rtol=1e-6)


def test_half_precision():
    x = te.placeholder((37,), "float16", name="X")
    f = te.func(te.compute((37,), lambda i: te.tanh(x[i] * 1.1 + 0.3), name="Y"))
    values = np.linspace(-3, 3, 37).astype(np.float16)
    want = np.tanh(values.astype(np.float32) * 1.1 + 0.3)
    np.testing.assert_allclose(compiled(marked(f, i="vectorize"), values), want, rtol=3e-3, atol=3e-3)


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_vectors_of_floats_become_integers_as_vectors(cpu, dtype):
    """Element by element, a quantisation takes ten times as long."""
    x = te.placeholder((64,), name="X")
    f = te.func(te.compute((64,), lambda i: te.cast(te.round(x[i] * 0.5), dtype), name="Y"))
    target = Target(f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu} -threads=1")
    asm = Schedule(marked(f, i="vectorize"), target).build().asm
    assert "cvttps2dq" in asm
    assert "cvttss2si" not in asm
