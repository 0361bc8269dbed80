"""Activations with parameters, which all opsets have as attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.call import Call, Case
from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.ops.common import compute, same, sample
from workbench.ir.dtypes import is_float


class _Activation(OpDef):
    numpy: Callable[..., Any]
    scalar: Callable[..., te.Value]
    defaults: dict[str, float]
    stage = ""

    def parameters_of(self, c: Call) -> list[float]:
        """Value of each parameter, in the order of their declaration."""
        return [c.get_float(name, value) for name, value in self.defaults.items()]

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return same(c)

    def reference(self, c: Call, x: Array) -> Array:
        y = type(self).numpy(x if x.dtype.kind == "f" else x.astype(np.float64), *self.parameters_of(c))
        return np.asarray(y).astype(x.dtype)

    def obstacle(self, c: Call) -> str:
        return "" if is_float(c.type(0).dtype) else "it is computed in fractions, of integers"

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        fn, given = type(self).scalar, self.parameters_of(c)
        return compute(x.shape, lambda *i: fn(x[i], *given), c.name(self.stage))

    def cases(self) -> list[Case]:
        x = sample(3, 5) * 3
        other = {name: 0.6 * value + 0.1 for name, value in self.defaults.items()}
        return [Case("default", (x,)), *([Case("other", (x,), other)] if other else [])]


def _activation(
    name: str,
    doc: str,
    numpy: Callable[..., Any],
    scalar: Callable[..., te.Value],
    stage: str = "",
    not_negative: bool = False,
    **defaults: float,
) -> None:
    steps = {"numpy": staticmethod(numpy), "scalar": staticmethod(scalar), "stage": stage or name.lower()}
    made = type(name, (_Activation,), {**steps, "defaults": defaults, "__doc__": doc})
    operator(name, "injective", elementwise=True, not_negative=not_negative)(made)


def _np_elu(x: Any, alpha: float) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _celu(v: te.Value, alpha: float) -> te.Value:
    """With a negative alpha, exp(x / alpha) grows; exp(y) - 1 is then -(exp(-y) - 1) * exp(y), without cancellation."""
    y = te.minimum(v, 0.0) * (1 / alpha)
    return te.select(v > 0.0, v, (te.elu(y) if alpha > 0 else -(te.elu(-y) * te.exp(y))) * alpha)


def _np_shrink(x: Any, lambd: float, bias: float) -> Any:
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def _shrink(v: te.Value, lambd: float, bias: float) -> te.Value:
    return te.select(v < -lambd, v + bias, te.select(v > lambd, v - bias, 0.0))


_activation("Elu", "x where x > 0, else alpha * (exp(x) - 1).", _np_elu, te.elu, alpha=1.0)
_activation(
    "Celu",
    "x where x > 0, else alpha * (exp(x / alpha) - 1).",
    lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
    _celu,
    alpha=1.0,
)
_activation(
    "Selu",
    "gamma times the Elu with alpha.",
    lambda x, alpha, gamma: gamma * _np_elu(x, alpha),
    lambda v, alpha, gamma: te.elu(v, alpha) * gamma,
    alpha=1.67326319217681884765625,
    gamma=1.05070102214813232421875,
)
_activation("Softplus", "log(1 + exp(x)), without overflow.", lambda x: np.logaddexp(0, x), te.softplus)
_activation("Softsign", "x / (1 + |x|)", lambda x: x / (1 + np.abs(x)), lambda v: v / (te.abs(v) + 1.0))
_activation(
    "ThresholdedRelu",
    "x where x > alpha, else 0.",
    lambda x, alpha: np.where(x > alpha, x, 0),
    lambda v, alpha: te.select(v > alpha, v, 0.0),
    alpha=1.0,
)
_activation(
    "Shrink", "x moved by `bias` towards 0, and 0 from -lambd to lambd.", _np_shrink, _shrink, lambd=0.5, bias=0.0
)
_activation(
    "LeakyRelu",
    "x where x >= 0, else alpha * x.",
    lambda x, alpha: np.where(x >= 0, x, x * np.float32(alpha)),
    lambda v, alpha: te.select(v >= 0.0, v, v * alpha),
    stage="leaky_relu",
    alpha=0.01,
)
_activation(
    "HardSigmoid",
    "max(0, min(1, alpha * x + beta)).",
    lambda x, alpha, beta: np.clip(x * np.float32(alpha) + np.float32(beta), 0, 1),
    lambda v, alpha, beta: te.maximum(te.minimum(v * alpha + beta, 1.0), 0.0),
    stage="hard_sigmoid",
    not_negative=True,
    alpha=0.2,
    beta=0.5,
)
