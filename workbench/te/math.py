"""Functions of single values for tensor expressions: the operators of the IR by name, and activations made of them."""

from __future__ import annotations

import math
from collections.abc import Callable

from workbench.errors import ExpressionError
from workbench.ir import Cast, Where
from workbench.ir.dtypes import is_float
from workbench.te.value import Scalar, Value, binary, coerce, join, strong, unary

#: Largest error of the activations in float32 where their result is a number, relative to the larger of 1 and ``|x|``;
#: measured on 40,000 of them by `tests/codegen/test_activations.py`, which holds it.
ACTIVATION_ERROR = 4e-7


def _of_one(name: str, op: str, doc: str) -> Callable[[Scalar], Value]:
    def apply(a: Scalar) -> Value:
        return unary(op, a)

    apply.__name__, apply.__qualname__, apply.__doc__ = name, name, doc
    return apply


def _of_two(name: str, op: str, doc: str) -> Callable[[Scalar, Scalar], Value]:
    def apply(a: Scalar, b: Scalar) -> Value:
        return binary(op, a, b)

    apply.__name__, apply.__qualname__, apply.__doc__ = name, name, doc
    return apply


maximum = _of_two("maximum", "max", "Larger of two values; NaN when either is.")
minimum = _of_two("minimum", "min", "Smaller of two values; NaN when either is.")
power = _of_two("power", "pow", "``a ** b``; of integers exact where the exponent is 2 or the result fits a float64.")
exp = _of_one("exp", "exp", "Exponential.")
log = _of_one("log", "log", "Natural logarithm.")
sqrt = _of_one("sqrt", "sqrt", "Square root.")
rsqrt = _of_one("rsqrt", "rsqrt", "Reciprocal square root.")
tanh = _of_one("tanh", "tanh", "Hyperbolic tangent.")
sigmoid = _of_one("sigmoid", "sigmoid", "Logistic function.")
erf = _of_one("erf", "erf", "Error function.")
abs = _of_one("abs", "abs", "Absolute value.")
floor = _of_one("floor", "floor", "Largest integer not above.")
ceil = _of_one("ceil", "ceil", "Smallest integer not below.")
round = _of_one("round", "round", "Nearest integer; of two that are equally near, the even one.")

# ---- comparisons and logic: booleans (the order relations are operators) --------------------------------------------

equal = _of_two("equal", "eq", "Whether two values are equal; NaN equals nothing.")
not_equal = _of_two("not_equal", "ne", "Whether two values differ; NaN differs from everything.")
logical_and = _of_two("logical_and", "and", "Whether both booleans are true.")
logical_or = _of_two("logical_or", "or", "Whether one of two booleans is true.")
logical_not = _of_one("logical_not", "not", "Whether a boolean is false.")


# ---- activations -----------------------------------------------------------------------------------------------------


def relu(a: Scalar) -> Value:
    """``max(a, 0)``."""
    return maximum(a, 0.0)


def leaky_relu(a: Scalar, slope: float = 0.01) -> Value:
    """`a` where it is not negative, else ``slope * a``."""
    x = _floating(a)
    return _where(x >= 0.0, x, x * slope)


def elu(a: Scalar, alpha: float = 1.0) -> Value:
    """`a` where it is positive, else ``alpha * (exp(a) - 1)``, without the cancellation near 0."""
    x = _floating(a)
    t = tanh(minimum(x, 0.0) * 0.5)
    return _where(x > 0.0, x, 2.0 * alpha * t / (1.0 - t))


def gelu(a: Scalar, approximate: str = "none") -> Value:
    """Gaussian error linear unit: ``a * (1 + erf(a / sqrt(2))) / 2``, or its usual approximation by tanh.

    Parameters
    ----------
    a : value
    approximate : str
        "none" or "tanh", as in torch and ONNX. The latter is computed as a sigmoid, which is the same function.

    Raises
    ------
    ExpressionError
        "te.value" for another approximation.
    """
    x = _floating(a)
    if approximate == "none":
        return x * (erf(x * math.sqrt(0.5)) * 0.5 + 0.5)
    if approximate != "tanh":
        raise ExpressionError("te.value", f"There is no approximation {approximate!r} of gelu.", (), "none or tanh")
    scale = math.sqrt(8 / math.pi)
    return x * sigmoid(x * (scale + 0.044715 * scale * (x * x)))


def silu(a: Scalar) -> Value:
    """``a * sigmoid(a)``, also called swish."""
    x = _floating(a)
    return x * sigmoid(x)


def softplus(a: Scalar) -> Value:
    """``log(1 + exp(a))``, without overflow, and exact to the last places where it is small."""
    x = _floating(a)
    e = exp(-abs(x))
    w = 1.0 + e
    # log(1 + e) where e is lost in the sum: the rounding error of w cancels in the quotient.
    small = binary("eq", w, 1.0)
    return maximum(x, 0.0) + _where(small, e, log(w) * (e / _where(small, 1.0, w - 1.0)))


def hard_sigmoid(a: Scalar, alpha: float = 1 / 6, beta: float = 0.5) -> Value:
    """``alpha * a + beta``, cut to what lies between 0 and 1."""
    return minimum(maximum(_floating(a) * alpha + beta, 0.0), 1.0)


def hard_swish(a: Scalar) -> Value:
    """``a * hard_sigmoid(a)``."""
    x = _floating(a)
    return x * hard_sigmoid(x)


def mish(a: Scalar) -> Value:
    """``a * tanh(softplus(a))``, as a quotient of polynomials in ``exp(a)``."""
    x = _floating(a)
    # The quotient is 1 well below this, and nothing overflows up to it.
    e = exp(minimum(x, 5.5 if x.dtype == "float16" else 20.0))
    n = e * (e + 2.0)
    return x * (n / (n + 2.0))


def _floating(a: Scalar) -> Value:
    """The value as a float: integers become float32."""
    v = strong(a)
    return v if is_float(v.dtype) else join(Cast("float32", v.expr), "float32", v)


def _where(cond: Value, a: Scalar, b: Scalar) -> Value:
    va, vb = coerce(a, b)
    return join(Where(cond.expr, va.expr, vb.expr), va.dtype, cond, va, vb)
