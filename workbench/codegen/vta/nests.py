"""A scheduled function as a program of the accelerator.

A nest around one block is one instruction, or a few: a copy between memory and an accelerator's memory, a tensorized
product, or an element-wise stage that works on sums in their place and stores them. The loops around run when the
program is written. Iterations of virtual threads take turns, one group of such nests each; what is used inside a
virtual thread has a place for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from workbench.codegen.lowering import lowered
from workbench.codegen.vta.addresses import by_rows as rows_of
from workbench.codegen.vta.addresses import cut, flat, inner_loops, row_of, value
from workbench.codegen.vta.copies import Copy, transfers
from workbench.codegen.vta.design import DTYPES, Design
from workbench.codegen.vta.elementwise import Step, Steps, steps_of
from workbench.codegen.vta.instructions import Alu, Gemm, Instruction, LoadMicroOps, Operation, Program
from workbench.codegen.vta.products import Word, gemm, hardware_loops, words_of
from workbench.codegen.vta.tokens import with_tokens
from workbench.errors import BuildError
from workbench.ir import Affine, Block, Bound, Buffer, Const, Expr, For, Func, Load, Select, Stmt, blocks
from workbench.ir.compact_temporaries import scopes
from workbench.ir.expr import loads as loads_of
from workbench.ir.poly import concrete
from workbench.ir.stmt import touched
from workbench.target import Target

#: Instructions of a program at most; a candidate with more is a bad one. Chosen, not measured.
MOST = 50_000

_At = dict[str, int]


def program_of(func: Func, target: Target) -> Program:
    """Turn a concrete function into a program.

    Raises
    ------
    BuildError
        "build.holes", and "vta.*" for what the accelerator cannot do.
    """
    return _Writer(lowered(func), target).program()


@dataclass(frozen=True, slots=True)
class _Placed:
    """Where a temporary lies: its memory, first row, rows of one copy, and the loops that have one each."""

    memory: str
    first: int
    rows: int
    path: tuple[For, ...]

    @property
    def threads(self) -> tuple[For, ...]:
        """Virtual threads, whose copies lie side by side."""
        return tuple(lp for lp in self.path if lp.kind == "vthread")

    def at(self, at: Mapping[str, int]) -> int:
        """First row for the virtual threads of an iteration."""
        number = 0
        for lp in self.threads:
            number = number * concrete(lp.extent) + at[lp.name]
        return self.first + number * self.rows


class _Writer:
    def __init__(self, func: Func, target: Target) -> None:
        self._func, self._target, self._design = func, target, Design.of(target)
        self._placed = _place(func, self._design)
        self._tensors = {b.name: k for k, b in enumerate(func.params)}
        self._out: list[Instruction] = []
        self._kernels: dict[tuple[Word, ...], int] = {}
        self._resident: dict[int, int] = {}
        self._steps: dict[str, Steps] = {}
        self._free, self._full = 0, False
        self._begin: list[Instruction] = []

    def program(self) -> Program:
        self._run(self._func.body, [{}])
        tensors = tuple((b.name, b.dtype, math.prod(map(concrete, b.shape))) for b in self._func.params)
        kernels = tuple(self._kernels)
        return Program(
            str(self._target), tensors, kernels, with_tokens([*self._begin, *self._out], kernels, self._design)
        )

    # ----- loops that run now

    def _run(self, body: tuple[Stmt, ...], turns: list[_At]) -> None:
        """Write the instructions of a body, for each of the virtual threads in turn."""
        for single, part in groupby(body, lambda s: len(_blocks(s)) == 1 and not _has_threads(s)):
            nests = list(part)
            if single:
                for at in turns:
                    for nest in nests:
                        self._nest(nest, at)
                continue
            for s in nests:
                assert isinstance(s, For)
                values = range(concrete(s.extent))
                if s.kind == "vthread":
                    self._run(s.body, [{**at, s.name: v} for at in turns for v in values])
                    continue
                for v in values:
                    self._run(s.body, [{**at, s.name: v} for at in turns])

    def _nest(self, nest: Stmt, at: _At) -> None:
        ((block, path),) = _blocks(nest)
        self._block(block, list(path), at)

    def _block(self, block: Block, loops: list[For], at: _At) -> None:
        """Write one block under the loops that no iteration was chosen of."""
        if block.guard:
            raise _cannot(block, "it does not run at every point", "tiles that divide what they cut")
        buffer = self._func.buffer(block.buffer)
        if block.init is not None:
            self._product(block, loops, at)
        elif buffer.role == "temp":
            self._load(block, buffer, loops, at)
        else:
            self._store(block, buffer, loops, at)

    def _each(self, block: Block, loops: list[For], count: int, at: _At) -> None:
        """Run the outermost loops one by one."""
        if not count:
            self._block(block, loops, at)
            return
        for v in range(concrete(loops[0].extent)):
            self._each(block, loops[1:], count - 1, {**at, loops[0].name: v})

    # ----- instructions

    def _put(self, block: Block, *operations: Operation) -> None:
        self._out += [Instruction(op, row=f"stmt:{block.name}") for op in operations]
        if len(self._out) > MOST:
            raise BuildError("vta.length", f"The program has more than {MOST} instructions.", (block.name,),
                             "larger tiles: an instruction takes whole nests")  # fmt: skip

    def _words(self, block: Block, words: tuple[Word, ...]) -> tuple[int, int]:
        """Have micro-ops in their memory; returns the first and the end."""
        room = self._design.depth["uop"]
        if len(words) > room:
            raise _cannot(block, f"it needs {len(words)} micro-ops, and there is room for {room}", "smaller tiles")
        kernel = self._kernels.setdefault(words, len(self._kernels))
        if kernel not in self._resident:
            if self._free + len(words) > room:
                self._full = True
                self._resident.clear()
                self._free = 0
            load = Instruction(LoadMicroOps(self._free, kernel), row=f"stmt:{block.name}")
            # Later, one would have to wait for its turn at the port to memory.
            (self._out if self._full else self._begin).append(load)
            self._resident[kernel] = self._free
            self._free += len(words)
        return self._resident[kernel], self._resident[kernel] + len(words)

    def _product(self, block: Block, loops: list[For], at: _At) -> None:
        place = next((k for k, lp in enumerate(loops) if lp.intrin == self._design.gemm), None)
        if place is None:
            raise _cannot(block, "no instruction computes its sums", f"tensorize its tile with {self._design.gemm!r}: "
                          f"outputs in multiples of {self._design.outputs}, numbers summed up in multiples of "
                          f"{self._design.inputs}")  # fmt: skip
        term = block.update()[1]
        a, b = loads_of(term)
        if self._placed_in(a.buffer) == "wgt":
            a, b = b, a
        loads = [block.own_load(), a, b]
        for ld, memory in zip(loads, ("acc", "inp", "wgt"), strict=True):
            if self._placed_in(ld.buffer) != memory:
                raise _cannot(block, f"{ld.buffer!r} does not lie in {memory!r}", f"set_scope(..., {memory!r})")
        forms = [flat(self._func.buffer(ld.buffer), ld.index) for ld in loads]
        if count := cut(loops, forms):
            self._each(block, loops, count, at)
            return
        outer, reducing = loops[:place], {it.name for it in block.iters if it.kind == "R"}
        inner = [(x, lp.name in reducing) for x, lp in zip(inner_loops(outer, forms), outer, strict=True)]
        starts = not block.resumes and not any(at.get(name, 0) for name in reducing)
        firsts = [self._placed[ld.buffer].at(at) for ld in loads]
        made = gemm(forms, inner, firsts, at, starts, self._design, block.name)
        if made is None:
            self._each(block, loops, 1, at)
            return
        first, end = self._words(block, made.words)
        self._put(block, Gemm(first, end, made.reset, made.loops))

    def _load(self, block: Block, buffer: Buffer, loops: list[For], at: _At) -> None:
        source, inside = _source(block.value)
        if source is None or source.buffer not in self._tensors or source.at:
            raise _cannot(block, "it fills a memory of the accelerator, and copies nothing from a parameter",
                          "compute_inline stages between the product and the stage that is stored")  # fmt: skip
        self._copy("load", block, (buffer, block.index), source, inside, loops, at)

    def _store(self, block: Block, buffer: Buffer, loops: list[For], at: _At) -> None:
        if block.name not in self._steps:
            self._steps[block.name] = self._started(block, steps_of(block.value, block.name))
        found = self._steps[block.name]
        if self._placed_in(found.source.buffer) != "acc":
            raise _cannot(block, f"{found.source.buffer!r} does not lie in 'acc'", "cache_write, then set_scope")
        self._alone(block, found.source.buffer, bool(found.steps))
        held = self._func.buffer(found.source.buffer)
        form = flat(held, found.source.index)
        others = [flat(self._func.buffer(s.other.buffer), s.other.index) for s in found.steps if s.other is not None]
        if count := cut(loops, [form, *others, flat(buffer, block.index)]):
            self._each(block, loops, count, at)
            return
        for step in found.steps:
            self._alu(block, step, found.source, loops, at)
        own = Load(buffer.name, block.index)
        self._copy("store", block, (held, found.source.index), own, (), loops, at)

    def _started(self, block: Block, found: Steps) -> Steps:
        """Start from an operand of which every point of the stage has an element of its own."""
        ways = [w for w in (found, found.swapped()) if w is not None]
        once = [w for w in ways if not w.steps or self._own_elements(block, w)]
        if not once:
            raise _cannot(block, f"it would change one element of {found.source.buffer!r} several times",
                          "start from a product's sums, with an element for each point")  # fmt: skip
        return once[0]

    def _own_elements(self, block: Block, found: Steps) -> bool:
        source = found.source
        if any(s.other is not None and s.other.buffer == source.buffer for s in found.steps):
            return False
        home = self._placed[source.buffer].path if source.buffer in self._placed else ()
        inside = self._func.block(block.name)[1][len(home) :]
        extents = [concrete(lp.extent) for lp in inside]
        points: dict[str, Any] = dict(zip((lp.name for lp in inside), np.indices(extents), strict=True))
        elements = value(flat(self._func.buffer(source.buffer), source.index), points)
        return bool(np.unique(elements).size == math.prod(extents))

    def _alone(self, block: Block, name: str, changes: bool) -> None:
        """What an element-wise stage changes in its place nobody else may read."""
        readers = [b.name for b, _ in blocks(self._func.body) if any(ld.buffer == name for ld in b.loads())
                   and b.buffer != name]  # fmt: skip
        if changes and readers != [block.name]:
            raise _cannot(block, f"{', '.join(readers)} read {name!r}, which is changed in its place",
                          "compute_inline all stages but the last")  # fmt: skip

    def _alu(self, block: Block, step: Step, source: Load, loops: list[For], at: _At) -> None:
        loads = [source] if step.other is None else [source, step.other]
        if any(self._placed_in(ld.buffer) != "acc" for ld in loads):
            raise _cannot(block, f"{loads[-1].buffer!r} does not lie in 'acc'", "cache_read, then set_scope")
        forms = [flat(self._func.buffer(ld.buffer), ld.index) for ld in loads]
        elements = self._design.rows["acc"]
        rows = rows_of(inner_loops(loops, forms), elements, block.name, "acc")
        hardware, rest = hardware_loops(rows)
        start = [
            self._placed[ld.buffer].at(at) + row_of(value(form, at), elements, block.name, "acc")
            for ld, form in zip(loads, forms, strict=True)
        ]
        padded = [type(lp)(lp.extent, (*lp.moves, 0, 0)[:3]) for lp in rest]
        first, end = self._words(block, words_of(padded, (start[0], start[-1] if len(start) > 1 else 0, 0)))
        self._put(block, Alu(step.op, first, end, hardware, step.number))

    def _copy(
        self,
        op: str,
        block: Block,
        held: tuple[Buffer, Sequence[Affine]],
        outside: Load,
        inside: tuple[Bound, ...],
        loops: list[For],
        at: _At,
    ) -> None:
        buffer, index = held
        where = self._placed[buffer.name]
        sram, dram = flat(buffer, index), flat(self._func.buffer(outside.buffer), outside.index)
        if count := cut(loops, [sram, dram, *(b.form for b in inside)]):
            self._each(block, loops, count, at)
            return
        copy = Copy(op, where.memory, self._tensors[outside.buffer], sram, dram, inside, block.name)
        inner = inner_loops(loops, (sram, dram), [b.form for b in inside])
        self._put(block, *transfers(copy, inner, self._design.rows[where.memory], where.at(at), at))

    def _placed_in(self, name: str) -> str:
        return self._placed[name].memory if name in self._placed else ""


def _blocks(s: Stmt) -> tuple[tuple[Block, tuple[For, ...]], ...]:
    return tuple(blocks((s,)))


def _has_threads(s: Stmt) -> bool:
    return any(lp.kind == "vthread" for _, path in _blocks(s) for lp in path)


def _source(e: Expr) -> tuple[Load | None, tuple[Bound, ...]]:
    """What a copy reads, and where; zeros are written elsewhere."""
    if isinstance(e, Load):
        return e, ()
    if isinstance(e, Select) and isinstance(e.b, Const) and e.b.value == 0:
        source, inside = _source(e.a)
        return source, (*e.conds, *inside)
    return None, ()


def _place(func: Func, design: Design) -> dict[str, _Placed]:
    """Give every temporary its place.

    Raises
    ------
    BuildError
        "vta.scope" for one in no memory of the accelerator, "vta.memory" where one is full.
    """
    used = dict.fromkeys(DTYPES, 0)
    placed: dict[str, _Placed] = {}
    for name, scope in scopes(func).items():
        buffer = func.buffer(name)
        memory: str = buffer.scope
        if memory not in DTYPES or buffer.dtype != DTYPES[memory]:
            raise BuildError("vta.scope", f"{name!r}, of {buffer.dtype}, lies in {memory!r}.", (name,),
                             "set_scope: int8 data in 'inp', weights in 'wgt', int32 sums in 'acc'")  # fmt: skip
        if not any(name in touched(b) for b, _ in blocks(func.body)):
            continue
        rows = -(-math.prod(map(concrete, buffer.shape)) // design.rows[memory])
        placed[name] = _Placed(memory, used[memory], rows, scope.path)
        used[memory] += rows * math.prod(concrete(lp.extent) for lp in placed[name].threads)
    for memory, rows in used.items():
        if rows > design.depth[memory]:
            names = ", ".join(repr(n) for n, p in placed.items() if p.memory == memory)
            each = design.rows[memory] * (4 if memory == "acc" else 1)
            raise BuildError("vta.memory", f"{names} need {rows * each} bytes of {memory!r}, which has "
                             f"{design.depth[memory] * each}.", (memory,), "smaller tiles, or fewer virtual threads"
                             )  # fmt: skip
    return placed


def _cannot(block: Block, why: str, hint: str) -> BuildError:
    return BuildError("vta.nest", f"The accelerator cannot run {block.name!r}: {why}.", (block.name,), hint)
