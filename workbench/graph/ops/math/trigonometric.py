"""Trigonometric and hyperbolic functions and their inverses, of float32 and float16.

Each is computed in float64 from roots, exponentials, logarithms, and power series on the range where they converge
fast, and rounded once. Angles are reduced exactly up to 2**31, beyond which neighbours in float32 are many turns apart:
digits are lost there, and from 2**53 on the result is merely one that the function can have. What follows for the sine
and the cosine is computed in float32, with an error of 2 ULP: half as many vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from workbench import te
from workbench.graph.operator_call import Call
from workbench.graph.ops.pointwise import Pointwise, pointwise

_Function: TypeAlias = Callable[[te.Value], te.Value]

#: Pi as a sum. The first two have 22 binary digits: their products with whole numbers below 2**31 are exact.
_PI = (float.fromhex("0x1.921fbp+1"), float.fromhex("0x1.5110bp-21"), float.fromhex("0x1.18469898cc517p-43"))
#: Coefficients of x**1, x**3, ...: of the sine up to a quarter of a turn, of the others up to an eighth of one.
#: P of ``sin(x) = x + x**3 * P(x**2)`` in float32, up to a quarter of a turn; own minimax fit of the relative error.
_SHORT_SINE = (-0.16666659712791443, 0.008333058096468449, -0.00019808959041256458, 2.6042819172289455e-06)
#: Adding and subtracting this rounds a float64 to an integer.
_ROUNDING = 1.5 * 2.0**52
_SINE = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(10)]
_ARCTANGENT = [(-1.0) ** k / (2 * k + 1) for k in range(13)]
_HYPERBOLIC_SINE = [1.0 / math.factorial(2 * k + 1) for k in range(6)]
_AREA_SINE = [1.0, -1 / 6, 3 / 40, -15 / 336, 105 / 3456]
_AREA_TANGENT = [1.0, 1 / 3, 1 / 5, 1 / 7, 1 / 9]
#: Below this magnitude the hyperbolic functions are power series: the other way, digits cancel.
_SMALL = 0.03


def _polynomial(x: te.Value, coefficients: Sequence[float]) -> te.Value:
    total: te.Value = te.const(coefficients[-1], x.dtype)
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def _series(x: te.Value, coefficients: Sequence[float]) -> te.Value:
    """Odd polynomial of x."""
    return x * _polynomial(x * x, coefficients)


def _whole(x: te.Value) -> te.Value:
    return (x + _ROUNDING) - _ROUNDING


def _reduced(x: te.Value, shift: float) -> te.Value:
    """The angle up to a quarter of a turn that has the same sine as x, or whose sine is the cosine of x (1/2)."""
    k = _whole(x * (1 / math.pi) - shift)
    zero = k + shift if shift else k
    rest = ((x - zero * _PI[0]) - zero * _PI[1]) - zero * _PI[2]
    half = k * 0.5
    odd = half - _whole(half)  # 0, or a half up or down
    angle = rest * (1.0 - odd * odd * 8.0) * (-1.0 if shift else 1.0)
    return te.select(te.abs(angle) > 2.0, 1.0, angle)  # nothing is left of the digits; of infinity there is NaN


def _short_sine(x: te.Value, shift: float) -> te.Value:
    angle = te.cast(_reduced(te.cast(x, "float64"), shift), "float32")
    square = angle * angle
    y = angle + square * (_polynomial(square, _SHORT_SINE) * angle)
    return te.cast(te.select(te.equal(angle, 0.0), angle, y), x.dtype)  # the sum loses the sign of zero


def _tan(x: te.Value) -> te.Value:
    return _series(_reduced(x, 0.0), _SINE) / _series(_reduced(x, 0.5), _SINE)


def _atan(x: te.Value) -> te.Value:
    """Of numbers beyond tan(pi / 8) that of the difference from pi / 4 or pi / 2."""
    m = te.abs(x)
    far, middle = m > 1 + math.sqrt(2), m > math.sqrt(2) - 1
    t = te.select(far, -1.0 / m, te.select(middle, (m - 1.0) / (m + 1.0), m))
    y = te.select(far, math.pi / 2, te.select(middle, math.pi / 4, te.const(0.0, "float64"))) + _series(t, _ARCTANGENT)
    return te.select(te.equal(x, 0.0), x, te.select(x < 0.0, -y, y))


def _sinh(x: te.Value) -> te.Value:
    return te.select(te.abs(x) < 0.5, _series(x, _HYPERBOLIC_SINE), (te.exp(x) - te.exp(-x)) * 0.5)


def _asinh(x: te.Value) -> te.Value:
    m = te.abs(x)
    far = te.log(m + te.sqrt(m * m + 1.0))
    return te.select(m < _SMALL, _series(x, _AREA_SINE), te.select(x < 0.0, -far, far))


def _atanh(x: te.Value) -> te.Value:
    return te.select(te.abs(x) < _SMALL, _series(x, _AREA_TANGENT), te.log((1.0 + x) / (1.0 - x)) * 0.5)


class _InDouble(Pointwise):
    """A function that is computed in float64; of float64 itself the digits would not suffice."""

    fractions = True

    def obstacle(self, c: Call) -> str:
        return "its loop nest has the digits of float32" if c.type(0).dtype == "float64" else super().obstacle(c)


def _function(name: str, doc: str, numpy: Callable[..., Any], exact: _Function, **facts: Any) -> None:
    """Declare what is computed in float64 throughout."""

    def rounded(v: te.Value) -> te.Value:
        return te.cast(exact(te.cast(v, "float64")), v.dtype)

    _rounded(name, doc, numpy, rounded, **facts)


def _rounded(name: str, doc: str, numpy: Callable[..., Any], scalar: _Function, **facts: Any) -> None:
    pointwise(name, doc, lambda x: numpy(x.astype(np.float64)), scalar, _InDouble, **facts)


_rounded("Sin", "Sine.", np.sin, lambda x: _short_sine(x, 0.0))
_rounded("Cos", "Cosine.", np.cos, lambda x: _short_sine(x, 0.5))
_function("Tan", "Tangent.", np.tan, _tan)
_function("Asin", "Inverse of the sine.", np.arcsin, lambda x: _atan(x / te.sqrt((1.0 - x) * (1.0 + x))))
_function("Acos", "Inverse of the cosine.", np.arccos, lambda x: 2.0 * _atan(te.sqrt((1.0 - x) / (1.0 + x))))
_function("Atan", "Inverse of the tangent.", np.arctan, _atan)
_function("Sinh", "Hyperbolic sine.", np.sinh, _sinh)
_function("Cosh", "Hyperbolic cosine.", np.cosh, lambda x: (te.exp(x) + te.exp(-x)) * 0.5)
_function("Asinh", "Inverse of the hyperbolic sine.", np.arcsinh, _asinh)
_function(
    "Acosh",
    "Inverse of the hyperbolic cosine.",
    np.arccosh,
    lambda x: te.log(x + te.sqrt(x - 1.0) * te.sqrt(x + 1.0)),
    low=1.1,
)
_function("Atanh", "Inverse of the hyperbolic tangent.", np.arctanh, _atanh)
