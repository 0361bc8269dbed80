"""exp and sigmoid.

``exp(x) = 2**n * exp(f)`` with ``|f| <= ln(2) / 2``. ``n`` comes out of an addition that leaves it in the lowest bits,
so there is neither a rounding nor a conversion instruction; ``n * ln2_hi`` is exact. AVX-512 scales by an
instruction that also makes denormal results right; elsewhere two factors do, of which each is a normal number.
Coefficients: own minimax fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..builder import Value
from .declare import function
from .ops import FORMATS, Ops

LOG2E = math.log2(math.e)


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


def reduced(m: Ops, x: Value, offset: int = 0) -> tuple[Value, Value, Value]:
    """Return ``n + offset`` in the lowest bits of an integer, ``n`` as a float, and ``f = x - n * ln(2)``."""
    r = REDUCTION[x.dtype]
    magic = m.c(m.magic(x.dtype, offset), x)
    shifted = m.fma(x, m.c(LOG2E, x), magic)
    n = m.exact("fsub", shifted, magic)
    f = m.fma(n, m.c(-r.ln2_lo, x), m.fma(n, m.c(-r.ln2_hi, x), x))
    return m.bits(shifted), n, f


def power_of_two(m: Ops, raw: Value) -> Value:
    """``2**n`` for a normal result, from an integer whose lowest bits hold ``n + bias``."""
    f = FORMATS["float32" if raw.dtype == "int32" else "float64"]
    return m.float_of(m.integer("shl", raw, f.fraction))


def times_power(m: Ops, y: Value, raw: Value) -> Value:
    """``y * 2**n`` rounded once, also to denormals, from an integer whose lowest bits hold ``n + 2 * bias``."""
    half = m.integer("lshr", raw, 1)
    rest = m.integer("sub", raw, half)
    return m.exact("fmul", m.exact("fmul", y, power_of_two(m, rest)), power_of_two(m, half))


def _exp_of_clamped(m: Ops, x: Value) -> Value:
    r = REDUCTION[x.dtype]
    by_instruction = m.scalable(x)
    raw, n, f = reduced(m, x, 0 if by_instruction else 2 * FORMATS[x.dtype].bias)
    y = m.poly((1.0, 1.0, *r.tail), f)
    return m.scaled(y, n) if by_instruction else times_power(m, y, raw)


@function("exp", "denormal results are not flushed; 1.0 with fused multiply-adds", float32=1.25, float64=1.25)
def exp(m: Ops, x: Value) -> Value:
    """Exponential."""
    r = REDUCTION[x.dtype]
    return _exp_of_clamped(m, m.at_least(m.at_most(x, r.high), r.low))


@function("sigmoid", "denormal results are not flushed", float32=2.5, float64=2.5)
def sigmoid(m: Ops, x: Value) -> Value:
    """``1 / (1 + exp(-x))`` from ``e = exp(-|x|)``, so that nothing overflows: ``e / (1 + e)`` for negative `x`."""
    one = m.c(1.0, x)
    e = _exp_of_clamped(m, m.at_least(m.neg(m.call("fabs", x)), REDUCTION[x.dtype].low))
    top = m.select(m.compare("olt", x, m.c(0.0, x)), e, one)
    return m.op("fdiv", top, m.op("fadd", one, e))
