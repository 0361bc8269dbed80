"""Vector math: functions of float32 as straight-line arithmetic on any number of lanes.

LLVM's ``llvm.exp`` and friends become one libm call per lane; these stay in vector registers. Errors against float64,
over the whole range unless said: exp 1e-7 relative; sigmoid 2e-7 relative; tanh 2e-7 relative; erf 2e-7 absolute.
Coefficients: minimax polynomials published with the Cephes library (exp, tanh) and Abramowitz & Stegun 7.1.26 (erf).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .builder import FunctionBuilder, Value, literal

_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


class VectorMath:
    """Emits math functions through a `FunctionBuilder`."""

    def __init__(self, fb: FunctionBuilder) -> None:
        self._fb = fb

    def emit(self, op: str, x: Value) -> Value:
        """Emit ``op(x)``; float32 through the polynomials here, everything else through LLVM's intrinsics.

        NaN gives NaN. Infinities give the limits, signed zeros keep their sign in tanh and erf, and the exponential of
        what would be denormal is 0.
        """
        if x.dtype == "float16":
            return self._cast("fptrunc", self.emit(op, self._cast("fpext", x, "float32")), "float16")
        own: dict[str, Callable[[Value], Value]] = {
            "exp": self._exp,
            "tanh": self._tanh,
            "sigmoid": self._sigmoid,
            "erf": self._erf,
            "rsqrt": self._rsqrt,
        }
        if op == "abs":
            return self.call("fabs", x)
        if op in own and (x.dtype == "float32" or op in ("sigmoid", "rsqrt")):
            return own[op](x)
        if op in ("tanh", "erf"):
            return self._libm(op, x)
        return self.call(op, x)

    def call(self, name: str, *args: Value) -> Value:
        """Call an LLVM intrinsic that is overloaded on its operand type."""
        x = args[0]
        suffix = (
            ("f32" if x.dtype == "float32" else "f64")
            if x.lanes == 1
            else f"v{x.lanes}" + ("f32" if x.dtype == "float32" else "f64")
        )
        full = f"llvm.{name}.{suffix}"
        self._fb.declare(full, f"declare {x.type} @{full}({', '.join(a.type for a in args)})")
        return self._fb.pure(f"call {x.type} @{full}({', '.join(a.typed for a in args)})", x.dtype, x.lanes, args)

    def op(self, op: str, a: Value, b: Value) -> Value:
        """Binary float operation with contraction allowed."""
        return self._fb.pure(f"{op} contract {a.type} {a.text}, {b.text}", a.dtype, a.lanes, (a, b))

    def select(self, cond: Value, a: Value, b: Value) -> Value:
        """Lane-wise choice."""
        return self._fb.pure(f"select {cond.typed}, {a.typed}, {b.typed}", a.dtype, a.lanes, (cond, a, b))

    def compare(self, pred: str, a: Value, b: Value) -> Value:
        """Float comparison."""
        return self._fb.pure(f"fcmp {pred} {a.type} {a.text}, {b.text}", "bool", a.lanes, (a, b))

    def _c(self, value: float, like: Value) -> Value:
        return literal(value, like.dtype, like.lanes)

    def _fma(self, a: Value, b: Value, c: Value) -> Value:
        return self.call("fma", a, b, c)

    def _poly(self, coefficients: Sequence[float], x: Value) -> Value:
        acc = self._c(coefficients[0], x)
        for c in coefficients[1:]:
            acc = self._fma(acc, x, self._c(c, x))
        return acc

    def _cast(self, op: str, v: Value, dtype: str) -> Value:
        out = Value("", dtype, v.lanes)
        return self._fb.pure(f"{op} {v.typed} to {out.type}", dtype, v.lanes, (v,))

    def _exp(self, x: Value) -> Value:
        """``2**n * exp(f)`` with ``|f| <= ln(2)/2``; below -87.3 the result is flushed to 0, above 88.7 it is
        infinite.
        """
        lo, hi = self._c(-87.33654, x), self._c(88.72283, x)
        clipped = self.select(self.compare("ult", x, hi), x, hi)
        clipped = self.select(self.compare("ugt", clipped, lo), clipped, lo)
        n = self.call("roundeven", self.op("fmul", clipped, self._c(1.4426950408889634, x)))
        f = self._fma(n, self._c(-0.693359375, x), clipped)
        f = self._fma(n, self._c(2.12194440e-4, x), f)
        p = self._fma(self._poly(_EXP, f), self.op("fmul", f, f), f)
        y = self.op("fadd", p, self._c(1.0, x))
        # Scaling in two halves keeps 2**128 out of the exponent field at the upper end.
        k = self._cast("fptosi", n, "int32")
        half = self._int("ashr", k, 1)
        y = self.op("fmul", y, self._pow2(half))
        y = self.op(
            "fmul", y, self._pow2(self._fb.pure(f"sub {k.type} {k.text}, {half.text}", "int32", k.lanes, (k, half)))
        )
        y = self.select(self.compare("ugt", x, hi), self._c(float("inf"), x), y)
        y = self.select(self.compare("olt", x, lo), self._c(0.0, x), y)
        return self.select(self.compare("uno", x, x), x, y)

    def _int(self, op: str, v: Value, k: int) -> Value:
        c = literal(k, v.dtype, v.lanes)
        return self._fb.pure(f"{op} {v.type} {v.text}, {c.text}", v.dtype, v.lanes, (v,))

    def _pow2(self, k: Value) -> Value:
        return self._cast("bitcast", self._int("shl", self._int("add", k, 127), 23), "float32")

    def _sigmoid(self, x: Value) -> Value:
        one = self._c(1.0, x)
        return self.op("fdiv", one, self.op("fadd", one, self.emit("exp", self._neg(x))))

    def _neg(self, x: Value) -> Value:
        return self._fb.pure(f"fneg {x.typed}", x.dtype, x.lanes, (x,))

    def _tanh(self, x: Value) -> Value:
        """Odd polynomial near 0, ``1 - 2 / (exp(2|x|) + 1)`` elsewhere."""
        a = self.call("fabs", x)
        x2 = self.op("fmul", x, x)
        small = self._fma(self.op("fmul", self._poly(_TANH, x2), x2), x, x)
        e = self._exp(self.op("fadd", a, a))
        one = self._c(1.0, x)
        big = self.op("fsub", one, self.op("fdiv", self._c(2.0, x), self.op("fadd", e, one)))
        return self.select(self.compare("ult", a, self._c(0.625, x)), small, self.call("copysign", big, x))

    def _erf(self, x: Value) -> Value:
        a, one = self.call("fabs", x), self._c(1.0, x)
        t = self.op("fdiv", one, self._fma(a, self._c(0.3275911, x), one))
        e = self._exp(self._neg(self.op("fmul", a, a)))
        y = self.op("fsub", one, self.op("fmul", self.op("fmul", self._poly(_ERF, t), t), e))
        return self.call("copysign", y, x)

    def _rsqrt(self, x: Value) -> Value:
        return self.op("fdiv", self._c(1.0, x), self.call("sqrt", x))

    def _libm(self, name: str, x: Value) -> Value:
        """One call to the C library per lane (float64 only)."""
        self._fb.declare(name, f"declare double @{name}(double)")
        if x.lanes == 1:
            return self._fb.pure(f"call double @{name}({x.typed})", x.dtype, 1, (x,))
        out = Value("poison", x.dtype, x.lanes)
        for lane in range(x.lanes):
            e = self._fb.pure(f"extractelement {x.typed}, i64 {lane}", x.dtype, 1, (x,))
            y = self._libm(name, e)
            out = self._fb.pure(f"insertelement {out.typed}, {y.typed}, i64 {lane}", x.dtype, x.lanes, (out, y))
        return out
