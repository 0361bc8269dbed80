"""Proposers for a refused step, by the code of the refusal or else by its primitive: what does what was meant."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.advice.proposals import ELSE, Case, Way, proposer, step_of
from workbench.advice.reason_proposers import halves, innermost
from workbench.ir import blocks
from workbench.schedule.holes import divisors
from workbench.schedule.legality import spatial_loops
from workbench.schedule.primitive import registry

SAME = ("compute_at", "reverse_compute_at", "decompose_reduction", "pad", "winograd")
"""Primitives of which another step that names the same block does what was meant."""

#: Iterations of the part that is split off a loop that has too many. Chosen, not measured.
PARTS = 16


def _candidates(case: Case, name: str, block: str) -> Iterator[Way]:
    """Steps of a primitive that are about a block."""
    steps = registry[name].candidates(case.func, case.schedule.target, block)
    return ((step,) for step in steps if step.args.get("block") == block)


# --------------------------------------------------------------------------------------------------- how a loop runs


@proposer("parallel")
def _parallel(case: Case) -> Iterator[Way]:
    """Several cores all the same: partial results for each iteration, the loops around, or another loop outermost."""
    loop = case.row
    open_ = [lp.name for lp in case.path if lp.kind == "serial"]
    outer = [lp.name for lp in case.path[:-1]]
    if case.reduces:
        yield (step_of("rfactor", loop), step_of("parallel", *open_))
        open_ = open_[:-1]
    for k in range(len(open_), 0, -1):
        yield (step_of("parallel", *open_[:k]),)
    if outer and not case.reduces:
        yield (step_of("reorder", loop, *outer), step_of("parallel", loop))
    for block in case.inside:
        names = [lp.name for lp in case.func.block(block.name)[1]]
        for name in names[1:]:
            if name in spatial_loops(block) and name not in (*outer, loop):
                yield (step_of("reorder", name, *names[: names.index(name)]), step_of("parallel", name))


@proposer("vectorize")
def _vectorize(case: Case) -> Iterator[Way]:
    """Vectors all the same: the loop, or another one that moves the result, innermost, whole or a vector of it."""
    loop = case.row
    for block in case.inside:
        path = case.func.block(block.name)[1]
        moving = [lp for lp in reversed(path) if lp.name in spatial_loops(block) and lp.extent != 1]
        for lp in sorted(moving, key=lambda lp: lp.name != loop):
            yield from innermost(case.func, case.target, block, path, lp)
    if case.reduces:
        yield (step_of("rfactor", loop, -1), step_of("vectorize", loop))


@proposer("bind")
def _bind(case: Case) -> Iterator[Way]:
    """Another loop around it for the same part of the device."""
    loop, kind = case.row, case.args["to"]
    for lp in case.path:
        if lp.extent != 1:
            yield (step_of("bind", lp.name, kind),)
    yield (step_of("rfactor", loop), step_of("bind", loop, kind))


@proposer("vectorize.limit", "unroll.limit", "bind.limit")
def _shorter(case: Case) -> Iterator[Way]:
    """The same with a part of a loop that has too many iterations."""
    loop = case.row
    extent, rest = case.func.loop(loop)[0].extent, [v for k, v in case.args.items() if k != "loop"]
    if isinstance(extent, int):
        inner = halves(case.func, loop)[1]
        for n in reversed([d for d in divisors(extent) if 1 < d <= PARTS]):
            yield (step_of("split", loop, [None, n]), step_of(case.refused.name, inner, *rest))


# ------------------------------------------------------------------------------------------------------------- numbers


def _near(extent: int, wanted: int) -> list[int]:
    """The divisors of an extent around a number, those left out that leave nothing to do."""
    found = [d for d in divisors(extent) if 1 < d < extent]
    return [*[d for d in found if d < wanted][-1:], *[d for d in found if d > wanted][:1]]


@proposer("split.divides")
def _divisors(case: Case) -> Iterator[Way]:
    """Numbers that divide the extent, or a condition or a nest of its own for what is left."""
    loop, factors = case.row, case.args["factors"]
    extent = case.func.loop(loop)[0].extent
    numbers = [f for f in factors if isinstance(f, int)]
    if not isinstance(extent, int) or len(numbers) != 1 or len(factors) != 2:
        return
    at = factors.index(numbers[0])
    for near in _near(extent, numbers[0]):
        yield (step_of("split", loop, [near, None] if at == 0 else [None, near]),)
    for tail in ("guard", "peel"):
        yield (step_of("split", loop, factors, tail),)


# -------------------------------------------------------------------------------------------------------------- places


@proposer("compute_at", "reverse_compute_at")
def _placed(case: Case) -> Iterator[Way]:
    """The same block at another loop, the nearest one further out first; or moved the other way."""
    block = str(case.args["block"])
    for kind in ("compute_at", "reverse_compute_at"):
        for lp in reversed(case.path):
            yield (step_of(kind, block, lp.name),)


@proposer("compute_inline", "reverse_compute_inline")
def _inlined(case: Case) -> Iterator[Way]:
    """The block put into its neighbour on the other side, or brought near it."""
    block = str(case.args["block"])
    yield (step_of("reverse_compute_inline", block),)
    yield (step_of("compute_inline", block),)
    for name in ("compute_at", "reverse_compute_at"):
        yield from list(_candidates(case, name, block))[:-4:-1]


@proposer("cache_read.producer")
def _cached(case: Case) -> Iterator[Way]:
    """The block that makes the result keeps it close, rather than its reader."""
    for block, _ in blocks(case.func.body):
        if block.buffer == case.args["buffer"]:
            yield (step_of("cache_write", block.name),)


@proposer(*map(ELSE.format, SAME))
def _elsewhere(case: Case) -> Iterator[Way]:
    """Another step of the same primitive for the same block."""
    yield from _candidates(case, case.refused.name, str(case.args["block"]))
