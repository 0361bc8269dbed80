"""What a refusal to mark a loop says can be done: only what is possible."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workbench.ir import Block, For, Func, blocks, loops
from workbench.ir.compact_temporaries import scopes
from workbench.ir.stmt import BOUND_KINDS, touched
from workbench.schedule.legality.independence import writes_distinct
from workbench.schedule.legality.readers_writers import chain, is_unit, private, reduction_loops, spatial_loops

OUTWARDS = "bring a loop over the output to the outermost place and mark that"
DEVICE = "the nest is bound to parts of a device, whose iterations run at once already"
PARTIAL = "no loop around the block moves its output: only partial results (rfactor) could be computed at once"


def independent(func: Func, loop: str) -> bool:
    """Whether `check_independent` would let the iterations run in parallel; nothing is searched for."""
    lp, outer = func.loop(loop)
    if is_unit(func, lp.extent):
        return True
    return all(
        loop not in reduction_loops(b)
        and (private(func, b.buffer, loop) or writes_distinct(func, b, (*outer, lp, *rest), loop))
        for b, rest in blocks(lp.body)
    )


def for_parallel(func: Func, path: Sequence[For], step: Collection[str]) -> str:
    """Name the loops of a path that can be marked parallel, from the outermost one inwards.

    Parameters
    ----------
    path : sequence of For
        From the outermost loop to the one that is refused.
    step : collection of str
        Loops that the refused step has marked already, or is yet to mark.
    """
    if any(lp.kind in BOUND_KINDS for lp, _ in loops((path[0],))):
        return DEVICE
    names: list[str] = []
    for k, lp in enumerate(path):
        perfect = k == 0 or len(path[k - 1].body) == 1
        if not perfect or lp.kind not in ("serial", "parallel") or not independent(func, lp.name):
            break
        if not _has_scoped(func, lp.name):
            break
        names += [lp.name] if lp.kind == "serial" or lp.name in step else []
    if names:
        call = f"parallel({', '.join(map(repr, names))})"
        every = "marks both" if len(names) == 2 else "marks them all"
        return f"{call} {every if names[-1] == path[-1].name and len(names) > 1 else 'is possible'}"
    if path[0].kind == "parallel":
        return f"leave it at {path[0].name!r}, which runs in parallel already"
    return OUTWARDS if any(_moving(func, b, p) for b, p in _inside(func, path[-1].name)) else PARTIAL


def _has_scoped(func: Func, loop: str) -> bool:
    """Whether a loop has all uses of the temporaries inside that its scope gives to each of its iterations."""
    for name in (b.name for b in func.buffers if b.scope in ("local", "shared")):
        home = {lp.name for lp in scopes(func)[name].path}
        if loop not in home and any(
            name in touched(b) and loop in {lp.name for lp in path} for b, path in blocks(func.body)
        ):
            return False
    return True


def for_sum(func: Func, block: Block, path: Sequence[For]) -> str:
    """Say which loop can be vectorised instead of one that adds up."""
    done = next((lp.name for lp in func.block(block.name)[1] if lp.kind == "vectorize"), "")
    if done:
        return f"{done!r} runs as vectors already: leave it at that"
    moving = _moving(func, block, path)
    if not moving:
        return PARTIAL
    last = moving[-1]
    if last is path[-1]:
        return f"vectorise {last.name!r} instead: it is innermost and moves the output"
    if all(len(lp.body) == 1 for lp in chain(path, last.name)):
        return f"bring {last.name!r}, which moves the output, to the innermost place and vectorise that"
    return "bring a loop over the output to the innermost place and vectorise that"


def for_innermost(func: Func, loop: str) -> str:
    """Say how a loop that holds others can be vectorised, or which one inside of it."""
    inside = [loop_ for loop_, _ in loops((func.loop(loop)[0],))]
    done = [repr(lp.name) for lp in inside if lp.kind == "vectorize"]
    if done:
        runs = "runs" if len(done) == 1 else "run"
        return f"{' and '.join(done)} inside of it {runs} as vectors already: leave it at that"
    if all(len(lp.body) == 1 for lp in inside):
        return "bring the loop to the innermost place, or split off a part of it and bring that there"
    ends = [lp.name for lp in inside if len(lp.body) == 1 and isinstance(lp.body[0], Block)]
    fit = [name for name in ends if independent(func, name) and func.loop(name)[0].kind == "serial"]
    if fit:
        return f"vectorise an innermost loop inside of it: {' or '.join(map(repr, fit))}"
    return "compute the blocks in nests of their own first"


def _inside(func: Func, loop: str) -> list[tuple[Block, tuple[For, ...]]]:
    return [(b, p) for b, p in blocks(func.body) if any(lp.name == loop for lp in p)]


def _moving(func: Func, block: Block, path: Sequence[For]) -> list[For]:
    """Unmarked loops around a block that move its output, outermost first."""
    free = spatial_loops(block) - reduction_loops(block)
    return [lp for lp in path if lp.name in free and lp.kind == "serial" and not is_unit(func, lp.extent)]
