"""tanh."""

from __future__ import annotations

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath.declarations import function
from workbench.codegen.llvm.vmath.exponential import LOG2E, REDUCTION, power_of_two
from workbench.codegen.llvm.vmath.operations import FORMATS, Ops

#: P and Q of ``tanh(x) = x * P(x**2) / Q(x**2)`` up to the end below: own minimax fit of the relative error. All
#: coefficients are positive, so nothing cancels.
_RATIO = (
    (1.0, 0.13380254805088043, 0.0034946685191243887, 2.059378857666161e-05, 1.333318522256377e-08),
    (1.0, 0.4671356976032257, 0.025873495265841484, 0.00032841236679814756, 7.767827696625318e-07),
)
#: P of ``exp(f) - 1 = f + f**2 * P(f)``, for the error relative to ``exp(f) - 1``; own minimax fit.
_TAIL = (
    0.49999999999999999986, 0.1666666666666667661, 0.041666666666666701138, 0.0083333333333216059675,
    0.0013888888888866913991, 0.00019841269886186818656, 0.000024801587360452142512, 2.7557244150441471638e-6,
    2.7557242822203573258e-7, 2.5109056817033067755e-8, 2.0924429557421192641e-9,
)  # fmt: skip
#: From here on the result is 1.
_END = {"float32": 9.0109, "float64": 19.5}


@function("tanh", "never above 1; the sign of zero is kept", float32=5.5, float64=2.75)
def tanh(m: Ops, x: Value) -> Value:
    """A rational function in single precision, as of erf; by the exponential in double."""
    if x.dtype == "float64":
        return _by_exponential(m, x)
    c = m.at_least(m.at_most(x, _END[x.dtype]), -_END[x.dtype])
    z = m.op("fmul", c, c)
    p, q = _RATIO
    y = m.op("fdiv", m.op("fmul", c, m.poly(p, z)), m.poly(q, z))
    return m.at_least(m.at_most(y, 1.0), -1.0)


def _by_exponential(m: Ops, x: Value) -> Value:
    """Return ``e / (e + 2)`` with ``e = exp(2|x|) - 1``, which is exact to its last places for small `x` too.

    The reduction works on |x| and half a logarithm of two, which gives half of ``f``.
    """
    r, f = REDUCTION[x.dtype], FORMATS[x.dtype]
    a = m.at_most(m.call("fabs", x), _END[x.dtype])
    magic = m.c(m.magic(x.dtype, f.bias + 1), x)
    shifted = m.fma(a, m.c(2 * LOG2E, x), magic)
    n = m.exact("fsub", shifted, magic)
    g = m.fma(n, m.c(-r.ln2_lo / 2, x), m.fma(n, m.c(-r.ln2_hi / 2, x), a))
    half = m.fma(m.op("fmul", g, g), m.poly([2.0 ** (k + 1) * c for k, c in enumerate(_TAIL)], g), g)
    scale = power_of_two(m, m.bits(shifted))
    e = m.fma(half, scale, m.fma(scale, m.c(0.5, x), m.c(-1.0, x)))
    return m.call("copysign", m.op("fdiv", e, m.exact("fadd", e, m.c(2.0, x))), x)
