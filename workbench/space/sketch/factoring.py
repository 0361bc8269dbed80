"""Rules for reductions that leave vectors or cores idle: they reduce in several places and add up afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.func import Func
from workbench.ir.poly import product
from workbench.ir.stmt import Block, For
from workbench.machine_model.parameters import Machine
from workbench.schedule.holes import divisors
from workbench.space.sketch.analysis import (
    axis_loops,
    epilogue,
    lane_axis,
    loop_of_axis,
    main_block,
    operands,
    points,
    role,
    suited,
    whole_loops,
)
from workbench.space.sketch.base import Draft, rule

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Vectors of results that one core needs to keep its multipliers busy: sums wait for their last addition.
BUSY = 8
#: Shorter reductions are not worth a second step.
LONG = 256
#: Most chunks: what is added up afterwards stays small.
MOST_CHUNKS = 256
#: Results that are reduced side by side in vectors.
SIDE_BY_SIDE = 8


@rule("rfactor", after="rows")
def rfactor(draft: Draft, machine: Machine) -> list[Draft]:
    """Cut a long reduction with few results into chunks that are reduced at the same time, and add them up afterwards.

    The chunks are one more axis of the result: cores share them out, and several are in registers at once.
    """
    block = main_block(draft.func)
    if block is None:
        return [draft.skip("rfactor", "nothing is reduced")]
    if block.name in draft.done or not whole_loops(draft.func, block):
        return [draft.skip("rfactor", "another rule has scheduled it", block.name)]
    machine = suited(machine, draft.func, block)
    results = _extent(block, "S")
    loops = [lp for lp in axis_loops(draft.func, block, "R") if isinstance(lp.extent, int)]
    longest = max(loops, key=lambda lp: int(lp.extent), default=None)  # type: ignore[arg-type]
    side = machine.lanes if lane_axis(block) is not None else 1  # else the terms fill the vectors
    if results >= BUSY * side * machine.threads:
        return [draft.skip("rfactor", f"{results} results keep vectors and cores busy", block.name)]
    if longest is None or _extent(block, "R") < LONG or len(divisors(int(longest.extent))) < 3:  # type: ignore[arg-type]
        return [draft.skip("rfactor", "its reduction is short, or cannot be cut", block.name)]
    try:
        made = _chunks(draft, block, longest, machine)
    except ScheduleError as e:
        return [draft.skip("rfactor", e.message, block.name)]
    if results == 1:
        return [made]
    same = draft.skip("rfactor", "this form reduces in one go", block.name)
    return [made, same] if 2 * results < BUSY * side * machine.threads else [same, made]


def _chunks(draft: Draft, block: Block, longest: For, machine: Machine) -> Draft:
    from workbench.schedule import Hole

    s = draft.schedule.copy()
    axis = _contiguous(block) if lane_axis(block) is None else None
    ends = axis is not None and block.env[axis[0]].single_var() == longest.name  # vectors are parts of this axis, too
    lane = _lane(axis[1], machine) if axis is not None and ends else 1
    chunk, *_ = s.split(longest.name, [Hole(), Hole(), lane] if lane > 1 else [Hole(), Hole()])
    name = str(s.rfactor(chunk, 0))
    size = s.func.loop(chunk)[0].extent
    reason = f"{_extent(block, 'S')} results of {_extent(block, 'R')} terms each: {longest.name} is cut into chunks"
    made = draft.change("rfactor", reason, s, blocks=[block.name, name], tag="rfactor")
    return replace(made, focus=name).limit("the chunks are few", MOST_CHUNKS - size)


def _extent(block: Block, kind: str) -> int:
    return points(replace(block, iters=tuple(it for it in block.iters if it.kind == kind)))


@rule("lanes", after="rfactor")
def lanes(draft: Draft, machine: Machine) -> list[Draft]:
    """Reduce in vectors where results do not lie side by side but terms do: a convolution to one channel, a product of
    rows.

    Every result has a vector of partial results (``rfactor``), which is added up across its lanes when it is complete;
    several results are reduced side by side, and the stages behind take them from registers.
    """
    block = main_block(draft.func, draft.focus)
    if block is None:
        return [draft.skip("lanes", "nothing is reduced")]
    if block.name in draft.done or not whole_loops(draft.func, block):
        return [draft.skip("lanes", "another rule has scheduled it", block.name)]
    if lane_axis(block) is not None:
        return [draft.skip("lanes", "its results lie side by side", block.name)]
    machine = suited(machine, draft.func, block)
    axis = _contiguous(block)
    if axis is None:
        return [draft.skip("lanes", "its terms do not lie side by side", block.name)]
    lane = _lane(axis[1], machine)
    if 2 * lane < machine.lanes:
        return [draft.skip("lanes", f"{axis[1]} terms that lie side by side fill no vectors", block.name)]
    try:
        return [_Lanes(draft.schedule.copy(), machine, block.name).make(draft, axis[0], lane)]
    except ScheduleError:  # accesses take an axis of the results apart, as those of a transposed convolution
        return [_apart(draft, block.name, axis[0], lane)]


def _apart(draft: Draft, name: str, axis: str, lane: int) -> Draft:
    """Vectors of partial results in a nest of their own, which are added up in another."""
    s = draft.schedule.copy()
    try:
        partial = partial_sums(s, name, axis, lane)
    except ScheduleError as e:
        return draft.skip("lanes", e.message, name)
    reason = f"terms of {name} lie side by side along {axis}: vectors of partial results, added up afterwards"
    return replace(draft.change("lanes", reason, s, blocks=[name, partial], tag="lanes"), focus=partial)


def partial_sums(s: Schedule, name: str, axis: str, lane: int) -> str:
    """Let a vector hold partial results of a block; returns the new block."""
    block, path = s.func.block(name)
    lp = loop_of_axis(block, path, axis)
    assert lp is not None
    one = lp.name if lp.extent == lane else s.split(lp.name, [None, lane])[-1]
    return str(s.rfactor(one, -1))


def _lane(extent: int, machine: Machine) -> int:
    """The largest part of a register that divides an extent."""
    return max(d for d in divisors(extent) if d <= machine.lanes)


def _contiguous(block: Block) -> tuple[str, int] | None:
    """Reduction axis along which the operands are contiguous, with its extent; the longest one."""
    extents = {it.name: it.extent for it in block.iters if it.kind == "R"}
    found = [v for ld in operands(block) if ld.index for v in ld.index[-1].vars if ld.index[-1].coefficient(v) == 1]
    sizes = {v: n for v in found if isinstance(n := extents.get(v), int)}
    return max(sizes.items(), key=lambda x: x[1], default=None)


@dataclass(slots=True)
class _Lanes:
    """Work on one function, for block `name`."""

    s: Schedule
    machine: Machine
    name: str

    def make(self, draft: Draft, axis: str, lane: int) -> Draft:
        """Schedule it, with holes for all sizes but the vectors'."""
        s = self.s
        follow = self._follow(s.func)
        partial = partial_sums(s, self.name, axis, lane)
        outer, middle, few = self._results(follow or self.name)
        at = (*outer, *middle)[-1]
        if follow:
            s.compute_at(self.name, at)
        s.compute_at(partial, at)
        block, path = s.func.block(partial)
        own = path[[lp.name for lp in path].index(at) + 1 :]
        sums = [lp.name for lp in own if lp.name in _driven(block, "R")]
        side = [lp.name for lp in own if lp.name in _driven(block, "S")]
        side, vector = side[:-1], side[-1]
        s.reorder(*sums, *side, vector)
        self._finish(self.name, at, few if not follow else [])
        if follow:
            for lp in few:
                s.unroll(lp)
        reason = f"terms of {self.name} lie side by side along {axis}, its results do not"
        made = draft.change("lanes", reason, s, self.name, partial, *([follow] if follow else []), tag="lanes")
        made = replace(
            made, main=partial, outer=tuple(outer), middle=tuple(middle), tile=(*side, vector), unrolled=tuple(side)
        )
        tasks = product(s.func.loop(n)[0].extent for n in outer)
        return made.limit("there is work for every thread", tasks - self.machine.threads, wish=True)

    def _follow(self, func: Func) -> str | None:
        """Pointwise stage that takes the results, if it is the only one that does."""
        block, _ = func.block(self.name)
        user = epilogue(func, block)
        return None if user is None or role(func, block) != "temp" else user.name

    def _results(self, root: str) -> tuple[list[str], list[str], list[str]]:
        """Cut the loops over results: blocks, what is inside of them, and those that are reduced side by side."""
        from workbench.schedule import Hole

        block, path = self.s.func.block(root)
        spatial = [lp for lp in path if lp.name in _driven(block, "S")]
        sums = [lp.name for lp in path if lp.name in _driven(block, "R")]
        single = [lp.name for lp in spatial if lp.extent == 1]
        long = [lp for lp in spatial if lp.extent != 1]
        if not long:
            raise ScheduleError("sketch.results", "There is one result only.", (root,))
        parts = [self.s.split(lp.name, [Hole(), Hole()]) for lp in long[:-1]]
        several = [d for d in divisors(n) if d <= SIDE_BY_SIDE] if isinstance(n := long[-1].extent, int) else []
        inner = [Hole(choices=tuple(several))] if several else []
        parts.append(self.s.split(long[-1].name, [Hole(), Hole(), *inner]))
        outer, middle = [*single, *(p[0] for p in parts)], [p[1] for p in parts]
        few = list(parts[-1][2:]) or [middle.pop()]  # the number of chunks is open, and so are its parts
        self.s.reorder(*outer, *middle, *sums, *few)
        return outer, middle, few

    def _finish(self, name: str, at: str, few: list[str]) -> None:
        """Add up across the lanes, all results of a tile at once."""
        _, path = self.s.func.block(name)
        names = [lp.name for lp in path]
        for lp in dict.fromkeys([*names[names.index(at) + 1 :], *few]):
            self.s.unroll(lp)


def _driven(block: Block, kind: str) -> set[str]:
    """Loops that drive axes of a kind."""
    return {v for it, x in zip(block.iters, block.binds, strict=True) if it.kind == kind for v in x.vars}
