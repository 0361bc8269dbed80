"""Operators: one declared class each, from which everything about the operator is derived.

A class says its `fusion` class, infers types (`infer`), computes with NumPy (`reference`), lowers to a tensor
expression (`lower`) and lists small examples (`cases`). The registry drives import, folding, fusion, task
extraction and the contract tests; adding an operator means adding one class to a file in ``ops/``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np

from workbench import te
from workbench.errors import ModelError, WorkbenchError, did_you_mean
from workbench.graph.graph import Array, AttrValue, Node, TensorType
from workbench.graph.size_limits import check_types
from workbench.turns import pause

Fusion: TypeAlias = Literal["injective", "reduction", "complex", "opaque"]
Scalar: TypeAlias = te.Value | te.Axis | float | int | bool


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One use of an operator: the node, the types of its inputs and the values of those that are constant."""

    node: Node
    types: tuple[TensorType | None, ...]
    values: tuple[Array | None, ...]
    name: Callable[[str], str] = str  # what a value is called where an operator has several

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
            text = f"takes its {what} from {self.node.inputs[i]!r}, which is computed at run time"
            e = self.error("dynamic_value", text, "export the model with static shapes")
            raise ModelError(e.code, e.message, (*e.where, self.node.inputs[i]), e.hint)
        return v

    def get_int(self, name: str, default: int) -> int:
        """Integer attribute."""
        v = self.node.attrs.get(name, default)
        if not isinstance(v, int | np.integer):
            raise self.error("invalid_graph", f"has the attribute {name}={v!r}, expected an integer")
        return int(v)

    def get_float(self, name: str, default: float) -> float:
        """Float attribute; a default is a float32 as well, like every number that a file can hold."""
        v = self.node.attrs.get(name, float(np.float32(default)))
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


class OpDef:
    """Base of all operators. `elementwise` marks injective ones that keep the shape of their first full input."""

    name: ClassVar[str] = ""
    fusion: ClassVar[Fusion] = "opaque"
    elementwise: ClassVar[bool] = False
    view: ClassVar[bool] = False  # only the shape changes: the result may share the input's memory
    multi: ClassVar[bool] = False  # `infer` and `reference` give all outputs, not only the first
    parameters: ClassVar[tuple[int, ...]] = ()  # inputs that are part of the code where they are constant: axes, shapes
    scalars: ClassVar[bool] = False  # constants with one element become numbers in the code (see `operand`)
    tensors: ClassVar[tuple[int, ...]] = ()  # inputs that stay arguments however small
    by_type: ClassVar[bool] = False  # the result follows from the types of the inputs alone
    random: ClassVar[bool] = False  # another result each time: never computed ahead

    def in_code(self, i: int, value: Array) -> bool:
        """Whether a constant input is part of the code rather than an argument."""
        return i in self.parameters or (self.scalars and value.size == 1 and i not in self.tensors)

    def accepts(self, node: Node) -> bool:
        """Whether this declaration covers a node; otherwise the onnx package's own implementation computes it."""
        return self.multi or not any(node.outputs[1:])

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        """Types of the outputs."""
        raise NotImplementedError

    def reference(self, c: Call, *args: Array | None) -> Array | tuple[Array, ...]:
        """Values of the outputs, computed with NumPy; of the first one alone where a node seldom has more."""
        raise NotImplementedError

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        """Tensor expression of the first output."""
        raise c.error("unsupported_op", f"cannot be compiled: {self.obstacle(c)}")

    def obstacle(self, c: Call) -> str:
        """Why this use cannot become a loop nest; "" where it can."""
        return "" if type(self).lower is not OpDef.lower else "no loop nest is known for it here"

    def cases(self) -> list[Case]:
        """Small examples, run by the contract tests."""
        raise NotImplementedError


#: What NumPy and Python raise about numbers that make no sense.
_NONSENSE = (ArithmeticError, IndexError, TypeError, ValueError)


