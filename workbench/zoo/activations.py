"""Functions of single elements that networks use: the ONNX operator, and what it makes of a mean and a variance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.errors import ModelError
from workbench.graph.graph import Array
from workbench.registry import Registry

_POINTS, _SHARES = np.polynomial.hermite_e.hermegauss(32)


@dataclass(frozen=True, slots=True)
class Activation:
    """An operator of one input.

    Attributes
    ----------
    operator : str
        Its name in ONNX.
    function : callable
        The same on an array.
    attributes : mapping
    bounds : tuple of float
        Further inputs, single numbers.
    """

    operator: str
    function: Callable[[Array], Array]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    bounds: tuple[float, ...] = ()


ACTIVATIONS: Registry[Activation] = Registry("activation", "activations", "zoo.activation", ModelError)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _gelu(x: Array) -> Array:
    return np.asarray(x * (0.5 + 0.5 * np.vectorize(math.erf)(x / math.sqrt(2))))


def _ramp(x: Array) -> Array:
    return np.clip(x / 6 + 0.5, 0, 1)


ACTIVATIONS["relu"] = Activation("Relu", lambda x: np.maximum(x, 0))
ACTIVATIONS["relu6"] = Activation("Clip", lambda x: np.clip(x, 0, 6), bounds=(0.0, 6.0))
ACTIVATIONS["leaky_relu"] = Activation("LeakyRelu", lambda x: np.maximum(x, 0.1 * x), {"alpha": 0.1})
ACTIVATIONS["sigmoid"] = Activation("Sigmoid", _sigmoid)
ACTIVATIONS["tanh"] = Activation("Tanh", np.tanh)
ACTIVATIONS["gelu"] = Activation("Gelu", _gelu)
ACTIVATIONS["hard_sigmoid"] = Activation("HardSigmoid", _ramp, {"alpha": 1 / 6, "beta": 0.5})
ACTIVATIONS["hard_swish"] = Activation("HardSwish", lambda x: x * _ramp(x))


def after(function: Callable[[Array], Array], mean: float, var: float) -> tuple[float, float]:
    """Mean and variance of a function of a normally distributed number."""
    values: Any = function(mean + math.sqrt(var) * _POINTS)
    shares = _SHARES / _SHARES.sum()
    middle = float(shares @ values)
    return middle, max(float(shares @ (values - middle) ** 2), 1e-12)
