"""Loops and blocks of a nest as LLVM code: unrolling, vectors, and accumulators that live in registers.

A reduction's elements are kept in registers ("promoted") at the outermost loop inside of which every spatial loop is
unrolled or vectorised. If that loop is the outermost one that reduces, the accumulators start from the block's init
and memory is written once; otherwise a nest before the outermost reducing loop writes the init, and tiles are loaded
and stored around the promoting loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import BuildError
from ..ir.affine import Affine, Digit
from ..ir.expr import Bound, Expr, Index, Load, Select, walk
from ..ir.func import Buffer
from ..ir.stmt import Block, For, Stmt, accesses, blocks
from .builder import FunctionBuilder, Value, index
from .exprs import Address, ExprEmitter, Lanes
from .tensor import TensorEmitter, by_intrinsic

#: More accumulators than this cannot pay: they would be spilled on every iteration.
MAX_ACCUMULATORS = 64
#: Vector loops with more full vectors than this become loops over vectors.
MAX_UNROLLED_VECTORS = 8
#: Innermost loops are unrolled until their body has about this many instances of blocks: the loop's own integer
#: operations take slots of the ports that multiply and add (measured: 4 to 8 % for tiles of 8 to 24 accumulators).
MAX_INNER_BODY = 64
#: And by at most this factor.
MAX_INNER_UNROLL = 4
#: Limit on emitted block instances, so that a nest cannot ask for an endless compile.
MAX_INSTANCES = 20_000


@dataclass(slots=True)
class _Promotion:
    """Accumulators of one block while a reducing loop runs: address key -> (slot, address, value type)."""

    block: Block
    depth: int
    from_init: bool
    slots: dict[tuple[str, int], tuple[Value, Address, Value]] = field(default_factory=dict)


class NestEmitter:
    """Emits statements into a `FunctionBuilder`."""

    def __init__(
        self,
        fb: FunctionBuilder,
        buffers: Mapping[str, Buffer],
        pointers: Mapping[str, Value],
        extents: Mapping[str, int],
        vector_bytes: int,
    ) -> None:
        self.fb = fb
        self.ex = ExprEmitter(fb, buffers, pointers, extents)
        self._buffers, self._vector_bytes = buffers, vector_bytes
        self._promoted: dict[str, _Promotion] = {}
        self._reducing: list[str] = []
        self._instances = 0
        self._plain: dict[tuple[str, str], bool] = {}
        self._selects: dict[tuple[str, str], list[Select]] = {}
        self._lane_counts: dict[str, int] = {}
        self._tensor = TensorEmitter(fb, self.ex, buffers)

    def start(self) -> None:
        """Begin a new nest: each has the whole budget of block instances."""
        self._instances = 0
        self._tensor.start()

    def body(self, stmts: tuple[Stmt, ...]) -> None:
        """Emit statements in order."""
        for s in stmts:
            if isinstance(s, Block):
                self._block(s)
            else:
                self.loop(s)

    def loop(self, lp: For) -> None:
        """Emit a loop, promoting the accumulators that it allows to."""
        if self._tensor.takes(lp, self._reducing):
            self._tensor.emit(lp)
            return
        started = self._open_reductions(lp)
        promotions = [self._promotion(lp, b) for b in self._reduced_here(lp) if self._may_promote(lp, b)]
        for b in started:
            if not (b.resumes or by_intrinsic(lp, b)) and all(p.block.name != b.name for p in promotions):
                self._init_nest(lp, b)
        for p in promotions:
            self._promoted[p.block.buffer] = p
        self._reducing.append(lp.name)
        self._iterate(lp)
        self._reducing.pop()
        for p in promotions:
            self._store_back(p)
            del self._promoted[p.block.buffer]

    def _iterate(self, lp: For) -> None:
        assert isinstance(lp.extent, int)
        env = self.ex.env
        if lp.kind == "vectorize":
            self._vectors(lp)
        elif lp.kind == "unroll":
            for k in range(lp.extent):
                env[lp.name] = index(k)
                self.body(lp.body)
        else:

            factor = self._inner_unroll(lp)

            def run(iv: Value) -> None:
                for k in range(factor):
                    env[lp.name] = self.fb.add(iv, index(k))
                    self.body(lp.body)

            self.fb.loop(index(0), index(lp.extent), factor, run, lp.name)
        env.pop(lp.name, None)

    def _inner_unroll(self, lp: For) -> int:
        """How many iterations of a loop make one of the emitted loop: more than 1 for short innermost bodies."""
        assert isinstance(lp.extent, int)
        count = sum(self._instances_of(s) for s in lp.body)
        if not count or not self._promoted:
            return 1
        limit = min(MAX_INNER_UNROLL, MAX_INNER_BODY // count)
        return next((f for f in range(limit, 1, -1) if lp.extent % f == 0), 1)

    def _instances_of(self, s: Stmt) -> int:
        """Instances of blocks that a statement without an emitted loop becomes; 0 where it has one."""
        if isinstance(s, Block):
            return 1
        assert isinstance(s.extent, int)
        inner = [self._instances_of(x) for x in s.body]
        if s.kind not in ("unroll", "vectorize") or 0 in inner:
            return 0
        return sum(inner) * (s.extent if s.kind == "unroll" else -(-s.extent // self._lanes(s)))

    # ---- vectors ---------------------------------------------------------------------------------------------------

    def _vectors(self, lp: For) -> None:
        """Full vectors, then the rest in vectors of falling powers of two."""
        assert isinstance(lp.extent, int)
        if len(lp.body) != 1 or not isinstance(lp.body[0], Block):
            raise BuildError(
                "build.vector_body",
                f"The vectorised loop {lp.name!r} holds something else than one block.",
                (lp.name,),
                "vectorize loops that hold one block and nothing else",
            )
        lanes = self._lanes(lp)
        full = lp.extent // lanes
        if full > MAX_UNROLLED_VECTORS and not self._promoted:
            self.fb.loop(index(0), index(full * lanes), lanes, lambda iv: self._vector(lp, iv, lanes), lp.name)
        else:
            for k in range(full):
                self._vector(lp, index(k * lanes), lanes)
        at, width = full * lanes, lanes // 2
        while at < lp.extent:
            if at + width <= lp.extent:
                self._vector(lp, index(at), width)
                at += width
            width //= 2

    def _vector(self, lp: For, base: Value, lanes: int) -> None:
        self.ex.env[lp.name] = Lanes(base, lanes) if lanes > 1 else base
        self.ex.lanes = lanes
        block = lp.body[0]
        assert isinstance(block, Block)
        if lanes > 1 and not self._stores_vector(block, lp.name):
            self._one_by_one(lp.name, lambda _: self._block(block))
        else:
            self._block(block)
        self.ex.lanes = 1

    def _one_by_one(self, var: str, run: Callable[[int], None]) -> None:
        """Run something for one lane of the open vector loop at a time."""
        wide = self.ex.env[var]
        assert isinstance(wide, Lanes)
        self.ex.lanes = 1
        for lane in range(wide.count):
            self.ex.env[var] = self.fb.add(wide.base, index(lane))
            run(lane)
        self.ex.env[var], self.ex.lanes = wide, wide.count

    def _value(self, b: Block, e: Expr) -> Value:
        """Value of an expression of the block: a vector of scalars where no vector operation can compute it."""
        var = next((n for n, v in self.ex.env.items() if isinstance(v, Lanes)), None)
        if var is None or self._fits_lanes(b, var):
            return self.ex.expr(e)
        parts: list[Value] = []
        self._one_by_one(var, lambda _: parts.append(self.ex.expr(e)))
        return self.fb.gather(parts)

    def _lanes(self, lp: For) -> int:
        if lp.name not in self._lane_counts:
            names = {a.buffer for b, _ in blocks(lp.body) for a in accesses(b)}
            size = max((np.dtype(self._buffers[n].dtype).itemsize for n in names), default=4)
            self._lane_counts[lp.name] = max(1, self._vector_bytes // size)
        return self._lane_counts[lp.name]

    def _stores_vector(self, b: Block, var: str) -> bool:
        """Whether the lanes write neighbours, under one condition."""
        form = self.ex.flat(b.buffer, b.index)
        plain = all(d.plain for d, _ in form.terms if d.var == var)
        return plain and form.coefficient(var) == 1 and self.ex.bounds(b.guard) is not None

    def _fits_lanes(self, b: Block, var: str) -> bool:
        """Whether vector operations can compute the block: no digit or condition differs between lanes."""
        key = (b.name, var)
        if key not in self._plain:
            forms = [f for e in walk(b.value) for f in _forms(e)]
            self._plain[key] = all(d.plain for f in forms for d, _ in f.terms if d.var == var)
            selects = [e for e in walk(b.value) if isinstance(e, Select)]
            self._selects[key] = [e for e in selects if any(var in c.form.vars for c in e.conds)]
        return self._plain[key] and all(self.ex.bounds(e.conds) is not None for e in self._selects[key])

    # ---- blocks ----------------------------------------------------------------------------------------------------

    def _block(self, b: Block) -> None:
        self._instances += 1
        if self._instances > MAX_INSTANCES:
            raise BuildError(
                "build.too_large",
                f"The unrolled code of {b.name!r} is too large to compile.",
                (b.name,),
                "unroll or vectorize smaller loops",
            )
        guard = self.ex.bounds(b.guard)
        if guard is True:
            self._compute(b)
        elif isinstance(guard, Value):
            self.fb.branch(guard, lambda: self._compute(b))

    def _compute(self, b: Block) -> None:
        if b.init is None:
            self._write(b, self._value(b, b.value))
            return
        op, term = b.update()
        promotion = self._promoted.get(b.buffer)
        value = self._value(b, term)
        if promotion is None:
            own = self.ex.load(b.own_load()) if self._reduces(b) else self.ex.expr(b.init)
            self._write(b, self.ex.arith.binary(op, own, value))
            return
        slot, _, like = self._slot(promotion, b)
        own = self.fb.here(f"load {like.type}, {slot.typed}, align 64", like.dtype, like.lanes)
        result = self.fb.broadcast(self.ex.arith.binary(op, own, value), like.lanes)
        self.fb.effect(f"store {result.typed}, {slot.typed}, align 64")

    def _write(self, b: Block, value: Value) -> None:
        at = self.ex.address(b.buffer, b.index)
        lanes = self.ex.lanes if at.step else 1
        self.ex.store(b.buffer, at, self.fb.broadcast(value, lanes))

    def _reduces(self, b: Block) -> bool:
        """Whether any loop around the block reduces (else the init is simply the other operand)."""
        return any(it.kind == "R" and it.extent != 1 for it in b.iters)

    # ---- accumulators ----------------------------------------------------------------------------------------------

    def _reduced_here(self, lp: For) -> Iterator[Block]:
        for b, _ in blocks((lp,)):
            if b.init is not None and any(it.name == lp.name and it.kind == "R" for it in b.iters):
                yield b

    def _open_reductions(self, lp: For) -> list[Block]:
        """Blocks whose outermost reducing loop is `lp`."""
        return [
            b for b in self._reduced_here(lp) if not any(it.kind == "R" and it.name in self._reducing for it in b.iters)
        ]

    def _may_promote(self, lp: For, b: Block) -> bool:
        if b.buffer in self._promoted:
            return False
        reduce = {it.name for it in b.iters if it.kind == "R"}
        if any(c.form.vars - reduce for c in b.guard):
            # The accumulators are stored without asking whether their elements exist.
            return False
        count = 1
        for other, path in blocks((lp,)):
            if other.name != b.name:
                if any(a.buffer == b.buffer for a in accesses(other)):
                    return False
                continue
            for inner in path:
                assert isinstance(inner.extent, int)
                if inner.name in reduce:
                    continue
                if inner.kind == "unroll":
                    count *= inner.extent
                elif inner.kind == "vectorize":
                    lanes = self._lanes(inner)
                    count *= inner.extent // lanes + bin(inner.extent % lanes).count("1")
                else:
                    return False
        return count <= MAX_ACCUMULATORS

    def _promotion(self, lp: For, b: Block) -> _Promotion:
        outermost = not any(it.kind == "R" and it.name in self._reducing for it in b.iters)
        return _Promotion(b, self.fb.depth, outermost and not b.resumes)

    def _slot(self, p: _Promotion, b: Block) -> tuple[Value, Address, Value]:
        """Register of the current element, created with its first value before the promoting loop."""
        at = self.ex.address(b.buffer, b.index)
        lanes = self.ex.lanes if at.step else 1
        key = (at.pointer.text, lanes)
        got = p.slots.get(key)
        if got is None:
            like = Value("", self._buffers[b.buffer].dtype, lanes)
            slot = self.fb.alloca(like.type)
            assert b.init is not None
            if p.from_init:
                first = self.fb.broadcast(self.ex.expr(b.init), lanes)
            else:
                first = self.ex.load_at_depth(b.buffer, at, lanes, p.depth)
            self.fb.effect(f"store {first.typed}, {slot.typed}, align 64", p.depth)
            got = p.slots[key] = (slot, at, like)
        return got

    def _store_back(self, p: _Promotion) -> None:
        for slot, at, like in p.slots.values():
            v = self.fb.here(f"load {like.type}, {slot.typed}, align 64", like.dtype, like.lanes)
            self.ex.store(p.block.buffer, at, v)

    def _init_nest(self, lp: For, b: Block) -> None:
        """Write the init of every element that the loop will accumulate onto."""
        assert b.init is not None
        path = next(path for other, path in blocks((lp,)) if other.name == b.name)
        reduce = {it.name for it in b.iters if it.kind == "R"}
        kept = tuple(it for it in b.iters if it.name not in reduce)
        binds = tuple(x for it, x in zip(b.iters, b.binds, strict=True) if it.name not in reduce)
        first: dict[str, Affine | Callable[[Digit], Affine]] = {name: Affine() for name in reduce}
        guard = tuple(Bound(c.form.subst(first), c.lo, c.hi) for c in b.guard)
        stmt: Stmt = Block(f"{b.name}.init", kept, binds, b.buffer, b.index, b.init, None, guard)
        for inner in reversed(path):
            if inner.name not in reduce:
                stmt = For(inner.name, inner.extent, (stmt,), "vectorize" if inner.kind == "vectorize" else "serial")
        self.body((stmt,))


def _forms(e: Expr) -> tuple[Affine, ...]:
    """Index forms of the expression itself, not of its parts."""
    match e:
        case Load(_, index_):
            return index_
        case Index(form):
            return (form,)
        case Select(conds):
            return tuple(c.form for c in conds)
    return ()
