"""Expressions of a block as LLVM operations, scalar or one vector of lanes at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from ..errors import BuildError
from ..ir.affine import Affine, Digit, digit_extent
from ..ir.expr import Binary, Bound, Cast, Const, Expr, Index, Load, Select, Unary, Where
from ..ir.func import Buffer
from ..ir.poly import Poly
from .arith import Arithmetic
from .builder import LLVM_TYPE, FunctionBuilder, Value, const_of, index, literal

#: Guarded loads that fail read from here instead; longer runs fall back to a select of the value.
ZEROS = "@wb.zeros"
ZERO_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Lanes:
    """A vectorised loop variable: lane l stands for ``base + l``."""

    base: Value
    count: int


@dataclass(frozen=True, slots=True)
class Address:
    """Element address of an access: `step` is the distance between lanes in elements."""

    pointer: Value
    step: int


@dataclass(frozen=True, slots=True)
class _Padding:
    """A guarded address: what the guard decides on, and what moves freely from there."""

    still: Affine
    moving: Affine


class ExprEmitter:
    """Emits expressions for the current values of the loop variables in `env`."""

    def __init__(
        self,
        fb: FunctionBuilder,
        buffers: Mapping[str, Buffer],
        pointers: Mapping[str, Value],
        extents: Mapping[str, int],
    ) -> None:
        self.fb = fb
        self.arith = Arithmetic(fb)
        self.env: dict[str, Value | Lanes] = {}
        #: Lanes of the vector loop that is open; 1 outside of one.
        self.lanes = 1
        self._buffers, self._pointers, self._extents = buffers, pointers, extents
        self._flat: dict[int, tuple[tuple[Affine, ...], Affine]] = {}
        self._padded: dict[int, tuple[Select, _Padding | None]] = {}
        self._version: dict[str, int] = {}
        self._conds: list[Value] = []

    # ---- addresses -------------------------------------------------------------------------------------------------

    def flat(self, buffer: str, idx: tuple[Affine, ...]) -> Affine:
        """Element offset of an access, as one form over the loops."""
        key = id(idx)
        known = self._flat.get(key)
        if known is None:
            got = Affine()
            for form, stride in zip(reversed(idx), reversed(self._buffers[buffer].strides()), strict=True):
                got = got + form * stride
            # The index is kept with its entry, so that its id stays its own.
            known = self._flat[key] = (idx, got)
        return known[1]

    def address(self, buffer: str, idx: tuple[Affine, ...]) -> Address:
        """Address of an access for the current iteration."""
        return self._address(self._pointers[buffer], self.flat(buffer, idx), LLVM_TYPE[self.memory_dtype(buffer)])

    def memory_dtype(self, buffer: str) -> str:
        """Element type in memory; a bool is one byte."""
        dtype = self._buffers[buffer].dtype
        return "uint8" if dtype == "bool" else dtype

    def _address(self, base: Value, form: Affine, elem: str) -> Address:
        terms, const, step = self._terms(form)
        pointer = base
        for value, c in terms:
            pointer = self.fb.gep(pointer, self.fb.mul(value, c), elem)
        return Address(self.fb.gep(pointer, index(const), elem), step)

    def _terms(self, form: Affine) -> tuple[list[tuple[Value, int]], int, int]:
        """Variable parts by depth (so that prefixes are shared by inner loops), constant part, step between lanes."""
        assert isinstance(form.const, int)
        const, step = form.const, 0
        out: list[tuple[Value, int]] = []
        for digit, c in form.terms:
            assert isinstance(c, int)
            var = self.env[digit.var]
            if isinstance(var, Lanes):
                step += c
                var = var.base
            value = self.digit(digit, var)
            k = const_of(value)
            if k is None:
                out.append((value, c))
            else:
                const += c * k
        out.sort(key=lambda t: t[0].depth)
        return out, const, step

    def digit(self, d: Digit, var: Value) -> Value:
        """``(var // lower) % extent``, without the operations that the loop's extent makes superfluous."""
        if d.plain:
            return var
        assert isinstance(d.lower, int)
        assert not isinstance(d.extent, Poly)
        value = self.fb.udiv(var, d.lower)
        if d.extent is not None and d.lower * d.extent < self._extents[d.var]:
            value = self.fb.urem(value, d.extent)
        return value

    def form(self, form: Affine) -> Value:
        """Value of a form that does not vary over lanes."""
        terms, const, _ = self._terms(form)
        acc = index(0)
        for value, c in terms:
            acc = self.fb.add(acc, self.fb.mul(value, c))
        return self.fb.add(acc, index(const))

    # ---- conditions ------------------------------------------------------------------------------------------------

    def bound(self, b: Bound) -> bool | Value | None:
        """Known truth, a scalar i1, or None when lanes disagree."""
        assert isinstance(b.lo, int)
        assert isinstance(b.hi, int)
        if b.lo >= b.hi:
            return False
        if any(not d.plain and isinstance(self.env[d.var], Lanes) for d, _ in b.form.terms):
            return None
        terms, const, step = self._terms(b.form)
        span = abs(step) * (self.lanes - 1)
        low = const - (span if step < 0 else 0)
        if not terms:
            if b.lo <= low and low + span < b.hi:
                return True
            return False if low + span < b.lo or low >= b.hi else None
        if step:
            return None
        lo, hi = self._range(b.form)
        if b.lo <= lo and hi < b.hi:
            return True
        x = self.form(b.form)
        if lo >= b.lo:
            return self.fb.pure(f"icmp slt i64 {x.text}, {b.hi}", "bool", 1, (x,))
        if hi < b.hi:
            return self.fb.pure(f"icmp sge i64 {x.text}, {b.lo}", "bool", 1, (x,))
        shifted = self.fb.add(x, index(-b.lo))
        return self.fb.pure(f"icmp ult i64 {shifted.text}, {b.hi - b.lo}", "bool", 1, (shifted,))

    def bounds(self, conds: tuple[Bound, ...]) -> bool | Value | None:
        """Conjunction of `bound`."""
        acc: bool | Value = True
        for c in conds:
            got = self.bound(c)
            if got is None or got is False:
                return got
            if isinstance(got, Value):
                acc = got if acc is True else self._and(acc, got)
        return acc

    def _and(self, a: bool | Value, b: Value) -> Value:
        assert isinstance(a, Value)
        return self.fb.pure(f"and i1 {a.text}, {b.text}", "bool", 1, (a, b))

    def _range(self, form: Affine) -> tuple[int, int]:
        """Smallest and largest value over the whole nest, constants of unrolled loops included."""
        assert isinstance(form.const, int)
        lo = hi = form.const
        for d, c in form.terms:
            assert isinstance(c, int)
            var = self.env[d.var]
            k = const_of(self.digit(d, var)) if isinstance(var, Value) else None
            top = self._digit_top(d)
            a, b = (c * k, c * k) if k is not None else (0, c * top)
            lo, hi = lo + min(a, b), hi + max(a, b)
        return lo, hi

    # ---- memory ----------------------------------------------------------------------------------------------------

    def load(self, ld: Load) -> Value:
        """Load one element, or one vector when the address moves with the lanes."""
        return self._load_at(ld.buffer, self.address(ld.buffer, ld.index))

    def _load_at(self, buffer: str, at: Address) -> Value:
        lanes = self.lanes if at.step else 1
        if at.step not in (0, 1):
            return self._gather(buffer, at, lanes)
        dtype, pointer = self.memory_dtype(buffer), self._safe(at.pointer)
        vec = Value("", dtype, lanes)
        text = f"load {vec.type}, {pointer.typed}, align {np.dtype(dtype).itemsize}"
        if self._buffers[buffer].role in ("input", "const"):
            # Not before the condition of a block: where that fails, the address may lie outside.
            got = self.fb.pure(text, dtype, lanes, (pointer,), self.fb.guarded)
        else:
            got = self.fb.here(text, dtype, lanes, key=f"{text} v{self._version.get(buffer, 0)}")
        return self._truth(got) if self._buffers[buffer].dtype == "bool" else got

    def _truth(self, v: Value) -> Value:
        zero = literal(0, v.dtype, v.lanes)
        return self.fb.pure(f"icmp ne {v.typed}, {zero.text}", "bool", v.lanes, (v,))

    def _gather(self, buffer: str, at: Address, lanes: int) -> Value:
        elem = LLVM_TYPE[self.memory_dtype(buffer)]
        at_lane = [self.fb.gep(at.pointer, index(lane * at.step), elem) for lane in range(lanes)]
        return self.fb.gather([self._load_at(buffer, Address(p, 0)) for p in at_lane])

    def load_at_depth(self, buffer: str, at: Address, lanes: int, depth: int) -> Value:
        """Load an element or a vector in the scope at `depth`, where the address must exist."""
        raw = Value(self.fb.fresh("own"), self.memory_dtype(buffer), lanes, depth)
        align = np.dtype(raw.dtype).itemsize
        self.fb.effect(f"{raw.text} = load {raw.type}, {at.pointer.typed}, align {align}", depth)
        return self._truth(raw) if self._buffers[buffer].dtype == "bool" else raw

    def store(self, buffer: str, at: Address, value: Value, depth: int | None = None) -> None:
        """Store a scalar or a contiguous vector."""
        dtype = self.memory_dtype(buffer)
        if value.dtype == "bool":
            wide = Value("", "uint8", value.lanes)
            value = self.fb.pure(f"zext {value.typed} to {wide.type}", "uint8", value.lanes, (value,))
        self.fb.effect(f"store {value.typed}, {at.pointer.typed}, align {np.dtype(dtype).itemsize}", depth)
        self.touch(buffer)

    def touch(self, buffer: str) -> None:
        """Note that the buffer changed: earlier loads of it may not be reused."""
        self._version[buffer] = self._version.get(buffer, 0) + 1

    # ---- expressions -----------------------------------------------------------------------------------------------

    def expr(self, e: Expr) -> Value:
        """Emit an expression; the result is a scalar when no operand varies over lanes."""
        match e:
            case Const(value, dtype):
                return literal(value, dtype)
            case Load():
                return self.load(e)
            case Index(form):
                return self._index(form)
            case Unary(op, a):
                return self.arith.unary(op, self.expr(a))
            case Cast(dtype, a):
                return self.arith.cast(self.expr(a), dtype)
            case Binary(op, a, b):
                return self.arith.binary(op, self.expr(a), self.expr(b))
            case Select():
                return self._select(e)
            case Where(cond, a, b):
                c, x, y = self.arith.same_lanes(self.expr(cond), self.expr(a), self.expr(b))
                return self.arith.math.select(c, x, y)
        assert_never(e)

    def _index(self, form: Affine) -> Value:
        base, step = self.form(form), self._terms(form)[2]
        if not step:
            return base
        lanes = self.lanes
        steps = Value("<" + ", ".join(f"i64 {k * step}" for k in range(lanes)) + ">", "int64", lanes)
        wide = self.fb.broadcast(base, lanes)
        return self.fb.pure(f"add {wide.typed}, {steps.text}", "int64", lanes, (wide,))

    def _select(self, e: Select) -> Value:
        """Padding: a guarded load reads zeros through a chosen pointer, so nothing is decided in the inner loop."""
        cond = self.bounds(e.conds)
        if cond is True:
            return self.expr(e.a)
        if cond is False:
            return self.expr(e.b)
        if cond is None:
            raise BuildError("build.lanes", "A condition differs between the lanes of a vector.")
        fast = (
            self._zero_padded(e, cond) if isinstance(e.a, Load) and isinstance(e.b, Const) and e.b.value == 0 else None
        )
        if fast is not None:
            return fast
        a, b = self.arith.same_lanes(self._guarded(e.a, cond), self.expr(e.b))
        return self.arith.math.select(cond, a, b)

    def _zero_padded(self, e: Select, cond: Value) -> Value | None:
        assert isinstance(e.a, Load)
        if id(e) not in self._padded:
            # The expression is kept with its entry, so that its id stays its own.
            self._padded[id(e)] = (e, self._padding(e, e.a))
        split = self._padded[id(e)][1]
        if split is None:
            return None
        elem = LLVM_TYPE[self.memory_dtype(e.a.buffer)]
        inside = self._address(self._pointers[e.a.buffer], split.still, elem)
        # A guard that looks at the lanes holds for all of them here (else it would not be one condition).
        if inside.step and (inside.step < 0 or not self._stays_zero(e.a.buffer, split, inside.step * self.lanes)):
            return None
        chosen = self.fb.pure(
            f"select i1 {cond.text}, {inside.pointer.typed}, ptr {ZEROS}", "ptr", 1, (cond, inside.pointer)
        )
        at = self._address(chosen, split.moving, elem)
        return self._load_at(e.a.buffer, Address(at.pointer, at.step + inside.step))

    def _stays_zero(self, buffer: str, split: _Padding, further: int = 0) -> bool:
        """Whether no vector that starts where `split` moves to, or `further` elements on, leaves the zeros."""
        reach = further + sum(int(c) * self._digit_top(d) for d, c in split.moving.terms if isinstance(c, int))
        return (reach + 64) * np.dtype(self.memory_dtype(buffer)).itemsize <= ZERO_BYTES

    def _padding(self, e: Select, ld: Load) -> _Padding | None:
        """Part the address by whether the guard looks at the loop; None when the rest would leave the zeros."""
        form, guarded = self.flat(ld.buffer, ld.index), {v for c in e.conds for v in c.form.vars}
        moving = [(d, c) for d, c in form.terms if d.var not in guarded]
        if any(not isinstance(c, int) or c < 0 for _, c in moving):
            return None
        still = Affine.make([t for t in form.terms if t[0].var in guarded], form.const)
        split = _Padding(still, Affine(tuple(moving)))
        return split if self._stays_zero(ld.buffer, split) else None

    def _digit_top(self, d: Digit) -> int:
        size = digit_extent(d, self._extents)
        assert isinstance(size, int)
        return size - 1

    def _guarded(self, e: Expr, cond: Value) -> Value:
        """Emit `e` such that its loads are harmless where `cond` fails."""
        self._conds.append(cond)
        try:
            return self.expr(e)
        finally:
            self._conds.pop()

    def _safe(self, pointer: Value) -> Value:
        """Pointer that is read: the zeros where a condition around the load fails."""
        for cond in reversed(self._conds):
            pointer = self.fb.pure(f"select i1 {cond.text}, {pointer.typed}, ptr {ZEROS}", "ptr", 1, (cond, pointer))
        return pointer
