"""Operators on the bits of integers: shifts and logic; and the bits of a type read as another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array, Node
from workbench.graph.kernels.bits import of_bits
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.arrays.movement import DTYPES
from workbench.graph.ops.lowering import broadcast_shape, ints


class Bitwise(OpDef):
    """A function of the bits of one or two integers."""

    numpy: ClassVar[Callable[..., Any]]
    what: ClassVar[str]

    def shape(self, c: Call) -> tuple[int, ...]:
        if any(c.type(k).dtype != c.type(0).dtype or "int" not in c.type(k).dtype for k in range(len(c.types))):
            raise c.error("unsupported_dtype", f"takes integers of one type, not {', '.join(map(str, c.types))}")
        return broadcast_shape(c, [c.shape(k) for k in range(len(c.types))])

    def reference(self, c: Call, *args: Array) -> Array:
        return np.asarray(type(self).numpy(*args), args[0].dtype)

    def named(self, c: Call) -> str:
        """The function of a node."""
        return type(self).what

    def kernel(self, c: Call) -> KernelFunction | None:
        alike = all(c.shape(k) == self.shape(c) for k in range(len(c.types)))
        return KernelFunction(of_bits, (self.named(c),)) if alike else None

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Operands that broadcast are repeated before."""
        shape = self.shape(c)
        if all(c.shape(k) == shape for k in range(len(c.types))) or 0 in shape:
            return False
        full = steps.constant("shape", ints(*shape))
        names = (
            steps.name(k) if c.shape(k) == shape else steps.add("Expand", (steps.name(k), full), "wide") for k in (0, 1)
        )
        steps.add(self.name, tuple(names), "bits", dict(c.node.attrs))
        return steps.finish()


def _bitwise(name: str, doc: str, numpy: Callable[..., Any], what: str) -> None:
    members = {"__doc__": doc, "numpy": staticmethod(numpy), "what": what}
    operator(name, "opaque")(type(name, (Bitwise,), members))


_bitwise("BitwiseAnd", "Bits that both have.", np.bitwise_and, "and")
_bitwise("BitwiseOr", "Bits that one has.", np.bitwise_or, "or")
_bitwise("BitwiseXor", "Bits that exactly one has.", np.bitwise_xor, "xor")
_bitwise("BitwiseNot", "Bits that it does not have.", np.bitwise_not, "not")


@operator("BitShift", "opaque")
class BitShift(Bitwise):
    """Bits moved to the left or right, as far as the second operand says."""

    def named(self, c: Call) -> str:
        direction = c.get_str("direction", "")
        if direction not in ("LEFT", "RIGHT"):
            raise c.error("unsupported_attr", f"moves bits to the {direction!r}, which is not known")
        return direction.lower()

    def reference(self, c: Call, *args: Array) -> Array:
        return np.asarray((np.left_shift if self.named(c) == "left" else np.right_shift)(*args), args[0].dtype)


@operator("BitCast", "opaque")
class BitCast(OpDef):
    """The bits of each element as another type of the same size."""

    def accepts(self, node: Node) -> bool:
        return node.attrs.get("to") in DTYPES

    def dtype(self, c: Call) -> str:
        to = DTYPES[c.get_int("to", 0)]
        if np.dtype(to).itemsize != np.dtype(c.type(0).dtype).itemsize:
            raise c.error("unsupported_dtype", f"reads the bits of {c.type(0).dtype} as {to}, which has another size")
        return to

    def kernel(self, c: Call) -> KernelFunction | None:
        return None if "bool" in (self.dtype(c), c.type(0).dtype) else KernelFunction(of_bits, ("same",))

    def reference(self, c: Call, x: Array) -> Array:
        return np.ascontiguousarray(x).view(self.dtype(c)).reshape(x.shape)
