"""What the functions are written in: floats, integers and bits of any number of lanes, emitted through a builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.codegen.llvm.builder import FunctionBuilder
from workbench.codegen.llvm.values import Value, literal


@dataclass(frozen=True, slots=True)
class Format:
    """An IEEE format.

    Attributes
    ----------
    dtype, ints : str
        The float type and the integer type of its size.
    fraction, bias : int
        Bits of the fraction, and what is added to an exponent.
    suffix : str
        How LLVM's intrinsics call it.
    """

    dtype: str
    ints: str
    fraction: int
    bias: int
    suffix: str

    @property
    def lowest(self) -> int:
        """Exponent of the smallest normal number."""
        return 1 - self.bias


FORMATS = {
    "float32": Format("float32", "int32", 23, 127, "f32"),
    "float64": Format("float64", "int64", 52, 1023, "f64"),
}


class Ops:
    """Emits single operations on floats of the formats above; `isa` of the builder says what the machine has."""

    def __init__(self, fb: FunctionBuilder) -> None:
        self.fb = fb

    # ---- floats ----------------------------------------------------------------------------------------------------

    def c(self, value: float, like: Value) -> Value:
        """A constant of the type of `like`."""
        return literal(value, like.dtype, like.lanes)

    def op(self, op: str, a: Value, b: Value) -> Value:
        """Binary float operation that may be contracted to a fused one."""
        return self.fb.pure(f"{op} contract {a.type} {a.text}, {b.text}", a.dtype, a.lanes, (a, b))

    def exact(self, op: str, a: Value, b: Value) -> Value:
        """Binary float operation that is rounded by itself: for algorithms that compute their own rounding errors."""
        return self.fb.pure(f"{op} {a.type} {a.text}, {b.text}", a.dtype, a.lanes, (a, b))

    def neg(self, x: Value) -> Value:
        """``-x``."""
        return self.fb.pure(f"fneg {x.typed}", x.dtype, x.lanes, (x,))

    def call(self, name: str, *args: Value) -> Value:
        """Call an LLVM intrinsic that is overloaded on its operand type."""
        x = args[0]
        suffix = FORMATS[x.dtype].suffix
        full = f"llvm.{name}.{suffix}" if x.lanes == 1 else f"llvm.{name}.v{x.lanes}{suffix}"
        self.fb.declare(full, f"declare {x.type} @{full}({', '.join(a.type for a in args)})")
        return self.fb.pure(f"call {x.type} @{full}({', '.join(a.typed for a in args)})", x.dtype, x.lanes, args)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """``a * b + c``, fused where the machine can."""
        return self.call("fmuladd", a, b, c)

    def poly(self, coefficients: Sequence[float], x: Value) -> Value:
        """Polynomial with the constant coefficient first."""
        acc = self.c(coefficients[-1], x)
        for k in reversed(coefficients[:-1]):
            acc = self.fma(acc, x, self.c(k, x))
        return acc

    def compare(self, pred: str, a: Value, b: Value) -> Value:
        """Float comparison."""
        return self.fb.pure(f"fcmp {pred} {a.type} {a.text}, {b.text}", "bool", a.lanes, (a, b))

    def select(self, cond: Value, a: Value, b: Value) -> Value:
        """Lane-wise choice."""
        return self.fb.pure(f"select {cond.typed}, {a.typed}, {b.typed}", a.dtype, a.lanes, (cond, a, b))

    def both(self, a: Value, b: Value) -> Value:
        """Conjunction of truth values."""
        return self.fb.pure(f"and {a.typed}, {b.text}", "bool", a.lanes, (a, b))

    def either(self, a: Value, b: Value) -> Value:
        """Disjunction of truth values."""
        return self.fb.pure(f"or {a.typed}, {b.text}", "bool", a.lanes, (a, b))

    def flip(self, a: Value) -> Value:
        """Negation of truth values."""
        return self.fb.pure(f"xor {a.typed}, {literal(True, 'bool', a.lanes).text}", "bool", a.lanes, (a,))

    def at_most(self, x: Value, limit: float) -> Value:
        """The smaller of `x` and a limit; NaN stays (the order of the operands makes it one instruction on x86)."""
        c = self.c(limit, x)
        if "neon" in self.fb.isa:
            return self.call("minimum", x, c)
        return self.select(self.compare("olt", c, x), c, x)

    def at_least(self, x: Value, limit: float) -> Value:
        """The larger of `x` and a limit; NaN stays."""
        c = self.c(limit, x)
        if "neon" in self.fb.isa:
            return self.call("maximum", x, c)
        return self.select(self.compare("ogt", c, x), c, x)

    # ---- bits ------------------------------------------------------------------------------------------------------

    def cast(self, op: str, v: Value, dtype: str) -> Value:
        """One conversion instruction."""
        out = Value("", dtype, v.lanes)
        return self.fb.pure(f"{op} {v.typed} to {out.type}", dtype, v.lanes, (v,))

    def bits(self, x: Value) -> Value:
        """The bits of a float as an integer."""
        return self.cast("bitcast", x, FORMATS[x.dtype].ints)

    def float_of(self, bits: Value) -> Value:
        """The float with these bits."""
        return self.cast("bitcast", bits, {"int32": "float32", "int64": "float64"}[bits.dtype])

    def integer(self, op: str, a: Value, b: Value | int) -> Value:
        """Integer operation; an int stands for a constant."""
        k = literal(b, a.dtype, a.lanes) if isinstance(b, int) else b
        operands = (a,) if isinstance(b, int) else (a, k)
        return self.fb.pure(f"{op} {a.typed}, {k.text}", a.dtype, a.lanes, operands)

    def spoilt(self, x: Value, where: Value) -> Value:
        """`x`, or NaN in some lanes: where comparisons make whole lanes of ones, these only have to be joined to it."""
        ones = self.cast("sext", where, FORMATS[x.dtype].ints)
        return self.float_of(self.integer("or", self.bits(x), ones))

    # ---- powers of two ---------------------------------------------------------------------------------------------

    @staticmethod
    def magic(dtype: str, offset: int = 0) -> float:
        """Adding this rounds to an integer that then stands, plus `offset`, in the lowest bits."""
        return 1.5 * 2.0 ** FORMATS[dtype].fraction + offset

    def scaled(self, x: Value, n: Value) -> Value:
        """``x * 2**n`` for a float `n` that is an integer, rounded once, by that instruction."""
        return self._masked("scalef", x, n)

    def within(self, x: Value, limit: float) -> Value:
        """Of `x` and a limit what is closer to 0, with the sign of `x`; the limit for NaN. Needs `ranges`."""
        return self._masked("range", x, self.c(limit, x), choice=2)

    def ranges(self, x: Value) -> bool:
        """Whether `within` takes values of this type."""
        return self.scalable(x) and "avx512dq" in self.fb.isa

    def picked(self, table: Sequence[float], which: Value) -> Value:
        """For each lane the entry of a table of 16 numbers that the lowest 4 bits say. Needs `picks`."""
        if which.lanes > 16:
            return self._join(*(self.picked(table, self._half(which, k)) for k in (0, 1)))
        entries = Value("<" + ", ".join(literal(t, "float32").typed for t in table) + ">", "float32", 16)
        name = "llvm.x86.avx512.permvar.sf.512"
        self.fb.declare(name, f"declare {entries.type} @{name}({entries.type}, {which.type})")
        return self.fb.pure(f"call {entries.type} @{name}({entries.typed}, {which.typed})", "float32", 16, (which,))

    def picks(self, x: Value) -> bool:
        """Whether `picked` makes values of this type: whole registers of 16, where `within` does too."""
        return x.dtype == "float32" and self.ranges(x) and x.lanes % 16 == 0

    def scalable(self, x: Value) -> bool:
        """Whether `scaled` takes values of this type: whole registers of a machine with AVX-512."""
        return "avx512f" in self.fb.isa and "avx512vl" in self.fb.isa and self._size(x) >= 128

    @staticmethod
    def _size(x: Value) -> int:
        return x.lanes * (32 if x.dtype == "float32" else 64)

    def _join(self, a: Value, b: Value) -> Value:
        lanes = 2 * a.lanes
        every = ", ".join(f"i32 {k}" for k in range(lanes))
        return self.fb.pure(f"shufflevector {a.typed}, {b.typed}, <{lanes} x i32> <{every}>", a.dtype, lanes, (a, b))

    def _half(self, x: Value, k: int) -> Value:
        lanes = x.lanes // 2
        if not x.text.startswith("%"):  # all lanes of a constant are equal
            return Value(x.text, x.dtype, lanes)
        which = ", ".join(f"i32 {k * lanes + lane}" for lane in range(lanes))
        text = f"shufflevector {x.typed}, {x.type} poison, <{lanes} x i32> <{which}>"
        return self.fb.pure(text, x.dtype, lanes, (x,))

    def exponent_and_mantissa(self, x: Value) -> tuple[Value, Value]:
        """Part `x` into a float ``e`` and ``m`` from 0.75 to below 1.5 with ``x = 2**e * m``.

        By instruction where `scalable`; then `e` is infinite for 0 and infinity, and `m` is NaN for NaN and negative
        numbers. Elsewhere the two are only right for positive finite numbers.
        """
        if self.scalable(x):
            m = self._masked("getmant", x, choice=3 | 2 << 2)
            return self.exact("fsub", self._masked("getexp", x), self._masked("getexp", m)), m
        f = FORMATS[x.dtype]
        small, bits = self.compare("olt", x, self.c(2.0**f.lowest, x)), f.fraction + 1
        x = self.select(small, self.exact("fmul", x, self.c(2.0**bits, x)), x)
        centre = (f.bias << f.fraction) - (1 << (f.fraction - 1))
        moved = self.integer("add", self.bits(x), (f.bias << f.fraction) - centre)
        biased = self.integer("or", self.integer("lshr", moved, f.fraction), (f.bias + f.fraction) << f.fraction)
        # The exponent stands in the lowest bits of 2**fraction, so no conversion is needed.
        normal = 2.0**f.fraction + f.bias
        e = self.exact("fsub", self.float_of(biased), self.select(small, self.c(normal + bits, x), self.c(normal, x)))
        return e, self.float_of(self.integer("add", self.integer("and", moved, (1 << f.fraction) - 1), centre))

    def _masked(self, name: str, *operands: Value, choice: int | None = None) -> Value:
        """One of AVX-512's functions under a mask that is never off, in whole registers; `choice`: of its variants."""
        x, bits = operands[0], self._size(operands[0])
        if bits > 512:
            halves = ((self._half(v, k) for v in operands) for k in (0, 1))
            return self._join(*(self._masked(name, *half, choice=choice) for half in halves))
        mask = "i16" if x.lanes == 16 else "i8"
        given = [(v.type, v.text) for v in operands] + ([] if choice is None else [("i32", str(choice))])
        given += [(x.type, "zeroinitializer"), (mask, "-1")] + ([("i32", "4")] if bits == 512 else [])
        full = f"llvm.x86.avx512.mask.{name}.{'ps' if x.dtype == 'float32' else 'pd'}.{bits}"
        self.fb.declare(full, f"declare {x.type} @{full}({', '.join(type_ for type_, _ in given)})")
        text = f"call {x.type} @{full}({', '.join(f'{type_} {value}' for type_, value in given)})"
        return self.fb.pure(text, x.dtype, x.lanes, operands)

    @property
    def rounds(self) -> bool:
        """Whether the machine has instructions for floor and ceil (else LLVM would call the C library)."""
        return "avx" in self.fb.isa or "neon" in self.fb.isa

    # ---- twice the precision ---------------------------------------------------------------------------------------

    @property
    def fuses(self) -> bool:
        """Whether the machine has fused multiply-adds (else LLVM would call the C library for an exact one)."""
        return "fma" in self.fb.isa or "avx512f" in self.fb.isa or "neon" in self.fb.isa

    def quick_sum(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Sum and its rounding error, for ``|a| >= |b|`` or ``a == 0``."""
        s = self.exact("fadd", a, b)
        return s, self.exact("fadd", self.exact("fsub", a, s), b)

    def two_sum(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Sum and its rounding error."""
        s = self.exact("fadd", a, b)
        t = self.exact("fsub", s, a)
        return s, self.exact("fadd", self.exact("fsub", a, self.exact("fsub", s, t)), self.exact("fsub", b, t))

    def two_product(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Product and its rounding error."""
        p = self.exact("fmul", a, b)
        return p, self.less_product(self.neg(p), a, b)

    def less_product(self, c: Value, a: Value, b: Value) -> Value:
        """``c + a * b``, exact where the result fits: `c` is close to the negative product."""
        if self.fuses:
            return self.call("fma", a, b, c)
        (ah, al), (bh, bl) = self._split(a), self._split(b)
        acc = self.exact("fadd", c, self.exact("fmul", ah, bh))
        acc = self.exact("fadd", acc, self.exact("fmul", ah, bl))
        acc = self.exact("fadd", acc, self.exact("fmul", al, bh))
        return self.exact("fadd", acc, self.exact("fmul", al, bl))

    def _split(self, x: Value) -> tuple[Value, Value]:
        """Two halves whose products are exact: by bits, which cannot overflow."""
        f = FORMATS[x.dtype]
        cut = (f.fraction + 2) // 2
        high = self.float_of(self.integer("and", self.bits(x), -(1 << cut)))
        return high, self.exact("fsub", x, high)
