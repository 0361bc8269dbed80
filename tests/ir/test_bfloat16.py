"""bfloat16 through text, interpreter, reference and compiled code."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from codegen.running import compiled

from workbench import te
from workbench.errors import ExpressionError
from workbench.ir import Const, Func, dtypes
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference import evaluate
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.verify import verify

BF16 = ml_dtypes.bfloat16


def rounding(n: int) -> Func:
    x = te.placeholder((n,), name="X")
    return te.func(te.compute((n,), lambda i: te.cast(x[i], "bfloat16"), name="Y"))


def widening(n: int) -> Func:
    x = te.placeholder((n,), "bfloat16", "X")
    return te.func(te.compute((n,), lambda i: te.cast(x[i], "float32"), name="Y"))


def every_case() -> np.ndarray:
    """Numbers of all magnitudes, ties to both sides, zeros, infinities, NaN, denormals, what rounds to infinity."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 4000, dtype=np.uint32)
    ties = (rng.integers(0, 2**16, 500, dtype=np.uint32) << 16) | 0x8000
    ends = np.array([0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 1, 0x7F7FFFFF], np.uint32)
    return np.concatenate([bits, ties, ties - 1, ties + 1, ends]).view(np.float32)


def rounded(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return x.astype(BF16)


def test_compiled_rounding_is_exact():
    x = every_case()
    want = rounded(x)
    got = compiled(rounding(len(x)), x)
    tiny = np.abs(x) < np.finfo("f4").tiny  # which the instruction takes for 0
    got = np.where(tiny & (got == 0), want, got)
    nan = np.isnan(x)
    np.testing.assert_array_equal(got.view(np.uint16)[~nan], want.view(np.uint16)[~nan])
    assert np.isnan(got[nan]).all()
    assert got.dtype == want.dtype


def test_the_oracles_round_the_same():
    x = every_case()[-2500:]
    func, want = rounding(len(x)), rounded(x)
    for got in (interp.run(func, {"X": x})["Y"], evaluate.evaluate(func, {"X": x})["Y"]):
        np.testing.assert_array_equal(got.astype("f4"), want.astype("f4"))


def test_widening_is_exact():
    x = np.arange(2**16, dtype=np.uint16).view(BF16)
    np.testing.assert_array_equal(compiled(widening(len(x)), x), x.astype("f4"))


def mixed() -> Func:
    """Arithmetic, functions, comparisons and a literal in bfloat16, then a sum in float32."""
    a, b = te.placeholder((6, 20), "bfloat16", "A"), te.placeholder((20,), "bfloat16", "B", constant=True)
    c = te.compute((6, 20), lambda i, j: te.maximum(te.exp(a[i, j]) * b[j] + 0.5, 0.25), name="C")
    d = te.compute((6, 20), lambda i, j: te.select(a[i, j] > b[j], c[i, j], -c[i, j]), name="D")
    k = te.reduce_axis(20, "k")
    e = te.compute((6,), lambda i: te.sum(te.cast(d[i, k], "float32"), axis=k), name="E")
    return te.func([c, e], "mixed")


def test_a_function_of_bfloat16():
    func = mixed()
    verify(func)
    assert "0.5bf16" in to_text(func)
    assert parse(to_text(func)) == func
    inputs = interp.random_inputs(func, 2)
    assert inputs["A"].dtype == BF16
    want, got = interp.run(func, inputs), compiled(func, **inputs)
    other = evaluate.evaluate(func, inputs)
    for b, y in zip(func.outputs, got, strict=True):
        assert y.dtype == want[b.name].dtype == other[b.name].dtype == np.dtype(b.dtype)
        for z in (want[b.name], other[b.name]):
            np.testing.assert_allclose(y.astype("f8"), z.astype("f8"), rtol=0.02, atol=0.05)


def test_questions_about_dtypes():
    assert dtypes.is_float("bfloat16")
    assert not dtypes.is_float("uint16")
    assert dtypes.itemsize("bfloat16") == 2
    assert te.max(te.placeholder((3,), "bfloat16")[0], axis=te.reduce_axis(3)).op == "max"
    assert isinstance(te.const(1.5, "bfloat16").expr, Const)


def test_other_unusual_types_are_refused():
    with pytest.raises(ExpressionError) as refused:
        te.placeholder((2,), "complex64")
    assert refused.value.code == "te.dtype"
