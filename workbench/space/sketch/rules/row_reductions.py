"""Rule for what works row by row (softmax, normalisation, reductions along the last axis): one pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from workbench.errors import ScheduleError
from workbench.ir import Affine, Block, Dim, Func, blocks
from workbench.ir.dtypes import itemsize
from workbench.ir.expr import loads
from workbench.ir.poly import normal, product
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps.block_queries import loop_of_axis, missing_axes, points, size_of
from workbench.space.shared_steps.placement import mark, partial_sums
from workbench.space.shared_steps.register_tiles import AT_ONCE, WASTE, open_factors, vector_choices
from workbench.space.sketch.rule_table import Draft, Skip, rule

#: Points of all stages for each thread below which a parallel region is not worth its start: 8192 are half a
#: microsecond to one.
SMALL_WORK = 1 << 13
#: Rows that are worked on together where one alone does not fill the vectors of partial results and is walked along
#: several times: their reductions overlap. Elsewhere one row at a time is faster, by 10 % (rows of 384 and 768) to half
#: (49): what is next in memory is fetched by itself, and one row's lanes are added up in registers.
MAX_ROWS = 8
#: Vectors of partial results of a reduction: more cost more to add up than they gain. Chosen, not measured;
#: `bench_suite` and `bench_space` tell what comes of it.
MAX_PARTIAL = 8
#: Terms of a single row from which on several cores share it. Chosen, not measured; `bench_suite` and `bench_space`
#: tell what comes of it.
LONG_ROW = 1 << 13
#: The next rows may take one part in so many of L2, else they are not fetched ahead. Chosen, not measured.
NEXT_ROWS = 8
#: Bytes of a row and its result up to which fetching the next ones is the first form, where rows fill half of L2: 3 to
#: 18 % faster up to here (rows of 128, 768 and 1000 numbers), a tenth to a half slower for rows of 6,000 and more.
NEAR_ROWS = 8 << 10


@rule("rows", after="winograd")
def rows(draft: Draft, machine: Machine) -> Iterator[Draft]:
    """Take a few rows from the first stage to the last while they are in L1, and reduce them in vectors.

    Applies where every reduction runs along the axis that is contiguous in memory: a few vectors hold partial results
    (``rfactor``), which are added up to one vector and then to one value; the reductions of several rows run side by
    side. Rows that do not fill their vectors are padded with what is neutral. An element-wise stage is computed in the
    loop of the reduction that reads it first. Where L1 does not hold everything, one form fetches the next rows while
    these are worked on, and the lines of their results.
    """
    found, why, made = _row_axes(draft.func), "", False
    for padded in _forms(draft.func, machine):
        work = _Rows(draft.schedule.copy(), machine, *found, padded)
        try:
            work.make()
        except ScheduleError as e:
            why = e.message
            continue
        done, made = work.finished(draft), True
        fetching = work.fetching(done)
        yield from (*fetching, done) if work.near else (done, *fetching)
    if not made:
        raise Skip(why)


def _forms(func: Func, machine: Machine) -> list[bool]:
    """Whether rows are padded to whole vectors: without, with, or both where half vectors divide them."""
    found = {b.name: _along_lanes(b) for b, _ in blocks(func.body) if b.is_reduction}
    lengths = {it.extent for b, _ in blocks(func.body) for it in b.iters if it.name == found.get(b.name)}
    sizes = [n for n in lengths if isinstance(n, int) and n >= 2 * machine.lanes]
    if all(n % machine.lanes == 0 for n in sizes):
        return [False]
    return [True, False] if all(2 * n % machine.lanes == 0 for n in sizes) else [True]


def _row_axes(func: Func) -> tuple[str, dict[str, int]]:
    """The last stage, and its axes over rows, each with how many of its elements belong to one row.

    `Skip` where the function does not work by rows.
    """
    nests = [list(blocks((s,))) for s in func.body]
    if any(len(nest) != 1 or any(lp.kind != "serial" for lp in nest[0][1]) for nest in nests):
        raise Skip("a stage is scheduled already")
    stages = [nest[0][0] for nest in nests]
    reductions = [b for b in stages if b.is_reduction]
    if not reductions:
        raise Skip("nothing is reduced")
    across = next((b for b in reductions if _along_lanes(b) is None), None)
    if across is not None or any(b.guard for b in stages):
        name = "a stage" if across is None else across.name
        raise Skip(f"{name} does not reduce what is contiguous in memory and read once")
    if sum(func.buffer(b.buffer).role == "output" for b in stages) != 1:
        raise Skip("there are several results")
    final, path = nests[-1][0]
    written, groups = {b.buffer for b in reductions}, dict[str, int]()
    if final.is_reduction:
        axes = [it.name for it in final.iters if it.kind == "S"]
    else:
        fewest = min(points(b) for b in stages if b is not final)
        written |= {b.buffer for b in stages if points(b) <= fewest}
        moved = {v for ld in loads(final.value) if ld.buffer in written for x in ld.index for v in x.vars}
        axes = [it.name for it in final.iters if it.name in moved]
        groups = _groups(final, written)
    found = {a: loop_of_axis(final, path, a) for a in axes}
    if None in found.values():
        raise Skip(f"an axis of {final.name} has no loop of its own")
    names = [a for a, lp in found.items() if lp is not None and lp.extent != 1]
    if not found:
        raise Skip("there is one result only")
    if not names and len(reductions) == 1 and points(reductions[0]) >= LONG_ROW:
        raise Skip("there is one row, long enough to be shared out")
    return final.name, {a: groups.get(a, 1) for a in names or list(found)[:1]}


def _along_lanes(block: Block) -> str | None:
    """The reduced axis that is contiguous in what the block reads once, for this one result; None where there is none.

    Other axes may be reduced with it: the channels of a group, say.
    """
    sizes = {it.name: it.extent for it in block.iters if it.kind == "R" and it.extent != 1}
    for ld in (ld for ld, axes in missing_axes(block).items() if not axes and ld.index):
        lane = ld.index[-1].single_var()
        own = [x for x in ld.index for a in sizes if a in x.vars]
        # A window that moves with the results, as over neighbouring channels, is no row.
        if lane in sizes and len(own) == len(sizes) and all(_in_groups(x, sizes) for x in own):
            return lane
    return None


def _longest(sums: list[Block]) -> int:
    """Terms of the longest sum of a row."""
    return max(points(replace(b, iters=tuple(it for it in b.iters if it.kind == "R"))) for b in sums)


def _in_groups(form: Affine, sizes: Mapping[str, Dim]) -> bool:
    """Whether a dimension is walked along one reduced axis, inside of groups that do not overlap."""
    reduced = [a for a in form.vars if a in sizes]
    if len(reduced) != 1 or form.coefficient(reduced[0]) != 1:
        return False
    size = sizes[reduced[0]]
    others = (k for d, k in form.terms if d.var != reduced[0])
    return isinstance(size, int) and all(isinstance(k, int) and k >= size for k in others)


def _groups(block: Block, written: set[str]) -> dict[str, int]:
    """Axes along which several neighbours read the same of some buffers, and how many: channels of a group."""
    read = [d for ld in loads(block.value) if ld.buffer in written for x in ld.index for d, _ in x.terms]
    return {d.var: d.lower for d in read if isinstance(d.lower, int) and d.lower > 1}


@dataclass(slots=True)
class _Rows:
    """Work on one function."""

    s: Schedule
    machine: Machine
    final: str
    own: dict[str, int]
    padded: bool
    known: dict[tuple[str, int], str | int] = field(default_factory=dict)
    held: Dim | None = None
    outer: str = ""
    rows: int = 1
    near: bool = False

    def make(self) -> None:
        """Schedule all stages."""
        stages = [b for b, _ in blocks(self.s.func.body)]
        work = sum(map(points, stages))
        made: dict[str, str] = {}
        sums = [b for b in stages if b.is_reduction]
        short = _longest(sums) <= MAX_PARTIAL * self.machine.lanes and len(sums) > 1
        for b in sums:
            for name, kind in zip(self._partial(b), ("partial", "combine"), strict=False):
                made[name] = kind
        order = [b.name for b, _ in blocks(self.s.func.body)]
        outer = self.outer = self._block_of_rows(MAX_ROWS if short else 1)
        for name in reversed(order[:-1]):
            self.s.compute_at(name, outer)
        reductions = [name for name in order if self.s.func.block(name)[0].is_reduction]
        for name in reductions:
            self._reduce(name, made.get(name, "finish"), short=bool(made))
        for name in order:
            if name not in reductions and not self._join(name, [r for r in reductions if made.get(r) == "partial"]):
                self._vectorise(name)
        if self.machine.threads > 1 and work >= SMALL_WORK * self.machine.threads:
            path = [lp.name for lp in self.s.func.block(self.final)[1]]
            self.s.parallel(*path[: path.index(outer) + 1])

    def finished(self, draft: Draft) -> Draft:
        """The draft with its note and its limit."""
        stages = [b.name for b, _ in blocks(self.s.func.body)]
        text = f"{', '.join(stages)} one after the other on rows of {', '.join(self.own)} that stay in L1"
        text += ", filled up to whole vectors" if self.padded else ""
        out = draft.change("rows", text, self.s, *stages, tag="rows, filled up" if self.padded else "rows")
        if self.held is not None:
            room = self.machine.registers * 3 // 4
            out = out.limit("partial results of all rows fit the registers", room - self.held)
        return replace(out, closed=True)

    def fetching(self, done: Draft) -> list[Draft]:
        """The draft that fetches what comes next, where that is not in L1 already."""
        func = self.s.func
        moved = sum(normal(b.size, func.relations) * itemsize(b.dtype) for b in func.params)
        if not isinstance(moved, int):
            return []
        each = moved // self.rows
        self.near = each <= NEAR_ROWS and moved > self.machine.l2 // 2
        if moved <= self.machine.l1 or each > self.machine.l2 // NEXT_ROWS:
            return []
        s = self.s.copy()
        s.annotate(self.outer, "prefetch", 1)
        s.annotate(self.outer, "prefetch_write", 1)
        reason = f"{moved / 2**20:.1f} MB of rows: {self.outer} fetches the next ones and their results"
        return [done.change("fetch", reason, s, tag="fetch")]

    def _block_of_rows(self, most: int) -> str:
        """Rows outside, up to so many of them in a block; returns the loop over blocks."""
        own = []
        for axis, several in self.own.items():
            loop = self.s.func.block(self.final)[0].env[axis].single_var() or ""
            own.append(self.s.split(loop, [None, several])[0] if several > 1 else loop)
        path = [lp.name for lp in self.s.func.block(self.final)[1]]
        others = [n for n in path if n not in own]
        if path != [*own, *others]:
            self.s.reorder(*own, *others)
        extent = self.s.func.loop(own[-1])[0].extent
        assert isinstance(extent, int)
        self.rows = math.prod(n for lp in own if isinstance(n := self.s.func.loop(lp)[0].extent, int))
        outer, _ = self.s.split(own[-1], open_factors(2, tuple(d for d in divisors(extent) if d <= most)))
        return str(outer)

    def _partial(self, block: Block) -> tuple[str, ...]:
        """Let some vectors hold partial results, where the row is long enough; returns the new blocks."""
        _, path = self.s.func.block(block.name)
        axis = _along_lanes(block)
        assert axis is not None
        lp = loop_of_axis(block, path, axis)
        lanes = self.machine.lanes
        if lp is None or not isinstance(lp.extent, int) or lp.extent < 2 * lanes:
            return ()
        extent = _filled(lp.extent, lanes) if self.padded else lp.extent
        if extent != lp.extent:
            self.s.pad(block.name, axis, extent)
        lane = lanes if extent % lanes == 0 else lanes // 2
        known = self.known.get(("R", extent))
        several = tuple(d for d in divisors(extent // lane) if d <= MAX_PARTIAL)
        factors = [None, known, lane] if known else [*open_factors(2, several), lane]
        partial, combine, self.known["R", extent] = partial_sums(self.s, lp.name, factors)
        return partial, combine

    def _reduce(self, name: str, kind: str, short: bool) -> None:
        """Loops of one step of a reduction: rows, and vectors, side by side inside of what reduces."""
        reduce, spatial = self._own(name)
        if not spatial:
            return
        self.s.reorder(*reduce, *spatial)
        lanes = spatial[-1:] if kind != "finish" else []
        unrolled = [lp for lp in spatial if lp not in lanes]
        for lp in unrolled if kind == "partial" or not short else (*reduce, *unrolled):
            self.s.unroll(lp)
        for lp in lanes:
            self.s.vectorize(lp)
        if kind == "partial":
            self.held = product(self.s.func.loop(lp)[0].extent for lp in unrolled)

    def _join(self, name: str, partial: list[str]) -> bool:
        """Compute an element-wise stage in the loop of the first reduction that reads it, if that is all there is."""
        buffer = self.s.func.block(name)[0].buffer
        read = (r for r in partial if any(ld.buffer == buffer for ld in loads(self.s.func.block(r)[0].value)))
        reader = next(read, None)
        reduce, _ = self._own(reader) if reader is not None else ([], [])
        if not reduce:
            return False
        try:
            made = self.s.compute_at(name, reduce[0])
        except ScheduleError:
            return False
        mark(self.s, made[:-1], made[-1])
        return True

    def _vectorise(self, name: str) -> None:
        """Vectorise the contiguous axis of an element-wise stage, by the same factor in stages of the same length."""
        block, path = self.s.func.block(name)
        last = block.index[-1].single_var() if block.index else None
        lp = None if last is None else loop_of_axis(block, path, last)
        if lp is None or not isinstance(lp.extent, int) or lp.extent < 2:
            return
        known = self.known.get(("S", lp.extent))
        choices = vector_choices(lp.extent, self.machine)
        several = AT_ONCE * self.machine.lanes
        if all(n % self.machine.lanes for n in choices) and lp.extent > several:
            _, lane = self.s.split(lp.name, [None, several], tail="guard")
        else:
            _, lane = self.s.split(lp.name, [None, known] if known else open_factors(2, choices))
            self.known["S", lp.extent] = size_of(self.s.func, lane)
        self.s.vectorize(lane)

    def _own(self, name: str) -> tuple[list[str], list[str]]:
        """Loops that belong to a block alone: those of its sum, and the other ones."""
        block, path = self.s.func.block(name)
        alone = [lp.name for lp in path if [b.name for b, _ in blocks(lp.body)] == [name]]
        sums = block.driving("R")
        return [lp for lp in alone if lp in sums], [lp for lp in alone if lp not in sums]


def _filled(extent: int, lanes: int) -> int:
    """Whole vectors that hold a row, in a number that some accumulators divide."""
    least = -(-extent // lanes)
    near = range(least, max(least, int(extent * (1 + WASTE)) // lanes) + 1)
    return lanes * next((n for n in near if any(n % d == 0 for d in range(3, MAX_PARTIAL + 1))), least)
