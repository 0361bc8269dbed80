"""The rule for products that an instruction computes: tiles of bfloat16 or of bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from workbench.errors import ScheduleError
from workbench.intrinsics import Intrinsic, Mismatch, computes, registry
from workbench.ir import Block, Load, blocks
from workbench.ir.poly import Dim, product
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.shared_steps.block_queries import epilogue, is_padding, role, suited
from workbench.space.shared_steps.register_tiles import open_factors, parallel_limits
from workbench.space.sketch.rule_table import Draft, Skip, rule, untouched
from workbench.space.sketch.rules.pointwise_stages import pointwise

#: Results in registers along one axis that are tried. Chosen, not measured; `bench_tensor` tells what comes of it.
BLOCKS = (1, 2, 3, 4, 6, 8, 12, 16)
#: Times the points that there are which whole tiles may compute, before the instruction is left out. Set so that rows
#: of 7 in tiles of 16 are still tried; they were worth it (`bench_tensor`).
MAX_WASTE = 2.5
#: Calls of the instruction in a row for one result, at least, where the sum goes over panels: each panel reads and
#: writes its results once more. Set by `bench_precision`.
PANEL = 16


@rule("tensorize", after="inline", about=untouched)
def tensorize(draft: Draft, machine: Machine, block: Block) -> list[Draft]:
    """Compute a product in tiles by an instruction of the machine: several times as fast as anything else.

    A block of tiles stays in registers around the sum; blocks are shared out in parallel and may go over panels of the
    sum that stay in cache. The second operand is packed to suit, ahead of time where it is constant, else in a copy;
    axes that are no multiple of the tile are padded.
    """
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
        for columns_inside in (True, False) if _data_first(draft, intrinsic, block) else (False, True):
            try:
                out.append(_Tiles(draft.schedule.copy(), machine, intrinsic, block.name, columns_inside).make(draft))
            except ScheduleError as e:  # axes that the tiles do not suit
                why = f"{intrinsic.name}: {e.message}"
                continue
        if out:
            return out
    raise Skip(why)


def _data_first(draft: Draft, intrinsic: Intrinsic, block: Block) -> bool:
    """Whether the first operand is the larger one, so that it should be read only once."""
    a, b = (draft.func.buffer(computes(intrinsic, draft.func, block)[name].buffer).nbytes for name in "AB")
    return a >= b


@dataclass(slots=True)
class _Tiles:
    """One form; `columns_inside` goes over the columns in the inner of the two loops over blocks. The other one goes
    over blocks of columns outside of everything else, so that what one of them reads of B stays in cache.

    Attributes
    ----------
    i : str or None
        Axis along a column of results; `j` along a row, and `k` that of the sum.
    sizes : dict
        Axis -> extents of the intrinsic's loops along it.
    """

    s: Schedule
    machine: Machine
    intrinsic: Intrinsic
    name: str
    columns_inside: bool
    i: str | None = None
    j: str = ""
    k: str = ""
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    wishes: list[tuple[str, Dim]] = field(default_factory=list)

    def make(self, draft: Draft) -> Draft:
        """Schedule it, with holes for all sizes."""
        s = self.s
        self._find_axes()
        self._copies()
        outer, tile, unrolled = self._cut()
        self._pack()
        for loop in unrolled:
            s.unroll(loop)
        s.tensorize(tile, self.intrinsic.name)
        s, fused = self._fused(outer[-1])
        if self.machine.threads > 1:
            s.parallel(*outer)
        order = "columns" if self.columns_inside else "rows"
        reason = f"{self.name} computes what {self.intrinsic.name} does; blocks go over the {order} first"
        d = draft.change("tensorize", reason, s, self.name, *fused, tag=f"{self.intrinsic.name}, {order} first")
        held = product(s.func.loop(name)[0].extent for name in unrolled)
        d = d.limit("the results fit the registers", self.intrinsic.accumulators - held)
        d = d.limited(parallel_limits(s.func, outer, self.machine, shared_out=False))
        for label, expr in self.wishes:
            d = d.limit(label, expr, wish=True)
        return replace(pointwise(d, self.machine)[0], closed=True)

    @property
    def _block(self) -> Block:
        return self.s.func.block(self.name)[0]

    def _operand(self, name: str) -> Load:
        return computes(self.intrinsic, self.s.func, self._block)[name]

    def _unsuited(self) -> ScheduleError:
        return ScheduleError("tensorize.access", f"{self.name!r} does not read its operands in rows.", (self.name,))

    def _find_axes(self) -> None:
        """Find rows, columns and sum; `ScheduleError` where the block is no such product."""
        block = self._block
        a, b = self._operand("A"), self._operand("B")
        kinds = {it.name: it.kind for it in block.iters}
        in_a, in_b = ({v for x in ld.index for v in x.vars} for ld in (a, b))
        k, j = a.index[-1].single_var(), block.index[-1].single_var()
        rows = [it.name for it in block.iters if it.kind == "S" and it.name in in_a - in_b and it.extent != 1]
        alone = {x.single_var() for x in b.index}
        if k is None or j is None or kinds[k] != "R" or j in in_a or not {k, j} <= alone:
            raise self._unsuited()
        self.i, self.j, self.k = rows[-1] if rows else None, j, k
        of = {it.name: it.kind for it in self.intrinsic.block.iters}
        spatial, reducing = ([lp.extent for lp in self.intrinsic.chain if of[lp.name] == kind] for kind in "SR")
        if spatial[:-1] and self.i is None:
            raise self._unsuited()
        named = {self.i: spatial[:-1], j: spatial[-1:], k: reducing}
        self.sizes = {a: tuple(x for x in n if isinstance(x, int)) for a, n in named.items() if a is not None}

    def _copies(self) -> None:
        """Copy what has to be packed inside the kernel, and pad axes to whole tiles."""
        extents = {it.name: it.extent for it in self._block.iters}
        longer: dict[str, int] = {}
        waste = 1.0
        for axis, parts in self.sizes.items():
            size, n = math.prod(parts), extents[axis]
            assert isinstance(n, int)
            if n % size:
                longer[axis] = -(-n // size) * size
                waste *= longer[axis] / n
        if waste > MAX_WASTE:
            text = f"whole tiles would compute {waste:.1f} times what there is."
            raise ScheduleError("tensorize.access", text, (self.name,))
        for name in ("A", "B"):
            buffer = self._operand(name).buffer
            if self.s.func.buffer(buffer).role != "const" and (longer or name == "B"):
                self.s.cache_read(self.name, buffer)
                self._inline(buffer)
        for axis, extent in longer.items():
            self.s.pad(self.name, axis, extent)

    def _inline(self, buffer: str) -> None:
        """Let the copy of an image that is surrounded with zeros take them in: one copy instead of two."""
        writer = next((b for b, _ in blocks(self.s.func.body) if b.buffer == buffer), None)
        if writer is not None and is_padding(writer):
            self.s.compute_inline(writer.name)

    def _cut(self) -> tuple[list[str], str, tuple[str, ...]]:
        """Split and order the loops; returns those over blocks, the intrinsic's outermost, and those to unroll."""
        block, path = self.s.func.block(self.name)
        mine = {it.name: str(x.single_var()) for it, x in zip(block.iters, block.binds, strict=True)}
        if "None" in mine.values() or any(lp.kind != "serial" for lp in path):
            raise self._unsuited()
        rest = {k: [mine[it.name] for it in block.iters if it.kind == k and it.name not in self.sizes] for k in "SR"}
        levels: list[tuple[str, str, str]] = []
        inner: list[str] = []
        for axis in (self.i, self.j):
            if axis is None:
                continue
            extent = self.s.func.loop(mine[axis])[0].extent
            room = extent // math.prod(self.sizes[axis]) if isinstance(extent, int) else 1
            choices = tuple(n for n in BLOCKS if room % n == 0 and n <= self.intrinsic.accumulators) or (1,)
            out, mid, few, *own = self.s.split(mine[axis], [*open_factors(3, choices), *self.sizes[axis]])
            levels.append((out, mid, few))
            inner += own
            if any(n in choices for n in (2, 3)):
                self.wishes.append(("an operand is used twice", self.s.func.loop(few)[0].extent - 2))
        terms = self.s.func.loop(mine[self.k])[0].extent
        panel, sum_, *own = self.s.split(mine[self.k], [*open_factors(2), *self.sizes[self.k]])
        if isinstance(terms, int):
            most = max(1, terms // (PANEL * math.prod(self.sizes[self.k])))
            self.wishes.insert(0, ("sums stay in registers for long", most - self.s.func.loop(panel)[0].extent))
        outer, middle, few = ([x[n] for x in levels] for n in range(3))
        around = [*rest["S"], *outer]
        if not self.columns_inside:
            middle.reverse()
            around.insert(0, around.pop())
        # The operand that is read only once is shared out, and every thread reads all of the other one.
        first = 1 if not self.columns_inside else len(around) - len(outer) + 1
        shared = product(self.s.func.loop(name)[0].extent for name in around[:first])
        self.wishes.append(("threads share out the outer blocks", shared - self.machine.threads))
        self.s.reorder(*around, panel, *middle, *rest["R"], sum_, *few, *inner, *own)
        return around, inner[0], tuple(few)

    def _pack(self) -> None:
        """Bring the second operand into groups of the sum inside blocks of columns."""
        b = self._operand("B")
        across, along = (next(d for d, x in enumerate(b.index) if axis in x.vars) for axis in (self.j, self.k))
        self.s.transform_layout(b.buffer, across, self.sizes[self.j][-1])
        self.s.transform_layout(b.buffer, along + 1 if along < across else along, self.sizes[self.k][-1], "here")

    def _fused(self, at: str) -> tuple[Schedule, tuple[str, ...]]:
        """Move the only pointwise consumer behind the finished block of results, where that is legal."""
        s = self.s
        user = epilogue(s.func, self._block)
        if user is None or role(s.func, self._block) != "temp":
            return s, ()
        trial = s.copy()
        try:
            trial.reverse_compute_at(user.name, at)
            last = trial.func.block(user.name)[1][-1].name
            if last != at:
                around, lane = trial.split(last, [None, suited(self.machine, s.func, user).lanes])
                trial.unroll(around)
                trial.vectorize(lane)
        except ScheduleError:
            return s, ()
        return trial, (user.name,)
