"""Mutations of the code generator that random schedules notice; see also `codegen.test_mutations`."""

from __future__ import annotations

from property.mutation import Mutation
from property.mutation import mutation as _m

_G = "workbench.codegen."

CODE: tuple[Mutation, ...] = (
    _m(
        "vectorize",
        _G + "llvm.strip_mining",
        "the last lane of a cut vector does not run",
        "return [*out, (at, 1 << rest.bit_length(), rest)]",
        "return [*out, (at, 1 << rest.bit_length(), rest - 1)]",
    ),
    _m(
        "vectorize",
        _G + "llvm.memory_access",
        "what is stored has no mask",
        "if mask is not None and value.lanes > 1:",
        "if False:",
    ),
    _m(
        "reorder",
        _G + "llvm.accumulators",
        "accumulators start again in each round of an outer loop",
        'return self.fb.pure(f"icmp eq i64 {total.text}, 0", "bool", 1, (total,))',
        "return True",
    ),
    _m(
        "unroll",
        _G + "llvm.unrolling",
        "copies of a body read where the first one does",
        "new, by = old + suffix, self._slopes[old] * distance",
        "new, by = old + suffix, 0",
    ),
    _m(
        "compute_inline",
        _G + "llvm.expressions",
        "padding is read from where it would lie",
        "self._choose(cond, inside.pointer, page)",
        "inside.pointer",
    ),
    _m(
        "rfactor",
        _G + "llvm.lane_reduction",
        "the halves of a vector are the same one",
        "return part(0), part(half)",
        "return part(0), part(0)",
    ),
    _m(
        "reorder",
        _G + "llvm.accumulators",
        "accumulators are not stored",
        "self.ex.store(p.block.buffer, s.at, v, s.guard.mask)",
        "pass",
    ),
    _m(
        "reorder",
        _G + "llvm.loops",
        "what is accumulated in memory starts from what is there",
        "self._init_nest(b, path)",
        "pass",
    ),
    _m(
        "split",
        _G + "llvm.loops",
        "a guard is not asked",
        "self.fb.branching(guard.cond if isinstance(guard.cond, Value) else None), self.ex.under(_masking(guard))",
        "self.ex.under(_masking(guard))",
    ),
    _m(
        "pad",
        _G + "llvm.expressions",
        "padding is always read from the page",
        "self._choose(cond, inside.pointer, page)",
        "page",
    ),
    _m(
        "split",
        _G + "llvm.accumulators",
        "elements that do not exist are stored",
        "self.fb.branching(cond if isinstance(cond, Value) else None)",
        "self.fb.branching(None)",
    ),
    _m(
        "unroll",
        _G + "llvm.accumulators",
        "all elements share one register",
        "p.slots.get(key)",
        "p.slots.get(key := ())",
    ),
)
