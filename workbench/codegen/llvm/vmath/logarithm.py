"""log.

``x = 2**e * m``; ``log(x) = e * ln(2) + log(m)``, where no digits are lost because `m` is 1 exactly where `e` is 0 and
`x` is. Coefficients: own minimax fits.
"""

from __future__ import annotations

import math

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath.declarations import function
from workbench.codegen.llvm.vmath.exponential import REDUCTION
from workbench.codegen.llvm.vmath.operations import Ops

#: P of ``log(1 + f) = f - f**2 / 2 + f**3 * P(f)`` for f from -1/4 to 1/2.
_CUBIC = (
    0.33333449445067148393, -0.25000097039324310014, 0.19990844935917265573, -0.16647240579902392423,
    0.14478509423835486773, -0.13162121954094050749, 0.10464397292538426674, -0.045080176199347754344,
)  # fmt: skip
#: Q of ``2 atanh(s) = 2 s + s**3 * Q(s**2)`` for ``s = f / (f + 2)``.
_ATANH = (
    0.66666666666666597205, 0.40000000000056035334, 0.2857142855598505217, 0.22222224278670905516,
    0.18181666942246910894, 0.15391077162617526832, 0.13174182840566283672, 0.1383909860025323485,
)  # fmt: skip
#: ln 2 in two positive parts, so that infinite exponents stay infinite.
_LN2 = (0.693115234375, 3.194618494530942e-5)


@function("log", "of negative numbers NaN, of zero -inf", float32=1.0, float64=1.0)
def log(m: Ops, x: Value) -> Value:
    """Natural logarithm."""
    e, mantissa = m.exponent_and_mantissa(x)
    f = m.exact("fsub", mantissa, m.c(1.0, x))
    y = _sum32(m, f, e) if x.dtype == "float32" else _sum64(m, f, e)
    if m.scalable(x):
        return y
    y = m.select(m.compare("olt", x, m.c(math.inf, x)), y, x)
    below = m.select(m.compare("oeq", x, m.c(0.0, x)), m.c(-math.inf, x), m.c(math.nan, x))
    return m.select(m.compare("ogt", x, m.c(0.0, x)), y, below)


def _sum32(m: Ops, f: Value, e: Value) -> Value:
    square = m.op("fmul", f, f)
    y = m.op("fmul", m.op("fmul", m.poly(_CUBIC, f), f), square)
    y = m.fma(e, m.c(_LN2[1], e), y)
    y = m.fma(square, m.c(-0.5, e), y)
    return m.fma(e, m.c(_LN2[0], e), m.exact("fadd", f, y))


def _sum64(m: Ops, f: Value, e: Value) -> Value:
    r = REDUCTION["float64"]
    s = m.op("fdiv", f, m.exact("fadd", f, m.c(2.0, f)))
    z = m.op("fmul", s, s)
    half = m.op("fmul", m.op("fmul", f, f), m.c(0.5, f))
    inner = m.fma(z, m.poly(_ATANH, z), half)
    low = m.fma(s, inner, m.op("fmul", e, m.c(r.ln2_lo, e)))
    return m.fma(e, m.c(r.ln2_hi, e), m.exact("fsub", f, m.exact("fsub", half, low)))
