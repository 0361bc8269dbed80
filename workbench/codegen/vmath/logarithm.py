"""log.

``x = 2**e * m``; ``log(x) = e * ln(2) + log(m)``, where no digits are lost because `m` is 1 exactly where `e` is 0 and
`x` is. Coefficients: own minimax fits.
"""

from __future__ import annotations

import math

from ..builder import Value
from .declare import function
from .exponential import REDUCTION
from .ops import FORMATS, Ops

#: P of ``log(1 + f) = f - f**2 / 2 + f**3 * P(f)`` for ``|f| <= 1/3``.
_CUBIC = (
    0.33333338745936250902, -0.24999819248018814187, 0.19999305355011661697, -0.16679623558529385488,
    0.14312857283171304104, -0.12195156189678364722, 0.10661150255242018066, -0.12847763220401010603,
    0.12358828028937811899,
)  # fmt: skip
#: Q of ``2 atanh(s) = 2 s + s**3 * Q(s**2)`` for m from sqrt(1/2) to sqrt(2).
_ATANH = (
    0.66666666666667345075, 0.39999999999413972602, 0.28571428742559842261, 0.22222198554038790194,
    0.18183565393473925679, 0.15314021485056917015, 0.14796257373391578011,
)  # fmt: skip
#: Bits of 2/3 and of sqrt(1/2).
TWO_THIRDS_32, TWO_THIRDS_64, ROOT_HALF_64 = 0x3F2AAAAB, 0x3FE5555555555555, 0x3FE6A09E667F3BCD


def normalised(m: Ops, x: Value) -> tuple[Value, Value]:
    """Multiply denormals by a power of two; returns the number and the exponent to add (0 or negative)."""
    f = FORMATS[x.dtype]
    small = m.compare("olt", x, m.c(2.0**f.lowest, x))
    bits = f.fraction + 1
    scaled = m.select(small, m.exact("fmul", x, m.c(2.0**bits, x)), x)
    return scaled, m.select(small, m.c(-float(bits), x), m.c(0.0, x))


@function("log", "of negative numbers NaN, of zero -inf", float32=1.0, float64=1.0)
def log(m: Ops, x: Value) -> Value:
    """Natural logarithm."""
    number, less = normalised(m, x)
    e, mantissa = m.exponent_and_mantissa(number, TWO_THIRDS_32 if x.dtype == "float32" else ROOT_HALF_64)
    e = m.exact("fadd", e, less)
    f = m.exact("fsub", mantissa, m.c(1.0, x))
    y = _sum32(m, f, e) if x.dtype == "float32" else _sum64(m, f, e)
    y = m.select(m.compare("olt", x, m.c(math.inf, x)), y, x)
    below = m.select(m.compare("oeq", x, m.c(0.0, x)), m.c(-math.inf, x), m.c(math.nan, x))
    return m.select(m.compare("ogt", x, m.c(0.0, x)), y, below)


def _sum32(m: Ops, f: Value, e: Value) -> Value:
    r = REDUCTION["float32"]
    square = m.op("fmul", f, f)
    y = m.op("fmul", m.op("fmul", m.poly(_CUBIC, f), f), square)
    y = m.fma(e, m.c(r.ln2_lo, e), y)
    y = m.fma(square, m.c(-0.5, e), y)
    return m.fma(e, m.c(r.ln2_hi, e), m.exact("fadd", f, y))


def _sum64(m: Ops, f: Value, e: Value) -> Value:
    r = REDUCTION["float64"]
    s = m.op("fdiv", f, m.exact("fadd", f, m.c(2.0, f)))
    z = m.op("fmul", s, s)
    half = m.op("fmul", m.op("fmul", f, f), m.c(0.5, f))
    inner = m.fma(z, m.poly(_ATANH, z), half)
    low = m.fma(s, inner, m.op("fmul", e, m.c(r.ln2_lo, e)))
    return m.fma(e, m.c(r.ln2_hi, e), m.exact("fsub", f, m.exact("fsub", half, low)))
