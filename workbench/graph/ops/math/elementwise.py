"""Element-wise operators: unary, binary with broadcasting, and clipping."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.call import Call, Case
from workbench.graph.facts import DATA, Input
from workbench.graph.graph import Array, Node, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.ops.common import at, broadcast_shape, compute, operand, same, sample
from workbench.ir.dtypes import is_float

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _np_erf(x: Array) -> Array:
    return np.asarray(_erf(x), dtype=x.dtype)


def _np_sigmoid(x: Any) -> Any:
    return np.exp(-np.logaddexp(0, -x))  # does not overflow


def _always(value: te.Value) -> Callable[[Any], te.Value]:
    return lambda idx: value


class _Unary(OpDef):
    numpy: Callable[[Any], Any]
    scalar: Callable[[Any], te.Value]
    stage = ""
    low: float | None = None

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return same(c)

    def reference(self, c: Call, x: Array) -> Array:
        return np.asarray(type(self).numpy(x)).astype(x.dtype, copy=False)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        fn = type(self).scalar
        return compute(x.shape, lambda *i: fn(x[i]), c.name(self.stage))

    def cases(self) -> list[Case]:
        return [Case("2d", (sample(3, 5, low=self.low),)), Case("4d", (sample(1, 4, 3, 2, low=self.low),))]


def _unary(
    name: str,
    numpy: Callable[[Any], Any],
    scalar: Callable[[Any], te.Value],
    doc: str,
    low: float | None = None,
    **facts: Any,
) -> None:
    steps = {"numpy": staticmethod(numpy), "scalar": staticmethod(scalar), "stage": name.lower(), "low": low}
    operator(name, "injective", elementwise=True, **facts)(type(name, (_Unary,), {**steps, "__doc__": doc}))


_unary(
    "Relu", lambda x: np.maximum(x, 0), lambda v: te.maximum(v, 0.0), "max(x, 0)", idempotent=True, not_negative=True
)
_unary("Sigmoid", _np_sigmoid, te.sigmoid, "1 / (1 + exp(-x))", not_negative=True)
_unary("Tanh", np.tanh, te.tanh, "Hyperbolic tangent.")
_unary("Exp", np.exp, te.exp, "Exponential.", not_negative=True)
_unary("Log", np.log, te.log, "Natural logarithm.", low=0.1)
_unary("Sqrt", np.sqrt, te.sqrt, "Square root.", low=0.1, not_negative=True)
_unary("Neg", np.negative, lambda v: -v, "Negation.", involution=True)
_unary("Abs", np.abs, te.abs, "Absolute value.", idempotent=True, not_negative=True)
_unary("Erf", _np_erf, te.erf, "Error function.")
_unary("Floor", np.floor, te.floor, "Largest integer not above.", idempotent=True)
_unary("Ceil", np.ceil, te.ceil, "Smallest integer not below.", idempotent=True)
_unary("Round", np.rint, te.round, "Nearest integer; of two that are equally near, the even one.", idempotent=True)
_unary("Reciprocal", np.reciprocal, lambda v: 1.0 / v, "1 / x", low=0.5)


def largest(dtype: str) -> float | None:
    """Largest number of a float type."""
    return float(np.finfo(dtype).max) if is_float(dtype) else None


@operator("Clip", "injective", elementwise=True)
class Clip(OpDef):
    """x limited to [min, max]: attributes before opset 11, optional inputs since."""

    scalars = True
    tensors = (0,)

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return same(c)

    def _attributes(self, c: Call) -> tuple[float | None, float | None]:
        low, high = (c.get_float(k, 0.0) if k in c.node.attrs else None for k in ("min", "max"))
        return low, high

    def _open(self, c: Call) -> tuple[float | None, float | None]:
        """Limits where none is given: the largest numbers of a float type, so that no infinity passes."""
        end = largest(c.type(0).dtype)
        return (None, None) if end is None else (-end, end)

    def reference(self, c: Call, x: Any, low: Array | None = None, high: Array | None = None) -> Array:
        given = self._attributes(c) if c.version < 11 else (low, high)
        limits = (d if v is None else v for v, d in zip(given, self._open(c), strict=True))
        lo, hi = (None if v is None else np.asarray(v, x.dtype) for v in limits)
        x = x if lo is None else np.maximum(x, lo)
        return np.asarray(x if hi is None else np.minimum(x, hi))

    def lower(self, c: Call, x: te.Tensor, *limits: te.Tensor | None) -> te.Tensor:
        lo, hi = (None if v is None else _always(te.const(v, x.dtype)) for v in self._open(c))
        if c.version < 11:
            given = [None if v is None else _always(te.const(v, x.dtype)) for v in self._attributes(c)]
        else:
            given = [operand(c, i, (x, *limits)) if c.has(i) else None for i in (1, 2)]
        lo, hi = given[0] or lo, given[1] or hi

        def body(*i: te.Axis) -> te.Value:
            v = x[i]
            v = v if lo is None else te.maximum(v, lo(i))
            return v if hi is None else te.minimum(v, hi(i))

        return compute(x.shape, body, c.name("clip"))

    def cases(self) -> list[Case]:
        lo, hi = np.float32(-0.5), np.float32(0.5)
        return [
            Case("opset6", (sample(3, 5),), {"min": 0.0, "max": 0.7}, version=6),
            Case("opset6 open", (sample(3, 5),), {"min": 0.0}, version=6),
            Case("inputs", (sample(3, 5), np.array(lo), np.array(hi)), const=(1, 2)),
            Case("only max", (sample(3, 5), None, np.array(hi)), const=(2,)),
            Case("computed", (sample(3, 5), np.array(lo), np.array(hi))),
        ]


class Broadcast(OpDef):
    """Operators of tensors that broadcast to one shape."""

    numpy: Callable[[Any, Any], Any]
    scalar: Callable[[Any, Any], te.Value]
    stage = ""
    variadic = False
    low: float | None = None
    scalars = broadcasts = True

    def accepts(self, node: Node) -> bool:
        return not (node.version < 7 and node.attrs.get("broadcast"))

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        types = [c.type(i) for i in range(len(c.types))]
        dtype = types[0].dtype
        if self.name != "Pow" and any(t.dtype != dtype for t in types):
            raise c.error("shape_mismatch", f"mixes element types {', '.join(t.dtype for t in types)}")
        return (TensorType(broadcast_shape(c, [t.shape for t in types]), dtype),)

    def reference(self, c: Call, *args: Array) -> Array:
        out = self.last(functools.reduce(type(self).numpy, args), len(args))
        return np.asarray(out).astype(c.type(0).dtype, copy=False)

    def last(self, value: Any, count: int) -> Any:
        """What becomes of the operands taken together."""
        return value

    def idle(self, c: Call) -> bool:
        return len(c.types) == 1

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        fn, shape = type(self).scalar, broadcast_shape(c, [c.shape(i) for i in range(len(c.types))])
        reads = [operand(c, i, args) for i in range(len(args))]
        return compute(
            shape, lambda *i: self.last(functools.reduce(fn, [r(i) for r in reads]), len(reads)), c.name(self.stage)
        )

    def cases(self) -> list[Case]:
        a, b = sample(2, 3, 4, low=self.low), sample(2, 3, 4, seed=1, low=self.low)
        cases = [
            Case("same", (a, b)),
            Case("trailing", (a, sample(4, low=self.low)), const=(1,)),
            Case("both ways", (sample(2, 1, 4, low=self.low), sample(3, 1, low=self.low))),
            Case("scalar", (a, np.array(1.5, np.float32)), const=(1,)),
        ]
        if self.variadic:
            cases += [Case("one", (a,)), Case("three", (a, b, sample(3, 1, low=self.low)))]
        return cases


def _divide(a: Any, b: Any) -> Any:
    """Quotient; integers are truncated towards zero, as ONNX asks."""
    if np.issubdtype(np.asarray(a).dtype, np.integer):
        down = np.floor_divide(a, b)
        return down + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0)))
    return a / b


def _power(a: te.Value, b: te.Value) -> te.Value:
    return te.power(a, b if b.dtype == a.dtype else te.cast(b, a.dtype))


def _binary(
    name: str,
    numpy: Callable[[Any, Any], Any],
    scalar: Callable[[Any, Any], te.Value],
    doc: str,
    variadic: bool = False,
    low: float | None = None,
    **facts: Any,
) -> None:
    steps = {"numpy": staticmethod(numpy), "scalar": staticmethod(scalar), "stage": name.lower()}
    members = {**steps, "variadic": variadic, "low": low, "__doc__": doc}
    operator(name, "injective", elementwise=True, **facts)(type(name, (Broadcast,), members))


_BIASES, _SCALES = (Input("bias"), Input("bias")), (Input("scale"), Input("scale"))
_binary("Add", np.add, lambda a, b: a + b, "Sum of two tensors.", commutative=True, identity=0, inputs=_BIASES)
_binary("Sub", np.subtract, lambda a, b: a - b, "Difference.", identity=0)
_binary("Mul", np.multiply, lambda a, b: a * b, "Product.", commutative=True, identity=1, inputs=_SCALES)
_binary("Div", _divide, lambda a, b: a / b, "Quotient.", low=0.5, identity=1)
_binary("Pow", np.power, _power, "Power; the exponent is converted to the type of the base.", low=0.5, identity=1)
_binary("Max", np.maximum, te.maximum, "Largest of its inputs.", variadic=True, commutative=True)
_binary("Min", np.minimum, te.minimum, "Smallest of its inputs.", variadic=True, commutative=True)
_binary(
    "Sum", np.add, lambda a, b: a + b, "Sum of its inputs.", variadic=True, commutative=True, identity=0, word="add"
)


@operator("Mean", "injective", elementwise=True, commutative=True)
class Mean(Broadcast):
    """Mean of its inputs."""

    numpy, scalar = staticmethod(np.add), staticmethod(lambda a, b: a + b)
    stage, variadic = "mean", True

    def last(self, value: Any, count: int) -> Any:
        return value * (1.0 / count)


@operator("PRelu", "injective", elementwise=True, inputs=(DATA, Input("scale")))
class PRelu(OpDef):
    """x where x >= 0, else slope * x, with a slope that broadcasts."""

    def accepts(self, node: Node) -> bool:
        return node.version >= 7  # before, the slope had one element per channel

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        if broadcast_shape(c, [c.shape(0), c.shape(1)]) != c.shape(0):
            raise c.error(
                "shape_mismatch", f"has a slope of shape {list(c.shape(1))} for an input of shape {list(c.shape(0))}"
            )
        return same(c)

    def reference(self, c: Call, x: Array, slope: Array) -> Array:
        return np.where(x >= 0, x, x * slope).astype(x.dtype)

    def lower(self, c: Call, x: te.Tensor, slope: te.Tensor) -> te.Tensor:
        return compute(x.shape, lambda *i: te.select(x[i] >= 0.0, x[i], x[i] * at(slope, i)), c.name("prelu"))

    def cases(self) -> list[Case]:
        return [
            Case("channel", (sample(1, 3, 2, 2), sample(3, 1, 1)), const=(1,)),
            Case("same", (sample(2, 3), sample(2, 3, seed=4))),
        ]
