"""Rule for what works row by row (softmax, normalisation, reductions along the last axis): one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.expr import loads
from workbench.ir.func import Func
from workbench.ir.poly import Dim
from workbench.ir.stmt import Block, For, blocks
from workbench.schedule.holes import divisors
from workbench.tune.machine import Machine
from workbench.tune.sketch.analysis import loop_of_axis, missing_axes, points
from workbench.tune.sketch.base import Draft, rule
from workbench.tune.sketch.tiling import vector_choices

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Rows that are worked on together at most: their reductions overlap.
MAX_ROWS = 8
#: Partial results of a reduction, in vector registers: more of them cost more to add up than they gain.
MAX_PARTIAL = 4
#: Fewer points than this per thread are not worth a parallel region.
SMALL = 2048


@rule("rows")
def rows(draft: Draft, machine: Machine) -> list[Draft]:
    """Take a few rows from the first stage to the last while they are in L1, and reduce them in vectors.

    Applies where every reduction runs along the axis that is contiguous in memory: lanes hold partial results
    (``rfactor``), which are reduced at the end; the reductions of several rows run side by side.
    """
    found = _row_axes(draft.func)
    if found is None:
        return [draft]
    final, own = found
    work = _Rows(draft.schedule.copy(), machine, final, own)
    try:
        work.make()
    except ScheduleError:
        return [draft]
    stages = [b.name for b, _ in blocks(work.s.func.body)]
    text = f"{', '.join(stages)} one after the other on rows of {', '.join(own)} that stay in L1"
    out = draft.change("rows", text, work.s, *stages)
    if work.tile is not None:
        room = machine.registers * 3 // 4 * machine.lanes
        out = out.limit("partial results of all rows fit the registers", room - work.tile)
    return [replace(out, closed=True)]


def _row_axes(func: Func) -> tuple[str, list[str]] | None:
    """The last stage and its axes over rows; None where the function does not work by rows."""
    nests = [list(blocks((s,))) for s in func.body]
    if any(len(nest) != 1 or any(lp.kind != "serial" for lp in nest[0][1]) for nest in nests):
        return None
    stages = [nest[0][0] for nest in nests]
    reductions = [b for b in stages if b.is_reduction]
    if not reductions or not all(_along_lanes(b) for b in reductions) or any(b.guard for b in stages):
        return None
    if sum(func.buffer(b.buffer).role == "output" for b in stages) != 1:
        return None
    final, path = nests[-1][0]
    written = {b.buffer for b in reductions}
    if final.is_reduction:
        axes = [it.name for it in final.iters if it.kind == "S"]
    else:
        fewest = min((b for b in stages if b is not final), key=points)
        written |= {b.buffer for b in stages if points(b) <= points(fewest)}
        moved = {v for ld in loads(final.value) if ld.buffer in written for x in ld.index for v in x.vars}
        axes = [it.name for it in final.iters if it.name in moved]
    found = {a: loop_of_axis(final, path, a) for a in axes}
    if None in found.values():
        return None
    names = [a for a, lp in found.items() if lp is not None and lp.extent != 1]
    return (final.name, names) if names else None


def _along_lanes(block: Block) -> bool:
    """Whether the reduction runs along the contiguous axis of what it reads once, for this one result."""
    reduced = [it.name for it in block.iters if it.kind == "R" and it.extent != 1]
    if len(reduced) != 1:
        return False
    once = [ld for ld, axes in missing_axes(block).items() if not axes]
    return any(ld.index and ld.index[-1].coefficient(reduced[0]) == 1 for ld in once)


@dataclass(slots=True)
class _Rows:
    """Work on one function."""

    s: Schedule
    machine: Machine
    final: str
    own: list[str]
    lanes: dict[int, str | int] = field(default_factory=dict)
    tile: Dim | None = None

    def make(self) -> None:
        """Schedule all stages."""
        stages = [b for b, _ in blocks(self.s.func.body)]
        parts = {b.name: self._partial(b) for b in stages if b.is_reduction}
        size = points(self.s.func.block(self.final)[0])
        outer, inner = self._block_of_rows()
        order = [x for b in stages for x in ((parts[b.name], b.name) if parts.get(b.name) else (b.name,))]
        for name in reversed(order):
            if name != self.final:
                self.s.compute_at(name, outer)
        for name in order:
            if name in parts.values():
                self._reduce_lanes(name, inner)
            elif name in parts:
                self._finish(name, outer, split=parts[name] is not None)
            else:
                self._vectorise(name, outer)
        if self.machine.threads > 1 and size >= SMALL * self.machine.threads:
            path = [lp.name for lp in self.s.func.block(self.final)[1]]
            self.s.parallel(*path[: path.index(outer) + 1])

    def _block_of_rows(self) -> tuple[str, str]:
        """Rows outside, several of them in a block; returns the loop over blocks and the one in a block."""
        from workbench.schedule import Hole

        block, nest = self.s.func.block(self.final)
        path = [lp.name for lp in nest]
        own = [block.env[a].single_var() or "" for a in self.own]
        others = [n for n in path if n not in own]
        if path != [*own, *others]:
            self.s.reorder(*own, *others)
        extent = self.s.func.loop(own[-1])[0].extent
        assert isinstance(extent, int)
        several = tuple(d for d in divisors(extent) if d <= MAX_ROWS)
        outer, inner = self.s.split(own[-1], [Hole(), Hole(choices=several)])
        return outer, inner

    def _partial(self, block: Block) -> str | None:
        """Let lanes hold partial results, where the row is long enough; returns the new block."""
        from workbench.schedule import Hole

        _, path = self.s.func.block(block.name)
        axis = next(it.name for it in block.iters if it.kind == "R" and it.extent != 1)
        lp = loop_of_axis(block, path, axis)
        if lp is None or not isinstance(lp.extent, int) or lp.extent < 2 * self.machine.lanes:
            return None
        extent = lp.extent
        if not _partials(extent, self.machine):  # what lies behind the end is neutral
            extent = -(-extent // self.machine.lanes) * self.machine.lanes
            self.s.pad(block.name, axis, extent)
        known = self.lanes.get(-extent)
        choices = _partials(extent, self.machine)
        _, lane = self.s.split(lp.name, [None, known] if known else [Hole(), Hole(choices=choices)])
        self.lanes[-extent] = _size(self.s.func, lane)
        name: str = self.s.rfactor(lane, -1)
        return name

    def _reduce_lanes(self, name: str, inner: str) -> None:
        """Loops of the partial results: the reduction around unrolled rows and the lanes."""
        block, path = self.s.func.block(name)
        own = self._own(block, path)
        reduce = [lp for it, lp in own if it == "R"]
        spatial = [lp for it, lp in own if it == "S"]
        self.s.reorder(*reduce, *spatial)
        for lp in spatial[:-1]:
            self.s.unroll(lp)
        self.s.vectorize(spatial[-1])
        func = self.s.func
        self.tile = func.loop(spatial[-1])[0].extent * _extent_of_rows(func, spatial[:-1])

    def _finish(self, name: str, outer: str, split: bool) -> None:
        """Add up the lanes: the rows side by side, so that they do not wait for each other."""
        block, path = self.s.func.block(name)
        own = self._own(block, path)
        reduce = [lp for it, lp in own if it == "R"]
        spatial = [lp for it, lp in own if it == "S"]
        if not spatial:
            return
        self.s.reorder(*reduce, *spatial)
        for lp in spatial if not split else (*reduce, *spatial):
            self.s.unroll(lp)

    def _vectorise(self, name: str, outer: str) -> None:
        """Vectorise the contiguous axis of an element-wise stage, by the same factor in stages of the same length."""
        from workbench.schedule import Hole

        block, path = self.s.func.block(name)
        last = block.index[-1].single_var() if block.index else None
        lp = None if last is None else loop_of_axis(block, path, last)
        if lp is None or not isinstance(lp.extent, int) or lp.extent < 2:
            return
        known = self.lanes.get(lp.extent)
        choices = vector_choices(lp.extent, self.machine)
        _, lane = self.s.split(lp.name, [None, known] if known else [Hole(), Hole(choices=choices)])
        self.lanes[lp.extent] = _size(self.s.func, lane)
        self.s.vectorize(lane)

    def _own(self, block: Block, path: tuple[For, ...]) -> list[tuple[str, str]]:
        """Kind and name of the innermost loops that belong to the block alone."""
        kinds = {v: it.kind for it, x in zip(block.iters, block.binds, strict=True) for v in x.vars}
        alone = [lp for lp in path if [b.name for b, _ in blocks(lp.body)] == [block.name]]
        return [(kinds.get(lp.name, "S"), lp.name) for lp in alone]


def _extent_of_rows(func: Func, names: list[str]) -> Dim:
    out: Dim = 1
    for name in names:
        out = out * func.loop(name)[0].extent
    return out


def _size(func: Func, loop: str) -> str | int:
    extent = func.loop(loop)[0].extent
    return extent if isinstance(extent, int) else str(extent)


def _partials(extent: int, machine: Machine) -> tuple[int, ...]:
    """Numbers of partial results worth trying: whole registers, else halves."""
    fitting = [d for d in divisors(extent) if machine.lanes // 2 <= d <= MAX_PARTIAL * machine.lanes]
    whole = tuple(d for d in fitting if d % machine.lanes == 0)
    return whole or tuple(d for d in fitting if 2 * d % machine.lanes == 0)
