"""Functions that machines have instructions for: square roots, roundings, the absolute value."""

from __future__ import annotations

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath.declarations import function
from workbench.codegen.llvm.vmath.operations import FORMATS, Ops


@function("abs", float32=0, float64=0)
def absolute(m: Ops, x: Value) -> Value:
    """Absolute value."""
    return m.call("fabs", x)


@function("sqrt", float32=0.5, float64=0.5)
def sqrt(m: Ops, x: Value) -> Value:
    """Square root, correctly rounded."""
    return m.call("sqrt", x)


@function("rsqrt", "of -0 is -inf", float32=1.5, float64=1.5)
def rsqrt(m: Ops, x: Value) -> Value:
    """Reciprocal square root, as the quotient: a division and a root, both correctly rounded."""
    return m.op("fdiv", m.c(1.0, x), m.call("sqrt", x))


@function("floor", "the sign of zero is kept", float32=0, float64=0)
def floor(m: Ops, x: Value) -> Value:
    """Largest integer not above."""
    return _directed(m, "floor", "ogt", -1.0, x)


@function("ceil", "small negative numbers give -0", float32=0, float64=0)
def ceil(m: Ops, x: Value) -> Value:
    """Smallest integer not below."""
    return _directed(m, "ceil", "olt", 1.0, x)


@function("round", "the sign of zero is kept", float32=0, float64=0)
def round_even(m: Ops, x: Value) -> Value:
    """Nearest integer; of two that are equally near, the even one."""
    if m.rounds:
        return m.call("roundeven", x)
    near, whole = nearest(m, x)
    return m.select(whole, x, near)


def _directed(m: Ops, name: str, beyond: str, step: float, x: Value) -> Value:
    if m.rounds:
        return m.call(name, x)
    near, whole = nearest(m, x)
    near = m.select(m.compare(beyond, near, x), m.exact("fadd", near, m.c(step, x)), near)
    return m.select(whole, x, m.call("copysign", near, x))


def nearest(m: Ops, x: Value) -> tuple[Value, Value]:
    """The nearest integer, up to its sign of zero, and whether `x` is so large that it has no fraction (or is NaN)."""
    a, top = m.call("fabs", x), m.c(2.0 ** FORMATS[x.dtype].fraction, x)
    near = m.call("copysign", m.exact("fsub", m.exact("fadd", a, top), top), x)
    return near, m.flip(m.compare("olt", a, top))


def is_whole(m: Ops, x: Value) -> Value:
    """Whether `x` is an integer; infinities are, NaN is not."""
    if m.rounds:
        return m.compare("oeq", m.call("trunc", x), x)
    near, large = nearest(m, x)
    return m.both(m.compare("ord", x, x), m.either(large, m.compare("oeq", near, x)))
