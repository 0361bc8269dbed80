"""mod: the remainder of a division, exact for every pair of numbers.

``a - b * trunc(a / b)`` is exact while the quotient has few enough bits. Where it has more, multiples of `b` by a power
of two are taken off first, so the emitted function is a loop: once around unless the operands are more than 28 binary
orders apart (float32, computed in float64), or 50 (float64; 25 without fused operations), and never more than 85 times.
It is a function of its own, on vectors, because operations are emitted as straight lines; it calls nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath.declarations import function
from workbench.codegen.llvm.vmath.operations import Ops

_INF = "0x7FF0000000000000"
_NAN = "0x7FF8000000000000"
_EXPONENT = 0x7FF0000000000000
#: Bits of a quotient whose product with the divisor can be taken off exactly: with divisors of 24 bits, with fused
#: operations, and with divisors in two parts.
_NARROW, _FUSED, _SPLIT = 28, 50, 25


@function("mod", "exact up to the addition that gives it the divisor's sign, as NumPy's", float32=0.5, float64=0.5)
def modulo(m: Ops, a: Value, b: Value) -> Value:
    """Remainder with the sign of the divisor; NaN for a zero divisor or an infinite dividend."""
    if a.dtype == "float32":
        wide = [m.cast("fpext", v, "float64") for v in (a, b)]
        r = m.cast("fptrunc", _remainder(m, wide[0], wide[1], _NARROW), "float32")
    else:
        r = _remainder(m, a, b, _FUSED if m.fuses else _SPLIT)
    zero = m.c(0.0, a)
    differ = m.integer("xor", m.compare("olt", r, zero), m.compare("olt", b, zero))
    moved = m.select(differ, m.exact("fadd", r, b), r)
    return m.select(m.compare("oeq", r, zero), m.call("copysign", zero, b), moved)


def _remainder(m: Ops, a: Value, b: Value, bits: int) -> Value:
    """Remainder with the sign of the dividend; `bits` of a quotient times the divisor are exact."""
    name = f"wb.remainder{bits}.{a.lanes}"
    t, suffix = a.type, "f64" if a.lanes == 1 else f"v{a.lanes}f64"
    for intrinsic, operands in (("fabs", 1), ("copysign", 2), ("fma", 3)):
        full = f"llvm.{intrinsic}.{suffix}"
        m.fb.declare(full, f"declare {t} @{full}({', '.join([t] * operands)})")
    if a.lanes > 1:
        full = f"llvm.vector.reduce.or.v{a.lanes}i1"
        m.fb.declare(full, f"declare i1 @{full}(<{a.lanes} x i1>)")
    m.fb.declare(name, _text(name, a, bits))
    return m.fb.pure(f"call {t} @{name}({a.typed}, {b.typed})", a.dtype, a.lanes, (a, b))


def _text(name: str, like: Value, bits: int) -> str:
    t, lanes = like.type, like.lanes
    i, ints = ("i1", "i64") if lanes == 1 else (f"<{lanes} x i1>", f"<{lanes} x i64>")
    suffix = "f64" if lanes == 1 else f"v{lanes}f64"

    def c(value: str, kind: str = "double") -> str:
        return value if lanes == 1 else f"splat ({kind} {value})"

    def power(k: int) -> str:
        return c(f"0x{(1023 + k) << 52:016X}")

    def some(out: str, flags: str) -> str:
        if lanes == 1:
            return f"%{out} = and i1 {flags}, true"
        return f"%{out} = call i1 @llvm.vector.reduce.or.v{lanes}i1({i} {flags})"

    def nearer(k: int, q: str, d: str) -> str:
        """Multiply the divisor by the power of two that leaves a quotient of at most `bits` bits, or by 2**951."""
        return f"""
  %l{k} = fcmp olt {t} {q}, {power(1000)}
  %m{k} = select {i} %l{k}, {t} {q}, {t} {power(1000)}
  %b{k} = bitcast {t} %m{k} to {ints}
  %e{k} = and {ints} %b{k}, {c(str(_EXPONENT), "i64")}
  %p{k} = bitcast {ints} %e{k} to {t}
  %s{k} = fmul {t} %p{k}, {power(1 - bits)}
  %g{k} = fcmp ogt {t} %s{k}, {power(0)}
  %f{k} = select {i} %g{k}, {t} %s{k}, {t} {power(0)}
  %d{k} = fmul {t} {d}, %f{k}
  %q{k} = fdiv {t} %r, %d{k}"""

    return f"""
define internal {t} @{name}({t} %x, {t} %y) #0 {{
entry:
  %a = call {t} @llvm.fabs.{suffix}({t} %x)
  %b = call {t} @llvm.fabs.{suffix}({t} %y)
  %finite = fcmp olt {t} %a, {c(_INF)}
  %proper = fcmp ogt {t} %b, {c("0.0")}
  %ok = and {i} %finite, %proper
  %start = select {i} %ok, {t} %a, {t} {c("0.0")}
  %d = select {i} %ok, {t} %b, {t} {c(_INF)}
  br label %head
head:
  %r = phi {t} [ %start, %entry ], [ %next, %step ]
  %more = fcmp oge {t} %r, %d
  {some("any", "%more")}
  br i1 %any, label %body, label %done
body:
  %q = fdiv {t} %r, %d
  %far = fcmp ogt {t} %q, {power(bits)}
  %slow = and {i} %far, %more
  {some("anyfar", "%slow")}
  br i1 %anyfar, label %scale, label %step
scale:{nearer(1, "%q", "%d")}{nearer(2, "%q1", "%d1")}{nearer(3, "%q2", "%d2")}
  br label %step
step:
  %by = phi {t} [ %d, %body ], [ %d3, %scale ]
  %times = phi {t} [ %q, %body ], [ %q3, %scale ]
  %up = fadd {t} %times, {power(52)}
  %n = fsub {t} %up, {power(52)}
  %minus = fneg {t} %n
{_difference(t, ints, suffix, c, bits)}
  %below = fcmp olt {t} %left, {c("0.0")}
  %raised = fadd {t} %left, %by
  %fixed = select {i} %below, {t} %raised, {t} %left
  %next = select {i} %more, {t} %fixed, {t} %r
  br label %head
done:
  %signed = call {t} @llvm.copysign.{suffix}({t} %r, {t} %x)
  %value = select {i} %ok, {t} %signed, {t} {c(_NAN)}
  ret {t} %value
}}"""


def _difference(t: str, ints: str, suffix: str, c: Callable[..., str], bits: int) -> str:
    """``%left = %r - %n * %by`` without rounding."""
    if bits == _FUSED:
        return f"  %left = call {t} @llvm.fma.{suffix}({t} %minus, {t} %by, {t} %r)"
    if bits == _NARROW:
        return f"  %over = fmul {t} %minus, %by\n  %left = fadd {t} %r, %over"
    return f"""  %bybits = bitcast {t} %by to {ints}
  %upper = and {ints} %bybits, {c(str(-(1 << 27)), "i64")}
  %hi = bitcast {ints} %upper to {t}
  %lo = fsub {t} %by, %hi
  %over = fmul {t} %minus, %hi
  %part = fadd {t} %r, %over
  %under = fmul {t} %minus, %lo
  %left = fadd {t} %part, %under"""
