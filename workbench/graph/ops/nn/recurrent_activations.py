"""Activations of recurrences: functions of NumPy, and the operators of the same name where there are such."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from workbench.graph.graph import Array
from workbench.graph.opdef import declared
from workbench.graph.operator_call import Call
from workbench.graph.ops.pointwise import Pointwise

#: Activations without an operator: the function, and its numbers where the node does not say them.
_OTHERS: dict[str, tuple[Callable[..., Array], Mapping[str, float]]] = {
    "Affine": (lambda x, alpha, beta: alpha * x + beta, {"alpha": 1.0, "beta": 0.0}),
    "ScaledTanh": (lambda x, alpha, beta: alpha * np.tanh(beta * x), {"alpha": 1.0, "beta": 1.0}),
}
_OPERATORS = (
    "Sigmoid", "Tanh", "Relu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu", "Softsign", "Softplus",
)  # fmt: skip
_NAMES = {name.lower(): name for name in (*_OPERATORS, *_OTHERS)}


def _function(name: str) -> tuple[Callable[..., Array], Mapping[str, float]]:
    """NumPy's function of an activation, and its numbers with their defaults."""
    if name in _OTHERS:
        return _OTHERS[name]
    op = declared(name)
    assert isinstance(op, Pointwise)
    return type(op).numpy, op.numbers


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation with its numbers."""

    name: str
    numbers: Mapping[str, float]

    def __call__(self, x: Array) -> Array:
        """Apply it with NumPy."""
        return np.asarray(_function(self.name)[0](x, *self.numbers.values()), dtype=x.dtype)


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
    given = {k: iter(cast("tuple[float, ...]", c.node.attrs.get(f"activation_{k}", ()))) for k in ("alpha", "beta")}
    found = [_activation(c, name, given) for name in names]  # an RNN's own default has one too many
    return [tuple(found[d * len(defaults) : (d + 1) * len(defaults)]) for d in range(directions)]


def _activation(c: Call, name: str, given: Mapping[str, Iterator[float]]) -> Activation:
    known = _NAMES.get(name.lower())
    if known is None:
        listing = ", ".join(_NAMES.values())
        raise c.error("unsupported_attr", f"has the activation {name!r}", f"those that are computed: {listing}")
    return Activation(known, {k: next(given[k], default) for k, default in _function(known)[1].items()})
