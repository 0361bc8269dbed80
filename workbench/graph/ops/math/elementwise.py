"""Element-wise operators: arithmetic, comparisons, logic, choosing by a condition, and clipping."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import DATA, Input
from workbench.graph.ops.lowering import at, broadcast_shape, compute, operand
from workbench.graph.ops.pointwise import Broadcast, Pointwise, pointwise
from workbench.ir.dtypes import is_float

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))  # does not overflow
    return np.asarray(np.where(x >= 0, 1, e) / (1 + e))


def _divide(a: Any, b: Any) -> Any:
    """Quotient; integers are truncated towards zero, as ONNX asks."""
    if np.issubdtype(np.asarray(a).dtype, np.integer):
        down = np.floor_divide(a, b)
        return down + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0)))
    return a / b


def _mod(a: te.Value, b: te.Value, fmod: float) -> te.Value:
    """Remainder with the sign of the divisor, or of the dividend where `fmod` is set."""
    if not fmod:
        return a % b
    if is_float(a.dtype):
        rest = te.abs(a) % te.abs(b)
        return te.select(a < 0.0, -rest, rest)
    rest = a % b
    if a.dtype.startswith("u"):
        return rest
    return te.select(te.logical_and(te.not_equal(rest, 0), te.not_equal(a < 0, b < 0)), rest - b, rest)


def _sign(v: te.Value) -> te.Value:
    return te.select(v > 0.0, 1.0, v if v.dtype.startswith("u") else te.select(v < 0.0, -1.0, te.abs(v)))  # +0 of -0


def _is_infinite(v: te.Value, below: float, above: float) -> te.Value:
    if below and above:
        return te.equal(te.abs(v), math.inf)
    return te.equal(v, math.inf if above else -math.inf) if below or above else te.const(False, "bool")


def _power(a: te.Value, b: te.Value) -> te.Value:
    return te.power(a, b if b.dtype == a.dtype else te.cast(b, a.dtype))


class Infinite(Pointwise):
    """Whether a value is infinite, as two attributes have it: whole numbers."""


class Remainder(Broadcast):
    """A remainder, whose sign an attribute chooses: a whole number."""


# ---- of one input ----------------------------------------------------------------------------------------------------

pointwise(
    "Relu", "max(x, 0)", lambda x: np.maximum(x, 0), lambda v: te.maximum(v, 0.0), idempotent=True, not_negative=True
)
pointwise("Sigmoid", "1 / (1 + exp(-x))", _sigmoid, te.sigmoid, not_negative=True)
pointwise("Tanh", "Hyperbolic tangent.", np.tanh, te.tanh)
pointwise("Exp", "Exponential.", np.exp, te.exp, not_negative=True)
pointwise("Log", "Natural logarithm.", np.log, te.log, low=0.1)
pointwise("Sqrt", "Square root.", np.sqrt, te.sqrt, low=0.1, not_negative=True)
pointwise("Neg", "Negation.", np.negative, lambda v: -v, involution=True)
pointwise("Abs", "Absolute value.", np.abs, te.abs, idempotent=True, not_negative=True)
pointwise("Erf", "Error function.", _erf, te.erf)
pointwise("Floor", "Largest integer not above.", np.floor, te.floor, idempotent=True)
pointwise("Ceil", "Smallest integer not below.", np.ceil, te.ceil, idempotent=True)
pointwise("Round", "Nearest integer; of two that are equally near, the even one.", np.rint, te.round, idempotent=True)
pointwise("Reciprocal", "1 / x", np.reciprocal, lambda v: 1.0 / v, low=0.5)
pointwise(
    "Not", "Whether the value is false.", np.logical_not, te.logical_not, result="bool", boolean=True, involution=True
)
pointwise("IsNaN", "Whether the value is not a number.", np.isnan, lambda v: te.not_equal(v, v), result="bool")

pointwise("Sign", "-1, 0 or 1.", np.sign, _sign, idempotent=True)
pointwise(
    "IsInf", "Whether the value is infinite: below zero, above, or both.",
    lambda x, below, above: (np.isneginf(x) & bool(below)) | (np.isposinf(x) & bool(above)), _is_infinite, Infinite,
    result="bool", numbers={"detect_negative": 1, "detect_positive": 1},
)  # fmt: skip

# ---- of several inputs -----------------------------------------------------------------------------------------------

_TWO: dict[str, Any] = {"base": Broadcast}
_SYMMETRIC: dict[str, Any] = {**_TWO, "commutative": True}
_ANY: dict[str, Any] = {**_SYMMETRIC, "variadic": True}
_TRUTH: dict[str, Any] = {**_TWO, "result": "bool"}
_LOGIC: dict[str, Any] = {**_TRUTH, "boolean": True, "commutative": True}
_BIASES, _SCALES = (Input("bias"), Input("bias")), (Input("scale"), Input("scale"))


def _add(a: te.Value, b: te.Value) -> te.Value:
    return a + b


def _shift(v: Array) -> tuple[Array, Array]:
    return np.ones_like(v), v


def _scale(v: Array) -> tuple[Array, Array]:
    return v, np.zeros_like(v)


pointwise("Add", "Sum of two tensors.", np.add, _add, identity=0, inputs=_BIASES, affine=_shift, **_SYMMETRIC)
pointwise("Sub", "Difference.", np.subtract, lambda a, b: a - b, identity=0, affine=lambda v: _shift(-v), **_TWO)
pointwise("Mul", "Product.", np.multiply, lambda a, b: a * b, identity=1, inputs=_SCALES, affine=_scale, **_SYMMETRIC)
pointwise("Div", "Quotient.", _divide, lambda a, b: a / b, low=0.5, identity=1, affine=lambda v: _scale(1 / v), **_TWO)
pointwise(
    "Pow", "Power; the exponent is converted to the type of the base.", np.power, _power,
    low=0.5, identity=1, mixed=True, **_TWO,
)  # fmt: skip
pointwise(
    "Mod", "Remainder, with the sign of the divisor or, with `fmod`, of the dividend.",
    lambda a, b, fmod: (np.fmod if fmod else np.mod)(a, b), _mod, Remainder,
    numbers={"fmod": 0}, scalars=True, broadcasts=True,
)  # fmt: skip
pointwise("Max", "Largest of its inputs.", np.maximum, te.maximum, **_ANY)
pointwise("Min", "Smallest of its inputs.", np.minimum, te.minimum, **_ANY)
pointwise("Sum", "Sum of its inputs.", np.add, _add, identity=0, word="add", **_ANY)
pointwise("Mean", "Mean of its inputs.", np.add, _add, mean=True, **_ANY)
pointwise("Equal", "Whether two values are equal.", np.equal, te.equal, commutative=True, **_TRUTH)
pointwise("Less", "Whether the first value is smaller.", np.less, lambda a, b: a < b, **_TRUTH)
pointwise("LessOrEqual", "Whether the first value is smaller or equal.", np.less_equal, lambda a, b: a <= b, **_TRUTH)
pointwise("Greater", "Whether the first value is larger.", np.greater, lambda a, b: a > b, **_TRUTH)
pointwise(
    "GreaterOrEqual", "Whether the first value is larger or equal.", np.greater_equal, lambda a, b: a >= b, **_TRUTH
)
pointwise("And", "Whether both are true.", np.logical_and, te.logical_and, identity=True, **_LOGIC)
pointwise("Or", "Whether one is true.", np.logical_or, te.logical_or, identity=False, **_LOGIC)
pointwise("Xor", "Whether exactly one is true.", np.logical_xor, te.not_equal, identity=False, **_LOGIC)


class Slope(Pointwise):
    """The second input broadcasts to the first; before opset 7, it has one element per channel."""

    def _by_channel(self, c: Call) -> tuple[int, ...]:
        """Shape with which the slope broadcasts."""
        return (-1, *(1,) * (len(c.shape(0)) - 2))

    def reference(self, c: Call, *args: Array) -> Array:
        x, slope = args
        return super().reference(c, x, slope.reshape(self._by_channel(c)) if c.version < 7 else slope)

    def obstacle(self, c: Call) -> str:
        return "a slope for each channel, which the pass decompose gives a shape" if c.version < 7 else ""

    def decompose(self, c: Call, steps: Steps) -> bool:
        if c.version >= 7:
            return False
        slope = steps.reshape(steps.name(1), (c.type(1).size, *self._by_channel(c)[1:]), "slope")
        steps.add("PRelu", (steps.name(0), slope), "prelu")
        return steps.finish()

    def shape(self, c: Call) -> tuple[int, ...]:
        if c.version < 7:
            if len(c.shape(0)) < 2 or c.type(1).size not in (1, c.shape(0)[1]):
                raise c.error("shape_mismatch", f"has {c.type(1).size} slopes for an input of shape {list(c.shape(0))}")
            return c.shape(0)
        if broadcast_shape(c, [c.shape(0), c.shape(1)]) != c.shape(0):
            text = f"has a slope of shape {list(c.shape(1))} for an input of shape {list(c.shape(0))}"
            raise c.error("shape_mismatch", text)
        return c.shape(0)


pointwise(
    "PRelu",
    "x where x >= 0, else slope * x, with a slope that broadcasts.",
    lambda x, slope: np.where(x >= 0, x, x * slope),
    lambda v, slope: te.select(v >= 0.0, v, v * slope),
    Slope,
    arity=2,
    inputs=(DATA, Input("scale")),
)


# ---- choosing and clipping ------------------------------------------------------------------------------------------


@operator("Where", "injective", elementwise=True)
class Where(OpDef):
    """The second value where the first is true, else the third, under broadcasting."""

    scalars = broadcasts = True

    def shape(self, c: Call) -> tuple[int, ...]:
        return broadcast_shape(c, [c.shape(k) for k in range(3)])

    def dtype(self, c: Call) -> str:
        a, b = c.type(1).dtype, c.type(2).dtype
        if a != b or c.type(0).dtype != "bool":
            raise c.error("shape_mismatch", f"chooses by {c.type(0).dtype} between {a} and {b}")
        return a

    def reference(self, c: Call, cond: Array, a: Array, b: Array) -> Array:
        return np.asarray(np.where(cond, a, b))

    def lower(self, c: Call, *args: Any) -> te.Tensor:
        shape, cond = self.shape(c), c.values[0]
        a, b = operand(c, 1, args), operand(c, 2, args)
        if cond is not None and cond.size == 1:
            chosen = a if cond.reshape(-1)[0] else b
            return compute(shape, lambda *i: chosen(i), c.name("where"))
        return compute(shape, lambda *i: te.select(at(args[0], i), a(i), b(i)), c.name("where"))


def largest(dtype: str) -> float | None:
    """Largest number of a float type."""
    return float(np.finfo(dtype).max) if is_float(dtype) else None


@operator("Clip", "injective", elementwise=True)
class Clip(OpDef):
    """x limited to [min, max]: attributes before opset 11, optional inputs since."""

    scalars = True
    tensors = (0,)

    def _attributes(self, c: Call) -> tuple[float | None, float | None]:
        low, high = (c.get_float(k, 0.0) if k in c.node.attrs else None for k in ("min", "max"))
        return low, high

    def _open(self, c: Call) -> tuple[float | None, float | None]:
        """Limits where none is given: the largest numbers of a float type, of float32 where they are attributes."""
        dtype = c.type(0).dtype
        end = largest(dtype) if c.version >= 11 else None if dtype == "float16" else largest("float32")
        return (None, None) if end is None else (-end, end)

    def reference(self, c: Call, x: Any, low: Array | None = None, high: Array | None = None) -> Array:
        given = self._attributes(c) if c.version < 11 else (low, high)
        limits = (d if v is None else v for v, d in zip(given, self._open(c), strict=True))
        lo, hi = (None if v is None else np.asarray(v, x.dtype) for v in limits)
        x = x if lo is None else np.maximum(x, lo)
        return np.asarray(x if hi is None else np.minimum(x, hi))

    def lower(self, c: Call, x: te.Tensor, *limits: te.Tensor | None) -> te.Tensor:
        def fixed(v: float | None) -> Callable[[Any], te.Value] | None:
            return None if v is None else lambda idx: te.const(v, x.dtype)

        lo, hi = map(fixed, self._open(c))
        if c.version < 11:
            given = [*map(fixed, self._attributes(c))]
        else:
            given = [operand(c, i, (x, *limits)) if c.has(i) else None for i in (1, 2)]
        lo, hi = given[0] or lo, given[1] or hi

        def body(*i: te.Axis) -> te.Value:
            v = x[i]
            v = v if lo is None else te.maximum(v, lo(i))
            return v if hi is None else te.minimum(v, hi(i))

        return compute(x.shape, body, c.name("clip"))
