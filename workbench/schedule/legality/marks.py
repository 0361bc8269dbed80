"""Which loops may be marked parallel or vectorised, and whether marks still hold after a later step."""

from __future__ import annotations

import itertools

from ...ir.func import Func
from ...ir.remembered import Remembered
from ...ir.stmt import Block, loops
from ..refusal import Refusal, refuse
from .independence import check_independent


def check_parallel(func: Func, loop: str) -> None:
    """Refuse unless `loop` may be marked parallel: outermost, above a perfect chain, with independent iterations."""
    lp, outer = func.loop(loop)
    for up, inner in itertools.pairwise((*outer, lp)):
        if up.kind != "parallel":
            refuse(
                "parallel.outermost",
                f"Loop {loop!r} lies inside {up.name!r}, which is {up.kind}: only the outermost loops of a "
                "nest can run in parallel.",
                (loop, up.name),
                f"parallel({up.name!r}, {loop!r}) marks both",
            )
        if len(up.body) != 1:
            refuse(
                "parallel.perfect",
                f"Loop {up.name!r} holds other statements beside {inner.name!r}, so the two cannot be run "
                "as one parallel loop.",
                (up.name, inner.name),
                f"mark only {up.name!r}",
            )
    check_independent(func, loop, "parallel", "running it in parallel")


def check_vector(func: Func, loop: str) -> None:
    """Refuse unless `loop` may be vectorised: it holds exactly one block, and every iteration writes an element of its
    own.
    """
    lp, _ = func.loop(loop)
    if len(lp.body) != 1 or not isinstance(lp.body[0], Block):
        inside = [s.name for s in lp.body]
        refuse(
            "vectorize.innermost",
            f"Loop {loop!r} holds {', '.join(map(repr, inside))}; a vectorised loop holds one block and nothing else.",
            (loop, *inside),
            "reorder the loop to the innermost place, or split off an inner part of it",
        )
    check_independent(func, loop, "vectorize", "vectorising it")


def check_marks(func: Func, step: str) -> None:
    """After a step: loops marked earlier must still be allowed to have their kind; code "loop.mark" when not."""
    for lp, _ in loops(func.body):
        try:
            if lp.kind == "parallel":
                check_parallel(func, lp.name)
            elif lp.kind == "vectorize":  # a question about the loop and what is in it alone
                _VECTORS.of((lp, func.relations), lambda: check_vector(func, lp.name))  # noqa: B023
        except Refusal as e:
            raise Refusal(
                "loop.mark",
                f"After this {step}, loop {lp.name!r} could no longer be marked {lp.kind}: {e.message}",
                e.where,
                f"do the {step} first and mark {lp.name!r} after it",
                e.witness,
            ) from None


_VECTORS: Remembered[None] = Remembered(1024)
