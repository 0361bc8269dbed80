"""Comparisons, logic, and choosing by a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.call import Call, Case
from workbench.graph.graph import Array, Node, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.ops.common import at, broadcast_shape, compute, operand, sample


class _Relation(OpDef):
    """Two tensors under broadcasting give booleans."""

    numpy: Callable[[Any, Any], Any]
    scalar: Callable[[Any, Any], te.Value]
    stage = ""
    logical = False
    scalars = broadcasts = True

    def accepts(self, node: Node) -> bool:
        return not (node.version < 7 and node.attrs.get("broadcast"))

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        a, b = c.type(0), c.type(1)
        if a.dtype != b.dtype:
            raise c.error("shape_mismatch", f"mixes element types {a.dtype}, {b.dtype}")
        return (TensorType(broadcast_shape(c, [a.shape, b.shape]), "bool"),)

    def reference(self, c: Call, a: Array, b: Array) -> Array:
        return np.asarray(type(self).numpy(a, b), bool)

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        fn, shape = type(self).scalar, broadcast_shape(c, [c.shape(0), c.shape(1)])
        a, b = operand(c, 0, args), operand(c, 1, args)
        return compute(shape, lambda *i: fn(a(i), b(i)), c.name(self.stage))

    def cases(self) -> list[Case]:
        a, b = sample(2, 3, 4), sample(3, 1)
        a[0, 0] = b[0]
        if self.logical:
            a, b = a > 0, b > 0
            return [Case("both ways", (a, b)), Case("same", (a, ~a))]
        a[0, 1, 0] = np.nan
        return [Case("both ways", (a, b)), Case("scalar", (a, b[0, 0]), const=(1,)), Case("ints", (*_INTS,))]


_INTS = (np.array([1, -2, 3]), np.array([1, 2, -3]))


def _relation(name: str, numpy: Callable[..., Any], scalar: Callable[..., te.Value], doc: str, **facts: Any) -> None:
    members = {
        "numpy": staticmethod(numpy),
        "scalar": staticmethod(scalar),
        "stage": name.lower(),
        "logical": name in ("And", "Or", "Xor"),
        "__doc__": doc,
    }
    operator(name, "injective", elementwise=True, **facts)(type(name, (_Relation,), members))


_relation("Equal", np.equal, te.equal, "Whether two values are equal.", commutative=True)
_relation("Less", np.less, lambda a, b: a < b, "Whether the first value is smaller.")
_relation("LessOrEqual", np.less_equal, lambda a, b: a <= b, "Whether the first value is smaller or equal.")
_relation("Greater", np.greater, lambda a, b: a > b, "Whether the first value is larger.")
_relation("GreaterOrEqual", np.greater_equal, lambda a, b: a >= b, "Whether the first value is larger or equal.")
_relation("And", np.logical_and, te.logical_and, "Whether both are true.", commutative=True, identity=True)
_relation("Or", np.logical_or, te.logical_or, "Whether one is true.", commutative=True, identity=False)
_relation("Xor", np.logical_xor, te.not_equal, "Whether exactly one is true.", commutative=True, identity=False)


class _Test(OpDef):
    """One tensor gives booleans."""

    numpy: Callable[[Any], Any]
    scalar: Callable[[Any], te.Value]
    stage = ""

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return (TensorType(c.shape(0), "bool"),)

    def reference(self, c: Call, x: Array) -> Array:
        return np.asarray(type(self).numpy(x), bool)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        fn = type(self).scalar
        return compute(x.shape, lambda *i: fn(x[i]), c.name(self.stage))

    def cases(self) -> list[Case]:
        x = sample(2, 3, 4)
        if self.stage == "not":
            return [Case("3d", (x > 0,))]
        x[0, 0, 0], x[1, 1, 1] = np.nan, np.inf
        return [Case("3d", (x,))]


def _test(name: str, numpy: Callable[[Any], Any], scalar: Callable[[Any], te.Value], doc: str, **facts: Any) -> None:
    members = {"numpy": staticmethod(numpy), "scalar": staticmethod(scalar), "stage": name.lower(), "__doc__": doc}
    operator(name, "injective", elementwise=True, **facts)(type(name, (_Test,), members))


_test("Not", np.logical_not, te.logical_not, "Whether the value is false.", involution=True)
_test("IsNaN", np.isnan, lambda v: te.not_equal(v, v), "Whether the value is not a number.")


@operator("Where", "injective", elementwise=True)
class Where(OpDef):
    """The second value where the first is true, else the third, under broadcasting."""

    scalars = broadcasts = True

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        a, b = c.type(1), c.type(2)
        if a.dtype != b.dtype or c.type(0).dtype != "bool":
            raise c.error("shape_mismatch", f"chooses by {c.type(0).dtype} between {a.dtype} and {b.dtype}")
        return (TensorType(broadcast_shape(c, [c.shape(k) for k in range(3)]), a.dtype),)

    def reference(self, c: Call, cond: Array, a: Array, b: Array) -> Array:
        return np.asarray(np.where(cond, a, b))

    def lower(self, c: Call, *args: Any) -> te.Tensor:
        shape, cond = self.infer(c)[0].shape, c.values[0]
        a, b = operand(c, 1, args), operand(c, 2, args)
        if cond is not None and cond.size == 1:
            chosen = a if cond.reshape(-1)[0] else b
            return compute(shape, lambda *i: chosen(i), c.name("where"))
        return compute(shape, lambda *i: te.select(at(args[0], i), a(i), b(i)), c.name("where"))

    def cases(self) -> list[Case]:
        a, b = sample(2, 3, 4), sample(3, 1, seed=2)
        return [
            Case("both ways", (a > 0, a, b)),
            Case("condition broadcast", (b > 0, a, np.array(0.5, np.float32)), const=(2,)),
            Case("constant condition", (np.array(True), a, b), const=(0,)),
        ]
