"""Tensors that a function outside of the compiler computes: another runtime, or a function of a user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from workbench.graph.graph import Array, AttrValue, Node, TensorType
from workbench.graph.node_steps import OWN
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call


@dataclass(frozen=True, slots=True, eq=False)
class Implementation:
    """A function of arrays, who it belongs to, and the types of its results."""

    backend: str
    function: Callable[..., Sequence[Array]]
    types: tuple[TensorType, ...]


def extern_node(name: str, inputs: Sequence[str], outputs: Sequence[str], implementation: Implementation) -> Node:
    """A node that the function computes."""
    attrs = cast("dict[str, AttrValue]", {"implementation": implementation})
    return Node(name, "Extern", tuple(inputs), tuple(outputs), attrs, OWN)


@operator("Extern", "opaque", domain=OWN, multi=True)
class Extern(OpDef):
    """What a function outside of the compiler gives for the inputs."""

    def implementation(self, c: Call) -> Implementation:
        """The function, and what is known of it."""
        return cast(Implementation, c.node.attrs["implementation"])

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return self.implementation(c).types

    def reference(self, c: Call, *args: Any) -> tuple[Array, ...]:
        return tuple(self.implementation(c).function(*args))

    def obstacle(self, c: Call) -> str:
        return f"{self.implementation(c).backend} computes it"
