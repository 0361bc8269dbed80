"""The rule of GPUs for products that tensor cores compute: tiles of a warp, fed through shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.codegen.constants import Device
from workbench.errors import ScheduleError
from workbench.intrinsics import Intrinsic, Mismatch, computes, registry
from workbench.ir import Block, Dim
from workbench.ir.compact_temporaries import compact
from workbench.ir.dtypes import itemsize
from workbench.ir.poly import Poly, normal
from workbench.machine_model.machine_parameters import Gpu, Machine
from workbench.schedule import Hole, Schedule
from workbench.space.shared_steps.block_queries import (
    consumers,
    epilogue,
    is_padding,
    loop_of_axis,
    loops_inside,
    producers,
    role,
)
from workbench.space.shared_steps.register_tiles import extent_of, lengthen, to_copy
from workbench.space.shared_steps.threads import fused
from workbench.space.sketch.rule_table import Draft, Skip, rule, untouched
from workbench.space.sketch.rules.tensorize import MAX_WASTE

#: Elements of a tile along each axis.
SIZE = 16
#: Warps of a block along the rows and the columns of the results, in each form. Chosen, not measured.
WARPS = ((2, 4), (2, 2))
#: Tiles of a warp along one axis, and tiles along the sum between two fetches. Chosen, not measured.
TILES, STEPS = (1, 2, 4), (1, 2, 4)
#: Elements that a thread moves at once, best first.
WIDE = (4, 2, 1)


@rule("gpu_warp_tiles", after="fetch", about=untouched, on="gpu")
def gpu_warp_tiles(draft: Draft, machine: Machine, block: Block) -> Iterator[Draft]:
    """Compute a product of float16 or bfloat16 by tensor cores: a warp has some tiles of 16 by 16 results in registers.

    Blocks of warps fetch what they multiply to shared memory together, panel by panel of the sum. Axes that are no
    multiple of 16 are padded.
    """
    assert machine.gpu is not None
    why = "the device has no instruction for tiles"
    for intrinsic in registry:
        if intrinsic.threads == 1 or not machine.isa.issuperset(intrinsic.requires):
            continue
        try:
            computes(intrinsic, draft.func, block)
        except Mismatch:
            why = "no instruction of the device computes it" if why[:3] == "the" else why
            continue
        made = set[tuple[int, int]]()
        for wanted in WARPS:
            try:
                tiles = _WarpTiles(draft.schedule.copy(), machine.gpu, intrinsic, block.name)
                tiles.prepare(wanted)
                if tiles.warps not in made:
                    yield tiles.make(draft)
                    made.add(tiles.warps)
            except ScheduleError as e:  # operands lie otherwise
                why = f"{intrinsic.name}: {e.message}"
        if made:
            return
    raise Skip(why)


@dataclass(slots=True)
class _WarpTiles:
    """One form.

    Attributes
    ----------
    warps : (int, int)
        Warps of a block along rows and columns.
    axes : (str, str, str)
        Those of rows, of columns and of the sum.
    longer : dict
        Axis -> its padded extent.
    fetches : list of str
        Buffers in shared memory.
    """

    s: Schedule
    gpu: Gpu
    intrinsic: Intrinsic
    name: str
    warps: tuple[int, int] = (1, 1)
    axes: tuple[str, str, str] = ("", "", "")
    longer: dict[str, int] = field(default_factory=dict)
    fetches: list[str] = field(default_factory=list)

    @property
    def _block(self) -> Block:
        return self.s.func.block(self.name)[0]

    def prepare(self, wanted: tuple[int, int]) -> None:
        """Find the axes, pad them to whole tiles, and settle the warps."""
        block = self._block
        a, b = (computes(self.intrinsic, self.s.func, block)[n] for n in "AB")
        kinds = {it.name: it.kind for it in block.iters}
        in_a, in_b = ({v for x in ld.index for v in x.vars} for ld in (a, b))
        k, j = a.index[-1].single_var(), block.index[-1].single_var()
        rows = [it.name for it in block.iters if it.kind == "S" and it.name in in_a - in_b and it.extent != 1]
        if k is None or j is None or kinds[k] != "R" or j in in_a or not rows:
            raise ScheduleError("tensorize.access", f"{self.name!r} does not read its operands in rows.", (self.name,))
        self.axes = (rows[-1], j, k)
        self._pad()
        tiles = [extent_of(self.s.func, self._loop(axis)) // SIZE for axis in self.axes[:2]]
        most = self.gpu.threads // self.intrinsic.threads
        rows_, columns = (
            next(d for d in (4, 2, 1) if d <= n and have % d == 0) for n, have in zip(wanted, tiles, strict=True)
        )
        self.warps = (rows_, columns) if rows_ * columns <= most else (1, 1)

    def _loop(self, axis: str) -> str:
        lp = loop_of_axis(self._block, self.s.func.block(self.name)[1], axis)
        if lp is None or lp.kind != "serial":
            raise ScheduleError("tensorize.access", f"Axis {axis!r} of {self.name!r} has no loop of its own.", (axis,))
        return lp.name

    def _pad(self) -> None:
        block, waste = self._block, 1.0
        sizes, copied = dict[str, int](), dict[str, None]()
        for axis in self.axes:
            loop = self._loop(axis)
            size = extent_of(self.s.func, loop)
            if size % SIZE:
                self.longer[axis] = sizes[loop] = -(-size // SIZE) * SIZE
                waste *= sizes[loop] / size
                copied |= dict.fromkeys(to_copy(self.s.func, block, axis, True))
        if waste > MAX_WASTE:
            text = f"whole tiles would compute {waste:.1f} times what there is."
            raise ScheduleError("tensorize.access", text, (self.name,))
        lengthen(self.s, self.name, sizes, copied)

    def make(self, draft: Draft) -> Draft:
        """Schedule it, with holes for what is left to choose."""
        s, block, path = self.s, *self.s.func.block(self.name)
        own = [self._loop(axis) for axis in self.axes]
        outer, terms = (
            [lp.name for lp in path if lp.name in names and lp.name not in own]
            for names in (block.driving("S"), block.driving("R"))
        )
        (i0, i1, i2, i3), (j0, j1, j2, j3) = (self._cut(own[n], self.warps[n]) for n in (0, 1))
        k0, k1, k2 = s.split(own[2], [Hole(), Hole(choices=self._some(STEPS, own[2], 1)), SIZE])
        s.reorder(*outer, i0, j0, k0, i1, j1, *terms, k1, i2, j2, i3, j3, k2)
        grid = fused(s, [*outer, i0, j0])
        few = s.func.loop(i2)[0].extent * s.func.loop(j2)[0].extent
        s.bind(fused(s, [i1, j1]), "threadIdx.y")
        for name in "AB":
            self._fetch(computes(self.intrinsic, s.func, self._block)[name].buffer, k0)
        s.unroll(i2).unroll(j2)
        s.tensorize(i3, self.intrinsic.name)
        done = [self.name, *self._finish(grid)]
        self.s.bind(grid, "blockIdx.x")
        text = "".join(f"; {axis} is {size} long" for axis, size in self.longer.items())
        reason = f"{self.name} computes what {self.intrinsic.name} does; {' x '.join(map(str, self.warps))} warps{text}"
        tag = f"{self.intrinsic.name}, {self.warps[0]} x {self.warps[1]} warps"
        new = draft.change("gpu_warp_tiles", reason, self.s, *done, tag=tag)
        new = new.limit("the sums fit the registers", self.intrinsic.accumulators - few)
        return new.limit("what is fetched fits shared memory", self._room())

    def _cut(self, loop: str, warps: int) -> tuple[str, ...]:
        choices = self._some(TILES, loop, warps)
        return tuple(self.s.split(loop, [Hole(), warps, Hole(choices=choices), SIZE]))

    def _some(self, wanted: tuple[int, ...], loop: str, warps: int) -> tuple[int, ...]:
        """Those numbers of tiles that divide a loop."""
        there = extent_of(self.s.func, loop) // (SIZE * warps)
        return tuple(n for n in wanted if there % n == 0)

    def _fetch(self, buffer: str, at: str) -> None:
        """Let all threads copy what one step of the sum reads of an operand to shared memory."""
        s, block = self.s, self._block
        made = [b for b in producers(s.func, block) if b.buffer == buffer and is_padding(b)]
        alone = len(made) == 1 and role(s.func, made[0]) == "temp" and len(consumers(s.func, made[0])) == 1
        copy = made[0].name if alone else str(s.cache_read(self.name, buffer))
        s.compute_at(copy, at)
        self._share_out(s, copy, at)
        kept = s.func.block(copy)[0].buffer
        s.set_scope(kept, "shared")
        self.fetches.append(kept)

    def _share_out(self, s: Schedule, name: str, at: str) -> None:
        """Share out the inner loops of an element-wise block to the threads: neighbours to those of a warp."""
        own = [lp.name for lp in loops_inside(s.func, name, at) if lp.extent != 1]
        columns, rows = own[-1], own[-2] if len(own) > 1 else None
        along, across = (1 if loop is None else _divisor(s.func.loop(loop)[0].extent) for loop in (columns, rows))
        _, wide, many, x, y = max(self._shares(along, across))
        far, near, lane = s.split(columns, [None, x, wide])
        threads = [near]
        if rows is not None:
            rest, warp, few = s.split(rows, [None, many, y])
            s.reorder(rest, far, warp, few, near, lane)
            s.bind(warp, "threadIdx.y")
            threads.insert(0, few)
        s.bind(fused(s, threads), "threadIdx.x")
        s.vectorize(lane)

    def _shares(self, along: int, across: int) -> Iterator[tuple[int, int, int, int, int]]:
        """Ways to share out rows of `along` elements, `across` of them: threads in all, elements at once, warps, and
        threads of a warp along a row and across.
        """
        warps, lanes = self.warps[0] * self.warps[1], self.intrinsic.threads
        for wide in (v for v in WIDE if along % v == 0):
            x = _most(lanes, along // wide)
            y = _most(lanes // x, across)
            many = _most(warps, across // y)
            yield x * y * many, wide, many, x, y

    def _finish(self, grid: str) -> tuple[str, ...]:
        """Let the block that has computed the results take an element-wise stage behind, where that is legal."""
        block = self._block
        user = epilogue(self.s.func, block)
        if user is None or role(self.s.func, block) != "temp":
            return ()
        trial = self.s.copy()
        try:
            trial.reverse_compute_at(user.name, grid)
            self._share_out(trial, user.name, grid)
            trial.set_scope(block.buffer, "shared")
        except ScheduleError:
            return ()
        self.s = trial
        self.fetches.append(block.buffer)
        return (user.name,)

    def _room(self) -> Dim:
        """Bytes of shared memory that are left."""
        kept = compact(self.s.func)
        used = sum((kept.buffer(n).size * itemsize(kept.buffer(n).dtype) for n in self.fetches), 0)
        return normal(self.gpu.shared - Device.ALIGN * len(self.fetches) - used, self.s.func.relations)


def _divisor(extent: Dim) -> int:
    """A number that divides an extent, whatever its holes are."""
    if isinstance(extent, Poly):
        return extent.terms[0][1] if len(extent.terms) == 1 else 1
    return extent


def _most(wanted: int, there: int) -> int:
    """The largest part of `wanted` that divides what there is."""
    return next(d for d in range(wanted, 0, -1) if wanted % d == 0 and there % d == 0)
