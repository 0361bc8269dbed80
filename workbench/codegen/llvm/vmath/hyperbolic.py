"""tanh."""

from __future__ import annotations

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath.declarations import function
from workbench.codegen.llvm.vmath.exponential import LOG2E, REDUCTION, power_of_two
from workbench.codegen.llvm.vmath.operations import FORMATS, Ops

#: P of ``exp(f) - 1 = f + f**2 * P(f)``, for the error relative to ``exp(f) - 1``; own minimax fits.
_TAIL = {
    "float32": (
        0.50000000464445526295, 0.16666666816978182552, 0.041666354532433508704, 0.0083332730728484089874,
        0.0013941019138529099707, 0.0001991415864107466521,
    ),
    "float64": (
        0.49999999999999999986, 0.1666666666666667661, 0.041666666666666701138, 0.0083333333333216059675,
        0.0013888888888866913991, 0.00019841269886186818656, 0.000024801587360452142512, 2.7557244150441471638e-6,
        2.7557242822203573258e-7, 2.5109056817033067755e-8, 2.0924429557421192641e-9,
    ),
}  # fmt: skip
#: From here on the result is 1.
_END = {"float32": 9.5, "float64": 19.5}


@function("tanh", "never above 1; the sign of zero is kept", float32=2.5, float64=2.75)
def tanh(m: Ops, x: Value) -> Value:
    """``e / (e + 2)`` with ``e = exp(2|x|) - 1``, which is exact to its last places for small `x` too.

    The reduction works on |x| and half a logarithm of two, which gives half of ``f``.
    """
    r, f = REDUCTION[x.dtype], FORMATS[x.dtype]
    a = m.at_most(m.call("fabs", x), _END[x.dtype])
    magic = m.c(m.magic(x.dtype, f.bias + 1), x)
    shifted = m.fma(a, m.c(2 * LOG2E, x), magic)
    n = m.exact("fsub", shifted, magic)
    g = m.fma(n, m.c(-r.ln2_lo / 2, x), m.fma(n, m.c(-r.ln2_hi / 2, x), a))
    half = m.fma(m.op("fmul", g, g), m.poly([2.0 ** (k + 1) * c for k, c in enumerate(_TAIL[x.dtype])], g), g)
    scale = power_of_two(m, m.bits(shifted))
    e = m.fma(half, scale, m.fma(scale, m.c(0.5, x), m.c(-1.0, x)))
    return m.call("copysign", m.op("fdiv", e, m.exact("fadd", e, m.c(2.0, x))), x)
