"""Iterations at once: do different iterations of a loop write different elements, does it carry a reduction?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from workbench.ir import Block, Digit, For, Func, blocks
from workbench.ir.stmt import written
from workbench.memoize import remembered
from workbench.schedule.legality.affine_queries import determines, tiles
from workbench.schedule.legality.readers_writers import chain, extents_of, is_unit, private, reduction_loops
from workbench.schedule.legality.witness import conflict, twice
from workbench.schedule.refusal import Deferred, refuse

Hint: TypeAlias = Callable[[Func, Block, Sequence[For]], str]


def writes_distinct(func: Func, block: Block, path: Sequence[For], loop: str) -> bool:
    """Whether different iterations of `loop` (an element of `path`) write different elements, whatever the loops inside
    do.
    """
    return _writes_distinct(func, block, chain(path, loop), loop)


def _distinct_parts(func: Func, block: Block, inner: Sequence[For], loop: str) -> tuple[object, ...]:
    return (block, func.relations, *(x for lp in inner for x in (lp.name, lp.extent)))


@remembered(4096, parts=_distinct_parts)
def _writes_distinct(func: Func, block: Block, inner: Sequence[For], loop: str) -> bool:
    varying = extents_of(inner)
    if is_unit(func, varying[loop]):
        return True
    known: list[Digit] = []
    for form in written(block):
        if loop in form.vars and determines(form, varying, func.relations):
            known += [d for d, _ in form.terms if d.var == loop]
    return tiles(known, varying[loop], func.relations)


def check_independent(
    func: Func,
    loop: str,
    code: str,
    doing: str,
    placed: tuple[For, tuple[For, ...]] | None = None,
    hint: Hint | None = None,
) -> None:
    """Refuse unless the iterations of `loop` may run in any order and at the same time.

    `placed` is the loop with those around it, where the caller has them. Where the loop adds up, `hint` says what can
    be done instead, by the block and the loops around it.

    Raises
    ------
    ScheduleError
        ``{code}.reduction`` when the loop carries a reduction, ``{code}.conflict`` when two iterations may write one
        element.
    """
    lp, outer = placed or func.loop(loop)
    if is_unit(func, lp.extent):
        return
    for block, rest in blocks(lp.body):
        path = (*outer, lp, *rest)
        if loop in reduction_loops(block):
            refuse(
                f"{code}.reduction",
                f"Loop {loop!r} carries the reduction of block {block.name!r}, so {doing} would update "
                f"one element of {block.buffer!r} from several iterations at once.",
                (loop, block.name),
                hint(func, block, path) if hint is not None else "choose a loop over the output",
                Deferred(lambda: conflict(func, block, path, loop)),  # noqa: B023
            )
        if writes_distinct(func, block, path, loop) or (code != "vectorize" and private(func, block.buffer, loop)):
            continue
        witness = conflict(func, block, path, loop)
        detail = (
            str(witness)
            if witness
            else f"it is not proved that {_index_text(block)} differs from one {loop} to the next"
        )
        refuse(
            f"{code}.conflict",
            f"Iterations of {loop!r} may write the same element of {block.buffer!r}: {detail}.",
            (loop, block.name),
            "compute the block inside another loop, or mark a loop that moves its output",
            witness,
        )


def _index_text(block: Block) -> str:
    return f"{block.buffer}[{', '.join(map(str, written(block)))}]"


def check_reductions(func: Func, body: Sequence[Block], step: str) -> None:
    """Refuse (``{step}.reduction``) when a reduction would meet an element twice between its start and its end."""
    for block, path in blocks(func.body):
        if not block.is_reduction or block not in body:
            continue
        reducing = reduction_loops(block)
        first = next(
            (k for k, lp in enumerate(path) if lp.name in reducing and not is_unit(func, lp.extent)), len(path)
        )
        tail = extents_of(path[first:])
        for name in tail:
            if name in reducing or is_unit(func, tail[name]):
                continue
            forms = [b for it, b in zip(block.iters, block.binds, strict=True) if it.kind == "S" and name in b.vars]
            known = [d for b in forms if determines(b, tail, func.relations) for d, _ in b.terms if d.var == name]
            if not tiles(known, tail[name], func.relations):
                refuse(
                    f"{step}.reduction",
                    f"Loop {name!r} computes elements of block {block.name!r} again; it must stay outside of "
                    f"the reduction over {', '.join(sorted(reducing & set(tail)))}.",
                    (name, block.name),
                    f"keep {name!r} outside",
                    Deferred(lambda: twice(func, block, path, name)),  # noqa: B023
                )
