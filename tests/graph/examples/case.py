"""An example of an operator, and what examples are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch

import numpy as np

from workbench.graph.graph import Array, AttrValue, Node, TensorType
from workbench.graph.opdef import OpDef
from workbench.graph.operator_call import Call


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Example of an operator: arrays (None = absent), attributes, which inputs are constants, and their names where
    they matter.
    """

    label: str
    inputs: tuple[Array | None, ...]
    attrs: Mapping[str, AttrValue] = field(default_factory=dict)
    const: tuple[int, ...] = ()
    version: int = 18
    outputs: int = 1
    names: tuple[str, ...] = ()

    def call(self, op: str) -> Call:
        """The example as a call."""
        names = self.names or tuple("" if a is None else f"x{i}" for i, a in enumerate(self.inputs))
        node = Node(self.label, op, names, tuple(f"y{i}" for i in range(self.outputs)), self.attrs, "", self.version)
        types = tuple(None if a is None else TensorType(a.shape, a.dtype.name) for a in self.inputs)
        values = tuple(a if i in self.const else None for i, a in enumerate(self.inputs))
        return Call(node, types, values)


@singledispatch
def cases(op: OpDef) -> list[Case]:
    """Examples of an operator, by the class that declares it; none of those that only passes write."""
    return []


def sample(*shape: int, seed: int = 0, low: float | None = None) -> Array:
    """Small seeded array; normal, or uniform in [low, low + 1)."""
    rng = np.random.default_rng(seed + sum(shape))
    data = rng.standard_normal(shape) if low is None else rng.random(shape) + low
    return data.astype(np.float32)


def bytes_of(*shape: int, seed: int = 0) -> Array:
    """Small seeded array of bytes."""
    return np.random.default_rng(seed + sum(shape)).integers(0, 256, shape).astype(np.uint8)
