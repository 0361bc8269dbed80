"""Loops and blocks of a nest as LLVM code: unrolling, vectors, and what is decided ahead of the inner loops.

Loops are emitted as they are marked, with three exceptions that change no order of operations. The innermost loop
around accumulators in registers is unrolled a few times. An innermost loop whose last iteration alone is cut by a
guard runs without it, and the last iteration follows. A vector that its loop's end or a guard cuts runs under a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from workbench.codegen.constants import Unrolling
from workbench.codegen.llvm.accumulators import Accumulators, Promotion
from workbench.codegen.llvm.addresses import ALWAYS, Ahead, Guard
from workbench.codegen.llvm.expressions import ExprEmitter, Lanes
from workbench.codegen.llvm.intrinsic_loops import TensorEmitter, by_intrinsic
from workbench.codegen.llvm.lane_reduction import across_lanes, conditions, reduced_vectors
from workbench.codegen.llvm.panel_prefetch import Streams
from workbench.codegen.llvm.strip_mining import Pieces
from workbench.codegen.llvm.values import Value, index, literal
from workbench.codegen.lowering import init_nest, reduced_at, reducing_loops
from workbench.errors import BuildError
from workbench.ir import Block, Bound, Const, Expr, For, Select, Stmt, accesses, blocks, loops
from workbench.ir.expr import index_forms, walk


class NestEmitter:
    """Emits statements into a function."""

    def __init__(self, ex: ExprEmitter, vector_bytes: int) -> None:
        self.fb, self.ex = ex.fb, ex
        self._pieces = Pieces(ex.itemsize, vector_bytes, ex.mask_bytes)
        self._acc = Accumulators(ex, lambda lp: len(self._pieces.of(lp)))
        self._reducing: list[str] = []
        self._instances = 0
        self._plain: dict[tuple[str, str], bool] = {}
        self._selects: dict[tuple[str, str], list[Select]] = {}
        self._tensor = TensorEmitter(ex)
        self._streams = Streams(ex)

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
                with self.fb.at(s.name):
                    self.loop(s)

    def loop(self, lp: For) -> None:
        """Emit a loop, promoting the accumulators that it allows to."""
        if self._tensor.takes(lp, self._reducing):
            self._tensor.emit(lp)
            return
        reduced = list(reduced_at(lp))
        for b, path in reduced:
            begun = any(n in self._reducing for n in reducing_loops(b))
            if not (begun or b.resumes or by_intrinsic(lp, b) or self._acc.promotes_inside(path, b)):
                self._init_nest(b, path)
        promotions = [self._acc.begin(path, b, self._reducing) for b, path in reduced if self._acc.may_promote(lp, b)]
        self._reducing.append(lp.name)
        self._iterate(lp)
        self._reducing.pop()
        for p in promotions:
            self._acc.end(p)

    def _iterate(self, lp: For) -> None:
        assert isinstance(lp.extent, int)
        self.look_ahead(lp)
        if lp.kind == "vectorize":
            self._vectors(lp)
        elif (across := across_lanes(self.ex, lp, self._pieces.lanes)) is not None:
            self._across(lp, across)
        elif lp.kind == "unroll" or lp.extent == 1:
            self._iterations(lp, index(0), lp.extent)
        elif self._ends_cut(lp):
            self.ex.extents[lp.name] = lp.extent - 1
            self._counted(lp, lp.extent - 1)
            self.ex.extents[lp.name] = lp.extent
            self._iterations(lp, index(lp.extent - 1), 1)
        else:
            self._counted(lp, lp.extent)
        self.ex.env.pop(lp.name, None)
        self.ex.ahead.pop(lp.name, None)
        self._streams.end(lp)

    def look_ahead(self, lp: For) -> None:
        """Ask ahead for what the loop's body touches, as the loop's notes say."""
        reads, writes = (n if isinstance(n := lp.note(key), int) else 0 for key in ("prefetch", "prefetch_write"))
        if max(reads, writes) > 0:
            streamed = self._streams.begin(lp, reads)
            read = ((a.buffer, b.name) for b, _ in blocks(lp.body) for a in accesses(b)[1:])
            readers = {buffer: name for buffer, name in read if buffer not in streamed}
            writers = {b.buffer: b.name for b, _ in blocks(lp.body)}
            self.ex.ahead[lp.name] = Ahead(max(reads, 0), max(writes, 0), readers, writers)

    def _iterations(self, lp: For, first: Value, count: int) -> None:
        for k in range(count):
            self.ex.env[lp.name] = self.fb.add(first, index(k))
            self.body(lp.body)

    def _across(self, lp: For, lanes: int) -> None:
        """Reduce neighbours in memory as vectors, and the lanes of these in the end."""
        block = lp.body[0]
        assert isinstance(block, Block)
        assert isinstance(lp.extent, int)
        value = reduced_vectors(self.ex, lp, block, lanes)
        self.ex.env[lp.name] = index(0)
        self._block(block, value)
        self._iterations(lp, index(lp.extent - lp.extent % lanes), lp.extent % lanes)

    def _counted(self, lp: For, extent: int) -> None:
        """Emit the first `extent` iterations as a loop, several at a time where that pays."""
        factor = self._inner_unroll(lp, extent)
        if factor < extent:
            whole = extent - extent % factor
            one, fetch = lambda iv: self._iterations(lp, iv, 1), lambda iv: self._streams.fetch(lp, iv, factor)
            self.fb.loop(index(0), index(whole), factor, one, lp.name, factor, fetch)
            self._iterations(lp, index(whole), extent - whole)
        else:
            self._streams.fetch(lp, index(0), extent)
            self._iterations(lp, index(0), extent)

    def _inner_unroll(self, lp: For, extent: int) -> int:
        """How many iterations of a loop make one of the emitted loop: more than 1 for short innermost bodies."""
        count = sum(self._instances_of(s) for s in lp.body)
        if not count or not self._acc.open or any(self._instances_of(s) == 0 for s in lp.body):
            return 1
        if any(self._pieces.are_ragged(inner) for inner, _ in loops(lp.body)):
            return 1
        limit = min(Unrolling.INNER_FACTOR, Unrolling.INNER_BODY // count)
        dividing = next((f for f in range(limit, 1, -1) if extent % f == 0), 1)
        # What is left over is more code, but not in the loop.
        return limit if dividing == 1 and limit > 1 and extent > 4 * limit else dividing

    def _instances_of(self, s: Stmt) -> int:
        """Instances of blocks that a statement without an emitted loop becomes; 0 where it has one."""
        if isinstance(s, Block):
            return 1
        if s.kind not in ("unroll", "vectorize"):
            return 0
        assert isinstance(s.extent, int)
        inner = [self._instances_of(x) for x in s.body]
        if 0 in inner:
            return 0
        return sum(inner) * (s.extent if s.kind == "unroll" else len(self._pieces.of(s)))

    def _ends_cut(self, lp: For) -> bool:
        """Whether conditions hold in all iterations of an innermost loop but the last one."""
        assert isinstance(lp.extent, int)
        count = [self._instances_of(s) for s in lp.body]
        if 0 in count or sum(count) > 2 * Unrolling.INNER_BODY:
            return False
        conds = [c for b, _ in blocks(lp.body) for c in conditions(b) if lp.name in c.form.vars]
        found = False
        for c in conds:
            if self._holds(c):
                continue
            self.ex.extents[lp.name] = lp.extent - 1
            found |= self._holds(c)
            self.ex.extents[lp.name] = lp.extent
        return found

    def _holds(self, c: Bound) -> bool:
        return self._decided(c) is True

    def _decided(self, c: Bound) -> bool | None:
        """Whether a condition holds in all iterations, in none (False), or in some (None)."""
        assert isinstance(c.lo, int)
        assert isinstance(c.hi, int)
        lo, hi = self.ex.range(c.form)
        return True if c.lo <= lo and hi < c.hi else False if hi < c.lo or lo >= c.hi else None

    # ---- vectors ---------------------------------------------------------------------------------------------------

    def _vectors(self, lp: For) -> None:
        """Emit a vector loop in the pieces that `_pieces` gives, many full vectors as a loop."""
        if len(lp.body) != 1 or not isinstance(lp.body[0], Block):
            raise BuildError(
                "build.vector_body",
                f"The vectorised loop {lp.name!r} holds something else than one block.",
                (lp.name,),
                "vectorize loops that hold one block and nothing else",
            )
        pieces, lanes = self._pieces.of(lp), self._pieces.lanes(lp)
        full = sum(width == active == lanes for _, width, active in pieces)
        for first, count in self._alike(lp, full, lanes):
            self._neighbours(lp, pieces[first : first + count], lanes)
        for at, width, active in pieces[full:]:
            self._vector(lp, index(at), width, active)

    def _neighbours(self, lp: For, pieces: list[tuple[int, int, int]], lanes: int) -> None:
        """Emit whole vectors for which the same conditions hold, many of them as a loop."""
        count = len(pieces) - len(pieces) % Unrolling.VECTORS_AT_ONCE
        if len(pieces) > Unrolling.VECTORS and not self._acc.open:
            start, stop = pieces[0][0], pieces[0][0] + count * lanes
            self.fb.loop(
                index(start),
                index(stop),
                Unrolling.VECTORS_AT_ONCE * lanes,
                lambda iv: self._vector(lp, iv, lanes, lanes, (start, stop - 1)),
                lp.name,
                Unrolling.VECTORS_AT_ONCE,
            )
            pieces = pieces[count:]
        for at, width, active in pieces:
            self._vector(lp, index(at), width, active)

    def _alike(self, lp: For, full: int, lanes: int) -> list[tuple[int, int]]:
        """First and number of neighbouring whole vectors for which the same conditions hold; all of them together where
        there are too many such runs.
        """
        block = lp.body[0]
        assert isinstance(block, Block)
        conds = [c for c in conditions(block) if lp.name in c.form.vars]
        if not conds or full <= Unrolling.VECTORS:
            return [(0, full)]
        hold: list[tuple[bool | None, ...]] = []
        for k in range(full):
            self.ex.env[lp.name] = Lanes(index(k * lanes), lanes, lanes)
            hold.append(tuple(self._decided(c) for c in conds))
        del self.ex.env[lp.name]
        starts = [k for k in range(full) if k == 0 or hold[k] != hold[k - 1]]
        if len(starts) > Unrolling.RUNS:
            return [(0, full)]
        return [(a, b - a) for a, b in pairwise([*starts, full])]

    def _vector(self, lp: For, base: Value, lanes: int, active: int, within: tuple[int, int] | None = None) -> None:
        ex, block = self.ex, lp.body[0]
        assert isinstance(block, Block)
        ex.env[lp.name] = Lanes(base, lanes, active, within) if lanes > 1 else base
        ex.lanes, ex.maskable = lanes, lanes > 1 and self._pieces.maskable(lp)
        if active < lanes:
            ex.mask = ex.fixed_mask([lane < active for lane in range(lanes)])
        if lanes > 1 and not self._stores_vector(block, lp.name):
            self._one_by_one(lp.name, lambda _: self._block(block))
        else:
            self._block(block)
        ex.lanes, ex.maskable, ex.mask = 1, False, None

    def _one_by_one(self, var: str, run: Callable[[int], None]) -> None:
        """Run something for one lane of the open vector loop at a time."""
        ex = self.ex
        wide, mask, maskable = ex.env[var], ex.mask, ex.maskable
        assert isinstance(wide, Lanes)
        ex.lanes, ex.mask, ex.maskable = 1, None, False
        for lane in range(wide.active):
            ex.env[var] = self.fb.add(wide.base, index(lane))
            run(lane)
        ex.env[var], ex.lanes, ex.mask, ex.maskable = wide, wide.count, mask, maskable

    def _value(self, b: Block, e: Expr) -> Value:
        """Value of an expression of the block: a vector of scalars where no vector operation can compute it."""
        var = next((n for n, v in self.ex.env.items() if isinstance(v, Lanes)), None)
        if var is None or self._fits_lanes(b, var):
            return self.ex.expr(e)
        parts: list[Value] = []
        self._one_by_one(var, lambda _: parts.append(self.ex.expr(e)))
        return self.fb.gather(parts + [parts[0]] * (self.ex.lanes - len(parts)))

    def _stores_vector(self, b: Block, var: str) -> bool:
        """Whether the lanes write neighbours, under conditions that are the same for all or make a mask."""
        form = self.ex.flat(b.buffer, b.index)
        plain = all(d.plain for d, _ in form.terms if d.var == var)
        if not plain or form.coefficient(var) != 1:
            return False
        guard = self.ex.bounds(b.guard)
        return guard is not None and (guard.mask is None or self._fits_lanes(b, var))

    def _fits_lanes(self, b: Block, var: str) -> bool:
        """Whether vector operations can compute the block: no digit differs between lanes, conditions make masks."""
        key = (b.name, var)
        if key not in self._plain:
            forms = [f for e in walk(b.value) for f in index_forms(e)]
            self._plain[key] = all(d.plain for f in forms for d, _ in f.terms if d.var == var)
            selects = [e for e in walk(b.value) if isinstance(e, Select)]
            self._selects[key] = [e for e in selects if any(var in c.form.vars for c in e.conds)]
        return self._plain[key] and all(self.ex.bounds(e.conds) is not None for e in self._selects[key])

    # ---- blocks ----------------------------------------------------------------------------------------------------

    def _block(self, b: Block, term: Value | None = None) -> None:
        """Emit a block, or a reduction with a term that was computed already."""
        self._instances += 1
        if self._instances > Unrolling.INSTANCES:
            raise BuildError(
                "build.too_large",
                f"The unrolled code of {b.name!r} is too large to compile.",
                (b.name,),
                "unroll or vectorize smaller loops",
            )
        self.ex.free, self.ex.block = not b.guard, b.name
        promotion = None if b.init is None else self._acc.open.get(b.buffer)
        with self.fb.at(f"stmt:{b.name}"):
            if promotion is not None:
                self._accumulate(promotion, b, term)
            else:
                self._where_it_runs(b, term)

    def _where_it_runs(self, b: Block, term: Value | None) -> None:
        """Compute and write the element of a block that is no reduction in registers."""
        guard = self.ex.bounds(b.guard)
        assert guard is not None
        if guard.cond is False:
            return
        with self.fb.branching(guard.cond if isinstance(guard.cond, Value) else None), self.ex.under(_masking(guard)):
            self._compute(b, term)

    def _compute(self, b: Block, known: Value | None) -> None:
        if b.init is None:
            self._write(b, self._value(b, b.value))
            return
        op, term = b.update()
        value = known or self._value(b, term)
        own = self.ex.load(b.own_load()) if self._reduces(b) else self.ex.expr(b.init)
        self._write(b, self.ex.arith.binary(op, own, value))

    def _accumulate(self, p: Promotion, b: Block, known: Value | None) -> None:
        """Update an accumulator. What only decides whether the element exists is asked when it is stored."""
        if not b.guard:
            slot = self._acc.slot(p, b, ALWAYS)
            self._update(b, slot.register, slot.like, None, known)
            return
        spatial = tuple(c for c in b.guard if not c.form.vars & p.reducing)
        exists, runs = self.ex.bounds(spatial), self.ex.bounds(tuple(c for c in b.guard if c not in spatial))
        assert exists is not None
        assert runs is not None
        if exists.cond is False or runs.cond is False:
            return
        with (
            self.ex.under(exists),
            self.fb.branching(runs.cond if isinstance(runs.cond, Value) else None),
            self.ex.under(_masking(runs)),
        ):
            slot = self._acc.slot(p, b, exists)
            self._update(b, slot.register, slot.like, runs.mask, known)

    def _update(self, b: Block, register: Value, like: Value, mask: Value | None, known: Value | None) -> None:
        op, term = b.update()
        value = known or self._value(b, term)
        if op == "add" and b.init == Const(0.0, like.dtype) and value.text == literal(0, value.dtype).text:
            return  # a tap that is known not to exist
        own = self.fb.here(f"load {like.type}, {register.typed}, align 64", like.dtype, like.lanes)
        result = self.fb.broadcast(self.ex.arith.binary(op, own, value), like.lanes)
        if mask is not None and like.lanes > 1:
            result = self.ex.arith.math.select(mask, result, own)
        self.fb.effect(f"store {result.typed}, {register.typed}, align 64")

    def _write(self, b: Block, value: Value) -> None:
        at = self.ex.address(b.buffer, b.index)
        lanes = self.ex.lanes if at.step else 1
        self.ex.look_ahead_to_store(b.name, b.buffer, b.index, at)
        mask = None if self.ex.spare(b.buffer, b.index) else self.ex.mask
        self.ex.store(b.buffer, at, self.fb.broadcast(value, lanes), mask)

    def _reduces(self, b: Block) -> bool:
        """Whether any loop around the block reduces (else the init is simply the other operand)."""
        return any(it.kind == "R" and it.extent != 1 for it in b.iters)

    # ---- reductions ------------------------------------------------------------------------------------------------

    def _init_nest(self, b: Block, path: tuple[For, ...]) -> None:
        """Write the init of every element that the loop will accumulate onto."""
        with self.fb.at(f"init:{b.name}", pinned=True):
            self.body((init_nest(b, path, f"{b.name}.init"),))


def _masking(guard: Guard) -> Guard:
    """The lanes of a guard, for code that only runs where it holds for one of them."""
    return ALWAYS if guard.mask is None else Guard(True, guard.mask)
