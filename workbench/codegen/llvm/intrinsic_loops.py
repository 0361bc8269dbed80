"""Loops that an intrinsic computes, and the loops around them that keep its results in registers.

As for other reductions, results stay in registers from the outermost reducing loop on inside of which every spatial
loop is unrolled, here down to the loop of the intrinsic. They are set to 0 before that loop, or read where a loop
around it has begun the sum already, and written after it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from workbench.codegen.constants import Prefetching, Unrolling
from workbench.codegen.llvm.accumulators import begun
from workbench.codegen.llvm.expressions import ExprEmitter
from workbench.codegen.llvm.values import Value, const_of, index
from workbench.codegen.lowering import reducing_loops
from workbench.errors import BuildError
from workbench.intrinsics import Machine, Match, Mismatch, Place, match, registry
from workbench.ir import Affine, Block, Buffer, Const, Dim, For, Func, blocks
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import concrete

Operand: TypeAlias = tuple[tuple[Affine, ...], Buffer, Dim]


@dataclass(frozen=True, slots=True)
class _Group:
    """An intrinsic with the loops from the one that keeps its results in registers down to its own; `outside` are the
    loops around these over which the sum goes too.
    """

    around: tuple[For, ...]
    match: Match
    spatial: tuple[For, ...]
    outside: tuple[str, ...]

    @property
    def count(self) -> int:
        """Results that live at the same time."""
        return math.prod(concrete(lp.extent) for lp in self.spatial)


@dataclass(slots=True)
class TensorEmitter:
    """Emits loops of intrinsics for a `NestEmitter`."""

    ex: ExprEmitter
    _around: set[str] = field(default_factory=set)
    _groups: dict[str, _Group | None] = field(default_factory=dict)
    _pointers: dict[str, Value] = field(default_factory=dict)

    def start(self) -> None:
        """Begin a new nest: what surrounds the intrinsics of the last one does not hold any more."""
        self._around.clear()

    def takes(self, lp: For, reducing: Sequence[str]) -> bool:
        """Whether the loop is one that `emit` handles; `reducing` are the loops around it that reduce."""
        if lp.name not in self._groups:
            self._groups[lp.name] = self._group(lp, reducing)
        return self._groups[lp.name] is not None

    def _group(self, lp: For, reducing: Sequence[str]) -> _Group | None:
        around: list[For] = []
        at = lp
        while at.intrin is None:
            if at.kind not in ("serial", "unroll") or len(at.body) != 1 or not isinstance(at.body[0], For):
                return None
            around.append(at)
            at = at.body[0]
        found = self._match(at)
        reduce = reducing_loops(found.block)
        if lp.intrin is None and lp.name not in reduce:
            return None
        spatial = tuple(x for x in around if x.name not in reduce)
        group = _Group(tuple(around), found, spatial, tuple(n for n in reducing if n in reduce))
        kept = all(x.kind == "unroll" for x in spatial) and group.count <= found.intrinsic.accumulators
        return group if kept else None

    def _match(self, lp: For) -> Match:
        assert lp.intrin is not None
        try:
            return match(registry[lp.intrin], Func("kernel", tuple(self.ex.buffers.values()), (lp,)), lp.name)
        except Mismatch as e:
            raise BuildError(
                "build.tensorize",
                f"{lp.intrin} does not fit loop {lp.name!r} any more: {e.sentence}",
                (lp.name,),
                e.hint,
            ) from e

    def emit(self, lp: For) -> None:
        """Emit a loop that `takes` accepted."""
        group = self._groups[lp.name]
        assert group is not None
        _GroupEmitter(self, group).emit()

    # ---- what implementations ask for (`workbench.intrinsics.Emitter`) ----------------------------------------------

    def declare(self, name: str, text: str) -> None:
        """Put a declaration into the module."""
        self.ex.fb.declare(name, text)

    def effect(self, text: str) -> None:
        """Emit an instruction without a value."""
        self.ex.fb.effect(text)

    def value(self, text: str) -> str:
        """Emit an instruction here and return its value."""
        return self.ex.fb.here(text, "int32", 1).text

    def slot(self, type_: str) -> str:
        """Return the address of a register."""
        return self.ex.fb.alloca(type_).text

    def read(self, place: Place, lanes: int, splat: bool) -> str:
        """Return int32 lanes read at a place."""
        pointer = self._pointers[place.pointer]
        got = self.ex.raw(place.buffer, pointer, "int32", 1 if splat else lanes)
        return self.ex.fb.broadcast(got, lanes).text

    def again(self, value: str, type_: str) -> str:
        """Return the value: a product that was computed before is not computed again."""
        return value

    def around(self, before: str, after: str) -> None:
        """Emit `before` ahead of the nest and `after` at the end of the function."""
        if before not in self._around:
            self._around.add(before)
            self.ex.fb.effect(before, 0)
            self.ex.fb.at_exit(after)

    def place(self, operand: Operand, passing: bool = False) -> Place:
        """Return where an operand lies for the current values of the loops."""
        idx, buffer, row = operand
        pointer = self.ex.address(buffer.name, idx).pointer
        self._pointers[pointer.text] = pointer
        return Place(buffer.name, pointer.text, concrete(row) * itemsize(buffer.dtype), passing)


class _GroupEmitter:
    """Emission of one group."""

    def __init__(self, tensor: TensorEmitter, group: _Group) -> None:
        self.t, self.group = tensor, group
        self.fb, self.env = tensor.ex.fb, tensor.ex.env
        machine = group.match.intrinsic.machine
        assert machine is not None, "what has no machine, no target of LLVM's has"
        self.machine: Machine = machine(tensor, group.count)
        self.result = group.match.block.buffer
        around = [n for n in self.env if n not in {lp.name for lp in group.around}]
        self.passing = {n: bool(around) and self._passes(o, around[-1]) for n, o in group.match.operands.items()}

    def _passes(self, operand: Operand, loop: str) -> bool:
        """Whether the loop around the group moves the operand on, over more of it than the first cache should hold."""
        moving = {v for x in operand[0] for v in x.vars}
        inside = [lp.name for lp in (*self.group.match.loops, *self.group.around)]
        extents = self.t.ex.extents
        size = math.prod(extents[n] for n in (*inside, loop) if n in moving)
        return loop in moving and size * itemsize(operand[1].dtype) > Prefetching.PASSING_BYTES

    def emit(self) -> None:
        name = self.group.match.block.name
        for lp in self.group.match.loops:
            self.env[lp.name] = index(0)
        with self.fb.at(f"init:{name}"):
            self._begin()
        self._loops(self.group.around, 0)
        with self.fb.at(f"stmt:{name}"):
            self._each_result(lambda acc: self.machine.store(acc, self._result()))
        self.t.ex.touch(self.result)
        for lp in (*self.group.match.loops, *self.group.around):
            self.env.pop(lp.name, None)

    def _begin(self) -> None:
        """Bring the results into their registers."""
        load = partial(self._each_result, lambda acc: self.machine.load(acc, self._result()))
        zero = partial(self._each_result, self.machine.zero)
        if not isinstance(self.group.match.block.init, Const):
            load()
            return
        total = begun(self.t.ex, self.group.outside)
        if (known := const_of(total)) is not None:
            (load if known else zero)()
            return
        for compare, run in (("eq", zero), ("ne", load)):
            self.fb.branch(self.fb.pure(f"icmp {compare} i64 {total.text}, 0", "bool", 1, (total,)), run)

    def _result(self) -> Place:
        return self.t.place(self.group.match.operands[self.group.match.intrinsic.block.buffer])

    def _each_result(self, do: Callable[[int], None]) -> None:
        for acc, values in enumerate(itertools.product(*(range(concrete(lp.extent)) for lp in self.group.spatial))):
            for lp, value in zip(self.group.spatial, values, strict=True):
                self.env[lp.name] = index(value)
            do(acc)

    def _loops(self, around: Sequence[For], acc: int) -> None:
        """Emit the loops; `acc` counts the spatial iterations so far in mixed radix."""
        if not around:
            self._call(acc)
            return
        lp, rest = around[0], around[1:]
        extent, spatial = concrete(lp.extent), lp in self.group.spatial
        if lp.kind == "unroll":
            for k in range(extent):
                self.env[lp.name] = index(k)
                self._loops(rest, acc * extent + k if spatial else acc)
            return
        factor = self._factor(lp, rest)

        def run(iv: Value) -> None:
            self.machine.fence()
            for k in range(factor):
                self.env[lp.name] = self.fb.add(iv, index(k))
                self._loops(rest, acc)

        with self.fb.at(lp.name):
            self.fb.loop(index(0), index(extent), factor, run, lp.name)

    def _factor(self, lp: For, rest: Sequence[For]) -> int:
        """How many iterations of an innermost loop make one of the emitted loop."""
        if any(x.kind != "unroll" for x in rest):
            return 1
        calls = math.prod(concrete(x.extent) for x in rest)
        return next((f for f in range(Unrolling.CALLS // calls, 1, -1) if concrete(lp.extent) % f == 0), 1)

    def _call(self, acc: int) -> None:
        result = self.group.match.intrinsic.block.buffer
        with self.fb.at(self.group.match.loops[0].name):
            operands = {
                n: self.t.place(o, self.passing[n]) for n, o in self.group.match.operands.items() if n != result
            }
            self.machine.step(acc, operands)


def by_intrinsic(lp: For, block: Block) -> bool:
    """Whether an intrinsic inside the loop computes the block, and so begins its sums."""
    return any(b.name == block.name and any(x.intrin is not None for x in path) for b, path in blocks((lp,)))
