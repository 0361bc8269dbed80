"""Expressions of a block as LLVM operations, scalar or one vector of lanes at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from workbench.codegen.constants import Padding
from workbench.codegen.llvm.addresses import Address, Guard, Lanes
from workbench.codegen.llvm.arithmetic import Arithmetic
from workbench.codegen.llvm.memory_access import ZEROS, Accesses
from workbench.codegen.llvm.values import LLVM_TYPE, Value, literal
from workbench.errors import BuildError
from workbench.ir import Affine, Binary, Cast, Const, Expr, Index, Load, Pick, Select, Unary, Where
from workbench.ir.dtypes import itemsize
from workbench.ir.expr import walk

__all__ = ["Address", "ExprEmitter", "Lanes"]

#: What is looked up as fast as it is emitted.
_CHEAP = (Binary, Const)


@dataclass(frozen=True, slots=True)
class _Padding:
    """A guarded address: what the guard decides on, and what moves freely from there."""

    still: Affine
    moving: Affine


@dataclass(slots=True)
class ExprEmitter(Accesses):
    """Emits expressions for the current values of the loop variables in `env`."""

    arith: Arithmetic = field(init=False)
    _padded: dict[tuple[int, frozenset[str]], tuple[Select, _Padding | None]] = field(default_factory=dict)
    _names: dict[int, tuple[Expr, tuple[str, ...] | None]] = field(default_factory=dict)
    _values: dict[tuple[object, ...], tuple[Value, object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arith = Arithmetic(self.fb)

    def expr(self, e: Expr) -> Value:
        """Emit an expression; the result is a scalar when no operand varies over lanes.

        One that only depends on the loop variables is emitted once for the same values of these: the tile of a product
        loads each of its operands once for each row or column.
        """
        if isinstance(e, _CHEAP):
            return self._expr(e)
        names = self._names.get(id(e))
        if names is None:
            names = self._names[id(e)] = (e, self._depends_on(e))
        if names[1] is None:
            return self._expr(e)
        at = tuple(v.text if isinstance(v := self.env[n], Value) else (v.base.text, v.count) for n in names[1])
        key = (id(e), at, self.situation())
        known = self._values.get(key)
        if known is not None and known[0].depth <= self.fb.depth and self.fb.scope(known[0].depth) is known[1]:
            return known[0]
        got = self._expr(e)
        self._values[key] = (got, self.fb.scope(got.depth))
        return got

    def _depends_on(self, e: Expr) -> tuple[str, ...] | None:
        """Loop variables that decide the value of an expression; None where memory that changes does, too."""
        names: set[str] = set()
        for x in walk(e):
            match x:
                case Load(buffer, index_):
                    if self.buffers[buffer].role not in ("input", "const"):
                        return None
                    names.update(*(f.vars for f in index_))
                case Index(form):
                    names |= form.vars
                case Select(conds):
                    names.update(*(c.form.vars for c in conds))
        return tuple(sorted(names))

    def _expr(self, e: Expr) -> Value:
        match e:
            case Load():
                return self.load(e)
            case Binary(op, a, b):
                return self.arith.binary(op, self.expr(a), self.expr(b))
            case Const(value, dtype):
                return literal(value, dtype)
            case Index(form):
                return self._index(form)
            case Unary(op, a):
                return self.arith.unary(op, self.expr(a))
            case Cast(dtype, a):
                return self.arith.cast(self.expr(a), dtype)
            case Select():
                return self._select(e)
            case Where(cond, a, b):
                c, x, y = self.arith.same_lanes(self.expr(cond), self.expr(a), self.expr(b))
                return self.arith.math.select(c, x, y)
        assert_never(e)

    def pick(self, p: Pick) -> Value:
        """Value of a number that is read at run time, cut to what there is, as int64."""
        assert isinstance(p.extent, int)
        value, last = self.expr(p.value), p.extent - 1
        if value.dtype == "uint64":  # the largest of these are negative as int64
            value = self.arith.binary("min", value, literal(last, "uint64"))
        value = self.arith.cast(value, "int64")
        value = self.arith.binary("max", value, literal(0, "int64"))
        return self.arith.binary("min", value, literal(last, "int64"))

    def _index(self, form: Affine) -> Value:
        base, step = self.form(form), self._terms(form)[2]
        if not step:
            return base
        lanes = self.lanes
        steps = Value("<" + ", ".join(f"i64 {k * step}" for k in range(lanes)) + ">", "int64", lanes)
        wide = self.fb.broadcast(base, lanes)
        return self.fb.pure(f"add {wide.typed}, {steps.text}", "int64", lanes, (wide,))

    # ---- padding ---------------------------------------------------------------------------------------------------

    def _select(self, e: Select) -> Value:
        """Padding: a guarded load reads another page or is masked, so nothing is decided in the inner loop."""
        free, self.free = self.free, False
        try:
            return self._selected(e)
        finally:
            self.free = free

    def _selected(self, e: Select) -> Value:
        guard = self.bounds(e.conds)
        if guard is None:
            raise BuildError("build.lanes", "A condition differs between the lanes of a vector.")
        if guard.always:
            return self.expr(e.a)
        if guard.cond is False:
            return self.expr(e.b)
        if isinstance(e.a, Load) and not e.a.at and isinstance(e.b, Const) and self.buffers[e.a.buffer].dtype != "bool":
            got = self._padded_load(e, e.a, e.b, guard)
            if got is not None:
                return got
        with self.under(guard):
            a = self.expr(e.a)
        lanes = 1 if guard.mask is None else self.lanes
        a, b = self.arith.same_lanes(self.fb.broadcast(a, max(a.lanes, lanes)), self.expr(e.b))
        which = guard.cond if guard.mask is None else self._lanes_of(guard)
        assert isinstance(which, Value)
        return self.arith.math.select(which, a, b)

    def _lanes_of(self, guard: Guard) -> Value:
        """Lanes for which a guard holds."""
        mask = guard.mask
        for c in guard.conds:
            if not c.laned:
                mask = self.both(mask, self.fb.broadcast(c.value, self.lanes))
        assert mask is not None
        return mask

    def _padded_load(self, e: Select, ld: Load, other: Const, guard: Guard) -> Value | None:
        """A load or a constant, chosen by its address or its mask."""
        if guard.mask is None:
            assert isinstance(guard.cond, Value)
            chosen = self._paged(e, ld, other, guard.cond)
            if chosen is not None:
                return chosen
        plain = self.address(ld.buffer, ld.index)
        if plain.step != 1 or not self.maskable or not self._masks(ld.buffer):
            return None
        before, self.mask = self.mask, self.both(self.mask, self._lanes_of(guard))
        try:
            at = self._harmless(ld) if self._conds else plain
            return self._load_at(ld.buffer, at, literal(other.value, other.dtype, self.lanes))
        finally:
            self.mask = before

    def _paged(self, e: Select, ld: Load, other: Const, cond: Value) -> Value | None:
        names = frozenset[str]()
        if self._conds:
            around, names = self._deciding(ld, self.address(ld.buffer, ld.index))
            if around is not None:
                cond = self._and(cond, around)
        key = (id(e), names)
        if key not in self._padded:
            # The expression is kept with its entry, so that its id stays its own.
            self._padded[key] = (e, self._padding(ld, names.union(*(c.form.vars for c in e.conds))))
        split = self._padded[key][1]
        if split is None:
            return None
        elem = LLVM_TYPE[self.memory_dtype(ld.buffer)]
        inside = self._address(self.pointers[ld.buffer], split.still, elem)
        # A guard that looks at the lanes holds for all of them here (else it would not be one condition).
        if inside.step < 0:
            return None
        moving = (c * self.digit_top(d) for d, c in split.moving.terms if isinstance(c, int))
        reach = inside.step * self.lanes + sum(moving)
        page = self._page(other, reach * self.itemsize(ld.buffer) + Padding.VECTOR_BYTES)
        if page is None:
            return None
        at = self._address(self._choose(cond, inside.pointer, page), split.moving, elem)
        return self._load_at(ld.buffer, Address(at.pointer, at.step + inside.step))

    def _page(self, other: Const, size: int) -> Value | None:
        """Address of `size` bytes that hold a constant; None where that is too much."""
        if other.value == 0:
            return Value(ZEROS, "ptr") if size <= Padding.ZERO_BYTES else None
        if size > Padding.PAGE_BYTES:
            return None
        one = literal(other.value, other.dtype)
        name = f"@wb.page.{other.dtype}.{one.text.strip('-')}{'m' if one.text.startswith('-') else ''}"
        many = Padding.PAGE_BYTES // itemsize(other.dtype)
        splat = f"<{many} x {LLVM_TYPE[other.dtype]}> splat ({one.typed})"
        self.fb.declare(name, f"{name} = internal constant {splat}, align 64")
        return Value(name, "ptr")

    def _padding(self, ld: Load, guarded: frozenset[str]) -> _Padding | None:
        """Part the address by whether a guard looks at the loop."""
        form = self.flat(ld.buffer, ld.index)
        moving = [(d, c) for d, c in form.terms if d.var not in guarded]
        if not all(isinstance(c, int) and c >= 0 for _, c in moving):
            return None
        still = Affine.make([t for t in form.terms if t[0].var in guarded], form.const)
        return _Padding(still, Affine(tuple(moving)))
