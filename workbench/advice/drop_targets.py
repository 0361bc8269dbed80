"""Where a row of the nest may be dropped: the steps that a drag, or the same by keyboard, can mean, all judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workbench.advice.step_legality import at_hand
from workbench.analysis.loop_nest.nest_rows import name_of
from workbench.arguments import is_a, shown
from workbench.errors import InputError, did_you_mean
from workbench.ir import Block, For, Func, blocks, loops
from workbench.ir.stmt import touched as buffers_of
from workbench.schedule import Schedule
from workbench.schedule.legal_moves import Move, judge
from workbench.schedule.primitive import Primitive
from workbench.schedule.primitives.compute_at import ComputeAt, ReverseComputeAt
from workbench.schedule.primitives.fuse_reorder import Reorder

Place = Literal["before", "after", "on"]

#: Places that are judged, those first that are most likely meant. Chosen, not measured.
MOST = 40


@dataclass(frozen=True, slots=True)
class Drop:
    """A place to drop a row on: a loop, on which side of it or into it, and the step that it means."""

    onto: str
    place: Place
    move: Move

    def to_json(self) -> dict[str, Any]:
        """Return the place as the front end reads it."""
        said = self.move.to_json()
        step = {name: said[name] for name in ("primitive", "args")}
        told = {name: said[name] for name in ("legal", "reason", "hint", "where")}
        return {"onto": self.onto, "place": self.place, "step": step, **told, "witness": at_hand(self.move)}


def drops(view: Schedule, row: str) -> tuple[Drop, ...]:
    """Say where a row of the nest can be dropped, and what is in the way elsewhere.

    A loop goes before a loop around it or after one inside it, which is a `reorder` of the loops in between. A
    statement goes into a loop of those that read its result (`compute_at`) or that make what it reads
    (`reverse_compute_at`); so does a loop that holds one statement only, with loops of other statements.

    Parameters
    ----------
    view : Schedule
    row : str
        Id of a row: a loop, ``stmt:BLOCK`` or ``init:BLOCK``. A buffer cannot be moved.

    Returns
    -------
    tuple of Drop
        In the order of the nest, at most `MOST`; illegal ones say why.
    """
    is_a("row", row, str)
    func = view.func
    by_name = {lp.name: (lp, outer) for lp, outer in loops(func.body)}
    stages = {b.name: (b, path) for b, path in blocks(func.body)}
    name = name_of(row)
    found: list[Drop] = []
    if row in by_name:
        loop, outer = by_name[row]
        found += (Drop(onto, place, judge(func, step, view.target)) for onto, place, step in _orders(loop, outer))
        inside = [b for b, _ in blocks((loop,))]
        if len(inside) == 1:
            here = {lp.name for lp in (*outer, *(lp for lp, _ in loops((loop,))))}
            found += _into(view, inside[0], [n for n in by_name if n not in here], MOST - len(found))
    elif name in stages:
        block, path = stages[name]
        shared = [lp.name for lp in path if len(list(blocks((lp,)))) > 1]
        here = {*shared[-1:], *(lp.name for lp in path[len(shared) :])}
        found += _into(view, block, [n for n in by_name if n not in here], MOST)
    elif all(b.name != row for b in func.buffers):
        rows = [*by_name, *(f"stmt:{n}" for n in stages)]
        raise InputError("nest.row", f"The nest has no row {shown(row)}.", (), did_you_mean(row, rows, "rows"))
    places = {n: k for k, n in enumerate(by_name)}
    return tuple(sorted(found[:MOST], key=lambda drop: places[drop.onto]))


def _orders(loop: For, outer: Sequence[For]) -> Iterator[tuple[str, Place, Primitive]]:
    """Every other place among the loops around and inside, the nearest first."""
    around = [lp.name for lp in outer]
    for k in range(len(around) - 1, -1, -1):
        yield around[k], "before", Reorder((loop.name, *around[k:]))
    for lp, path in loops(loop.body):
        yield lp.name, "after", Reorder((*(p.name for p in path), lp.name, loop.name))


def _into(view: Schedule, block: Block, names: Iterable[str], most: int) -> list[Drop]:
    """The loops that a statement could be computed in: first those of statements that it has to do with."""
    func = view.func
    usual = ComputeAt if func.buffer(block.buffer).role == "temp" else ReverseComputeAt
    steps = [(name, _placings(func, block, name)) for name in names]
    steps.sort(key=lambda one: not one[1])
    out: list[Drop] = []
    for name, ways in steps[:most]:
        moves = [judge(func, step, view.target) for step in ways or (usual(block.name, name),)]
        out.append(Drop(name, "on", next((m for m in moves if m.legal), moves[0])))
    return out


def _placings(func: Func, block: Block, loop: str) -> list[Primitive]:
    """What dropping a statement on a loop can mean, by what is read and made inside."""
    others = [b for b, _ in blocks(func.loop(loop)[0].body) if b.name != block.name]
    reads = buffers_of(block) - {block.buffer}
    out: list[Primitive] = []
    if any(block.buffer in buffers_of(b) and b.buffer != block.buffer for b in others):
        out.append(ComputeAt(block.name, loop))
    if any(b.buffer in reads for b in others):
        out.append(ReverseComputeAt(block.name, loop))
    return out
