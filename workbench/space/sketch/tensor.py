"""The rule for products that an instruction computes: tiles of bfloat16 or of bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.intrinsics import Intrinsic, Mismatch, computes, registry
from workbench.ir.expr import Load
from workbench.ir.poly import product
from workbench.ir.stmt import Block
from workbench.machine_model.parameters import Machine
from workbench.space.sketch.analysis import epilogue, main_block, role, suited
from workbench.space.sketch.base import Draft, rule
from workbench.space.sketch.pointwise import pointwise

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Results in registers along one axis.
BLOCKS = (1, 2, 3, 4, 6, 8, 12, 16)
#: Tiles may compute at most so many times the points that there are: rows of 7 in tiles of 16 are still worth it.
MAX_WASTE = 2.5


@rule("tensorize", after="inline")
def tensorize(draft: Draft, machine: Machine) -> list[Draft]:
    """Compute a product in tiles by an instruction of the machine: several times as fast as anything else.

    A block of tiles stays in registers around the sum; blocks are shared out in parallel and may go over panels of the
    sum that stay in cache. The second operand is packed to suit, ahead of time where it is constant, else in a copy;
    axes that are no multiple of the tile are padded.
    """
    block = main_block(draft.func)
    if block is None:
        return [draft.skip("tensorize", "nothing is reduced")]
    why = "the machine has no instruction for tiles"
    for intrinsic in registry:
        if not machine.isa.issuperset(intrinsic.requires):
            continue
        try:
            computes(intrinsic, draft.func, block)
        except Mismatch:
            why = "no instruction of the machine computes it" if why[:3] == "the" else why
            continue
        out = []
        for columns_inside in (True, False):
            try:
                out.append(_Sketch(draft, machine, intrinsic, block.name, columns_inside).make())
            except ScheduleError as e:  # axes that the tiles do not suit
                why = f"{intrinsic.name}: {e.message}"
                continue
        if out:
            return out
    return [draft.skip("tensorize", why, block.name)]


@dataclass(frozen=True, slots=True)
class _Axes:
    """Axes of the block by their part in the product: a row of results, a column, the sum."""

    i: str | None
    j: str
    k: str


@dataclass(slots=True)
class _Sketch:
    """One form; `columns_inside` goes over the columns in the inner of the two loops over blocks."""

    draft: Draft
    machine: Machine
    intrinsic: Intrinsic
    name: str
    columns_inside: bool

    def make(self) -> Draft:
        """Schedule it, with holes for all sizes."""
        s = self.draft.schedule.copy()
        axes = self._axes(s)
        sizes = self._sizes(axes)
        self._copies(s, axes, sizes)
        outer, tile, unrolled = self._cut(s, axes, sizes)
        self._pack(s, axes, sizes)
        for loop in unrolled:
            s.unroll(loop)
        s.tensorize(tile, self.intrinsic.name)
        fused = self._fuse(s, outer[-1])
        if self.machine.threads > 1:
            s.parallel(*outer)
        return self._limited(s, outer, unrolled, fused)

    # ----- the parts

    def _block(self, s: Schedule) -> Block:
        return s.func.block(self.name)[0]

    def _operand(self, s: Schedule, name: str) -> Load:
        return computes(self.intrinsic, s.func, self._block(s))[name]

    def _axes(self, s: Schedule) -> _Axes:
        """Find rows, columns and sum; `ScheduleError` where the block is no such product."""
        block = self._block(s)
        a, b = self._operand(s, "A"), self._operand(s, "B")
        kinds = {it.name: it.kind for it in block.iters}
        in_a, in_b = ({v for x in ld.index for v in x.vars} for ld in (a, b))
        k, j = a.index[-1].single_var(), block.index[-1].single_var()
        rows = [it.name for it in block.iters if it.kind == "S" and it.name in in_a - in_b and it.extent != 1]
        alone = {x.single_var() for x in b.index}
        if k is None or j is None or kinds[k] != "R" or j in in_a or not {k, j} <= alone:
            raise self._unsuited(block)
        return _Axes(rows[-1] if rows else None, j, k)

    def _unsuited(self, block: Block) -> ScheduleError:
        return ScheduleError("tensorize.access", f"{block.name!r} does not read its operands in rows.", (block.name,))

    def _sizes(self, axes: _Axes) -> dict[str, tuple[int, ...]]:
        """Axis -> extents of the intrinsic's loops along it."""
        kinds = {it.name: it.kind for it in self.intrinsic.block.iters}
        spatial = [lp.extent for lp in self.intrinsic.chain if kinds[lp.name] == "S"]
        reducing = [lp.extent for lp in self.intrinsic.chain if kinds[lp.name] == "R"]
        named = {axes.i: spatial[:-1], axes.j: spatial[-1:], axes.k: reducing}
        if spatial[:-1] and axes.i is None:
            raise self._unsuited(self._block(self.draft.schedule))
        return {a: tuple(x for x in n if isinstance(x, int)) for a, n in named.items() if a is not None}

    def _copies(self, s: Schedule, axes: _Axes, sizes: dict[str, tuple[int, ...]]) -> None:
        """Copy what has to be packed inside the kernel, and pad axes to whole tiles."""
        extents = {it.name: it.extent for it in self._block(s).iters}
        longer: dict[str, int] = {}
        waste = 1.0
        for axis, parts in sizes.items():
            size, n = math.prod(parts), extents[axis]
            assert isinstance(n, int)
            if n % size:
                longer[axis] = -(-n // size) * size
                waste *= longer[axis] / n
        if waste > MAX_WASTE:
            text = f"whole tiles would compute {waste:.1f} times what there is."
            raise ScheduleError("tensorize.access", text, (self.name,))
        for name in ("A", "B"):
            buffer = self._operand(s, name).buffer
            if s.func.buffer(buffer).role != "const" and (longer or name == "B"):
                s.cache_read(self.name, buffer)
        for axis, extent in longer.items():
            s.pad(self.name, axis, extent)

    def _cut(
        self, s: Schedule, axes: _Axes, sizes: dict[str, tuple[int, ...]]
    ) -> tuple[list[str], str, tuple[str, ...]]:
        """Split and order the loops; returns those over blocks, the intrinsic's outermost, and those to unroll."""
        from workbench.schedule import Hole

        block, path = s.func.block(self.name)
        driven = {it.name: x.single_var() for it, x in zip(block.iters, block.binds, strict=True)}
        if None in driven.values() or any(lp.kind != "serial" for lp in path):
            raise self._unsuited(block)
        mine = {axis: str(loop) for axis, loop in driven.items()}
        kinds = {it.name: it.kind for it in block.iters}
        rest = {k: [mine[a] for a in kinds if kinds[a] == k and a not in (axes.i, axes.j, axes.k)] for k in "SR"}
        levels: list[tuple[str, str, str]] = []
        inner: list[str] = []
        for axis in (axes.i, axes.j):
            if axis is None:
                continue
            extent = s.func.loop(mine[axis])[0].extent
            room = extent // math.prod(sizes[axis]) if isinstance(extent, int) else 1
            choices = tuple(n for n in BLOCKS if room % n == 0 and n <= self.intrinsic.accumulators) or (1,)
            out, mid, few, *own = s.split(mine[axis], [Hole(), Hole(), Hole(choices=choices), *sizes[axis]])
            levels.append((out, mid, few))
            inner += own
        panel, sum_, *own = s.split(mine[axes.k], [Hole(), Hole(), *sizes[axes.k]])
        outer, middle, few = ([x[n] for x in levels] for n in range(3))
        if not self.columns_inside:
            middle.reverse()
        s.reorder(*rest["S"], *outer, panel, *middle, *rest["R"], sum_, *few, *inner, *own)
        return [*rest["S"], *outer], inner[0], tuple(few)

    def _pack(self, s: Schedule, axes: _Axes, sizes: dict[str, tuple[int, ...]]) -> None:
        """Bring the second operand into groups of the sum inside blocks of columns."""
        b = self._operand(s, "B")
        named = [x.vars for x in b.index]
        across = next(d for d, v in enumerate(named) if axes.j in v)
        s.transform_layout(b.buffer, across, sizes[axes.j][-1])
        along = next(d for d, v in enumerate(named) if axes.k in v)
        s.transform_layout(b.buffer, along + 1 if along < across else along, sizes[axes.k][-1], "here")

    def _fuse(self, s: Schedule, at: str) -> tuple[str, ...]:
        """Move the only pointwise consumer behind the finished block of results."""
        user = epilogue(s.func, self._block(s))
        if user is None or role(s.func, self._block(s)) != "temp":
            return ()
        trial = s.copy()
        try:
            trial.reverse_compute_at(user.name, at)
            last = trial.func.block(user.name)[1][-1].name
            if last != at:
                trial.vectorize(trial.split(last, [None, suited(self.machine, s.func, user).lanes])[-1])
        except ScheduleError:
            return ()
        for step in trial.trace[len(s.trace) :]:
            s.apply(step)
        return (user.name,)

    def _limited(self, s: Schedule, outer: list[str], unrolled: tuple[str, ...], fused: tuple[str, ...]) -> Draft:
        order = "columns" if self.columns_inside else "rows"
        reason = f"{self.name} computes what {self.intrinsic.name} does; blocks go over the {order} first"
        d = self.draft.change("tensorize", reason, s, self.name, *fused, tag=f"{self.intrinsic.name}, {order} first")
        held = product(s.func.loop(name)[0].extent for name in unrolled)
        d = d.limit("the results fit the registers", self.intrinsic.accumulators - held)
        if self.machine.threads > 1:
            tasks = product(s.func.loop(name)[0].extent for name in outer)
            d = d.limit("there is work for every thread", tasks - self.machine.threads, wish=True)
        return replace(pointwise(d, self.machine)[0], closed=True)
