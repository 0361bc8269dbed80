"""pow: ``exp(y * log(|x|))`` with a logarithm that has the digits which the product needs, then the special cases.

float32 computes in float64. float64 carries the logarithm in pairs of numbers; its result before the last rounding is
so close that a power which can be represented (``3.0 ** 5``) is exact.
"""

from __future__ import annotations

import math

from ..builder import Value
from .declare import function
from .exponential import REDUCTION, power_of_two, reduced, times_power
from .logarithm import ROOT_HALF_64, TWO_THIRDS_64, normalised
from .ops import FORMATS, Ops
from .rounding import is_whole

#: P of ``log(1 + f) = f + f**2 * P(f)`` for ``|f| <= 1/3``, to 2.9e-12.
_LOG = (
    -0.50000000002418304501, 0.33333333181299374758, -0.24999999145648777939, 0.20000026259212456304,
    -0.16666745806723940572, 0.14284208410136043565, -0.12496847929516443999, 0.11150559294620939246,
    -0.10063665282790537206, 0.085755037200520198103, -0.076548974709663665472, 0.10891368254453020334,
    -0.10690338971676433917,
)  # fmt: skip
#: ``exp(f) = 1 + f * P(f)``, to 4.8e-11.
_EXP = (
    0.99999999997352448585, 0.50000000791691859617, 0.16666666956100243102, 0.041666266958044543816,
    0.0083332535519486639471, 0.0013946239000157171998, 0.00019922294872905211055,
)  # fmt: skip
#: Q of ``2 atanh(s) = 2 s + s**3 * (2/3 + s**2 * Q(s**2))`` for m from sqrt(1/2) to sqrt(2), to 7e-23.
_ATANH = (
    0.39999999999999977475, 0.28571428571445121898, 0.22222222217533919463, 0.18181818870632411038,
    0.15384556848959103077, 0.13336318279855844547, 0.11674800792574948551, 0.11989162512674404631,
)  # fmt: skip
_THIRDS = (0.6666666666666666, 3.7007434154171886e-17)


@function("pow", "special cases as in C and IEEE 754; exact powers are exact", float32=0.51, float64=0.75)
def power(m: Ops, x: Value, y: Value) -> Value:
    """``x ** y``."""
    if x.dtype == "float32":
        return m.cast("fptrunc", power_in_double(m, m.cast("fpext", x, "float64"), m.cast("fpext", y, "float64")), "float32")
    return _special_cases(m, x, y, _paired(m, m.call("fabs", x), y))


def power_in_double(m: Ops, x: Value, y: Value) -> Value:
    """Power of numbers that fit a float32, to about 35 bits."""
    a = m.call("fabs", x)
    e, mantissa = m.exponent_and_mantissa(a, TWO_THIRDS_64)
    f = m.exact("fsub", mantissa, m.c(1.0, x))
    log = m.fma(m.op("fmul", f, f), m.poly(_LOG, f), f)
    log = _at_ends(m, a, m.fma(e, m.c(math.log(2), x), log))
    p = m.at_least(m.at_most(m.op("fmul", y, log), 90.0), -105.0)
    raw, _, f = reduced(m, p, FORMATS["float64"].bias)
    size = m.op("fmul", m.poly((1.0, *_EXP), f), power_of_two(m, raw))
    return _special_cases(m, x, y, size)


def _at_ends(m: Ops, a: Value, log: Value) -> Value:
    """The logarithm of 0, infinity and NaN, which the bits do not give."""
    log = m.select(m.compare("olt", a, m.c(math.inf, a)), log, a)
    return m.select(m.compare("oeq", a, m.c(0.0, a)), m.c(-math.inf, a), log)


def _special_cases(m: Ops, x: Value, y: Value, size: Value) -> Value:
    """Sign and exceptions, from the power of the absolute value."""
    zero, one, inf = m.c(0.0, x), m.c(1.0, x), m.c(math.inf, x)
    whole = is_whole(m, y)
    odd = m.both(whole, m.flip(is_whole(m, m.exact("fmul", y, m.c(0.5, y)))))
    signed = m.select(odd, m.call("copysign", size, x), size)
    finite_negative = m.both(m.compare("olt", x, zero), m.compare("ogt", x, m.c(-math.inf, x)))
    nowhere = m.both(finite_negative, m.flip(whole))
    signed = m.select(nowhere, m.c(math.nan, x), signed)
    unit = m.both(m.compare("oeq", m.call("fabs", x), one), m.compare("oeq", m.call("fabs", y), inf))
    unit = m.either(unit, m.either(m.compare("oeq", x, one), m.compare("oeq", y, zero)))
    return m.select(unit, one, signed)


