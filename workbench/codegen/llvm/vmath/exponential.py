"""exp and sigmoid.

``exp(x) = 2**n * exp(f)`` with ``|f| <= ln(2) / 2``. ``n`` comes out of an addition that leaves it in the lowest bits,
so there is neither a rounding nor a conversion instruction; ``n * ln2_hi`` is exact. AVX-512 scales by an
instruction that also makes denormal results right. Elsewhere one factor does, which is half of what it should be, and
the polynomial twice that: so the largest results come out, and those next to the denormal ones are 0. Where a register
holds 16 numbers, ``n`` counts sixteenths: a table has their powers of two, and what remains is so small that a cubic
does. Coefficients: own minimax fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath.declarations import function
from workbench.codegen.llvm.vmath.operations import FORMATS, Ops

LOG2E = math.log2(math.e)
#: Powers of two by sixteenths, and P of ``exp(f) = 1 + f + f**2 * P(f)`` for ``|f| <= ln(2) / 32``.
SIXTEENTHS = tuple(2 ** (k / 16) for k in range(16))
_SMALL = (0.50001616064719709743, 0.16666718470773343325)
#: More than the remainder ever is: what is larger comes from arguments whose result is 0 or infinite.
_MOST = 0.375


@dataclass(frozen=True, slots=True)
class Reduction:
    """Constants of one format.

    Attributes
    ----------
    low, high : float
        Below and above, the result is 0 and infinite.
    ln2_hi, ln2_lo : float
        ln 2 in two parts; the first has so few bits that its multiples are exact.
    tail : tuple of float
        P of ``exp(f) = 1 + f + f**2 * P(f)``, for the error relative to exp.
    """

    low: float
    high: float
    ln2_hi: float
    ln2_lo: float
    tail: tuple[float, ...]


REDUCTION = {
    "float32": Reduction(
        -104.0, 89.0, 0.693359375, -2.12194440054690581e-4,
        (0.49999993442911534384, 0.16666520568583901367, 0.041668388974183749613, 0.0083687244639592380326,
         0.0013814571487535373136),
    ),
    "float64": Reduction(
        -746.0, 710.0, 6.93147180369123816490e-01, 1.90821492927058770002e-10,
        (0.50000000000000127573, 0.16666666666666698978, 0.041666666666515280058, 0.008333333333307268201,
         0.0013888888947054140836, 0.00019841269917248177861, 0.000024801489900517054875, 2.7557216415332828348e-6,
         2.7631295962781430788e-7, 2.5117827337866076987e-8),
    ),
}  # fmt: skip


def reduced(m: Ops, x: Value, offset: int = 0, steps: int = 1, sign: float = 1.0) -> tuple[Value, Value, Value]:
    """Return ``n + offset`` in the lowest bits of an integer, ``n`` as a float, and ``f = x - sign * n * ln(2)``.

    With `steps` (a power of two) ``n`` is a multiple of one over it, and the integer counts these.
    """
    r = REDUCTION[x.dtype]
    magic = m.c(m.magic(x.dtype, offset) / steps, x)
    shifted = m.fma(x, m.c(sign * LOG2E, x), magic)
    n = m.exact("fsub", shifted, magic)
    f = m.fma(n, m.c(-sign * r.ln2_lo, x), m.fma(n, m.c(-sign * r.ln2_hi, x), x))
    return m.bits(shifted), n, f


def power_of_two(m: Ops, raw: Value) -> Value:
    """``2**n`` for a normal result, from an integer whose lowest bits hold ``n + bias``."""
    f = FORMATS["float32" if raw.dtype == "int32" else "float64"]
    return m.float_of(m.integer("shl", raw, f.fraction))


def _exp(m: Ops, x: Value) -> Value:
    """Exponential by a polynomial.

    Where an instruction scales, it knows what to do with large and infinite ``n`` and with NaN. Only the remainder,
    which means nothing then, has to be some small number.
    """
    r = REDUCTION[x.dtype]
    if not m.scalable(x):
        return _by_one_factor(m, x, 1.0)
    if not m.ranges(x):
        x = m.at_least(m.at_most(x, r.high), r.low)
    _, n, f = reduced(m, x)
    f = m.within(f, _MOST) if m.ranges(x) else f
    return m.scaled(m.poly((1.0, 1.0, *r.tail), f), n)


def _by_one_factor(m: Ops, x: Value, sign: float) -> Value:
    """``exp(sign * x)``, and 0 where the factor would not be normal."""
    r, bias = REDUCTION[x.dtype], FORMATS[x.dtype].bias
    low, high = sorted((-sign * (bias - 1) * math.log(2), sign * r.high))
    raw, _, f = reduced(m, m.at_least(m.at_most(x, high), low), bias - 1, sign=sign)
    double = [2.0 * c * sign**k for k, c in enumerate((1.0, 1.0, *r.tail))]
    return m.op("fmul", m.poly(double, f), power_of_two(m, raw))


def _exp_by_table(m: Ops, x: Value) -> Value:
    """Exponential by a table: the scaling takes the largest integer below ``n``, the table has the rest of it."""
    raw, n, f = reduced(m, x, steps=16)
    f = m.within(f, _MOST / 16)
    power = m.picked(SIXTEENTHS, raw)
    rest = m.fma(m.op("fmul", f, f), m.poly(_SMALL, f), f)
    return m.scaled(m.fma(power, rest, power), n)


@function("exp", "1.0 with fused multiply-adds", flushes=True, float32=1.25, float64=1.25)
def exp(m: Ops, x: Value) -> Value:
    """Exponential."""
    return _exp_by_table(m, x) if m.picks(x) else _exp(m, x)


@function("sigmoid", flushes=True, float32=2.5, float64=2.5)
def sigmoid(m: Ops, x: Value) -> Value:
    """``1 / (1 + exp(-x))``; by AVX-512 from ``e = exp(-|x|)``, so that it is not flushed: ``e / (1 + e)`` below 0."""
    one = m.c(1.0, x)
    if not m.scalable(x):
        return m.op("fdiv", one, m.op("fadd", one, _by_one_factor(m, x, -1.0)))
    # The error of the table would count twice.
    e = _exp(m, m.neg(m.call("fabs", x)))
    top = m.select(m.compare("olt", x, m.c(0.0, x)), e, one)
    return m.op("fdiv", top, m.op("fadd", one, e))
