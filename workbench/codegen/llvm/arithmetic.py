"""Arithmetic on values, scalar or vector, with the meaning that the interpreter and NumPy give it.

What holds beyond the plain cases:

- Integers wrap. A quotient is cut towards zero; a remainder has the sign of the divisor; both are 0 for a zero divisor.
  Neither ever traps, because both sides of a data-dependent choice are computed.
- On truth values, sum and maximum are "or", product and minimum are "and".
- Maximum and minimum of floats are NaN when either operand is; which of -0.0 and 0.0 is larger is not specified.
- Products and sums may be contracted to fused multiply-adds.
- A cast of a float to an integer cuts towards zero, and to the nearest integer that there is; NaN becomes 0.
"""

from __future__ import annotations

import re

import numpy as np

from workbench.codegen.llvm.builder import FunctionBuilder
from workbench.codegen.llvm.values import LLVM_TYPE, Value, literal
from workbench.codegen.llvm.vmath import FORMATS, VectorMath
from workbench.codegen.llvm.vmath.power import BY_PRODUCTS
from workbench.ir.expr import COMPARE_OPS

_TRUTH = {"add": "or", "max": "or", "mul": "and", "min": "and", "sub": "xor", "and": "and", "or": "or"}


class Arithmetic:
    """Emits unary and binary operations, comparisons and casts."""

    def __init__(self, fb: FunctionBuilder) -> None:
        self.fb = fb
        self.math = VectorMath(fb)

    def same_lanes(self, *vs: Value) -> tuple[Value, ...]:
        """Broadcast scalars where any operand is a vector."""
        lanes = vs[0].lanes
        if all(v.lanes == lanes for v in vs):
            return vs
        lanes = max(v.lanes for v in vs)
        return tuple(self.fb.broadcast(v, lanes) for v in vs)

    def unary(self, op: str, x: Value) -> Value:
        """Emit ``op(x)``."""
        fb = self.fb
        if x.dtype == "bfloat16":
            return self.cast(self.unary(op, self.cast(x, "float32")), "bfloat16")
        if op == "not":
            return fb.pure(f"xor {x.typed}, {literal(True, 'bool', x.lanes).text}", "bool", x.lanes, (x,))
        if x.is_float:
            if op == "neg":
                return fb.pure(f"fneg {x.typed}", x.dtype, x.lanes, (x,))
            return self.math.emit(op, x)
        if op == "neg":
            return self._negated(x)
        if op == "abs":
            return x if is_unsigned(x) else self.binary("max", x, self._negated(x))
        return x

    def _by_one(self, a: Value, b: Value) -> Value:
        """Quotients by one number: products with its reciprocal, corrected by what they leave, a third of the time.

        They are correctly rounded where neither they nor what is left are denormal (Markstein), else off by one unit
        at most. A power of two keeps the reciprocal normal. A corrected quotient of 0 or NaN is one that needs none.
        """
        m, f = self.math, FORMATS[a.dtype]
        size, near = m.call("fabs", b), f.bias - f.fraction
        scale = m.select(m.compare("olt", size, m.c(2.0**-near, b)), m.c(2.0 ** (f.bias // 2), b), m.c(1.0, b))
        scale = m.select(m.compare("ogt", size, m.c(2.0**near, b)), m.c(2.0 ** -(f.bias // 2), b), scale)
        divisor = m.exact("fmul", b, scale)
        inverse = m.exact("fdiv", m.c(1.0, b), divisor)
        scale, divisor, inverse = (self.fb.broadcast(v, a.lanes) for v in (scale, divisor, inverse))
        a = m.exact("fmul", a, scale)
        q = m.exact("fmul", a, inverse)
        better = m.call("fma", m.call("fma", m.neg(q), divisor, a), inverse, q)
        return m.select(m.compare("one", better, m.c(0.0, better)), better, q)

    def _negated(self, x: Value) -> Value:
        zero = literal(0, x.dtype, x.lanes)
        return self.fb.pure(f"sub {zero.typed}, {x.text}", x.dtype, x.lanes, (x,))

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """Emit a binary operation on operands of one dtype."""
        if op == "div" and a.lanes > b.lanes == 1 and a.dtype in FORMATS and self.math.fuses:
            return self._by_one(a, b)
        a, b = self.same_lanes(a, b)
        if op in COMPARE_OPS:
            return self.compare(op, a, b)
        if a.dtype == "bfloat16":
            return self.cast(self.binary(op, self.cast(a, "float32"), self.cast(b, "float32")), "bfloat16")
        if a.dtype == "bool" and op in _TRUTH:
            return self.fb.pure(f"{_TRUTH[op]} {a.typed}, {b.text}", "bool", a.lanes, (a, b))
        if op in ("max", "min"):
            return self._extreme("gt" if op == "max" else "lt", a, b)
        if op == "pow":
            return self._power(a, b)
        if op == "mod":
            return self.math.emit(op, a, b) if a.is_float else self._remainder(a, b)
        if a.is_float:
            return self.math.op({"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}[op], a, b)
        if op == "div":
            return self._quotient(a, b)
        return self.fb.pure(f"{op} {a.typed}, {b.text}", a.dtype, a.lanes, (a, b))

    def _extreme(self, pred: str, a: Value, b: Value) -> Value:
        if not a.text.startswith("%"):
            a, b = b, a
        if not a.is_float:
            return self.math.select(self.compare(pred, a, b), a, b)
        if not b.text.startswith("%") and not is_literal(b, float("nan")):
            # The literal is no NaN. Written like this it is one instruction where that keeps its second operand.
            return self.math.select(self.compare(pred, b, a), b, a)
        if "neon" in self.fb.isa and a.dtype in FORMATS:
            return self.math.call("maximum" if pred == "gt" else "minimum", a, b)
        # Keeps `a` (the accumulator of a reduction) where it is NaN; the test of `b` does not wait for `a`.
        ordered = self.math.select(self.compare(pred, b, a), b, a)
        unordered = self.math.compare("uno", b, b)
        if a.lanes > 1 and a.dtype in FORMATS and not self.fb.isa & {"avx512f", "neon"}:
            return self.math.spoilt(ordered, unordered)
        return self.math.select(unordered, b, ordered)

    def _power(self, a: Value, b: Value) -> Value:
        """Power of floats; that to some constants is products and roots."""
        by = next((emit for exponent, emit in BY_PRODUCTS.items() if is_literal(b, exponent)), None)
        if by is None:
            return self.math.emit("pow", a, b)
        narrow = a.dtype == "float16"
        got = by(self.math, self.cast(a, "float32") if narrow else a)
        return self.cast(got, "float16") if narrow else got

    def _quotient(self, a: Value, b: Value) -> Value:
        name = "udiv" if is_unsigned(a) else "sdiv"
        if divides_safely(b):
            return self.fb.pure(f"{name} {a.typed}, {b.text}", a.dtype, a.lanes, (a, b))
        zero, safe = literal(0, a.dtype, a.lanes), self._safe_divisor(b)
        q = self.fb.pure(f"{name} {a.typed}, {safe.text}", a.dtype, a.lanes, (a, safe))
        if not is_unsigned(a):
            q = self.math.select(self.compare("eq", b, literal(-1, a.dtype, a.lanes)), self._negated(a), q)
        return self.math.select(self.compare("eq", b, zero), zero, q)

    def _safe_divisor(self, b: Value) -> Value:
        """`b`, or 1 where a division by it could trap."""
        trap = self.compare("eq", b, literal(0, b.dtype, b.lanes))
        if not is_unsigned(b):
            minus = self.compare("eq", b, literal(-1, b.dtype, b.lanes))
            trap = self.math.either(trap, minus)
        return self.math.select(trap, literal(1, b.dtype, b.lanes), b)

    def _remainder(self, a: Value, b: Value) -> Value:
        """Remainder of integers."""
        safe = b if divides_safely(b) else self._safe_divisor(b)
        name = "urem" if is_unsigned(a) else "srem"
        r = self.fb.pure(f"{name} {a.typed}, {safe.text}", a.dtype, a.lanes, (a, safe))
        if is_unsigned(a):
            return r if safe is b else self.math.select(self._is_zero(b), literal(0, b.dtype, b.lanes), r)
        # The machine's remainder has the sign of the dividend.
        m, zero = self.math, literal(0, a.dtype, a.lanes)
        differ = m.integer("xor", self.compare("lt", r, zero), self.compare("lt", b, zero))
        wrong = m.both(differ, self.compare("ne", r, zero))
        return m.select(wrong, m.integer("add", r, b), r)

    def _is_zero(self, v: Value) -> Value:
        return self.compare("eq", v, literal(0, v.dtype, v.lanes))

    def compare(self, op: str, a: Value, b: Value) -> Value:
        """Compare; NaN differs from everything."""
        if a.dtype == "bfloat16":
            return self.compare(op, self.cast(a, "float32"), self.cast(b, "float32"))
        if a.is_float:
            pred = ("u" if op == "ne" else "o") + op
            return self.fb.pure(f"fcmp {pred} {a.typed}, {b.text}", "bool", a.lanes, (a, b))
        sign = "" if op in ("eq", "ne") else "u" if is_unsigned(a) else "s"
        return self.fb.pure(f"icmp {sign}{op} {a.typed}, {b.text}", "bool", a.lanes, (a, b))

    def cast(self, v: Value, dtype: str) -> Value:
        """Convert between dtypes: as NumPy where it defines the result, saturating from floats to integers."""
        if v.dtype == dtype:
            return v
        if v.dtype == "bfloat16":
            return self.cast(self._widened(v), dtype)
        if dtype == "bfloat16":
            return self._halved(self.cast(v, "float32"))
        if dtype == "bool":
            return self.compare("ne", v, literal(0, v.dtype, v.lanes))
        if v.dtype == "float64" and dtype == "float16":
            v = self._odd(v)
        new = Value("", dtype, v.lanes)
        src, dst = np.dtype(v.dtype), np.dtype(dtype)
        if v.is_float and dst.kind == "f":
            op = "fpext" if dst.itemsize > src.itemsize else "fptrunc"
        elif v.is_float:
            return self._integer(v, dtype)
        elif dst.kind == "f":
            op = "uitofp" if src.kind in "ub" else "sitofp"
        elif dst.itemsize == src.itemsize and src.kind != "b":
            return Value(v.text, dtype, v.lanes, v.depth)
        else:
            op = "trunc" if dst.itemsize < src.itemsize and src.kind != "b" else "zext" if src.kind in "ub" else "sext"
        return self.fb.pure(f"{op} {v.typed} to {new.type}", dtype, v.lanes, (v,))

    def _integer(self, v: Value, dtype: str) -> Value:
        """A float cut towards zero and to the range of an integer type."""
        v = self.cast(v, "float32") if v.dtype == "float16" else v
        if v.lanes > 1:
            return self._integers(v, dtype)
        out, kind = Value("", dtype, v.lanes), "fptoui" if is_unsigned(Value("", dtype)) else "fptosi"
        names = [x.type if x.lanes == 1 else f"v{x.lanes}{LLVM_TYPE[x.dtype]}" for x in (out, v)]
        short = [n.replace("float", "f32").replace("double", "f64") for n in names]
        full = f"llvm.{kind}.sat.{short[0]}.{short[1]}"
        self.fb.declare(full, f"declare {out.type} @{full}({v.type})")
        return self.fb.pure(f"call {out.type} @{full}({v.typed})", dtype, v.lanes, (v,))

    def _integers(self, v: Value, dtype: str) -> Value:
        """The same for vectors: LLVM takes those apart if it is asked for a saturating conversion."""
        m, info = self.math, np.iinfo(dtype)
        signed = info.min < 0
        if info.bits < 32:  # both ends are floats: cut first, where a minimum and a maximum do it
            low, high = m.c(float(info.min), v), m.c(float(info.max), v)
            x = m.select(m.compare("ogt", v, low), v, low)
            x = m.select(m.compare("olt", x, high), x, high)
            x = m.select(m.compare("ord", v, v), x, m.c(0.0, v)) if signed else x
            return self.cast(m.cast("fptosi", x, "int32"), dtype)
        whole = m.cast("fptosi" if signed else "fptoui", v, dtype)
        ends = [literal(int(end), dtype, v.lanes) for end in (info.min, info.max, 0)]
        above = m.compare("oge", v, m.c(2.0 ** (info.bits - signed), v))
        below = m.compare("olt", v, m.c(float(info.min), v))
        out = m.select(below, ends[0], m.select(above, ends[1], whole))
        return m.select(m.compare("ord", v, v), out, ends[2])

    def _odd(self, v: Value) -> Value:
        """A float64 as float32, rounded such that a further rounding gives what one alone would: to odd.

        Few machines round float64 to float16 at once; LLVM would call a library.
        """
        m = self.math
        near = m.cast("fptrunc", v, "float32")
        back, bits = m.cast("fpext", near, "float64"), m.bits(near)
        larger = m.compare("ogt", m.call("fabs", back), m.call("fabs", v))
        odd = m.integer("or", m.select(larger, m.integer("sub", bits, 1), bits), 1)
        return m.float_of(m.select(m.compare("one", back, v), odd, bits))

    def _widened(self, v: Value) -> Value:
        """A bfloat16 as the float32 whose upper half it is."""
        m = self.math
        return m.cast("bitcast", m.integer("shl", m.cast("zext", v, "uint32"), 16), "float32")

    def _halved(self, v: Value) -> Value:
        """A float32 rounded to the nearest bfloat16, to even; NaN stays NaN.

        The instruction takes denormal numbers for 0.
        """
        m = self.math
        if "avx512bf16" in self.fb.isa and "avx512vl" in self.fb.isa and v.lanes in (4, 8, 16):
            short = self.fb.pure(f"fptrunc {v.typed} to <{v.lanes} x bfloat>", "bfloat16", v.lanes, (v,))
            text = f"bitcast <{v.lanes} x bfloat> {short.text} to <{v.lanes} x i16>"
            return self.fb.pure(text, "bfloat16", v.lanes, (short,))
        bits = m.cast("bitcast", v, "uint32")
        odd = m.integer("and", m.integer("lshr", bits, 16), 1)
        rounded = m.integer("add", bits, m.integer("add", odd, 0x7FFF))
        kept = m.select(self.compare("eq", v, v), rounded, m.integer("or", bits, 0x400000))
        return m.cast("trunc", m.integer("lshr", kept, 16), "bfloat16")


def is_literal(v: Value, value: float) -> bool:
    """Whether `v` is the literal `value` of its dtype."""
    return v.text == literal(value, v.dtype, v.lanes).text


def is_unsigned(v: Value) -> bool:
    """Whether the element type has no negative values."""
    return v.dtype.startswith("u") or v.dtype == "bool"


def divides_safely(v: Value) -> bool:
    """Whether `v` is an integer literal by which any number can be divided."""
    if v.text.startswith("%"):
        return False
    found = re.search(r"-?\d+\)?$", v.text)
    return found is not None and int(found.group().rstrip(")")) not in (0, -1)
