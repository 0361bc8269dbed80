"""erf."""

from __future__ import annotations

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath.declarations import function
from workbench.codegen.llvm.vmath.operations import Ops

#: P and Q of ``erf(x) = x * P(x**2) / Q(x**2)``: own minimax fits of the relative error up to the end below. All
#: coefficients are positive, so nothing cancels; those of float32 were then moved by single bits, such that the result
#: at the end is 1.
_RATIO = {
    "float32": (
        (1.1283791065216064, 0.19055169820785522, 0.05276297777891159, 0.003770538605749607, 0.0002847627329174429,
         2.0458812741708243e-06),
        (1.0, 0.5022047758102417, 0.11416464298963547, 0.014979199506342411, 0.0011633038520812988,
         3.8042042433517054e-05),
    ),
    "float64": (
        (1.1283791670955125395, 0.22015344649224294703, 0.066118133620878749809, 0.0068885142148858026456,
         0.00085556314798316466003, 0.000056931794556939562308, 3.8997462559762689108e-6, 1.6943797022337158878e-7,
         6.7585389022623322738e-9, 1.7193732194254769766e-10, 3.3363370388246986718e-12, 2.2272686912917253991e-14,
         1.5718374922174449832e-17),
        (1.0, 0.52843924534597963063, 0.13474208539086508, 0.021984414511971869521, 0.0025644098945397294054,
         0.00022605899553320059955, 0.000015495714807432800918, 8.3484635940311671248e-7, 3.5147477095690998231e-8,
         1.1243234431510789824e-9, 2.5489682084286553123e-11, 3.3194275269845527394e-13, 8.8533128759658597134e-16),
    ),
}  # fmt: skip
#: From here on the result is 1.
_END = {"float32": 4.0, "float64": 5.93}


@function("erf", "never above 1; the sign of zero is kept", float32=5.0, float64=7.0)
def erf(m: Ops, x: Value) -> Value:
    """Error function: one rational function on the whole range, no exponential and no case distinction.

    The rounding errors of two polynomials add up where ``x**2`` is large; two branches would have a quarter of them
    and cost half as much again.
    """
    end = _END[x.dtype]
    c = m.at_least(m.at_most(x, end), -end)
    z = m.op("fmul", c, c)
    p, q = _RATIO[x.dtype]
    y = m.op("fdiv", m.op("fmul", c, m.poly(p, z)), m.poly(q, z))
    return m.at_least(m.at_most(y, 1.0), -1.0)
