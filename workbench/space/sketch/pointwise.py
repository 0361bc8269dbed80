"""The rule for everything else: parallel outside, vectorised inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError
from workbench.ir.expr import loads
from workbench.ir.func import Func
from workbench.ir.poly import product
from workbench.ir.stmt import Block, For, blocks
from workbench.machine_model.parameters import Machine
from workbench.space.sketch.analysis import suited
from workbench.space.sketch.base import Draft, rule
from workbench.space.sketch.tiling import vector_choices

if TYPE_CHECKING:
    from workbench.schedule import Schedule

#: Vectors at a time along an axis that has no divisors.
AT_ONCE = 4
#: Fewer points than this per thread are not worth a parallel region.
SMALL = 2048


@rule("pointwise", after="transpose")
def pointwise(draft: Draft, machine: Machine) -> list[Draft]:
    """Split and vectorise the contiguous axis of every remaining stage, and run its outer axes in parallel."""
    for name in [b.name for b, path in blocks(draft.func.body)]:
        block, path = draft.func.block(name)
        if name in draft.done or any(lp.kind != "serial" for lp in path) or not _alone(draft.func, name):
            alone = name in draft.done or any(lp.kind != "serial" for lp in path)
            why = "another rule has scheduled it" if alone else "it shares its loops with another block"
            draft = draft.skip("pointwise", why, name)
            continue
        s = draft.schedule.copy()
        try:
            said = _schedule(s, block, path, suited(machine, draft.func, block))
        except ScheduleError as e:
            draft = draft.skip("pointwise", e.message, name)
            continue
        said_nothing = "it is too small to share out, and has no contiguous axis"
        draft = (
            draft.change("pointwise", f"{name}: {said}", s, name)
            if said
            else draft.skip("pointwise", said_nothing, name)
        )
    return [draft if draft.func.body else draft.skip("pointwise", "there is nothing to schedule")]


def _alone(func: Func, name: str) -> bool:
    return any(sum(1 for _ in blocks((s,))) == 1 and any(b.name == name for b, _ in blocks((s,))) for s in func.body)


def _schedule(s: Schedule, block: Block, path: tuple[For, ...], machine: Machine) -> str:
    spatial = {x.single_var() for it, x in zip(block.iters, block.binds, strict=True) if it.kind == "S"}
    contiguous = contiguous_loop(s.func, block, path)
    parts: list[str] = []
    inner: str | None = None
    if (
        contiguous is not None
        and isinstance(contiguous.extent, int)
        and contiguous.extent > 1
        and _whole(block, contiguous)
    ):
        from workbench.schedule import Hole

        choices = vector_choices(contiguous.extent, machine)
        if choices[-1] < machine.lanes and contiguous.extent > AT_ONCE * machine.lanes and not block.is_reduction:
            outer, inner = s.split(contiguous.name, [None, AT_ONCE * machine.lanes], tail="guard")
            parts.append("with a rest")
        else:
            outer, inner = s.split(contiguous.name, [Hole(), Hole(choices=choices)])
        names = [outer if lp.name == contiguous.name else lp.name for lp in path]
        if names[-1] != outer or block.is_reduction:
            spat = [n for n in names if n in spatial or n == outer]
            s.reorder(*spat, *(n for n in names if n not in spat), inner)
        s.vectorize(inner)
        parts.insert(0, "contiguous axis vectorised")
    points = product(lp.extent for lp in path)
    if machine.threads > 1 and (not isinstance(points, int) or points >= SMALL * machine.threads):
        head = _parallel_head(s.func, block.name, spatial, inner)
        if head:
            s.parallel(*head)
            parts.append("outer axes in parallel")
    return ", ".join(parts)


def contiguous_loop(func: Func, block: Block, path: Sequence[For]) -> For | None:
    """Loop along which the output is contiguous: that of its last dimension with more than one element."""
    shape = func.buffer(block.buffer).shape
    last = next((d for d in reversed(range(len(shape))) if shape[d] != 1), None)
    if last is None:
        return None
    form = block.index[last].subst(block.env)
    return next((lp for lp in reversed(path) if form.coefficient(lp.name) == 1), None)


def _whole(block: Block, lp: For) -> bool:
    """Whether no access takes the loop apart, so that it can be split anywhere."""
    env = block.env
    forms = [x.subst(env) for ld in loads(block.value) for x in ld.index]
    return all(d.plain for x in forms for d, _ in x.terms if d.var == lp.name)


def _parallel_head(func: Func, name: str, spatial: set[str | None], inner: str | None) -> list[str]:
    """Outermost spatial loops of a nest, the vectorised one excepted: at most two that run more than once."""
    block, path = func.block(name)
    kinds = {v for it, x in zip(block.iters, block.binds, strict=True) if it.kind == "S" for v in x.vars}
    head: list[str] = []
    longer = 0
    for lp in path:
        if lp.name not in kinds or lp.name == inner or lp.kind != "serial" or longer == 2:
            break
        head.append(lp.name)
        longer += lp.extent != 1
    return head if longer else []
