"""Functions of single values for tensor expressions: the operators of the IR by name, and activations made of them."""

from __future__ import annotations

import math

from workbench.errors import ExpressionError
from workbench.ir.dtypes import is_float
from workbench.ir.expr import Cast, Where
from workbench.te.value import Scalar, Value, binary, coerce, join, strong, unary

#: Largest error of the activations in float32 where their result is a number, relative to the larger of 1 and ``|x|``.
ACTIVATION_ERROR = 4e-7


def maximum(a: Scalar, b: Scalar) -> Value:
    """Larger of two values; NaN when either is."""
    return binary("max", a, b)


def minimum(a: Scalar, b: Scalar) -> Value:
    """Smaller of two values; NaN when either is."""
    return binary("min", a, b)


def power(a: Scalar, b: Scalar) -> Value:
    """``a ** b``; of integers exact where the exponent is 2 or the result fits a float64."""
    return binary("pow", a, b)


def exp(a: Scalar) -> Value:
    """Exponential."""
    return unary("exp", a)


def log(a: Scalar) -> Value:
    """Natural logarithm."""
    return unary("log", a)


def sqrt(a: Scalar) -> Value:
    """Square root."""
    return unary("sqrt", a)


def rsqrt(a: Scalar) -> Value:
    """Reciprocal square root."""
    return unary("rsqrt", a)


def tanh(a: Scalar) -> Value:
    """Hyperbolic tangent."""
    return unary("tanh", a)


def sigmoid(a: Scalar) -> Value:
    """Logistic function."""
    return unary("sigmoid", a)


def erf(a: Scalar) -> Value:
    """Error function."""
    return unary("erf", a)


def abs(a: Scalar) -> Value:
    """Absolute value."""
    return unary("abs", a)


def floor(a: Scalar) -> Value:
    """Largest integer not above."""
    return unary("floor", a)


def ceil(a: Scalar) -> Value:
    """Smallest integer not below."""
    return unary("ceil", a)


def round(a: Scalar) -> Value:
    """Nearest integer; of two that are equally near, the even one."""
    return unary("round", a)


# ---- comparisons and logic: booleans (the order relations are operators) --------------------------------------------


def equal(a: Scalar, b: Scalar) -> Value:
    """Whether two values are equal; NaN equals nothing."""
    return binary("eq", a, b)


def not_equal(a: Scalar, b: Scalar) -> Value:
    """Whether two values differ; NaN differs from everything."""
    return binary("ne", a, b)


def logical_and(a: Scalar, b: Scalar) -> Value:
    """Whether both booleans are true."""
    return binary("and", a, b)


def logical_or(a: Scalar, b: Scalar) -> Value:
    """Whether one of two booleans is true."""
    return binary("or", a, b)


def logical_not(a: Scalar) -> Value:
    """Whether a boolean is false."""
    return unary("not", a)


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
        return x * 0.5 * (1.0 + erf(x * math.sqrt(0.5)))
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
    """``a * tanh(softplus(a))``, as a quotient of polynomials in ``exp(-|a|)``."""
    x = _floating(a)
    e = exp(-abs(x))
    # tanh(log(1 + exp(x))) is n / (n + 2) with n = exp(x) (exp(x) + 2), for positive x divided by exp(2 x).
    top = _where(x > 0.0, 1.0 + 2.0 * e, e * (e + 2.0))
    return x * (top / (top + _where(x > 0.0, 2.0 * (e * e), 2.0)))


def _floating(a: Scalar) -> Value:
    """The value as a float: integers become float32."""
    v = strong(a)
    return v if is_float(v.dtype) else join(Cast("float32", v.expr), "float32", v)


def _where(cond: Value, a: Scalar, b: Scalar) -> Value:
    va, vb = coerce(a, b)
    return join(Where(cond.expr, va.expr, vb.expr), va.dtype, cond, va, vb)
