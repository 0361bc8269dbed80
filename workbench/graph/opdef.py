"""Operators: one declared class each, from which everything about the operator is derived.

A class says its `fusion` class, infers types (`infer`), computes with NumPy (`reference`) and lowers to a tensor
expression (`lower`). What else is to be known of it, from the word for a person to
what becomes of it in another layout, is declared beside that: passes, task extraction and the contract tests ask the
declaration. Adding an operator means adding one class to a file in ``ops/``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from workbench import te
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.cooperative_yield import pause
from workbench.errors import ModelError, did_you_mean
from workbench.graph.graph import Array, Node, TensorType
from workbench.graph.node_steps import Steps
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import Input, Permuted, Weights, dims, snake_case
from workbench.late_binding import Provided

Fusion: TypeAlias = Literal["injective", "reduction", "complex", "opaque"]
Scalar: TypeAlias = te.Value | te.Axis | float | int | bool
#: Place of an element, and where it is found in another tensor.
Index: TypeAlias = "te.Axis | te.Value | int"
#: Values of a constant -> the scale and the shift that they are.
Affine: TypeAlias = Callable[[Any], tuple[Any, Any]]
Places: TypeAlias = Callable[[Sequence[Index]], tuple[Index, ...]]


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
    result: ClassVar[str] = ""  # element type of the result, where it is always the same
    typed_by: ClassVar[int] = 0  # the input that has the element type of the result
    by_type: ClassVar[bool] = False  # the result follows from the types of the inputs alone
    random: ClassVar[bool] = False  # another result each time: never computed ahead
    converts: ClassVar[bool] = False  # the element type of the result does not follow from those of the inputs
    sensitive: ClassVar[bool] = False  # small errors of its input become large ones: it stays in float32
    native: ClassVar[bool] = True  # declared here, not left to the onnx package

    # For a person, and for weights that are made up.
    word: ClassVar[str] = ""  # the operator in words; by default its name in snake case
    inputs: ClassVar[tuple[Input, ...]] = ()  # what each input is, as far as that matters

    # Algebra.
    commutative: ClassVar[bool] = False
    identity: ClassVar[float | None] = None  # x op identity = x, of two inputs
    idempotent: ClassVar[bool] = False  # f(f(x)) = f(x)
    involution: ClassVar[bool] = False  # f(f(x)) = x
    not_negative: ClassVar[bool] = False  # no result is below zero (it may be NaN)
    affine: ClassVar[Affine | None] = None  # a constant in the place of the second input scales and shifts the first
    broadcasts: ClassVar[bool] = False  # the inputs broadcast to the shape of the result
    picks: ClassVar[bool] = False  # each element of the result is one of the first input's, whatever their values are
    on_quantised: ClassVar[bool] = False  # computes the same on quantised numbers: it moves elements or chooses some
    real: ClassVar[str] = ""  # the operator on real numbers that this one computes on quantised ones
    rowwise: ClassVar[bool] = False  # a row of the result follows from the same row of the first input

    # Layouts and kernels.
    image: ClassVar[bool] = False  # takes the attribute `layout`
    window: ClassVar[bool] = False  # looks at neighbouring elements of an image
    weights: ClassVar[Weights | None] = None  # of a convolution
    permutes_all: ClassVar[bool] = False  # `permuted` is about all inputs, not the first alone
    transposes: ClassVar[bool] = False  # permutes the axes (`perm`), and does nothing else
    joins: ClassVar[bool] = False  # the result is the inputs side by side, along the attribute `axis`
    moves: ClassVar[bool] = False  # says where an element is found (`places`), and computes nothing
    reads_through: ClassVar[bool] = False  # its kernel reads through operators that move, and writes in another order
    reads_parts: ClassVar[bool] = False  # reads some channels of a wider image where they lie

    @property
    def rearranges(self) -> bool:
        """Whether the result has all elements of the first input, in another shape or order."""
        return (self.view and not self.elementwise) or self.transposes

    def in_code(self, i: int, value: Array) -> bool:
        """Whether a constant input is part of the code rather than an argument."""
        return i in self.parameters or (self.scalars and value.size == 1 and i not in self.tensors)

    def accepts(self, node: Node) -> bool:
        """Whether this declaration covers a node; otherwise the onnx package's own implementation computes it."""
        return self.multi or not any(node.outputs[1:])

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        """Types of the outputs; that of the only one follows from `shape` and `dtype`."""
        return (TensorType(self.shape(c), self.dtype(c)),)

    def shape(self, c: Call) -> tuple[int, ...]:
        """Shape of the first output."""
        return c.shape(0)

    def dtype(self, c: Call) -> str:
        """Element type of the first output."""
        return self.result or c.type(self.typed_by).dtype

    def reference(self, c: Call, *args: Any, **named: Any) -> Array | tuple[Array, ...]:
        """Values of the outputs, computed with NumPy; of the first one alone where a node seldom has more.

        Operators name their inputs; one that may be absent is None.
        """
        raise NotImplementedError

    def lower(self, c: Call, *args: Any, **named: Any) -> te.Tensor:
        """Tensor expression of the first output; inputs as for `reference`."""
        raise c.error("unsupported_op", f"cannot be compiled: {self.obstacle(c)}")

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Write the node as others that compute the same; False, with nothing written, where it stays as it is."""
        return False

    def kernel(self, c: Call) -> KernelFunction | None:
        """The runtime kernel that computes this use, its `params` left out; None for operators that are loop nests."""
        return None

    def obstacle(self, c: Call) -> str:
        """Why this use cannot become a loop nest; "" where it can."""
        return "" if type(self).lower is not OpDef.lower else "no loop nest is known for it here"

    def idle(self, c: Call) -> bool:
        """Whether the result is the first input, where it has its type."""
        return self.view

    def keeps_slices(self, c: Call, i: int, axis: int, at: int) -> bool:
        """Whether each slice of the results along `at` follows from the same slice of input `i` along `axis`.

        It is asked only where `at` is the one axis of the results that is as long as `axis`, whatever that length is.
        """
        if self.image or self.rowwise:  # a normalisation of all axes from the first on has no rows
            rank = len(c.shape(0))
            return i == at == 0 and (self.image or c.get_int("axis", 1) % rank != 0)
        if self.rearranges and not self.transposes:
            before = math.prod(c.shape(0)[:axis])
            return i == 0 and before == math.prod(self.infer(c)[0].shape[:at])
        return self.elementwise or self.broadcasts or self.joins or self.transposes or self.fusion == "reduction"

    def words(self, c: Call, out: TensorType) -> str:
        """The kernel in words, of which it is the main operator: its name, and what counts of its shapes."""
        return f"{self.word} {dims((c.type(0) if self.fusion == 'reduction' else out).shape)}"

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        """How a node is written where the axes of its data (the first input, or all of them) are permuted.

        `perm` gives the model's axis at each place in memory; an axis `a` of the model is found at ``perm.index(a)``.
        """
        return None

    def perm(self, c: Call) -> tuple[int, ...]:
        """Permutation of the axes, of an operator that transposes."""
        raise NotImplementedError

    def places(self, c: Call) -> Places:
        """Index of an element -> its index in the first input, of an operator that moves."""
        raise NotImplementedError

    def product_axes(self, c: Call) -> tuple[int, int] | None:
        """Axes of the weights (input 1) of a product or convolution along which the channels of its input and of its
        result lie; None where it is none, or scales its operands.
        """
        return None

    def halved(self, c: Call) -> bool:
        """Whether this is a product of its first two inputs that instructions for bfloat16 compute well."""
        return False

    def by_pixel(self, c: Call) -> bool:
        """Whether a pixel of the image follows from the pixel at its place alone."""
        return False

    def summed_axis(self, c: Call) -> int | None:
        """Axis of the constant matrix of weights (input 1) that is summed over with the input's last; else None."""
        return None


