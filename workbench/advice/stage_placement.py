"""A stage beside the one that does the work: inlined, brought to where its data are, or run as vectors where it is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from workbench.advice.proposals import Place, Recipe, step_of
from workbench.ir import Block, Load
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.shared_steps.block_queries import consumers, contiguous_loop, is_pointwise, producers, role, suited
from workbench.space.shared_steps.register_tiles import AT_ONCE, MAX_VECTORS, vector_choices
from workbench.target import Target

#: Loops of another statement inside of which a stage is tried: the innermost ones over results, and the outermost.
#: Chosen, not measured; `bench_advice` tells what comes of it.
LEVELS = 2

#: Vectors of a stage up to which it is written out. Chosen, not measured; `bench_advice` tells what comes of it.
BODY = 32


def recipes(s: Schedule, name: str, target: Target) -> Iterator[Recipe]:
    """Yield what to do about a stage, what takes fewest steps first."""
    func = s.func
    block, path = func.block(name)
    mine, users = {lp.name for lp in path}, consumers(func, block)
    made = [b for b in producers(func, block) if b.name != name]
    # A copy on a GPU is what brings data to where many threads read them.
    staging = Machine.of(target).gpu is not None and isinstance(block.value, Load)
    if is_pointwise(block) and role(func, block) == "temp" and users and not staging:
        yield partial(_inline, name=name)
        for other, user in itertools.product(made, users):
            for loop in _levels(s, other, {lp.name for lp in func.block(user.name)[1]}, target):
                yield partial(_inline_behind, name=name, user=user.name, loop=loop, target=target)
    yield partial(vectors, name=name, around="", target=target)
    for other in made if not block.is_reduction else ():
        for loop in _levels(s, other, mine, target):
            yield partial(_placed, step="reverse_compute_at", name=name, loop=loop, target=target)
    for other in users:
        for loop in _levels(s, other, mine, target):
            yield partial(_placed, step="compute_at", name=name, loop=loop, target=target)


def _levels(s: Schedule, other: Block, mine: set[str], target: Target) -> list[str]:
    """Loops of another statement, outside of its sums, in which a stage may stand: the innermost and the outermost."""
    at = Place(s.func, other.name, target)
    if not at.path or at.path[0].name in mine:
        return []
    inside = min((at.names.index(name) for name in at.sums), default=len(at.names) - 1)
    around = [lp.name for lp in at.path[:inside] if lp.kind in ("serial", "parallel") and lp.extent != 1]
    return list(dict.fromkeys([*reversed(around[-LEVELS:]), *around[:LEVELS]]))


def _inline(s: Schedule, name: str) -> str:
    s.compute_inline(name)
    return f"compute_inline {name}"


def _inline_behind(s: Schedule, name: str, user: str, loop: str, target: Target) -> str:
    return f"{_inline(s, name)} + {_placed(s, 'reverse_compute_at', user, loop, target)}"


def _placed(s: Schedule, step: str, name: str, loop: str, target: Target) -> str:
    s.apply(step_of(step, name, loop))
    return " + ".join(filter(None, (f"{step} {name} {loop}", vectors(s, name, loop, target))))


def vectors(s: Schedule, name: str, around: str, target: Target) -> str:
    """Run the loops of a stage inside of one loop ("" for all of them) as vectors, short ones written out; say so."""
    at = Place(s.func, name, target)
    own = at.path[at.names.index(around) + 1 :] if around else at.path
    lanes = suited(Machine.of(target), s.func, at.block).lanes
    lane = contiguous_loop(s.func, at.block, own)
    if lane is None or lane.kind != "serial" or not isinstance(lane.extent, int):
        return ""
    inner = _part(s, lane.name, lane.extent, lanes, target)
    names = [lp.name for lp in s.func.block(name)[1]]
    if behind := names[names.index(inner) + 1 :]:
        s.reorder(*behind, inner)
    s.vectorize(inner)
    size = max(1, int(s.func.loop(inner)[0].extent) // lanes)  # type: ignore[arg-type]
    for lp in reversed(own if around else ()):
        if lp is not lane and isinstance(lp.extent, int) and lp.extent > 1 and size * lp.extent <= BODY:
            s.unroll(lp.name)
            size *= lp.extent
    return f"vectorize {inner}"


def _part(s: Schedule, loop: str, extent: int, lanes: int, target: Target) -> str:
    """Split a few vectors off a loop that is more than that, or no whole ones; return what runs as vectors."""
    if extent <= lanes or (extent <= MAX_VECTORS * lanes and extent % lanes == 0):
        return loop
    several, choices = AT_ONCE * lanes, vector_choices(extent, Machine.of(target))
    size = max((n for n in choices if lanes <= n <= several and n < extent), default=0)
    _, inner = s.split(loop, [None, size]) if size else s.split(loop, [None, several], tail="guard")
    return str(inner)
