"""Activations made of the vector functions: their stated error, their limits, and that all evaluations agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from codegen.running import compiled, marked

from workbench import te
from workbench.errors import ExpressionError
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference import evaluate
from workbench.te.math import ACTIVATION_ERROR

ERF = np.vectorize(math.erf, otypes=[np.float64])


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


#: Name -> (expression, the same in float64).
ACTIVATIONS = {
    "relu": (te.relu, lambda x: np.maximum(x, 0)),
    "leaky_relu": (lambda v: te.leaky_relu(v, 0.2), lambda x: np.where(x >= 0, x, 0.2 * x)),
    "elu": (lambda v: te.elu(v, 1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0)))),
    "gelu": (te.gelu, lambda x: x * 0.5 * (1 + ERF(x / math.sqrt(2)))),
    "gelu_tanh": (
        lambda v: te.gelu(v, "tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "silu": (te.silu, lambda x: x * np.exp(-np.logaddexp(0, -x))),
    "softplus": (te.softplus, _softplus),
    "hard_sigmoid": (te.hard_sigmoid, lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "hard_swish": (te.hard_swish, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "mish": (te.mish, lambda x: x * np.tanh(_softplus(x))),
}


def activation(name: str, count: int, dtype: str = "float32"):
    x = te.placeholder((count,), dtype, name="X")
    return te.func(te.compute((count,), lambda i: ACTIVATIONS[name][0](x[i]), name="Y"))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_stated_error(name):
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(-120, 120, 30_001), rng.normal(size=9_000), 2.0 ** rng.uniform(-149, 7, 999)])
    x = x.astype(np.float32)
    want = ACTIVATIONS[name][1](x.astype(np.float64))
    got = compiled(marked(activation(name, len(x)), i="vectorize"), x)
    error = np.abs(got - want) / np.maximum(1, np.abs(x))
    assert error.max() <= ACTIVATION_ERROR, x[error.argmax()]


@pytest.mark.parametrize("name", ["softplus", "elu", "silu", "mish"])
def test_small_results_keep_their_digits(name):
    x = -(2.0 ** np.linspace(-20, 6, 4_001)).astype(np.float32)
    want = ACTIVATIONS[name][1](x.astype(np.float64))
    np.testing.assert_allclose(compiled(marked(activation(name, len(x)), i="vectorize"), x), want, rtol=1.2e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_all_evaluations_agree(name, dtype):
    x = np.linspace(-9, 9, 37).astype(dtype)
    f = activation(name, 37, dtype)
    want = ACTIVATIONS[name][1](x.astype(np.float64))
    close = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-12}[dtype]
    for got in (interp.run(f, {"X": x})["Y"], evaluate.evaluate(f, {"X": x})["Y"], compiled(f, x)):
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got, want, rtol=close, atol=close)


def test_whole_numbers_become_floats_and_unknown_approximations_are_refused():
    x = te.placeholder((5,), "int32", name="X")
    f = te.func(te.compute((5,), lambda i: te.silu(x[i]) + te.gelu(x[i]), name="Y"))
    assert f.buffer("Y").dtype == "float32"
    assert te.gelu(1.0).dtype == "float32"
    with pytest.raises(ExpressionError) as e:
        te.gelu(1.0, "erf")
    assert e.value.code == "te.value"
