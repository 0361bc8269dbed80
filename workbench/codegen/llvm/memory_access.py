"""Loads, stores and prefetches for the current values of the loop variables.

A vector that is cut, by the end of its loop or by a guard, runs under a lane mask: loads of the lanes that are off
are not performed, and nothing is stored for them. A condition that is the same for all lanes chooses a pointer
instead, outside of the loops that do not decide it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from workbench.codegen.constants import Padding, Prefetching
from workbench.codegen.llvm.addresses import ALWAYS, Address, Guard, Lanes, Places
from workbench.codegen.llvm.transpose_shuffles import joined, transposed
from workbench.codegen.llvm.values import LLVM_TYPE, Value, const_of, index, literal
from workbench.ir import Affine, Load, Pick
from workbench.ir.affine import FREE

#: Guarded loads that fail read from here instead; longer runs are masked or select the value.
ZEROS = "@wb.zeros"
#: Elements from lane to lane up to which all that lies between is loaded. Chosen; measured at 2 and 3: rows of float32
#: in the second cache take a third of the time.
NEAR = 4


@dataclass(slots=True)
class Accesses(Places):
    """Emits memory accesses for the loop variables in `env`."""

    @contextmanager
    def under(self, guard: Guard) -> Iterator[None]:
        """Emit what is computed whether the guard holds or not, such that its loads are harmless where it does not."""
        mask, count = self.mask, len(self._conds)
        self.mask = self.both(self.mask, guard.mask)
        self._conds += guard.conds
        try:
            yield
        finally:
            self.mask = mask
            del self._conds[count:]

    def situation(self) -> tuple[object, ...]:
        """What a load depends on beside the loop variables."""
        mask = None if self.mask is None else self.mask.text
        return (self.lanes, mask, *(c.value.text for c in self._conds), self.fb.guarded_scope)

    # ---- loads -----------------------------------------------------------------------------------------------------

    def load(self, ld: Load) -> Value:
        """Load one element, or one vector when the address moves with the lanes."""
        if not ld.at:
            return self._load(ld)
        picks = [self.pick(p) for p in ld.at]
        if all(v.lanes == 1 for v in picks):
            with self._picked(ld, picks):
                return self._load(ld)
        return self.fb.gather(self._lane_by_lane(ld, picks))

    def pick(self, p: Pick) -> Value:
        """Value of a number that is read at run time, cut to what there is, as int64."""
        raise NotImplementedError

    @contextmanager
    def _picked(self, ld: Load, picks: list[Value]) -> Iterator[None]:
        """Let the free digits of a load have values, the same for all lanes."""
        names = [f"{FREE}{k}" for k in range(len(picks))]
        for name, value, p in zip(names, picks, ld.at, strict=True):
            assert isinstance(p.extent, int)
            self.env[name], self.extents[name] = value, p.extent
        try:
            yield
        finally:
            for name in names:
                del self.env[name], self.extents[name]

    def _lane_by_lane(self, ld: Load, picks: list[Value]) -> list[Value]:
        """Elements for the lanes of the open vector loop, which lie anywhere; for lanes that do not run, any number."""
        wide = self.vector
        assert wide is not None
        var = next(n for n, v in self.env.items() if v is wide)
        lanes, mask = self.lanes, self.mask
        parts: list[Value] = []
        self.lanes, self.mask = 1, None
        for lane in range(lanes):
            runs = True if mask is None else self._runs(mask, lane)
            here = [v if v.lanes == 1 else self._lane(v, lane) for v in picks]
            self.env[var] = self.fb.add(wide.base, index(lane))
            with self._picked(ld, here):
                at = self._harmless(ld) if self._conds else self.address(ld.buffer, ld.index)
            pointer = self._or_zeros(runs, at.pointer if at.cond is None else self._or_zeros(at.cond, at.pointer))
            parts.append(self._load_at(ld.buffer, Address(pointer, 0)))
        self.env[var], self.lanes, self.mask = wide, lanes, mask
        return parts

    def _lane(self, v: Value, lane: int) -> Value:
        return self.fb.pure(f"extractelement {v.typed}, i64 {lane}", v.dtype, 1, (v,))

    def _runs(self, mask: Value, lane: int) -> Value | bool:
        """Whether a lane runs."""
        if not mask.text.startswith("%"):
            return mask.text.split(", ")[lane].strip("<>") != "i1 0"
        return self._lane(mask, lane)

    def _load(self, ld: Load) -> Value:
        at = self._harmless(ld) if self._conds else self.address(ld.buffer, ld.index)
        if self.ahead:
            self._look_ahead(ld, at)
        # Lanes that do not run would mask the rows instead of their number.
        if self.free and self.lanes > 1 and self.mask is None and at.step not in (0, 1):
            column = self._column(ld, at)
            if column is not None:
                return column
        if self.spare(ld.buffer, ld.index):
            mask, self.mask = self.mask, None
            got = self._load_at(ld.buffer, at)
            self.mask = mask
            return got
        return self._load_at(ld.buffer, at)

    def spare(self, buffer: str, idx: tuple[Affine, ...]) -> bool:
        """Whether the lanes that are off are those that lie in the room behind the end of a temporary's row."""
        b = self.buffers[buffer]
        if self.mask is None or not b.align or len(b.shape) < 2:
            return False
        wide = self.vector
        lo, hi = self.range(idx[-1])
        size, room = b.shape[-1], b.strides()[-2]
        assert isinstance(size, int)
        assert isinstance(room, int)
        backwards = self._terms(idx[-1])[2] < 0
        if wide is None or backwards or hi - lo != wide.active - 1 or hi + 1 < size or lo + wide.count > room:
            return False
        return self.mask.text == self.fixed_mask([k < wide.active for k in range(wide.count)]).text

    def _column(self, ld: Load, at: Address) -> Value | None:
        """Lanes that are a column of rows in memory, where an unrolled loop runs along the rows: a part of a transpose.

        The rows are loaded as vectors and transposed by shuffles, of which each iteration of that loop asks for its
        part; the parts that they share are emitted once.
        """
        form, elem = self.flat(ld.buffer, ld.index), LLVM_TYPE[self.memory_dtype(ld.buffer)]
        along = next(
            (d.var for d, c in form.terms if c == 1 and d.plain and not isinstance(self.env[d.var], Lanes)), ""
        )
        value = self.env.get(along)
        k = const_of(value) if isinstance(value, Value) else None
        first = 0 if k is None else k - k % self.lanes
        lone = sum(d.var == along for d, _ in form.terms) == 1
        if k is None or not lone or first + self.lanes > self.extents[along] or self.buffers[ld.buffer].dtype == "bool":
            return None
        assert isinstance(value, Value)
        self.env[along] = index(first)
        corner = self.address(ld.buffer, ld.index).pointer
        self.env[along] = value
        rows = [
            self._load_at(ld.buffer, Address(self.fb.gep(corner, index(lane * at.step), elem), 1))
            for lane in range(self.lanes)
        ]
        return transposed(self.fb, rows, k - first)

    def _load_at(self, buffer: str, at: Address, otherwise: Value | None = None) -> Value:
        """Load; lanes that do not run have the value `otherwise`, else any."""
        lanes = self.lanes if at.step else 1
        unmasked = lanes > 1 and self.mask is not None and not self._masks(buffer)
        if at.step == -1 and at.cond is None and not unmasked:
            return self._backwards(buffer, at)
        near = 1 < at.step <= NEAR < lanes and at.cond is None and not unmasked and self._first_lanes() > 0
        if near and self.buffers[buffer].dtype != "bool":
            return self._strided(buffer, at)
        if at.step not in (0, 1) or unmasked:
            return self._gather(buffer, at, lanes)
        dtype, pointer = self.memory_dtype(buffer), at.pointer
        vec = Value("", dtype, lanes)
        operands: tuple[Value, ...] = (pointer,)
        if lanes > 1 and self.mask is not None:
            other = otherwise or literal(0, dtype, lanes)
            operands = (pointer, self.mask, other)
            text = self._masked_load(vec, pointer, self.mask, other, self.itemsize(buffer))
        else:
            text = f"load {vec.type}, {pointer.typed}, align {self.itemsize(buffer)}"
        got = self._emitted(buffer, text, dtype, lanes, operands)
        return self._truth(got) if self.buffers[buffer].dtype == "bool" else got

    def raw(self, buffer: str, pointer: Value, dtype: str, lanes: int) -> Value:
        """Load bytes of a buffer as a vector of another dtype."""
        text = f"load {Value('', dtype, lanes).type}, {pointer.typed}, align {self.itemsize(buffer)}"
        return self._emitted(buffer, text, dtype, lanes, (pointer,))

    def _emitted(self, buffer: str, text: str, dtype: str, lanes: int, operands: tuple[Value, ...]) -> Value:
        """A load, once for as long as the buffer does not change."""
        if self.buffers[buffer].role in ("input", "const"):
            # Not before the condition of a block: where that fails, the address may lie outside.
            return self.fb.pure(text, dtype, lanes, operands, self.fb.guarded)
        return self.fb.here(text, dtype, lanes, key=f"{text} v{self._version.get(buffer, 0)}")

    def _masks(self, buffer: str) -> bool:
        return self.itemsize(buffer) in self.mask_bytes

    def _masked_load(self, vec: Value, pointer: Value, mask: Value, other: Value, align: int) -> str:
        name = f"llvm.masked.load.v{vec.lanes}{_suffix(vec)}.p0"
        self.fb.declare(name, f"declare {vec.type} @{name}(ptr, i32, {mask.type}, {vec.type})")
        return f"call {vec.type} @{name}({pointer.typed}, i32 {align}, {mask.typed}, {vec.type} {other.text})"

    def _truth(self, v: Value) -> Value:
        zero = literal(0, v.dtype, v.lanes)
        return self.fb.pure(f"icmp ne {v.typed}, {zero.text}", "bool", v.lanes, (v,))

    def _backwards(self, buffer: str, at: Address) -> Value:
        """Load lanes that lie in memory the other way round."""
        elem, mask = LLVM_TYPE[self.memory_dtype(buffer)], self.mask
        first = self.fb.gep(at.pointer, index(1 - self.lanes), elem)
        self.mask = None if mask is None else self._turned(mask)
        try:
            return self._turned(self._load_at(buffer, Address(first, 1)))
        finally:
            self.mask = mask

    def _first_lanes(self) -> int:
        """How many lanes run, where it is known that they are the first ones; else 0."""
        if self.mask is None or self.mask.text.startswith("%"):
            return 0 if self.mask else self.lanes
        runs = [self._runs(self.mask, lane) is True for lane in range(self.lanes)]
        return sum(runs) if all(runs[: sum(runs)]) else 0

    def _strided(self, buffer: str, at: Address) -> Value:
        """Load lanes that lie a few elements apart: what lies between the first and the last, and shuffles."""
        elem, lanes, step = LLVM_TYPE[self.memory_dtype(buffer)], self.lanes, at.step
        starts = [*(k * lanes for k in range(step - 1)), (lanes - 1) * (step - 1)]
        count, mask, parts = (self._first_lanes() - 1) * step + 1, self.mask, []
        for k in starts:
            self.mask = None if count >= k + lanes else self.fixed_mask([k + lane < count for lane in range(lanes)])
            parts.append(self._load_at(buffer, Address(self.fb.gep(at.pointer, index(k), elem), 1)))
        self.mask = mask
        places = [divmod(lane * step, lanes) for lane in range(lanes)]
        got = parts[0]
        for w in range(1, step):
            kept = [lane if w > 1 else lane * step for lane in range(lanes)]
            picks = [lanes + v * lanes + k - starts[w] if v == w else kept[lane] for lane, (v, k) in enumerate(places)]
            picks = [k if v <= w else 0 for k, (v, _) in zip(picks, places, strict=True)]
            got = joined(self.fb, got, parts[w], picks)
        return got

    def _turned(self, v: Value) -> Value:
        """The lanes of a vector in the other order."""
        if not v.text.startswith("%"):
            bits = v.text.strip("<>").split(", ")
            return Value(f"<{', '.join(reversed(bits))}>", v.dtype, v.lanes)
        order = ", ".join(f"i32 {k}" for k in reversed(range(v.lanes)))
        text = f"shufflevector {v.typed}, {v.type} poison, <{v.lanes} x i32> <{order}>"
        return self.fb.pure(text, v.dtype, v.lanes, (v,))

    def _gather(self, buffer: str, at: Address, lanes: int) -> Value:
        """Load the lanes one by one; those that do not run read what the first one may read, or zeros."""
        elem, mask, self.mask = LLVM_TYPE[self.memory_dtype(buffer)], self.mask, None
        parts = []
        for lane in range(lanes):
            pointer = self.fb.gep(at.pointer, index(lane * at.step), elem)
            if mask is not None:
                pointer = self._or_zeros(self._runs(mask, lane), pointer)
            if at.cond is not None:
                pointer = self._or_zeros(at.cond, pointer)
            parts.append(self._load_at(buffer, Address(pointer, 0)))
        self.mask = mask
        return self.fb.gather(parts)

    def _choose(self, cond: Value, a: Value, b: Value) -> Value:
        return self.fb.pure(f"select i1 {cond.text}, {a.typed}, {b.typed}", "ptr", 1, (cond, a, b))

    def _or_zeros(self, cond: Value | bool, pointer: Value) -> Value:
        """The address where the condition holds, else that of zeros."""
        zeros = Value(ZEROS, "ptr")
        return self._choose(cond, pointer, zeros) if isinstance(cond, Value) else pointer if cond else zeros

    def _deciding(self, ld: Load, at: Address) -> tuple[Value | None, frozenset[str]]:
        """What decides whether a load's address exists, of the conditions around it, and what these look at."""
        # Lanes that do not run are not loaded, wherever they are.
        masked = abs(at.step) == 1 and self.mask is not None and self._masks(ld.buffer)
        mine = frozenset[str]().union(*(f.vars for f in ld.index))
        cond: bool | Value = True
        names = frozenset[str]()
        for c in self._conds:
            if c.vars & mine and not (c.laned and masked):
                cond, names = self._and(cond, c.value), names | c.vars
        return (cond if isinstance(cond, Value) else None), names

    def _harmless(self, ld: Load) -> Address:
        """Address of a load whose surrounding condition may fail: then it reads something else that exists.

        Index 0 in the dimensions that the condition looks at, where these are not mixed with others; then the choice
        moves out of all loops that do not decide it.
        """
        plain = self.address(ld.buffer, ld.index)
        cond, names = self._deciding(ld, plain)
        if cond is None:
            return plain
        strides = self.buffers[ld.buffer].strides()
        still = Affine()
        mixed = False
        for form, stride in zip(ld.index, strides, strict=True):
            if form.vars & names:
                mixed |= not form.vars <= names
                still = still + form * stride
        if not still.terms and not mixed:
            return plain
        base, elem = self.pointers[ld.buffer], LLVM_TYPE[self.memory_dtype(ld.buffer)]
        inside = self._address(base, still, elem)
        if mixed or inside.step:
            apart = plain.step * (self.lanes - 1) * self.itemsize(ld.buffer)
            if not 0 <= apart < Padding.ZERO_BYTES:
                return Address(plain.pointer, plain.step, cond)
            return Address(self._or_zeros(cond, plain.pointer), plain.step)
        rest = self.flat(ld.buffer, ld.index) - still
        return self._address(self._choose(cond, inside.pointer, base), rest, elem)

    # ---- prefetches ------------------------------------------------------------------------------------------------

    def _look_ahead(self, ld: Load, at: Address) -> None:
        """Ask for what the load will read some iterations later."""
        for var, ahead in self.ahead.items():
            if ahead.reads and ahead.readers.get(ld.buffer) == self.block:
                self._fetch(ld.buffer, ld.index, at, var, ahead.reads, write=False)

    def look_ahead_to_store(self, block: str, buffer: str, idx: tuple[Affine, ...], at: Address) -> None:
        """Ask for what a store of a block will write some iterations later."""
        for var, ahead in self.ahead.items():
            if ahead.writes and ahead.writers.get(buffer) == block:
                self._fetch(buffer, idx, at, var, ahead.writes, write=True)

    def _fetch(self, buffer: str, idx: tuple[Affine, ...], at: Address, var: str, distance: int, write: bool) -> None:
        """Ask for an access `distance` iterations later, if every iteration goes to another line or vector."""
        size, form = self.itemsize(buffer), self.flat(buffer, idx)
        c = form.coefficient(var) if all(d.plain for d, _ in form.terms if d.var == var) else 0
        assert isinstance(c, int)
        if c and (at.step == 1 or abs(c) * size >= self.line_bytes):
            elem = LLVM_TYPE[self.memory_dtype(buffer)]
            far = abs(c * distance) * size > Prefetching.FAR_BYTES
            self.prefetch(self.fb.gep(at.pointer, index(c * distance), elem), write, level=2 if far else 1)

    def prefetch(self, pointer: Value, write: bool = False, depth: int | None = None, level: int = 1) -> None:
        """Ask for the line at an address, which need not exist, in the cache of a level."""
        self.fb.declare("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.fb.hint(f"call void @llvm.prefetch.p0({pointer.typed}, i32 {int(write)}, i32 {4 - level}, i32 1)", depth)

    # ---- stores ----------------------------------------------------------------------------------------------------

    def load_at_depth(self, buffer: str, at: Address, lanes: int, depth: int, guard: Guard = ALWAYS) -> Value:
        """Load an element or a vector in the scope at `depth`, where the address and the guard must exist."""
        raw = Value(self.fb.fresh("own"), self.memory_dtype(buffer), lanes, depth)
        pointer, align = at.pointer, self.itemsize(buffer)
        if isinstance(guard.cond, Value):
            pointer = self._or_zeros(guard.cond, pointer)
        if lanes > 1 and guard.mask is not None:
            text = self._masked_load(raw, pointer, guard.mask, literal(0, raw.dtype, lanes), align)
        else:
            text = f"load {raw.type}, {pointer.typed}, align {align}"
        self.fb.effect(f"{raw.text} = {text}", depth)
        return self._truth(raw) if self.buffers[buffer].dtype == "bool" else raw

    def store(self, buffer: str, at: Address, value: Value, mask: Value | None = None) -> None:
        """Store a scalar or a contiguous vector, or the lanes of it that run."""
        align = self.itemsize(buffer)
        if value.dtype == "bool":
            wide = Value("", "uint8", value.lanes)
            value = self.fb.pure(f"zext {value.typed} to {wide.type}", "uint8", value.lanes, (value,))
        if mask is not None and value.lanes > 1:
            name = f"llvm.masked.store.v{value.lanes}{_suffix(value)}.p0"
            self.fb.declare(name, f"declare void @{name}({value.type}, ptr, i32, {mask.type})")
            self.fb.effect(f"call void @{name}({value.typed}, {at.pointer.typed}, i32 {align}, {mask.typed})")
        else:
            self.fb.effect(f"store {value.typed}, {at.pointer.typed}, align {align}")
        self.touch(buffer)

    def touch(self, buffer: str) -> None:
        """Note that the buffer changed: earlier loads of it may not be reused."""
        self._version[buffer] = self._version.get(buffer, 0) + 1


def _suffix(v: Value) -> str:
    """Name of the element type in an intrinsic's name."""
    scalar = LLVM_TYPE[v.dtype]
    return {"float": "f32", "double": "f64", "half": "f16"}.get(scalar, scalar)