def _paired(m: Ops, a: Value, y: Value) -> Value:
    """``a ** y`` of a non-negative float64."""
    high, low = _log_pair(m, a)
    high = _at_ends(m, a, high)
    p, error = m.two_product(y, high)
    error = m.fma(y, low, error)
    # Where the power leaves the range, the error term may be NaN, and is no longer needed.
    inside = m.compare("olt", m.call("fabs", p), m.c(800.0, p))
    error = m.select(inside, error, m.c(0.0, p))
    p = m.at_least(m.at_most(p, 800.0), -800.0)
    return _exp_pair(m, p, error)


def _log_pair(m: Ops, a: Value) -> tuple[Value, Value]:
    """Logarithm as an unevaluated sum of two numbers, to about 2**-66."""
    r = REDUCTION["float64"]
    number, less = normalised(m, a)
    e, mantissa = m.exponent_and_mantissa(number, ROOT_HALF_64)
    e = m.exact("fadd", e, less)
    one = m.c(1.0, a)
    f = m.exact("fsub", mantissa, one)
    # s = (m - 1) / (m + 1)
    dh = m.exact("fadd", mantissa, one)
    dl = m.exact("fsub", mantissa, m.exact("fsub", dh, one))
    inverse = m.exact("fdiv", one, dh)
    sh = m.exact("fmul", f, inverse)
    rest = m.less_product(f, m.neg(sh), dh)
    sl = m.exact("fmul", m.exact("fsub", rest, m.exact("fmul", sh, dl)), inverse)
    # z = s**2, t = 2/3 + z Q(z), v = 2 + z t, log = s v
    zh, zl = m.two_product(sh, sh)
    zl = m.exact("fadd", zl, m.exact("fmul", m.exact("fadd", sh, sh), sl))
    th, tl = m.quick_sum(m.c(_THIRDS[0], a), m.exact("fmul", zh, m.poly(_ATANH, zh)))
    tl = m.exact("fadd", tl, m.c(_THIRDS[1], a))
    vh, vl = m.quick_sum(m.c(2.0, a), (product := _times(m, (zh, zl), (th, tl)))[0])
    vl = m.exact("fadd", vl, product[1])
    lh, ll = _times(m, (sh, sl), (vh, vl))
    # e * ln2_hi is exact, and 0 or larger than the rest
    high, low = m.quick_sum(m.exact("fmul", e, m.c(r.ln2_hi, a)), lh)
    low = m.exact("fadd", low, m.exact("fadd", ll, m.exact("fmul", e, m.c(r.ln2_lo, a))))
    return m.quick_sum(high, low)


def _times(m: Ops, a: tuple[Value, Value], b: tuple[Value, Value]) -> tuple[Value, Value]:
    """Product of two pairs."""
    h, error = m.two_product(a[0], b[0])
    cross = m.exact("fadd", m.exact("fmul", a[0], b[1]), m.exact("fmul", a[1], b[0]))
    return h, m.exact("fadd", error, cross)


def _exp_pair(m: Ops, high: Value, low: Value) -> Value:
    """Exponential of a sum of two numbers."""
    r = REDUCTION["float64"]
    raw, n, _ = reduced(m, high, 2 * FORMATS["float64"].bias)
    whole = m.less_product(high, n, m.c(-r.ln2_hi, high))
    f, rest = m.two_sum(whole, m.exact("fsub", low, m.exact("fmul", n, m.c(r.ln2_lo, high))))
    tail = m.exact("fmul", m.exact("fmul", f, f), m.poly(r.tail, f))
    one, error = m.quick_sum(m.c(1.0, high), f)
    y = m.exact("fadd", one, m.exact("fadd", error, m.exact("fadd", rest, tail)))
    return times_power(m, y, raw)
