"""Activations of recurrences: functions of NumPy, and the operators of the same name where there are such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from workbench.graph.call import Call
from workbench.graph.graph import Array, AttrValue
from workbench.graph.opdef import registry


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1, e) / (1 + e))


@dataclass(frozen=True, slots=True)
class _Kind:
    """A function of x, alpha and beta, and what these are where the node does not say; None where it has none."""

    name: str
    function: Callable[[Array, float, float], Array]
    alpha: float | None = None
    beta: float | None = None


_KINDS = {
    k.name.lower(): k
    for k in (
        _Kind("Sigmoid", lambda x, a, b: _sigmoid(x)),
        _Kind("Tanh", lambda x, a, b: np.tanh(x)),
        _Kind("Relu", lambda x, a, b: np.maximum(x, 0)),
        _Kind("Affine", lambda x, a, b: a * x + b, 1.0, 0.0),
        _Kind("LeakyRelu", lambda x, a, b: np.where(x >= 0, x, a * x), 0.01),
        _Kind("ThresholdedRelu", lambda x, a, b: np.where(x >= a, x, 0), 1.0),
        _Kind("ScaledTanh", lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
        _Kind("HardSigmoid", lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
        _Kind("Elu", lambda x, a, b: np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0))), 1.0),
        _Kind("Softsign", lambda x, a, b: x / (1 + np.abs(x))),
        _Kind("Softplus", lambda x, a, b: np.logaddexp(x, 0)),
    )
}


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation with its numbers."""

    name: str
    alpha: float | None = None
    beta: float | None = None

    def __call__(self, x: Array) -> Array:
        """Apply it with NumPy."""
        y = _KINDS[self.name.lower()].function(x, self.alpha or 0.0, self.beta or 0.0)
        return np.asarray(y, dtype=x.dtype)

    @property
    def attrs(self) -> dict[str, AttrValue] | None:
        """Attributes of the operator of that name; None where there is no such operator."""
        if self.name not in registry():
            return None
        return {k: v for k, v in (("alpha", self.alpha), ("beta", self.beta)) if v is not None}


def activations(c: Call, defaults: tuple[str, ...], directions: int) -> list[tuple[Activation, ...]]:
    """Activations of a recurrence for each direction; its parameters are used up in the order of the functions.

    Raises
    ------
    ModelError
        "model.invalid_graph" for too few names, "model.unsupported_attr" for one that is not known.
    """
    names = cast("tuple[str, ...]", c.node.attrs.get("activations", ())) or defaults * directions
    if len(names) < len(defaults) * directions:
        text = f"has {len(names)} activations, and needs {len(defaults)} for each direction"
        raise c.error("invalid_graph", text)
    alphas, betas = (
        iter(cast("tuple[float, ...]", c.node.attrs.get(f"activation_{k}", ()))) for k in ("alpha", "beta")
    )
    found = [_activation(c, name, alphas, betas) for name in names]  # an RNN's own default has one too many
    return [tuple(found[d * len(defaults) : (d + 1) * len(defaults)]) for d in range(directions)]


def _activation(c: Call, name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    kind = _KINDS.get(name.lower())
    if kind is None:
        known = ", ".join(k.name for k in _KINDS.values())
        raise c.error("unsupported_attr", f"has the activation {name!r}", f"those that are computed: {known}")
    alpha = None if kind.alpha is None else next(alphas, kind.alpha)
    beta = None if kind.beta is None else next(betas, kind.beta)
    return Activation(kind.name, alpha, beta)
