"""Nodes of a graph, written one after the other, and the table of those who write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from workbench.errors import ModelError
from workbench.graph.graph import Array, AttrValue, Node
from workbench.graph.ops.arrays.movement import CODES
from workbench.model_files.element_types import DTYPES
from workbench.registry import Registry


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor that was written: its name, shape and element type."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def axis(self, dim: int) -> int:
        """A dimension, counted from the front."""
        return dim % self.rank if self.rank else 0

    def axes(self, dims: Sequence[int] | int | None) -> tuple[int, ...]:
        """Dimensions, counted from the front; all where none is named."""
        if dims is None or dims == []:
            return tuple(range(self.rank))
        return tuple(self.axis(d) for d in ([dims] if isinstance(dims, int) else dims))


Operand: TypeAlias = "Value | str | Array | float | int | bool | None"
Writes: TypeAlias = Callable[..., Any]
"""Takes a writer, and the arguments of an operator as its schema has them; returns names of results."""

#: Operators of ATen by their names, overloads together.
ATEN: Registry[Writes] = Registry("operator of PyTorch", "operators", "torch.operator", ModelError)


#: Those that move elements, or make them of nothing: alone they are no reason to leave torch, which makes views.
MOVES: set[str] = set()


def aten(*names: str, moves: bool = False) -> Callable[[Writes], Writes]:
    """Declare how operators are written, and whether they only move elements."""

    def declare(function: Writes) -> Writes:
        for name in names:
            ATEN[name] = function
        MOVES.update(names if moves else ())
        return function

    return declare


class Unsupported(Exception):
    """An operator, or a use of it, that stays in torch; its text says why."""


class Writer:
    """Collects nodes and constants.

    Attributes
    ----------
    nodes : list of Node
    constants : dict
    call : str
        Name of the operator that is being written.
    result : sequence of Value
        Of the call that is being written: shapes and element types that its results have to have.
    used : set of int
        Which of them something reads.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[str, Array] = {}
        self.call = ""
        self.result: Sequence[Value] = ()
        self.used: set[int] = set()
        self._many = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first result."""
        return self.result[0].shape

    @property
    def dtype(self) -> str:
        """Element type of the first result."""
        return self.result[0].dtype

    def __call__(
        self, op: str, *inputs: Operand, outputs: int = 1, version: int = 18, domain: str = "", **attrs: AttrValue
    ) -> Any:
        """Write a node; returns the name of its result, or a tuple of `outputs` of them."""
        self._many += 1
        names = tuple(f"{op}_{self._many}" + (f".{k}" if k else "") for k in range(outputs))
        given = tuple(map(self.name, inputs))
        while given and not given[-1]:
            given = given[:-1]
        self.nodes.append(Node(names[0], op, given, names, attrs, domain, version))
        return names[0] if outputs == 1 else names

    def name(self, x: Operand) -> str:
        """Name of an operand; arrays become constants, and None what is absent."""
        if x is None or isinstance(x, str):
            return x or ""
        return x.name if isinstance(x, Value) else self.constant(np.asarray(x))

    def constant(self, array: Array) -> str:
        """Keep an array."""
        self._many += 1
        name = f"constant_{self._many}"
        self.constants[name] = array
        return name

    def cast(self, x: Operand, dtype: str | None = None) -> str:
        """An operand in an element type, that of the result by default."""
        dtype = self.dtype if dtype is None else dtype
        if not isinstance(x, Value):
            return x if isinstance(x, str) else self.constant(np.asarray(x).astype(np.dtype(dtype)))
        return x.name if x.dtype == dtype else self("Cast", x, to=CODES[dtype])

    def only(self, *outputs: int) -> None:
        """Refuse a call of which another result is used."""
        if self.used - set(outputs):
            raise Unsupported("a result beside the first is used")


def dtype_name(dtype: Any) -> str:
    """NumPy's name of an element type of torch.

    Raises
    ------
    Unsupported
        For complex and other types that graphs do not hold.
    """
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise Unsupported(f"its elements are {name}")
    return name


def integers(values: Sequence[int]) -> Array:
    """Numbers as shapes and axes are given."""
    return np.asarray(values, np.int64)
