"""Loops and blocks of a nest as LLVM code: unrolling, vectors, and accumulators that live in registers.

A reduction's elements are kept in registers ("promoted") at the outermost loop inside of which every spatial loop is
unrolled or vectorised. If that loop is the outermost one that reduces, the accumulators start from the block's init
and memory is written once; otherwise a nest before the outermost reducing loop writes the init, and tiles are loaded
and stored around the promoting loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import BuildError
from ..ir.expr import Select, walk
from ..ir.func import Buffer
from ..ir.stmt import Block, For, Stmt, accesses, blocks
from .builder import FunctionBuilder, Value, index
from .exprs import Address, ExprEmitter, Lanes

#: More accumulators than this cannot pay: they would be spilled on every iteration.
MAX_ACCUMULATORS = 64
#: Vector loops with more full vectors than this become loops over vectors.
MAX_UNROLLED_VECTORS = 8
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
        self._contiguous: dict[tuple[str, str], bool] = {}
        self._selects: dict[str, list[Select]] = {}

    def body(self, stmts: tuple[Stmt, ...]) -> None:
        """Emit statements in order."""
        for s in stmts:
            if isinstance(s, Block):
                self._block(s)
            else:
                self.loop(s)

    def loop(self, lp: For) -> None:
        """Emit a loop, promoting the accumulators that it allows to."""
        started = self._open_reductions(lp)
        promotions = [self._promotion(lp, b) for b in self._reduced_here(lp) if self._may_promote(lp, b)]
        for b in started:
            if all(p.block.name != b.name for p in promotions):
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

            def run(iv: Value) -> None:
                env[lp.name] = iv
                self.body(lp.body)

            self.fb.loop(index(0), index(lp.extent), 1, run, lp.name)
        env.pop(lp.name, None)

    # ---- vectors ---------------------------------------------------------------------------------------------------

    def _vectors(self, lp: For) -> None:
        """Full vectors, then the rest in vectors of falling powers of two."""
        assert isinstance(lp.extent, int)
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
        for s in lp.body:
            if lanes > 1 and isinstance(s, Block) and not self._fits_lanes(s, lp.name):
                self._scalars(s, lp.name, base, lanes)
            else:
                self.body((s,))
        self.ex.lanes = 1

    def _scalars(self, b: Block, var: str, base: Value, lanes: int) -> None:
        """Run a block that does not fit vectors one lane at a time."""
        self.ex.lanes = 1
        for lane in range(lanes):
            self.ex.env[var] = self.fb.add(base, index(lane))
            self._block(b)
        self.ex.env[var], self.ex.lanes = Lanes(base, lanes), lanes

    def _lanes(self, lp: For) -> int:
        sizes = [np.dtype(self._buffers[a.buffer].dtype).itemsize for b, _ in blocks(lp.body) for a in accesses(b)]
        return max(1, self._vector_bytes // max(sizes, default=4))

    def _fits_lanes(self, b: Block, var: str) -> bool:
        """Whether the block can run as one vector: contiguous write, no digit or condition that differs between
        lanes.
        """
        key = (b.name, var)
        if key not in self._contiguous:
            self._contiguous[key] = self._is_contiguous(b, var)
            self._selects[b.name] = [e for e in walk(b.value) if isinstance(e, Select)]
        return self._contiguous[key] and all(self.ex.bounds(e.conds) is not None for e in self._selects[b.name])

    def _is_contiguous(self, b: Block, var: str) -> bool:
        for acc in accesses(b):
            form = self.ex.flat(acc.buffer, acc.index)
            if any(d.var == var and not d.plain for d, _ in form.terms):
                return False
            if acc.is_write and form.coefficient(var) != 1:
                return False
        return True

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
            self._write(b, self.ex.expr(b.value))
            return
        op, term = b.update()
        promotion = self._promoted.get(b.buffer)
        value = self.ex.expr(term)
        if promotion is None:
            own = self.ex.load(b.own_load()) if self._reduces(b) else self.ex.expr(b.init)
            self._write(b, self.ex.binary(op, own, value))
            return
        slot, _, like = self._slot(promotion, b)
        own = self.fb.here(f"load {like.type}, {slot.typed}, align 64", like.dtype, like.lanes)
        result = self.fb.broadcast(self.ex.binary(op, own, value), like.lanes)
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
        count = 1
        for other, path in blocks((lp,)):
            if other.name != b.name:
                if any(a.buffer == b.buffer for a in accesses(other)):
                    return False
                continue
            reduce = {it.name for it in b.iters if it.kind == "R"}
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
        return _Promotion(b, self.fb.depth, outermost)

    def _slot(self, p: _Promotion, b: Block) -> tuple[Value, Address, Value]:
        """Register of the current element, created with its first value before the promoting loop."""
        at = self.ex.address(b.buffer, b.index)
        lanes = self.ex.lanes if at.step else 1
        key = (at.pointer.text, lanes)
        got = p.slots.get(key)
        if got is None:
            like = Value("", self.ex.memory_dtype(b.buffer), lanes)
            slot = self.fb.alloca(like.type)
            assert b.init is not None
            if p.from_init:
                first = self.fb.broadcast(self.ex.expr(b.init), lanes)
            else:
                first = Value(self.fb.fresh("own"), like.dtype, lanes, p.depth)
                self.fb.effect(
                    f"{first.text} = load {like.type}, {at.pointer.typed}, align {np.dtype(like.dtype).itemsize}",
                    p.depth,
                )
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
        stmt: Stmt = Block(b.name, kept, binds, b.buffer, b.index, b.init)
        for inner in reversed(path):
            if inner.name not in reduce:
                stmt = For(inner.name, inner.extent, (stmt,), "vectorize" if inner.kind == "vectorize" else "serial")
        self.body((stmt,))
