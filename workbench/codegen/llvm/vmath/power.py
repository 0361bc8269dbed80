"""pow: ``exp(y * log(|x|))`` with a logarithm that has the digits which the product needs, then the special cases.

float32 takes logarithm and product in float64, everything else in float32. float64 carries the logarithm in pairs of
numbers; its result before the last rounding is so close that a power which can be represented (``3.0 ** 5``) is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath.declarations import function
from workbench.codegen.llvm.vmath.exponential import LOG2E, REDUCTION, power_of_two, reduced
from workbench.codegen.llvm.vmath.operations import FORMATS, Ops
from workbench.codegen.llvm.vmath.rounding import is_whole

#: P of ``log(1 + f) = f + f**2 * P(f)`` for f from -1/4 to 1/2, to 2e-11.
_LOG = (
    -0.50000000019560051922, 0.33333332633500877799, -0.24999993675923984584, 0.2000008370474908794,
    -0.16667251665788297146, 0.1428303248539672822, -0.12478099674086359963, 0.11124139511992995066,
    -0.10332631709484295641, 0.096127838474878384493, -0.070869827750557427951, 0.026503004032668420333,
)  # fmt: skip
#: Q of ``2 atanh(s) = 2 s + s**3 * (2/3 + s**2 * Q(s**2))`` for ``s = f / (f + 2)``, to 1.5e-23.
_ATANH = (
    0.40000000000000003663, 0.28571428571426159035, 0.22222222222840790363, 0.18181818098268623837,
    0.15384622069254382891, 0.13333000210896367393, 0.11775142173247232194, 0.10327203887551429481,
    0.11612955678939431283,
)  # fmt: skip
_THIRDS = (0.6666666666666666, 3.7007434154171886e-17)


@function("pow", "special cases as in C and IEEE 754; float64 has exact powers exactly", float32=1.25, float64=1.25)
def power(m: Ops, x: Value, y: Value) -> Value:
    """``x ** y``."""
    a = m.call("fabs", x)
    # Infinite exponents are as good as large ones, and have a product with the logarithm of 1.
    largest = 2.0 ** FORMATS[x.dtype].bias
    bounded = m.at_least(m.at_most(y, largest), -largest)
    size = _single(m, a, bounded) if x.dtype == "float32" else _paired(m, a, bounded)
    whole = is_whole(m, y)
    odd = m.both(whole, m.flip(is_whole(m, m.exact("fmul", y, m.c(0.5, y)))))
    signed = m.select(odd, m.call("copysign", size, x), size)
    finite_negative = m.both(m.compare("olt", x, m.c(0.0, x)), m.compare("ogt", x, m.c(-math.inf, x)))
    signed = m.select(m.both(finite_negative, m.flip(whole)), m.c(math.nan, x), signed)
    unit = m.either(m.compare("oeq", x, m.c(1.0, x)), m.compare("oeq", y, m.c(0.0, x)))
    return m.select(unit, m.c(1.0, x), signed)


def _at_ends(m: Ops, a: Value, log: Value) -> Value:
    """The logarithm (or exponent) of 0, infinity and NaN, which the bits do not give."""
    log = m.select(m.compare("olt", a, m.c(math.inf, a)), log, a)
    return m.select(m.compare("oeq", a, m.c(0.0, a)), m.c(-math.inf, a), log)


def _single(m: Ops, a: Value, y: Value) -> Value:
    """``a ** y`` of a non-negative float32."""
    e, mantissa = m.exponent_and_mantissa(a)
    e = e if m.scalable(a) else _at_ends(m, a, e)
    f, e, y = (m.cast("fpext", v, "float64") for v in (m.exact("fsub", mantissa, m.c(1.0, a)), e, y))
    log = m.fma(e, m.c(math.log(2), f), m.fma(m.op("fmul", f, f), m.poly(_LOG, f), f))
    p = m.at_least(m.at_most(m.op("fmul", y, log), 90.0), -105.0)
    magic = m.c(m.magic("float64"), p)
    whole = m.exact("fsub", m.fma(p, m.c(LOG2E, p), magic), magic)
    rest = m.fma(whole, m.c(-math.log(2), p), p)
    n, f = m.cast("fptrunc", whole, "float32"), m.cast("fptrunc", rest, "float32")
    size = m.poly((1.0, 1.0, *REDUCTION["float32"].tail), f)
    if m.scalable(size):
        return m.scaled(size, n)
    shifted = m.exact("fadd", n, m.c(m.magic("float32", 2 * FORMATS["float32"].bias), n))
    return _times_power(m, size, m.bits(shifted))


def _paired(m: Ops, a: Value, y: Value) -> Value:
    """``a ** y`` of a non-negative float64."""
    high, low = _log_pair(m, a)
    high = _at_ends(m, a, high)
    p, error = m.two_product(y, high)
    error = m.fma(y, low, error)
    # Where the power leaves the range, the error term may be NaN, and is no longer needed.
    inside = m.compare("olt", m.call("fabs", p), m.c(800.0, p))
    error = m.select(inside, error, m.c(0.0, p))
    return _exp_pair(m, m.at_least(m.at_most(p, 800.0), -800.0), error)


def _log_pair(m: Ops, a: Value) -> tuple[Value, Value]:
    """Logarithm as an unevaluated sum of two numbers, to about 2**-66."""
    r = REDUCTION["float64"]
    e, mantissa = m.exponent_and_mantissa(a)
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
    return _times_power(m, y, raw)


# ------------------------------------------------------------------------------------------------- constant exponents


def _root(m: Ops, x: Value) -> Value:
    """``x ** 0.5``: unlike the square root, 0 of -0 and infinite of minus infinity."""
    root = m.call("fabs", m.call("sqrt", x))
    return m.select(m.compare("oeq", x, m.c(-math.inf, x)), m.c(math.inf, x), root)


def _square(m: Ops, x: Value) -> Value:
    return m.exact("fmul", x, x)


def _inverse(m: Ops, x: Value) -> Value:
    return m.exact("fdiv", m.c(1.0, x), x)


#: Powers that few products, quotients and square roots give, with special cases as `power` has them. Their largest
#: error is 1.75 ULP, below twice that of `power`, which is what the check of results allows.
BY_PRODUCTS: dict[float, Callable[[Ops, Value], Value]] = {
    2.0: _square,
    3.0: lambda m, x: m.exact("fmul", _square(m, x), x),
    4.0: lambda m, x: _square(m, _square(m, x)),
    0.25: lambda m, x: _root(m, _root(m, x)),
    0.5: _root,
    0.75: lambda m, x: m.exact("fmul", _root(m, x), _root(m, _root(m, x))),
    1.5: lambda m, x: m.call("fabs", m.exact("fmul", x, _root(m, x))),
    -0.5: lambda m, x: _inverse(m, _root(m, x)),
    -1.0: _inverse,
    -2.0: lambda m, x: _square(m, _inverse(m, x)),
}


def _times_power(m: Ops, y: Value, raw: Value) -> Value:
    """``y * 2**n`` rounded once, also to denormals, from an integer whose lowest bits hold ``n + 2 * bias``."""
    half = m.integer("lshr", raw, 1)
    rest = m.integer("sub", raw, half)
    return m.exact("fmul", m.exact("fmul", y, power_of_two(m, rest)), power_of_two(m, half))
