"""What a case is: nodes in ONNX's own text form, and the operands that they read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import onnx

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Operand:
    """An array that is drawn when a case is made.

    Attributes
    ----------
    shape : tuple of int
    dtype : str
    low, high : float
        Bounds of uniform numbers; equal: normal ones.
    scale : float
        What normal numbers are multiplied by.
    const : bool
        Whether it is a constant of the model.
    values : nested sequence, optional
        The numbers themselves.
    """

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    low: float = 0.0
    high: float = 0.0
    scale: float = 1.0
    const: bool = False
    values: object = None

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """The array."""
        if self.values is not None:
            return np.array(self.values, self.dtype)
        if self.dtype == "bool":
            return rng.random(self.shape) < 0.5
        if self.dtype.startswith("float"):
            drawn = rng.standard_normal(self.shape) if self.low == self.high else rng.uniform(size=self.shape)
            return np.asarray(
                self.low + drawn * (self.scale if self.low == self.high else self.high - self.low), self.dtype
            )
        return rng.integers(int(self.low), int(self.high), self.shape).astype(self.dtype)


def real(*shape: int, low: float = 0.0, high: float = 0.0, dtype: str = "float32") -> Operand:
    """Numbers that arrive at run time: normal ones, or uniform ones between two bounds."""
    return Operand(shape, dtype, low, high)


def weight(*shape: int, low: float = 0.0, high: float = 0.0) -> Operand:
    """Constants; normal ones are so small that sums over all axes but the first have the size of the operand."""
    fan = float(np.prod(shape[1:])) if len(shape) > 1 else 1.0
    return Operand(shape, low=low, high=high, scale=fan**-0.5, const=True)


def whole(low: int, high: int, *shape: int, dtype: str = "int64", const: bool = False) -> Operand:
    """Integers from `low` to below `high`."""
    return Operand(shape, dtype, low, high, const=const)


def given(values: object, dtype: str = "int64") -> Operand:
    """Constants with these values."""
    return Operand(dtype=dtype, values=values, const=True)


@dataclass(frozen=True)
class Case:
    """One operator, or one of the usual small groups.

    Attributes
    ----------
    name : str
    text : str
        The nodes, as `onnx.parser` reads them. What no node reads is an output.
    operands : dict of str to Operand
    opset : int
    near : float
        Largest difference to onnxruntime that is no failure, as a part of its largest number (of integers: of all).
    where : str
        A network that has it.
    oracle : callable, optional
        The first output of the inputs, with NumPy, for a case in which onnxruntime's answer differs from run to run.
    """

    name: str
    text: str
    operands: dict[str, Operand] = field(default_factory=dict)
    opset: int = 17
    near: float = 1e-4
    where: str = ""
    oracle: Callable[..., np.ndarray] | None = None

    def make(self, seed: int = 0) -> tuple[onnx.ModelProto, Arrays]:
        """The model, and the values of its inputs."""
        from onnx import ValueInfoProto, helper, numpy_helper, parser

        nodes = parser.parse_graph(f"g () => () {{ {self.text} }}").node
        rng = np.random.default_rng(seed)
        arrays = {name: o.draw(rng) for name, o in self.operands.items()}
        feeds = {n: a for n, a in arrays.items() if not self.operands[n].const}
        read = {n for node in nodes for n in node.input}
        graph = helper.make_graph(
            nodes,
            "case",
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                for n, a in feeds.items()
            ],
            [ValueInfoProto(name=o) for node in nodes for o in node.output if o and o not in read],
            [numpy_helper.from_array(a, n) for n, a in arrays.items() if n not in feeds],
        )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


def case(
    name: str,
    text: str,
    opset: int = 17,
    near: float = 1e-4,
    where: str = "",
    oracle: Callable[..., np.ndarray] | None = None,
    **operands: Operand,
) -> Case:
    """A case, with its operands by name."""
    return Case(name, text, operands, opset, near, where, oracle)
