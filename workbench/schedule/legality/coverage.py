"""Whether a block that runs elsewhere still makes every element, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.ir import Affine, Block, Digit, Dim, Func
from workbench.ir.affine import bijective
from workbench.schedule import legality
from workbench.schedule.refusal import refuse


def uncovered(
    func: Func, forms: Sequence[Affine], totals: Sequence[Dim], extents: Mapping[str, Dim]
) -> int | str | None:
    """What keeps forms from taking all combinations of values below `totals` exactly once: the place of a form, or a
    loop that repeats them; None if nothing does.
    """
    used: dict[str, list[Digit]] = {}
    for k, (form, total) in enumerate(zip(forms, totals, strict=True)):
        if not bijective(form, extents, total, func.relations):
            return k
        for d, _ in form.terms:
            used.setdefault(d.var, []).append(d)
    return next((n for n, e in extents.items() if not legality.tiles(used.get(n, []), e, func.relations, True)), None)


def check_identity(block: Block, code: str) -> None:
    """Refuse unless the block writes ``buffer[axis, axis, ...]`` with each spatial axis once."""
    axes = [x.single_var() for x in block.index]
    spatial = {it.name for it in block.iters if it.kind == "S" and it.extent != 1}
    if None in axes or len(set(axes)) < len(axes) or not spatial <= set(axes):
        refuse(
            code,
            f"Block {block.name!r} writes {block.buffer}[{', '.join(map(str, block.index))}], "
            "which is not one element per axis.",
            (block.name,),
            "only a block that writes its buffer at its own axes can be moved; pack its buffer after moving",
        )
