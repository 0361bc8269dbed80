"""Elements of reductions that live in registers while a loop runs.

A reduction's elements are kept in registers ("promoted") at the outermost loop inside of which every spatial loop is
unrolled or vectorised. If that loop is the outermost one that reduces, the accumulators start from the block's init
and memory is written once. Otherwise they start from the init where all reducing loops around are in their first
iteration, and from memory elsewhere. An element that a guard rules out is accumulated all the same (from something
harmless) and not stored, so that nothing is decided inside of the loop.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from workbench.codegen.constants import Prefetching, Registers
from workbench.codegen.llvm.addresses import Address, Guard
from workbench.codegen.llvm.expressions import ExprEmitter
from workbench.codegen.llvm.values import Value, const_of, index
from workbench.codegen.lowering import reducing_loops
from workbench.ir import Block, For, blocks
from workbench.ir.poly import concrete
from workbench.ir.stmt import touched


@dataclass(frozen=True, slots=True)
class Slot:
    """Register of one element or vector, where it is stored in the end, and under which guard."""

    register: Value
    like: Value
    at: Address
    guard: Guard


@dataclass(slots=True)
class Promotion:
    """Accumulators of one block while a reducing loop runs."""

    block: Block
    depth: int
    #: Whether the accumulators start from the init: known, decided at run time, or (None) not at all.
    starts: Value | bool
    #: Loops that reduce, around the promoting one and inside of it.
    reducing: frozenset[str]
    length: int
    #: Loops that tell elements apart.
    names: tuple[str, ...]
    slots: dict[tuple[object, ...], Slot] = field(default_factory=dict)


def begun(ex: ExprEmitter, loops: Iterable[str]) -> Value:
    """Return a number that is 0 where all of these loops are in their first iteration."""
    values = [v for n in loops if isinstance(v := ex.env[n], Value)]
    if any(const_of(v) for v in values):
        return index(1)
    return functools.reduce(ex.fb.add, values, index(0))


def fits_registers(lp: For, b: Block, vectors: Callable[[For], int]) -> bool:
    """Whether all elements that a block accumulates onto while a loop runs can live in registers; `vectors` says how
    many vectors a vector loop becomes.
    """
    reduce = reducing_loops(b)
    count = 1
    for other, path in blocks((lp,)):
        if other.name != b.name:
            if b.buffer in touched(other):
                return False
            continue
        for inner in path:
            if inner.name in reduce:
                if inner.kind == "vectorize":
                    return False
            elif inner.kind == "unroll":
                count *= concrete(inner.extent)
            elif inner.kind == "vectorize":
                count *= vectors(inner)
            else:
                return False
    return count <= Registers.ACCUMULATORS


class Accumulators:
    """Decides which reductions are promoted, and emits their registers."""

    def __init__(self, ex: ExprEmitter, vectors: Callable[[For], int]) -> None:
        self.fb, self.ex, self._vectors = ex.fb, ex, vectors
        self.open: dict[str, Promotion] = {}

    def may_promote(self, lp: For, b: Block) -> bool:
        """Whether the block's elements can live in registers while the loop runs."""
        return b.buffer not in self.open and fits_registers(lp, b, self._vectors)

    def promotes_inside(self, path: Sequence[For], b: Block) -> bool:
        """Whether the block is promoted at one of the loops."""
        reduce = reducing_loops(b)
        return any(x.name in reduce and self.may_promote(x, b) for x in path)

    def begin(self, path: Sequence[For], b: Block, around: Sequence[str]) -> Promotion:
        """Promote a block at the first loop of `path`; `around` are the loops around it that reduce anything."""
        reduce = reducing_loops(b)
        inside = math.prod(x.extent for x in path if x.name in reduce and isinstance(x.extent, int))
        starts = False if b.resumes else self._first([n for n in around if n in reduce])
        names = tuple(sorted(set[str]().union(*(f.vars for f in b.index))))
        got = self.open[b.buffer] = Promotion(b, self.fb.depth, starts, reduce, inside, names)
        return got

    def _first(self, counters: list[str]) -> bool | Value:
        """Whether loops are in their first iteration."""
        total = begun(self.ex, counters)
        known = const_of(total)
        if known is not None:
            return known == 0
        return self.fb.pure(f"icmp eq i64 {total.text}, 0", "bool", 1, (total,))

    def slot(self, p: Promotion, b: Block, guard: Guard) -> Slot:
        """Register of the current element, created with its first value before the promoting loop."""
        env = self.ex.env
        key = tuple(v.text if isinstance(v := env[n], Value) else (v.base.text, v.count) for n in p.names)
        got = p.slots.get(key)
        if got is None:
            at = self.ex.address(b.buffer, b.index)
            lanes = self.ex.lanes if at.step else 1
            like = Value("", self.ex.buffers[b.buffer].dtype, lanes)
            if guard.mask is None and lanes > 1 and self.ex.mask is not None and not self.ex.spare(b.buffer, b.index):
                guard = Guard(guard.cond, self.ex.mask, guard.conds)
            got = p.slots[key] = Slot(self.fb.alloca(like.type), like, at, guard)
            with self.fb.at(f"{'stmt' if p.starts is False else 'init'}:{b.name}"):
                self._start(p, got)
        return got

    def _start(self, p: Promotion, s: Slot) -> None:
        assert p.block.init is not None
        lanes, name = s.like.lanes, p.block.buffer
        init = None if p.starts is False else self.fb.broadcast(self.ex.expr(p.block.init), lanes)
        if p.starts is True:
            assert init is not None
            first = init
            large = self.ex.buffers[name].role == "output" or self.ex.buffers[name].nbytes >= Prefetching.LARGE_BYTES
            if lanes > 1 and p.length >= Prefetching.TERMS and large:
                self.ex.prefetch(s.at.pointer, True, p.depth)
        else:
            first = self.ex.load_at_depth(name, s.at, lanes, p.depth, s.guard)
            if isinstance(p.starts, Value):
                assert init is not None
                begun = Value(self.fb.fresh("first"), first.dtype, lanes, p.depth)
                text = f"{begun.text} = select i1 {p.starts.text}, {init.typed}, {first.typed}"
                self.fb.effect(text, p.depth)
                first = begun
        self.fb.effect(f"store {first.typed}, {s.register.typed}, align 64", p.depth)

    def end(self, p: Promotion) -> None:
        """Store the accumulators of a promotion, after its loop."""
        del self.open[p.block.buffer]
        with self.fb.at(f"stmt:{p.block.name}"):
            for cond, group in _runs(list(p.slots.values())):
                with self._where(cond):
                    self._store(p, group)

    def _store(self, p: Promotion, group: Sequence[Slot]) -> None:
        for s in group:
            v = self.fb.here(f"load {s.like.type}, {s.register.typed}, align 64", s.like.dtype, s.like.lanes)
            self.ex.look_ahead_to_store(p.block.name, p.block.buffer, p.block.index, s.at)
            self.ex.store(p.block.buffer, s.at, v, s.guard.mask)

    def _where(self, cond: bool | Value) -> AbstractContextManager[None]:
        return self.fb.branching(cond if isinstance(cond, Value) else None)


def _runs(slots: list[Slot]) -> Iterator[tuple[bool | Value, list[Slot]]]:
    """Group neighbours that are stored under one condition."""
    while slots:
        cond = slots[0].guard.cond
        count = next((k for k, s in enumerate(slots) if s.guard.cond != cond), len(slots))
        yield cond, slots[:count]
        slots = slots[count:]