#: Operators that are declared elsewhere, by domain, name and opset: those of the onnx package (`onnx.foreign`).
foreign: Provided[[str, str, int], OpDef | None] = Provided("operators of the onnx package")

_REGISTRY: dict[tuple[str, str], OpDef] = {}
_T = TypeVar("_T", bound=type[OpDef])


def operator(name: str, fusion: Fusion, *, domain: str = "", **facts: Any) -> Callable[[_T], _T]:
    """Register a class as the operator `name`; `facts` are attributes of that class, most of them of `OpDef`."""

    def wrap(cls: _T) -> _T:
        assert all(hasattr(cls, k) for k in facts), facts
        own = {"word": snake_case(name)} if not cls.word else {}
        members = {"name": name, "fusion": fusion, "__doc__": cls.__doc__, **own, **facts}
        _REGISTRY[domain, name] = type(name, (cls,), members)()
        return cls

    return wrap


def registry() -> dict[str, OpDef]:
    """All operators of the standard domain by name."""
    return {n: d for (dom, n), d in sorted(_REGISTRY.items()) if dom == ""}


def declared(name: str) -> OpDef:
    """Operator of the standard domain that is declared here."""
    return _REGISTRY["", name]


def operators(fact: Callable[[OpDef], object]) -> dict[str, OpDef]:
    """Operators of any domain, by name, of which something is true."""
    return {name: op for (_, name), op in sorted(_REGISTRY.items(), key=lambda at: at[0]) if fact(op)}


def opdef(node: Node) -> OpDef:
    """Operator of a node; `ModelError` "model.unsupported_op" when it is not known."""
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
    ours = domain in ("", "com.microsoft") and (domain, name) in _REGISTRY
    return ours or foreign(domain, name, version) is not None
