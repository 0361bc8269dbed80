"""Operators: one declared class each, from which everything about the operator is derived.

A class says its `fusion` class, infers types (`infer`), computes with NumPy (`reference`), lowers to a tensor
expression (`lower`) and lists small examples (`cases`). The registry drives import, folding, fusion, task
extraction and the contract tests; adding an operator means adding one class to a file in ``ops/``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias, TypeVar

import numpy as np

from ..errors import ModelError, did_you_mean
from ..ir import te
from .graph import Array, AttrValue, Node, TensorType

Fusion: TypeAlias = Literal["injective", "reduction", "complex", "opaque"]
Scalar: TypeAlias = te.Value | te.Axis | float | int | bool


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One use of an operator: the node, the types of its inputs and the values of those that are constant."""

    node: Node
    types: tuple[TensorType | None, ...]
    values: tuple[Array | None, ...]
    name: Callable[[str], str] = field(default=lambda base: base)

    @property
    def version(self) -> int:
        """Opset that the node's attributes are written in."""
        return self.node.version

    def has(self, i: int) -> bool:
        """Whether the optional input `i` is given."""
        return i < len(self.types) and self.types[i] is not None

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
            raise self.error(
                "dynamic_value",
                f"takes its {what} from {self.node.inputs[i]!r}, which is computed at run time",
                "export the model with static shapes",
            )
        return v

    def get_int(self, name: str, default: int) -> int:
        """Integer attribute."""
        v = self.node.attrs.get(name, default)
        if not isinstance(v, int | np.integer):
            raise self.error("invalid_graph", f"has the attribute {name}={v!r}, expected an integer")
        return int(v)

    def get_float(self, name: str, default: float) -> float:
        """Float attribute."""
        v = self.node.attrs.get(name, default)
        if not isinstance(v, float | int):
            raise self.error("invalid_graph", f"has the attribute {name}={v!r}, expected a number")
        return float(v)

    def get_str(self, name: str, default: str) -> str:
        """Text attribute."""
        v = self.node.attrs.get(name, default)
        if not isinstance(v, str):
            raise self.error("invalid_graph", f"has the attribute {name}={v!r}, expected text")
        return v

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

    def error(self, code: str, what: str, hint: str = "") -> ModelError:
        """Error about this node: ``Node 'x' (Conv) <what>.``"""
        return ModelError(f"model.{code}", f"Node {self.node.name!r} ({self.node.op}) {what}.", (self.node.name,), hint)


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Example of an operator: arrays (None = absent), attributes, and which inputs are constants."""

    label: str
    inputs: tuple[Array | None, ...]
    attrs: Mapping[str, AttrValue] = field(default_factory=dict)
    const: tuple[int, ...] = ()
    version: int = 18
    outputs: int = 1

    def call(self, op: str) -> Call:
        """The example as a call."""
        names = tuple("" if a is None else f"x{i}" for i, a in enumerate(self.inputs))
        node = Node(self.label, op, names, tuple(f"y{i}" for i in range(self.outputs)), self.attrs, "", self.version)
        types = tuple(None if a is None else TensorType(a.shape, a.dtype.name) for a in self.inputs)
        values = tuple(a if i in self.const else None for i, a in enumerate(self.inputs))
        return Call(node, types, values)


class OpDef:
    """Base of all operators. `elementwise` marks injective ones that keep the shape of their first full input."""

    name: ClassVar[str] = ""
    fusion: ClassVar[Fusion] = "opaque"
    elementwise: ClassVar[bool] = False
    view: ClassVar[bool] = False  # only the shape changes: the result may share the input's memory

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        """Types of the outputs."""
        raise NotImplementedError

    def reference(self, c: Call, *args: Array | None) -> Array:
        """Value of the first output, computed with NumPy."""
        raise NotImplementedError

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        """Tensor expression of the first output."""
        raise c.error(
            "unsupported_op",
            "cannot be compiled: its result depends on values that are known only at run time",
            f"{self.name} is supported where its inputs are constant",
        )

    def cases(self) -> list[Case]:
        """Small examples, run by the contract tests."""
        raise NotImplementedError

    @property
    def lowerable(self) -> bool:
        """Whether the operator can be compiled, not only folded."""
        return type(self).lower is not OpDef.lower


_REGISTRY: dict[tuple[str, str], OpDef] = {}
_T = TypeVar("_T", bound=type[OpDef])


def operator(
    name: str, fusion: Fusion, *, elementwise: bool = False, view: bool = False, domain: str = ""
) -> Callable[[_T], _T]:
    """Register a class as the operator `name`."""

    def wrap(cls: _T) -> _T:
        made = type(
            name,
            (cls,),
            {"name": name, "fusion": fusion, "elementwise": elementwise, "view": view, "__doc__": cls.__doc__},
        )
        _REGISTRY[domain, name] = made()
        return cls

    return wrap


def registry() -> dict[str, OpDef]:
    """All operators of the standard domain by name."""
    from . import ops

    assert ops is not None
    return {n: d for (dom, n), d in sorted(_REGISTRY.items()) if dom == ""}


def opdef(node: Node) -> OpDef:
    """Operator of a node; `ModelError` "model.unsupported_op" when it is not known."""
    from . import ops

    assert ops is not None
    found = _REGISTRY.get(("" if node.domain == "ai.onnx" else node.domain, node.op))
    if found is not None:
        return found
    known = registry()
    where = f" of domain {node.domain!r}" if node.domain not in ("", "ai.onnx") else ""
    close = did_you_mean(node.op, known, "supported")
    listing = "supported: " + ", ".join(known)
    raise ModelError(
        "model.unsupported_op",
        f"Operator {node.op!r}{where} (node {node.name!r}) is not supported.",
        (node.name, node.op, node.domain or "ai.onnx"),
        f"{close} {listing}" if close.startswith("did") else listing,
    )
