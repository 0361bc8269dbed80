"""Rule for windows that are reduced along one dimension after the other: strips of the image, from stage to stage."""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import ScheduleError
from workbench.ir import Block, For, Func, blocks
from workbench.ir.dtypes import itemsize
from workbench.ir.expr import loads
from workbench.ir.poly import product
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.holes import divisors
from workbench.space.shared_steps.block_queries import contiguous_loop, has_reuse, loop_of_axis, points
from workbench.space.shared_steps.register_tiles import AT_ONCE, open_factors, vector_choices
from workbench.space.sketch.rule_table import Draft, Skip, rule
from workbench.space.sketch.rules.pointwise_stages import SMALL

#: What is computed for a strip takes one part in so many of L1 at most. Strips of one short row are slow (by half for
#: windows of 5x5 over 20x20): what a stage has just stored is loaded from another place before it has left the core.
STRIP = 3
#: Heights of strips to choose from, the largest ones.
HEIGHTS = 2
#: Terms of a reduction up to which it is written out.
SHORT = 16
#: A stage of less than one part in so many of the points is computed before all strips.
SMALL_PART = 16


@rule("strips", after="rows")
def strips(draft: Draft, machine: Machine) -> list[Draft]:
    """Take a few rows of an image through all stages while they are in L1.

    Applies where several stages reduce one dimension each, no operand is reused as in a product, and every stage needs
    only those rows of the one before that belong to its own: pooling along the height, then along the width.
    """
    stages = _stages(draft.func)
    lead = _common(draft.func, stages)
    s = draft.schedule.copy()
    try:
        strip = _place(s, stages, lead, machine)
        for b in stages:
            _vectorise(s, b.name, strip, machine)
        if machine.threads > 1 and sum(map(points, stages)) >= SMALL * machine.threads:
            path = [lp.name for lp in s.func.block(stages[-1].name)[1]]
            s.parallel(*path[: path.index(strip) + 1])
    except ScheduleError as e:
        raise Skip(e.message) from e
    names = [b.name for b in stages]
    reason = f"{', '.join(names)} one after the other on strips of {', '.join(lead)} that stay in L1"
    made = draft.change("strips", reason, s, *names, tag="strips")
    if len(stages) == len(draft.func.body):
        made = replace(made, closed=True)
    return [made, draft.skip("strips", "this form computes one stage after the other", *names)]


def _stages(func: Func) -> list[Block]:
    """The stages that go through strips together."""
    nests = [list(blocks((nest,))) for nest in func.body]
    if any(len(nest) != 1 or any(lp.kind != "serial" for lp in nest[0][1]) for nest in nests):
        raise Skip("a stage is scheduled already")
    found = [nest[0][0] for nest in nests]
    found = [b for b in found if points(b) * SMALL_PART > points(found[-1])]
    if sum(b.is_reduction for b in found) < 2:
        raise Skip("fewer than two stages reduce")
    if any(has_reuse(b) or b.guard for b in found):
        raise Skip("a stage reuses its operands as a product does")
    if sum(func.buffer(b.buffer).role == "output" for b in found) != 1:
        raise Skip("there are several results")
    return found


def _common(func: Func, stages: list[Block]) -> list[str]:
    """Axes of the last stage, outermost first, for each of which every stage needs only what belongs to it."""
    made = {b.buffer for b in stages[:-1]}
    count = len(stages[-1].index) - 1  # the last axis is for vectors
    for b in stages:
        own = [x.single_var() for x in b.index]
        for ld in loads(b.value):
            if ld.buffer in made and ld.buffer != b.buffer:
                read = [x.single_var() for x in ld.index]
                same = (k for k, (a, r) in enumerate(zip(own, read, strict=False)) if a is None or a != r)
                count = min(count, next(same, len(own)))
    last, path = func.block(stages[-1].name)
    lead = [x.single_var() for x in last.index[:count]]
    found = [loop_of_axis(last, path, a) for a in lead if a is not None]
    if not any(lp is not None and lp.extent != 1 for lp in found) or None in found:
        raise Skip("stages have no axis in common along which each needs only what belongs to it")
    return [a for a in lead if a is not None]


def _place(s: Schedule, stages: list[Block], lead: list[str], machine: Machine) -> str:
    """Cut the last common axis into strips, and compute all stages for one strip; returns the loop over strips."""
    block, path = s.func.block(stages[-1].name)
    own = [block.env[a].single_var() or "" for a in lead]
    rest = [lp.name for lp in path if lp.name not in own]
    if [lp.name for lp in path] != [*own, *rest]:
        s.reorder(*own, *rest)
    extent = s.func.loop(own[-1])[0].extent
    assert isinstance(extent, int)
    buffers = [s.func.buffer(b.buffer) for b in stages[:-1]]
    sizes = [product(b.shape[len(lead) :]) * itemsize(b.dtype) for b in buffers]
    row = sum(n for n in sizes if isinstance(n, int))
    high = [d for d in divisors(extent) if d * row * STRIP <= machine.l1] or [1]
    strip, _ = s.split(own[-1], open_factors(2, tuple(high[-HEIGHTS:])))
    for b in reversed(stages[:-1]):
        s.compute_at(b.name, strip)
    return str(strip)


def _vectorise(s: Schedule, name: str, strip: str, machine: Machine) -> None:
    """Vectors along the contiguous axis of a stage, and the terms of a short reduction written out around them."""
    block, path = s.func.block(name)
    names = [lp.name for lp in path]
    inside = list(path[names.index(strip) + 1 :])
    lp = contiguous_loop(s.func, block, inside)
    if lp is None or not isinstance(lp.extent, int) or lp.extent == 1:
        return
    choices, several = vector_choices(lp.extent, machine), AT_ONCE * machine.lanes
    if choices[-1] < machine.lanes and lp.extent > several:
        outer, lane = s.split(lp.name, [None, several], tail="guard")
    else:
        outer, lane = s.split(lp.name, open_factors(2, choices))
    sums = [x for x in inside if x.name in block.driving("R")]
    around = [outer if x.name == lp.name else x.name for x in inside if x not in sums]
    s.reorder(*around, *(x.name for x in sums), lane)
    if _terms(sums) <= SHORT:
        for x in sums:
            s.unroll(x.name)
    s.vectorize(lane)


def _terms(sums: list[For]) -> int:
    terms = product(x.extent for x in sums)
    return terms if isinstance(terms, int) else SHORT + 1
