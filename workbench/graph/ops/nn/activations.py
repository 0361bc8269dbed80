"""Activations with parameters, which all opsets have as attributes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Node
from workbench.graph.operator_call import Call
from workbench.graph.ops.pointwise import Pointwise, pointwise

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _activation(name: str, doc: str, numpy: Any, scalar: Any, numbers: dict[str, float], **facts: Any) -> None:
    pointwise(name, doc, numpy, scalar, numbers=MappingProxyType(numbers), fractions=True, **facts)


def _np_elu(x: Any, alpha: float) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _celu(v: te.Value, alpha: float) -> te.Value:
    """With a negative alpha, exp(x / alpha) grows; exp(y) - 1 is then -(exp(-y) - 1) * exp(y), without cancellation."""
    y = te.minimum(v, 0.0) * (1 / alpha)
    return te.select(v > 0.0, v, (te.elu(y) if alpha > 0 else -(te.elu(-y) * te.exp(y))) * alpha)


class Gelu(Pointwise):
    """A function of one value and of the attribute `approximate`."""

    def accepts(self, node: Node) -> bool:
        return node.attrs.get("approximate", "none") in ("none", "tanh")

    def apply(self, c: Call, function: Callable[..., Any], values: list[Any]) -> Any:
        return function(*values, c.get_str("approximate", "none"))


def _np_gelu(x: Any, approximate: str) -> Any:
    if approximate == "none":
        return x * 0.5 * (1 + _erf(x * np.sqrt(0.5)))
    return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


pointwise("Gelu", "x * (1 + erf(x / sqrt(2))) / 2, or nearly so by tanh.", _np_gelu, te.gelu, Gelu, fractions=True)
_activation("Elu", "x where x > 0, else alpha * (exp(x) - 1).", _np_elu, te.elu, {"alpha": 1.0})
_activation(
    "Celu",
    "x where x > 0, else alpha * (exp(x / alpha) - 1).",
    lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
    _celu,
    {"alpha": 1.0},
)
_activation(
    "Selu",
    "gamma times the Elu with alpha.",
    lambda x, alpha, gamma: gamma * _np_elu(x, alpha),
    lambda v, alpha, gamma: te.elu(v, alpha) * gamma,
    {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875},
)
_activation("Softplus", "log(1 + exp(x)), without overflow.", partial(np.logaddexp, 0), te.softplus, {})
_activation("Mish", "x * tanh(log(1 + exp(x))).", lambda x: x * np.tanh(np.logaddexp(0, x)), te.mish, {})
_activation("Softsign", "x / (1 + |x|)", lambda x: x / (1 + np.abs(x)), lambda v: v / (te.abs(v) + 1.0), {})
_activation(
    "ThresholdedRelu",
    "x where x > alpha, else 0.",
    lambda x, alpha: np.where(x > alpha, x, 0),
    lambda v, alpha: te.select(v > alpha, v, 0.0),
    {"alpha": 1.0},
)
_activation(
    "Shrink",
    "x moved by `bias` towards 0, and 0 from -lambd to lambd.",
    lambda x, lambd, bias: np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0)),
    lambda v, lambd, bias: te.select(v < -lambd, v + bias, te.select(v > lambd, v - bias, 0.0)),
    {"lambd": 0.5, "bias": 0.0},
)
_activation(
    "LeakyRelu",
    "x where x >= 0, else alpha * x.",
    lambda x, alpha: np.where(x >= 0, x, x * np.float32(alpha)),
    lambda v, alpha: te.select(v >= 0.0, v, v * alpha),
    {"alpha": 0.01},
    stage="leaky_relu",
)
_activation(
    "HardSigmoid",
    "max(0, min(1, alpha * x + beta)).",
    lambda x, alpha, beta: np.clip(x * np.float32(alpha) + np.float32(beta), 0, 1),
    lambda v, alpha, beta: te.maximum(te.minimum(v * alpha + beta, 1.0), 0.0),
    {"alpha": 0.2, "beta": 0.5},
    stage="hard_sigmoid",
    not_negative=True,
)
