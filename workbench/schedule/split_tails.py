"""Splitting a loop by factors that do not divide its extent: under a condition, or with a nest for the rest."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.errors import WorkbenchError
from workbench.ir import Affine, Block, Bound, Buffer, Dim, For, Func, Iter, Load, Note, Stmt, blocks, loops
from workbench.ir.poly import equal, nonneg
from workbench.ir.stmt import map_block, map_block_loads, rewrite
from workbench.schedule import legality
from workbench.schedule.nest_rewrites import fresh_names, replace_loop, split_loop
from workbench.schedule.refusal import refuse


@dataclass(frozen=True, slots=True)
class _Part:
    """Axis of which a loop is the outermost part, and by how much one iteration moves it."""

    axis: Iter
    step: Dim


def split_guarded(func: Func, loop: str, names: Sequence[str], factors: Sequence[int], total: int) -> Func:
    """Split a loop into more iterations than it has; what is inside runs only where they exist.

    Raises
    ------
    ScheduleError
        "split.tail" when a block inside cannot tell from its axes which iteration it is in.
    NotRadix
    """
    lp, path = func.loop(loop)
    parts = {b.name: part_of(func, b, (*path, lp, *inner), loop) for b, inner in blocks(lp.body)}
    for name, part in parts.items():
        if part is None:
            _refuse_tail(func, name, loop, "a condition on its axes cannot say where the rest ends")

    def guarded(s: Stmt) -> tuple[Stmt, ...] | None:
        part = parts.get(s.name) if isinstance(s, Block) else None
        if not isinstance(s, Block) or part is None:
            return None
        bound = Bound(Affine.var(part.axis.name), 0, part.axis.extent)
        return (replace(s, guard=tuple(dict.fromkeys((*s.guard, bound)))),)

    grown = replace(lp, extent=total, body=rewrite(lp.body, guarded))
    func = func.with_body(replace_loop(func.body, loop, lambda _: (grown,)))
    return split_loop(func, loop, names, factors)


def split_peeled(
    func: Func, loop: str, names: Sequence[str], factors: Sequence[int], whole: int, rest: int
) -> tuple[Func, str]:
    """Split the first `whole` iterations of a loop, and put the `rest` into a loop of their own right after it.

    Returns
    -------
    Func, str
        The function and the name of the loop for the rest.

    Raises
    ------
    ScheduleError
        "split.tail", "split.peel", "index.affine"
    NotRadix
    """
    lp, path = func.loop(loop)
    own = {b.buffer for b, _ in blocks(lp.body) if legality.private(func, b.buffer, loop)}
    own -= {b.buffer for b, _ in blocks(lp.body) if loop in legality.reduction_loops(b)}
    parts: dict[str, _Part | None] = {}
    for b, inner in blocks(lp.body):
        part = part_of(func, b, (*path, lp, *inner), loop)
        if b.buffer not in own:
            if part is None:
                _refuse_tail(func, b.name, loop, "its part in the rest is not a part of one axis")
            _check_apart(func, b, lp)
            parts[b.name] = part
        else:
            parts[b.name] = None  # a temporary of the loop: both nests compute what they need
    tail, buffers = _rest(func, lp, parts, sorted(own), whole, rest)

    def main(s: Stmt) -> tuple[Stmt, ...] | None:
        part = parts.get(s.name) if isinstance(s, Block) else None
        if not isinstance(s, Block) or part is None:
            return None
        return (_shrunk(s, part, part.step * whole),)

    head = replace(lp, extent=whole, body=rewrite(lp.body, main))
    func = func.with_buffers(buffers)
    func = func.with_body(replace_loop(func.body, loop, lambda _: (head, tail)))
    return split_loop(func, loop, names, factors), tail.name


def _rest(
    func: Func, lp: For, parts: Mapping[str, _Part | None], own: Sequence[str], whole: int, rest: int
) -> tuple[For, list[Buffer]]:
    """The nest for the rest, and the temporaries of its own."""
    inner = [x.name for x, _ in loops(lp.body)]
    old = [lp.name, *inner, *parts, *(n for n in own if n not in parts)]
    new = dict(enumerate(fresh_names(func, [f"{n}.rest" for n in old])))
    rename = {n: new[k] for k, n in enumerate(old[: 1 + len(inner)])}
    # A temporary is called like the block that makes it, where it was before.
    others = {n: new[k] for k, n in enumerate(old) if k > len(inner)}
    block_names, temps = {n: others[n] for n in parts}, {n: others[n] for n in own}
    env = {n: Affine.var(m) for n, m in rename.items()}
    env[lp.name] = env[lp.name] + whole
    units = {x.note("block") for x, _ in loops(func.body)}

    def load(ld: Load) -> Load:
        return replace(ld, buffer=temps.get(ld.buffer, ld.buffer))

    def fn(s: Stmt) -> tuple[Stmt, ...]:
        if isinstance(s, For):
            return (replace(s, name=rename[s.name], notes=_notes_of_rest(s, units)),)
        part = parts[s.name]
        if part is None:
            s = map_block(s, lambda a: a.subst(env))
        else:
            s = _moved(s, part, part.step * whole, part.step * rest, {**env, lp.name: Affine.var(rename[lp.name])})
        buffer = temps.get(s.buffer, s.buffer)
        return (replace(map_block_loads(s, load), name=block_names[s.name], buffer=buffer),)

    tail = replace(lp, name=rename[lp.name], extent=rest, body=rewrite(lp.body, fn))
    return tail, [replace(func.buffer(n), name=m) for n, m in temps.items()]


def _notes_of_rest(lp: For, units: set[int | str | None]) -> tuple[Note, ...]:
    """Notes of a loop in the rest: a unit there is another one, with a name that is not among `units` yet."""
    name = lp.note("block")
    if name is None:
        return lp.notes
    names = (f"{name}.rest" if k == 0 else f"{name}.rest_{k}" for k in itertools.count())
    new = next(n for n in names if n not in units)
    units.add(new)
    return tuple((key, new if key == "block" else value) for key, value in lp.notes)


def _moved(block: Block, part: _Part, start: Dim, extent: Dim, env: Mapping[str, Affine]) -> Block:
    """The block on the part of its axis from `start` on; a reduction goes on there."""
    axis = part.axis.name
    shift = {axis: Affine.var(axis) + start}
    block = map_block(block, lambda a: a.subst(env), lambda a: a.subst(shift))
    block = _shrunk(block, part, extent)
    return replace(block, init=block.own_load()) if part.axis.kind == "R" else block


def _shrunk(block: Block, part: _Part, extent: Dim) -> Block:
    iters = (Iter(it.name, extent, it.kind) if it.name == part.axis.name else it for it in block.iters)
    return replace(block, iters=tuple(iters))


def part_of(func: Func, block: Block, path: Sequence[For], loop: str) -> _Part | None:
    """Axis of which the loop is the outermost part; None when there is none, or more than one."""
    driven = [(it, b) for it, b in zip(block.iters, block.binds, strict=True) if loop in b.vars]
    if len(driven) != 1:
        return None
    it, bind = driven[0]
    digits = [(d, c) for d, c in bind.terms if d.var == loop]
    if len(digits) != 1 or not digits[0][0].plain:
        return None
    extents, step = legality.extents_of(path), digits[0][1]
    lo, hi = legality.form_range(bind - Affine((digits[0],)), extents, func.relations)
    alone = nonneg(lo, func.relations) and nonneg(step - 1 - hi, func.relations)
    return _Part(it, step) if alone and equal(step * extents[loop], it.extent, func.relations) else None


def _check_apart(func: Func, block: Block, lp: For) -> None:
    """Refuse when the loop holds a reader of what it writes for others too: the reader would come between."""
    readers = [b.name for b, _ in blocks(lp.body) if b.name != block.name]
    readers = [n for n in readers if block.buffer in legality.reads(func.block(n)[0])]
    others = [b.name for b, _ in legality.writers(func, block.buffer) if b.name != block.name]
    inside = [b.name for b, _ in blocks(lp.body)]
    others = [n for n in others if n in inside]
    if readers or others:
        refuse(
            "split.peel",
            f"{(readers or others)[0]!r} uses {block.buffer!r} in loop {lp.name!r} beside {block.name!r}, and so does "
            "what lies outside; a nest for the rest would come between them.",
            (lp.name, block.name, *readers, *others),
            "split with a guard instead, or pad the axis",
        )


def _refuse_tail(func: Func, block: str, loop: str, why: str) -> None:
    b, _ = func.block(block)
    forms = [f"{it.name} = {x}" for it, x in zip(b.iters, b.binds, strict=True) if loop in x.vars]
    refuse(
        "split.tail",
        f"Loop {loop!r} is not the outermost part of one axis of block {block!r} "
        f"({', '.join(forms) or 'it moves none'}), so {why}.",
        (loop, block),
        "split the outer loop with the tail, or pad the axis",
    )


def even_so(func: Func, step: Any) -> str:
    """Name, for the end of a hint, the tails with which a split by numbers that do not divide would be legal."""
    does = {"guard": "leaves out what is too much by a condition", "peel": "gives the rest a nest of its own"}
    hints = ""
    for tail, what in does.items():
        try:
            replace(step, tail=tail).check(func)
        except WorkbenchError:
            continue
        hints += f'; the tail "{tail}" {what}'
    return hints
