"""One use of an operator, as everything that is declared of an operator sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.errors import ModelError
from workbench.graph.graph import Array, Node, TensorType
from workbench.ir.dtypes import BFLOAT16


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One use of an operator: the node, the types of its inputs and the values of those that are constant."""

    node: Node
    types: tuple[TensorType | None, ...]
    values: tuple[Array | None, ...]
    name: Callable[[str], str] = str  # what a value is called where an operator has several

    @classmethod
    def of(cls, node: Node, types: Mapping[str, TensorType], values: Mapping[str, Array]) -> Call:
        """Call of a node with what is known about its inputs."""
        return cls(
            node,
            tuple(types[i] if i else None for i in node.inputs),
            tuple(values.get(i) if i else None for i in node.inputs),
        )

    @property
    def version(self) -> int:
        """Opset that the node's attributes are written in."""
        return self.node.version

    @property
    def wide(self) -> Call:
        """The same use on float32: an operator computes in float32 what is stored in bfloat16."""
        if not any(t is not None and t.dtype == BFLOAT16.name for t in self.types):
            return self
        types = (TensorType(t.shape) if t is not None and t.dtype == BFLOAT16.name else t for t in self.types)
        return replace(self, types=tuple(types))

    def has(self, i: int) -> bool:
        """Whether the optional input `i` is given."""
        return i < len(self.types) and self.types[i] is not None

    def moving(self, i: int) -> bool:
        """Whether input `i` is given and computed at run time."""
        return self.has(i) and self.values[i] is None

    def moved_axis(self, perm: Sequence[int], default: int) -> int:
        """The attribute ``axis`` where the axes are permuted."""
        return perm.index(self.get_int("axis", default) % len(perm))

    def type(self, i: int) -> TensorType:
        """Type of input `i`; `ModelError` "model.invalid_graph" when it is missing."""
        t = self.types[i] if i < len(self.types) else None
        if t is None:
            raise self.error("invalid_graph", f"needs input {i}, which is not given")
        return t

    def shape(self, i: int) -> tuple[int, ...]:
        """Shape of input `i`."""
        return self.type(i).shape

    def scalar(self, i: int) -> float | None:
        """Value of input `i` when it is a constant with one element."""
        v = self.values[i] if i < len(self.values) else None
        return v.reshape(-1)[0].item() if v is not None and v.size == 1 else None

    def constant(self, i: int, what: str) -> Array:
        """Value of input `i`, which must be known; `ModelError` "model.dynamic_value" when it is not."""
        self.type(i)
        v = self.values[i]
        if v is None:
            text = f"takes its {what} from {self.node.inputs[i]!r}, which is computed at run time"
            e = self.error("dynamic_value", text, "export the model with static shapes")
            raise ModelError(e.code, e.message, (*e.where, self.node.inputs[i]), e.hint)
        return v

    def _attribute(self, name: str, default: Any, kinds: Any, expected: str) -> Any:
        v = self.node.attrs.get(name, default)
        if not isinstance(v, kinds):
            raise self.error("invalid_graph", f"has the attribute {name}={v!r}, expected {expected}")
        return v

    def get_int(self, name: str, default: int) -> int:
        """Integer attribute."""
        return int(self._attribute(name, default, int | np.integer, "an integer"))

    def get_float(self, name: str, default: float) -> float:
        """Float attribute; a default is a float32 as well, like every number that a file can hold."""
        return float(self._attribute(name, float(np.float32(default)), float | int, "a number"))

    def get_str(self, name: str, default: str) -> str:
        """Text attribute."""
        return str(self._attribute(name, default, str, "text"))

    def get_ints(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
        """Attribute that is a list of integers."""
        v = self.node.attrs.get(name, default)
        if v is None:
            return None
        if not isinstance(v, tuple) or not all(isinstance(x, int) for x in v):
            raise self.error("invalid_graph", f"has the attribute {name}={v!r}, expected integers")
        return tuple(int(x) for x in v)

    def ints_or_input(self, name: str, i: int, since: int) -> tuple[int, ...] | None:
        """Integers that are an attribute before opset `since` and constant input `i` from then on."""
        if self.version < since or not self.has(i):
            return self.get_ints(name)
        return tuple(int(x) for x in self.constant(i, name).reshape(-1))

    def axis(self, value: int, rank: int) -> int:
        """Axis counted from the front; `ModelError` "model.invalid_graph" when out of range."""
        if not -rank <= value < rank:
            raise self.error("invalid_graph", f"uses axis {value} of a tensor with {rank} dimensions")
        return value % rank

    def named_axis(self, default: int) -> int:
        """The attribute ``axis`` of the first input, counted from the front."""
        return self.axis(self.get_int("axis", default), len(self.shape(0)))

    def error(self, code: str, what: str, hint: str = "") -> ModelError:
        """Error about this node: ``Node 'x' (Conv) <what>.``"""
        return ModelError(f"model.{code}", f"Node {self.node.name!r} ({self.node.op}) {what}.", (self.node.name,), hint)