def infer(c: Call) -> tuple[TensorType, ...]:
    """Types of a node's outputs.

    Raises
    ------
    ModelError
        "model.invalid_graph" where its numbers make no sense, "model.too_large", and what the operator finds.
    """
    try:
        found = opdef(c.node).infer(c)
        check_types(c, found)
        return found
    except WorkbenchError:
        raise
    except _NONSENSE as e:
        raise c.error("invalid_graph", f"does not fit its inputs: {e}", "look at its attributes and shapes") from e


def evaluate(c: Call, *args: Any) -> tuple[Any, ...]:
    """Outputs of a node, computed by its operator's reference: arrays, and lists and None for what is no tensor.

    Raises
    ------
    ModelError
        "model.bad_value" for inputs that the operator cannot take, "model.too_large", "model.reference_failed".
    """
    op = opdef(c.node)
    if not op.multi and any(isinstance(a, list) for a in args):  # a sequence: only the onnx package knows those
        from workbench.graph.onnx.foreign import foreign

        op = foreign(c.node.domain, c.node.op, c.node.version) or op
    empty = _empty(c)
    if empty:
        return empty
    try:
        with np.errstate(all="ignore"):  # infinities and NaN are results like others
            found: Any = op.reference(c, *args)
    except WorkbenchError:
        raise
    except _NONSENSE as e:
        raise c.error("bad_value", f"cannot be computed from what it is given: {e}", "look at its inputs") from e
    except MemoryError as e:
        raise c.error("too_large", "would give a result that there is no memory for", "look at its inputs") from e
    every = found if isinstance(found, tuple) else (found,)
    return tuple(v if isinstance(v, list) or v is None else np.asarray(v) for v in every)


def _empty(c: Call) -> tuple[Array, ...]:
    """Results of a node where neither it is given any element nor makes any; none otherwise."""
    if all(t is None or t.size for t in c.types):
        return ()
    try:
        types = infer(c)
    except ModelError:
        return ()
    return () if any(t.size for t in types) else tuple(np.empty(t.shape, t.dtype) for t in types)


def obstacle(c: Call, outs: Sequence[TensorType]) -> str:
    """Why a node cannot become (part of) a kernel; "" where it can."""
    op = opdef(c.node)
    if found := op.obstacle(c):
        return found
    if any(c.node.outputs[1:]):
        return "more than one result"
    tensors = [t for i, t in enumerate(c.types) if i not in op.parameters or c.values[i] is None]
    return "a tensor without elements" if any(t is not None and not t.size for t in (*tensors, *outs)) else ""


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
    from workbench.graph import ops

    assert ops is not None
    return {n: d for (dom, n), d in sorted(_REGISTRY.items()) if dom == ""}


def opdef(node: Node) -> OpDef:
    """Operator of a node; `ModelError` "model.unsupported_op" when it is not known."""
    from workbench.graph import ops
    from workbench.graph.onnx.foreign import foreign

    assert ops is not None
    pause()  # whatever walks a graph asks this of every node
    domain = "" if node.domain == "ai.onnx" else node.domain
    found = _REGISTRY.get((domain, node.op))
    if found is None or not found.accepts(node):
        found = foreign(domain, node.op, node.version)
    if found is not None:
        return found
    supported = registry()
    where = f" of domain {node.domain!r}" if node.domain not in ("", "ai.onnx") else ""
    close = did_you_mean(node.op, supported, "supported")
    listing = "supported: " + ", ".join(supported)
    raise ModelError(
        "model.unsupported_op",
        f"Operator {node.op!r}{where} (node {node.name!r}) is not supported.",
        (node.name, node.op, node.domain or "ai.onnx"),
        f"{close} {listing}" if close.startswith("did") else listing,
    )


def known(domain: str, name: str, version: int) -> bool:
    """Whether `opdef` finds the operator."""
    from workbench.graph import ops
    from workbench.graph.onnx.foreign import foreign

    assert ops is not None
    ours = domain in ("", "com.microsoft") and (domain, name) in _REGISTRY
    return ours or foreign(domain, name, version) is not None
