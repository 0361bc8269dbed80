"""Addresses and conditions for the current values of the loop variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.codegen.llvm.builder import FunctionBuilder
from workbench.codegen.llvm.values import LLVM_TYPE, Value, const_of, index
from workbench.ir import Affine, Bound, Buffer, Digit, Dim, Poly
from workbench.ir.affine import digit_extent
from workbench.ir.dtypes import itemsize


@dataclass(frozen=True, slots=True)
class Lanes:
    """A vectorised loop variable: lane l stands for ``base + l``; only the first `active` lanes run.

    `within` are the first and the last iteration of the vectors that it stands for, where not all of the loop's.
    """

    base: Value
    count: int
    active: int
    within: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """Element address of an access: `step` is the distance between lanes in elements.

    `cond`, where given, says whether the lanes exist: they lie too far apart to read the same zeros.
    """

    pointer: Value
    step: int
    cond: Value | None = None


@dataclass(frozen=True, slots=True)
class Cond:
    """A bound that is decided at run time, the loop variables that it looks at, and whether lanes differ in it."""

    value: Value
    vars: frozenset[str]
    laned: bool


@dataclass(frozen=True, slots=True)
class Guard:
    """What a conjunction of bounds comes to: whether any lane may run, which of them (None: all), and the bounds."""

    cond: bool | Value
    mask: Value | None = None
    conds: tuple[Cond, ...] = ()

    @property
    def always(self) -> bool:
        """Whether it holds for all lanes."""
        return self.cond is True and self.mask is None


ALWAYS, NEVER = Guard(True), Guard(False)


@dataclass(frozen=True, slots=True)
class Ahead:
    """How far ahead, in iterations, a loop asks for what its body reads and writes (0: not), and which blocks do that.

    Attributes
    ----------
    reads, writes : int
    readers, writers : mapping
        Buffer -> the last block in the loop that reads or writes it: what the earlier ones touch waits in the cache, so
        the memory is asked while something else is computed.
    """

    reads: int
    writes: int
    readers: Mapping[str, str]
    writers: Mapping[str, str]


@dataclass(slots=True)
class Places:
    """Emits addresses and conditions for the loop variables in `env`.

    Parameters
    ----------
    fb : FunctionBuilder
    buffers, pointers : mapping
        Buffers and their addresses by name.
    extents : dict
        Extents of the loops; those of a loop that is emitted in parts are those of the part.
    mask_bytes : frozenset of int
        Sizes of the elements that the target loads and stores under a mask without taking lanes apart.
    line_bytes : int
        Bytes of a cache line.
    """

    fb: FunctionBuilder
    buffers: Mapping[str, Buffer]
    pointers: Mapping[str, Value]
    extents: dict[str, int]
    mask_bytes: frozenset[int] = frozenset()
    line_bytes: int = 64
    env: dict[str, Value | Lanes] = field(default_factory=dict)
    #: Lanes of the vector loop that is open; 1 outside of one.
    lanes: int = 1
    #: Lanes that run; None: all.
    mask: Value | None = None
    #: Whether vectors of the open loop can be masked.
    maskable: bool = False
    #: Whether what is read exists for all values of the loop variables, not only where a condition holds.
    free: bool = False
    #: Loops that ask for what they touch some iterations ahead, by name.
    ahead: dict[str, Ahead] = field(default_factory=dict)
    #: Name of the block that is emitted.
    block: str = ""
    _flat: dict[int, tuple[tuple[Affine, ...], Affine]] = field(default_factory=dict)
    _version: dict[str, int] = field(default_factory=dict)
    _conds: list[Cond] = field(default_factory=list)

    @property
    def vector(self) -> Lanes | None:
        """Variable of the vector loop that is open."""
        return next((v for v in self.env.values() if isinstance(v, Lanes)), None)

    # ---- addresses -------------------------------------------------------------------------------------------------

    def flat(self, buffer: str, idx: tuple[Affine, ...]) -> Affine:
        """Element offset of an access, as one form over the loops."""
        key = id(idx)
        known = self._flat.get(key)
        if known is None:
            terms: list[tuple[Digit, Dim]] = []
            const: Dim = 0
            for form, stride in zip(idx, self.buffers[buffer].strides(), strict=True):
                const = const + form.const * stride
                terms += [(d, c * stride) for d, c in form.terms]
            got = Affine.make(terms, const)
            # The index is kept with its entry, so that its id stays its own.
            known = self._flat[key] = (idx, got)
        return known[1]

    def address(self, buffer: str, idx: tuple[Affine, ...]) -> Address:
        """Address of an access for the current iteration."""
        return self._address(self.pointers[buffer], self.flat(buffer, idx), LLVM_TYPE[self.memory_dtype(buffer)])

    def memory_dtype(self, buffer: str) -> str:
        """Element type in memory; a bool is one byte."""
        dtype = self.buffers[buffer].dtype
        return "uint8" if dtype == "bool" else dtype

    def is_temporary(self, buffer: str) -> bool:
        """Whether a buffer is written and read inside of the function only."""
        return self.buffers[buffer].role == "temp"

    def itemsize(self, buffer: str) -> int:
        """Bytes of an element in memory."""
        return itemsize(self.memory_dtype(buffer))

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
        env, parts = self.env, self.fb.parts
        for digit, c in form.terms:
            assert isinstance(c, int)
            var = env[digit.var]
            if isinstance(var, Lanes):
                step += c
                var = var.base
            value = var if digit.lower == 1 and digit.extent is None else self.digit(digit, var)
            if value.text[0] == "%":
                value, k = parts(value)
                out.append((value, c))
            else:
                k = int(value.text)
            const += c * k
        if len(out) > 1:
            out.sort(key=lambda t: t[0].depth)
        return out, const, step

    def digit(self, d: Digit, var: Value) -> Value:
        """``(var // lower) % extent``, without the operations that the loop's extent makes superfluous."""
        if d.plain:
            return var
        assert isinstance(d.lower, int)
        assert not isinstance(d.extent, Poly)
        value = self.fb.udiv(var, d.lower)
        if d.extent is not None and d.lower * d.extent < self.extents[d.var]:
            value = self.fb.urem(value, d.extent)
        return value

    def form(self, form: Affine) -> Value:
        """Value of a form, for the first lane."""
        terms, const, _ = self._terms(form)
        acc = index(0)
        for value, c in terms:
            acc = self.fb.add(acc, self.fb.mul(value, c))
        return self.fb.add(acc, index(const))

    # ---- conditions ------------------------------------------------------------------------------------------------

    def bound(self, b: Bound) -> Guard | None:
        """What a bound comes to, or None when lanes disagree and no mask can say how."""
        assert isinstance(b.lo, int)
        assert isinstance(b.hi, int)
        if b.lo >= b.hi:
            return NEVER
        if any(not d.plain and isinstance(self.env[d.var], Lanes) for d, _ in b.form.terms):
            return None
        lo, hi = self.range(b.form)
        if b.lo <= lo and hi < b.hi:
            return ALWAYS
        if hi < b.lo or lo >= b.hi:
            return NEVER
        step = self._terms(b.form)[2]
        if step:
            return self._lane_bound(b, step, lo, hi)
        return Guard(self._inside(self.form(b.form), b.lo, b.hi, lo, hi))

    def _inside(self, x: Value, lo: int, hi: int, least: int, most: int) -> Value:
        """``lo <= x < hi`` for an x between `least` and `most`."""
        if least >= lo:
            return self.fb.pure(f"icmp slt i64 {x.text}, {hi}", "bool", 1, (x,))
        if most < hi:
            return self.fb.pure(f"icmp sge i64 {x.text}, {lo}", "bool", 1, (x,))
        shifted = self.fb.add(x, index(-lo))
        return self.fb.pure(f"icmp ult i64 {shifted.text}, {hi - lo}", "bool", 1, (shifted,))

    def _lane_bound(self, b: Bound, step: int, lo: int, hi: int) -> Guard | None:
        assert isinstance(b.lo, int)
        assert isinstance(b.hi, int)
        lanes, active = self.lanes, self.vector.active if self.vector else 1
        if b.hi - b.lo < abs(step):
            return None  # there might be no lane although the first and the last one say so
        x = self.form(b.form)
        k = const_of(x)
        if k is not None:
            bits = [b.lo <= k + lane * step < b.hi for lane in range(lanes)]
            if not any(bits[:active]):
                return NEVER
            return ALWAYS if all(bits[:active]) else Guard(True, self.fixed_mask(bits)) if self.maskable else None
        if not self.maskable:
            return None
        # The smallest and the largest value of a lane must not lie outside.
        span = step * (active - 1)
        below, above = min(0, span), max(0, span)
        cond: bool | Value = True
        if hi - above + below >= b.hi:
            cond = self._and(cond, self._inside(self.fb.add(x, index(below)), lo, b.hi, lo, hi))
        if lo + above - below < b.lo:
            cond = self._and(cond, self._inside(self.fb.add(x, index(above)), b.lo, hi + 1, lo, hi))
        return Guard(cond, self._lane_mask(x, b.lo, b.hi, step, lo, hi))

    def _lane_mask(self, x: Value, lo: int, hi: int, step: int, least: int, most: int) -> Value:
        """Lanes whose ``x + lane * step`` is at least `lo` and below `hi`."""
        dtype = "int32" if max(abs(least), abs(most), abs(lo), abs(hi)) + abs(step) * self.lanes < 1 << 30 else "int64"
        steps = ", ".join(f"{LLVM_TYPE[dtype]} {lane * step}" for lane in range(self.lanes))
        out: Value | None = None
        # Written as a comparison of the lanes' constants: everything else happens to one scalar.
        for limit, test, needed in ((hi, "slt", most >= hi), (lo, "sge", least < lo)):
            if not needed:
                continue
            rest = self.fb.pure(f"sub nsw i64 {limit}, {x.text}", "int64", 1, (x,))
            if dtype == "int32":
                rest = self.fb.pure(f"trunc i64 {rest.text} to i32", "int32", 1, (rest,))
            wide = self.fb.broadcast(rest, self.lanes)
            got = self.fb.pure(f"icmp {test} {wide.type} <{steps}>, {wide.text}", "bool", self.lanes, (wide,))
            out = got if out is None else self.both(out, got)
        assert out is not None
        return out

    def fixed_mask(self, bits: list[bool]) -> Value:
        """A mask that is known."""
        return Value("<" + ", ".join(f"i1 {int(bit)}" for bit in bits) + ">", "bool", len(bits))

    def both(self, a: Value | None, b: Value | None) -> Value | None:
        """Lanes that run under two masks."""
        if a is None or b is None or a.text == b.text:
            return b if a is None else a
        return self.fb.pure(f"and {a.typed}, {b.text}", "bool", a.lanes, (a, b))

    def bounds(self, conds: tuple[Bound, ...]) -> Guard | None:
        """Conjunction of `bound`."""
        cond: bool | Value = True
        mask: Value | None = None
        parts: list[Cond] = []
        for c in conds:
            got = self.bound(c)
            if got is None or got.cond is False:
                return got
            if isinstance(got.cond, Value):
                cond = self._and(cond, got.cond)
                parts.append(Cond(got.cond, frozenset(c.form.vars), got.mask is not None))
            mask = self.both(mask, got.mask)
        return Guard(cond, mask, tuple(parts))

    def _and(self, a: bool | Value, b: Value) -> Value:
        if not isinstance(a, Value):
            return b
        return self.fb.pure(f"and i1 {a.text}, {b.text}", "bool", 1, (a, b))

    def range(self, form: Affine) -> tuple[int, int]:
        """Smallest and largest value over the nest, for the constants of unrolled loops and the lanes that run."""
        assert isinstance(form.const, int)
        lo = hi = form.const
        for d, c in form.terms:
            assert isinstance(c, int)
            var = self.env.get(d.var)
            first, last = 0, self.digit_top(d)
            if isinstance(var, Value) and (k := const_of(self.digit(d, var))) is not None:
                first = last = k
            elif isinstance(var, Lanes) and d.plain and (k := const_of(var.base)) is not None:
                first, last = k, k + var.active - 1
            elif isinstance(var, Lanes) and d.plain and var.within:
                first, last = var.within
            lo, hi = lo + min(c * first, c * last), hi + max(c * first, c * last)
        return lo, hi

    def digit_top(self, d: Digit) -> int:
        """Largest value of a digit."""
        size = digit_extent(d, self.extents)
        assert isinstance(size, int)
        return size - 1
