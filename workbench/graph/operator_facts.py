"""What operators declare of themselves besides what they compute: values that `OpDef` is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from workbench.graph.graph import Array, AttrValue


@dataclass(frozen=True, slots=True)
class Input:
    """What an input is.

    Attributes
    ----------
    role : str
        "data", "weight", "bias", "scale", "mean", "var", "factor" or "zero". By it weights are made up for a model that
        comes without.
    name : str
        Parameter of the kernel, where the input is constant.
    """

    role: str
    name: str = "C"


DATA, WEIGHT, BIAS, SCALE = Input("data", "X"), Input("weight", "W"), Input("bias", "bias"), Input("scale", "scale")
MEAN, VARIANCE, FACTOR = Input("mean", "mean"), Input("var", "var"), Input("factor", "factor")
ZERO = Input("zero", "zero")
#: A scale or a zero point that has no name of its own in a kernel.
QUANTISATION = Input("quantisation")

#: Attribute of a product: columns of the result and rows of the weights in the blocks that its weights are kept in.
BLOCK = "sparse_block"


@dataclass(frozen=True, slots=True)
class Weights:
    """Which input holds a convolution's weights, and the places of their channels, first as the model has them."""

    at: int
    input_first: bool = False

    def perm(self, rank: int) -> tuple[int, ...]:
        """To the layout that goes with channels last: kernel, input channels, output channels."""
        return (*range(2, rank), *((0, 1) if self.input_first else (1, 0)))

    def per_output(self, shape: tuple[int, ...], moved: bool) -> int:
        """Products for each element: of the output, or of the input where that has the first channels."""
        channel = (-2 if self.input_first else -1) if moved else 0
        return prod(shape) // max(1, shape[channel])


@dataclass(frozen=True, slots=True)
class Permuted:
    """How a node is written with permuted axes.

    Attributes
    ----------
    attrs : mapping
        All attributes.
    out : tuple of int
        Permutation of the axes of the result.
    constants : mapping
        Inputs that become other constants.
    count : int or None
        How many inputs are left; all of them by default.
    version : int or None
        Opset that the attributes are written in; the node's by default.
    """

    attrs: Mapping[str, AttrValue]
    out: tuple[int, ...]
    constants: Mapping[int, Array] = field(default_factory=dict)
    count: int | None = None
    version: int | None = None


def dims(values: Sequence[int]) -> str:
    """``(1, 56, 56)`` as ``1x56x56``; a scalar as ``1``."""
    return "x".join(map(str, values)) or "1"


def snake_case(name: str) -> str:
    """``LeakyRelu`` as ``leaky_relu``."""
    return "".join(
        f"_{c.lower()}" if c.isupper() and k and not name[k - 1].isupper() else c.lower() for k, c in enumerate(name)
    )


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes another."""
    return tuple(sorted(range(len(perm)), key=lambda d: perm[d]))


def left_axes(perm: Sequence[int], gone: Sequence[int]) -> tuple[int, ...]:
    """Permutation of the axes that are left without some of the model's."""
    left = [a for a in range(len(perm)) if a not in gone]
    return tuple(left.index(a) for a in perm if a not in gone)
