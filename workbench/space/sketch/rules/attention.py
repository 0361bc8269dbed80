"""Rule for attention in one nest: scores, their softmax and the product with the values, block of queries by block."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.errors import ScheduleError
from workbench.ir import Block, Func, Load, blocks
from workbench.ir.dtypes import itemsize
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps import placement, register_tiles
from workbench.space.shared_steps.block_queries import (
    consumers,
    has_reuse,
    is_pointwise,
    lane_axis,
    loop_of_axis,
    loops_inside,
    operands,
    producers,
    role,
    size_of,
)
from workbench.space.sketch.rule_table import Draft, Skip, rule

#: Rows of a register tile: each holds some vectors of the product beside it, and all share those of the operand.
ROWS = range(4, 13)
#: Rows of a strip, at least: keys and values pass from L2 once for each strip.
STRIP = 16
#: Vectors of a row that a product takes at a time, at most.
MAX_VECTORS = 6
#: Vectors of partial results of the two row reductions. Two or four made no difference.
PARTIAL = 2
#: Rows of scores may take one part in so many of L2: keys, values and two more forms of them lie beside.
PART = 8


@rule("attention", after=None)
def attention(draft: Draft, machine: Machine) -> list[Draft]:
    """Take a few queries from their scores to their results while the scores are in L2.

    Applies where one product is computed from the rows that a softmax has made of another product. What is element by
    element between them joins the first one's tiles; keys that are read across their lines are copied the other way
    round for each parallel block of queries.
    """
    work = _Attention(draft.schedule.copy(), machine, *_products(draft.func))
    try:
        limits = work.make()
    except ScheduleError as e:
        raise Skip(e.message) from e
    names = [b.name for b, _ in blocks(work.s.func.body)]
    reason = f"scores of {work.scores} stay in L2 until {work.values} has read them"
    done = draft.change("attention", reason, work.s, *names, tag="attention").limited(limits)
    return [replace(done, closed=True)]


def _products(func: Func) -> tuple[str, str]:
    """The product that makes scores, and the one that reads what became of them."""
    nests = [list(blocks((s,))) for s in func.body]
    if any(len(nest) != 1 or any(lp.kind != "serial" for lp in nest[0][1]) for nest in nests):
        raise Skip("a stage is scheduled already")
    stages = [nest[0][0] for nest in nests]
    products = [b for b in stages if has_reuse(b)]
    if len(products) != 2 or products[1] is not stages[-1] or sum(b.is_reduction for b in stages) != 4:
        raise Skip("it is no product of the softmax of another product")
    first, last = products
    if role(func, first) != "temp" or lane_axis(first) is None or lane_axis(last) is None:
        raise Skip("results of a product do not lie side by side")
    made = {b.name for b in producers(func, last)}
    if not any(b.name in made and is_pointwise(b) for b in stages):
        raise Skip("no stage makes rows of what the second product reads")
    return first.name, last.name


@dataclass(slots=True)
class _Attention:
    """Work on one function."""

    s: Schedule
    machine: Machine
    scores: str
    values: str

    def make(self) -> list[register_tiles.Limit]:
        """Schedule all stages; returns what the open numbers have to fulfil."""
        s = self.s
        self._inline()
        sums = {b.name: self._partial(b) for b, _ in blocks(s.func.body) if b.is_reduction and not has_reuse(b)}
        turned = self._turned(s.func.block(self.scores)[0])
        copy = str(s.cache_read(self.scores, turned.buffer)) if turned is not None else None
        outer, strip, tile = self._blocks_of_queries()
        order = [b.name for b, _ in blocks(s.func.body)]
        for name in reversed(order[:-1]):
            if name != copy:
                s.compute_at(name, strip)
        rows = size_of(s.func, tile[0])
        first = self._scores(strip, rows)
        width = size_of(s.func, first[-1])
        if copy is not None and turned is not None:
            dim = next(d for d, x in enumerate(turned.index) if lane_axis(s.func.block(self.scores)[0]) in x.vars)
            placement.place_copy(s, copy, dim, width, outer[-1])
        for name, (partial, combine) in sums.items():
            self._reduce(strip, rows, name, partial, combine)
        for name in order[:-1]:
            if name != copy and all(lp.kind == "serial" for lp in loops_inside(s.func, name, strip)):
                self._vectorise(name, strip, width)
        s.parallel(*outer)
        return [*self._limits(outer, strip, tile), *register_tiles.tile_limits(s.func, first, self.machine, 1)]

    def _inline(self) -> None:
        """Element-wise stages between the first product and what reads its rows become one."""
        for b, _ in reversed(list(blocks(self.s.func.body))):
            users = consumers(self.s.func, b)
            if is_pointwise(b) and len(users) == 1 and is_pointwise(users[0]) and users[0].index == b.index:
                self.s.compute_inline(b.name)

    def _partial(self, block: Block) -> tuple[str, str]:
        """Some vectors of partial results of a row."""
        path = self.s.func.block(block.name)[1]
        axis = next(it.name for it in block.iters if it.kind == "R")
        lp, lanes = loop_of_axis(block, path, axis), self.machine.lanes
        if lp is None or not isinstance(lp.extent, int) or lp.extent % (PARTIAL * lanes):
            raise Skip(f"rows of {block.name} are no whole vectors")
        partial, combine, _ = placement.partial_sums(self.s, lp.name, [None, PARTIAL, lanes])
        return partial, combine

    def _turned(self, block: Block) -> Load | None:
        """The operand that the first product reads across its lines, if it does."""
        axis = lane_axis(block)
        return next((ld for ld in operands(block) if any(axis in x.vars for x in ld.index[:-1])), None)

    def _blocks_of_queries(self) -> tuple[list[str], str, list[str]]:
        """Cut the queries into parallel blocks, strips and rows of a tile; returns these loops and the tile's."""
        s, (block, path) = self.s, self.s.func.block(self.values)
        lane, sums = lane_axis(block), [it.name for it in block.iters if it.kind == "R"]
        rows = next(ld for ld in operands(block) if not any(lane in x.vars for x in ld.index))
        if len(sums) != 1 or lane is None or len(rows.index) < 2 or rows.index[-1].single_var() != sums[0]:
            raise Skip(f"{block.name} does not sum along rows of {rows.buffer}")
        axes = [it.name for it in block.iters if it.kind == "S" and it.name != lane]
        own, query = {a: loop_of_axis(block, path, a) for a in [*axes, lane, *sums]}, rows.index[-2].single_var()
        if query is None or None in own.values():
            raise Skip(f"{block.name} takes its axes apart")
        loops = {a: lp.name for a, lp in own.items() if lp is not None}
        extent = s.func.loop(loops[query])[0].extent
        assert isinstance(extent, int)
        few = tuple(d for d in divisors(extent) if d in ROWS) or (1,)
        far, strip, near, row = s.split(loops[query], register_tiles.open_factors(4, few))
        across, wide = s.split(loops[lane], register_tiles.open_factors(2, self._widths(loops[lane])))
        lead = [loops[a] for a in axes if a != query]
        s.reorder(*lead, far, strip, near, across, loops[sums[0]], row, wide)
        placement.mark(s, [row], wide)
        return [*lead, far], strip, [row, wide]

    def _widths(self, loop: str) -> tuple[int, ...]:
        extent = self.s.func.loop(loop)[0].extent
        choices = register_tiles.vector_choices(extent, self.machine) if isinstance(extent, int) else ()
        most = MAX_VECTORS * self.machine.lanes
        return tuple(n for n in choices if n <= most)[-3:] or choices[:1]

    def _scores(self, strip: str, rows: int | str) -> list[str]:
        """Tile the first product, and finish its tiles; returns the loops of a tile."""
        s, (block, _) = self.s, self.s.func.block(self.scores)
        inside, sums = [lp.name for lp in loops_inside(s.func, self.scores, strip)], block.driving("R")
        lane, query = self._moved(block, inside, -1), self._moved(block, inside, -2)
        across, wide = s.split(lane, register_tiles.open_factors(2, self._widths(lane)))
        near, row = s.split(query, [None, rows])
        rest = [n for n in inside if n not in (lane, query, *sums)]
        s.reorder(*rest, across, near, *(n for n in inside if n in sums), row, wide)
        user = consumers(s.func, s.func.block(self.scores)[0])
        if len(user) == 1 and is_pointwise(user[0]) and user[0].index == block.index:
            placement.finish(s, user[0].name, near, wide, unrolled=True)
        placement.mark(s, [row], wide)
        return [row, wide]

    @staticmethod
    def _moved(block: Block, inside: list[str], dim: int) -> str:
        """Loop inside of a strip that moves a dimension of what the block writes."""
        form = block.index[dim].subst(block.env)
        found = next((n for n in reversed(inside) if form.coefficient(n) == 1), None)
        if found is None:
            raise Skip(f"{block.name} takes its axes apart")
        return found

    def _reduce(self, strip: str, rows: int | str, name: str, partial: str, combine: str) -> None:
        """Loops of a row reduction: several rows and vectors side by side; what only it reads joins it."""
        s = self.s
        sums, (*lead, query, vectors, lane) = self._own(partial, strip)
        near, row = s.split(query, [None, rows])
        s.reorder(near, *sums, *lead, row, vectors, lane)
        placement.mark(s, [*lead, row, vectors], lane)
        sums, spatial = self._own(combine, strip)
        s.reorder(*spatial[:-1], *sums, spatial[-1])
        placement.mark(s, sums, spatial[-1])
        for loop in self._own(name, strip)[0]:
            s.unroll(loop)
        self._join(partial)

    def _join(self, partial: str) -> None:
        """Compute the element-wise stage that a row reduction reads in its loop, where it reads this row's result."""
        s, (block, path) = self.s, self.s.func.block(partial)
        for made in producers(s.func, block):
            if is_pointwise(made) and any(b.is_reduction and not has_reuse(b) for b in producers(s.func, made)):
                along = next(lp.name for lp in path if lp.name in block.driving("R"))
                loops = s.compute_at(made.name, along)
                placement.mark(s, loops[:-1], loops[-1])

    def _own(self, name: str, strip: str) -> tuple[list[str], list[str]]:
        """Loops of a stage inside of a strip: those of its sum, and the other ones."""
        sums = self.s.func.block(name)[0].driving("R")
        inside = [lp.name for lp in loops_inside(self.s.func, name, strip)]
        return [n for n in inside if n in sums], [n for n in inside if n not in sums]

    def _vectorise(self, name: str, strip: str, width: int | str) -> None:
        """Vectors along the rows of an element-wise stage; a stage with one number for each row stays as it is."""
        block, _ = self.s.func.block(name)
        if is_pointwise(block) and len(block.index) == len(self.s.func.block(self.scores)[0].index):
            last = loops_inside(self.s.func, name, strip)[-1]
            self.s.vectorize(self.s.split(last.name, [None, width])[1])

    def _limits(self, outer: list[str], strip: str, tile: list[str]) -> list[register_tiles.Limit]:
        func, machine = self.s.func, self.machine
        _, path = func.block(self.values)
        names = [lp.name for lp in path]
        near = path[names.index(strip) + 1]
        buffer = func.buffer(func.block(self.scores)[0].buffer)
        rows = near.extent * func.loop(tile[0])[0].extent
        held = rows * buffer.shape[-1] * itemsize(buffer.dtype)
        return [
            *register_tiles.tile_limits(func, tile, machine, 1),
            *register_tiles.parallel_limits(func, outer, machine),
            ("rows of scores stay in L2", machine.l2 // PART - held, True),
            ("many rows share what comes from L2", rows - STRIP, True),
        ]
