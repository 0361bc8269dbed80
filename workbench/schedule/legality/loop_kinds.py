"""Which loops may be marked parallel or vectorised, and whether marks still hold after a later step."""

from __future__ import annotations

import itertools
from collections.abc import Collection

from workbench.ir.func import Func
from workbench.ir.stmt import Block, For, as_marked, blocks
from workbench.memoize import remembered
from workbench.schedule.legality.independence import check_independent
from workbench.schedule.legality.loop_kind_hints import for_innermost, for_parallel, for_sum
from workbench.schedule.legality.readers_writers import reduction_loops
from workbench.schedule.nest_outline import Outline
from workbench.schedule.refusal import Refusal, refuse


def check_parallel(func: Func, loop: str, step: Collection[str] = (), done: Collection[str] = ()) -> None:
    """Refuse unless `loop` may be marked parallel: outermost, above a perfect chain, with independent iterations.

    `step` has all loops that the same step marks, for the way out that a refusal names; `done` those of them that may
    be marked.
    """
    _check_parallel(func, *func.loop(loop), step, done)


def _check_parallel(
    func: Func, lp: For, outer: tuple[For, ...], step: Collection[str] = (), done: Collection[str] = ()
) -> None:
    loop, path = lp.name, (*outer, lp)

    def independent() -> None:
        way_out = lambda *_: for_parallel(func, path, step)  # noqa: E731
        check_independent(func, loop, "parallel", "running it in parallel", (lp, outer), way_out)

    for up, inner in itertools.pairwise(path):
        if up.kind != "parallel" and up.name not in done:
            if _adds_up(lp):
                independent()  # said first: no other place in the nest would help
            refuse(
                "parallel.outermost",
                f"Loop {loop!r} lies inside {up.name!r}, which is {up.kind}: only the outermost loops of a "
                "nest can run in parallel.",
                (loop, up.name),
                for_parallel(func, path, step),
            )
        if len(up.body) != 1:
            refuse(
                "parallel.perfect",
                f"Loop {up.name!r} holds other statements beside {inner.name!r}, so the two cannot be run "
                "as one parallel loop.",
                (up.name, inner.name),
                f"run only {up.name!r} in parallel",
            )
    independent()


def _adds_up(lp: For) -> bool:
    """Whether a loop carries a reduction."""
    return any(lp.name in reduction_loops(block) for block, _ in blocks(lp.body))


def check_vector(func: Func, loop: str) -> None:
    """Refuse unless `loop` may be vectorised: it holds exactly one block, and every iteration writes an element of its
    own.
    """
    lp, _ = func.loop(loop)
    if (len(lp.body) != 1 or not isinstance(lp.body[0], Block)) and not _adds_up(lp):
        inside = [s.name for s in lp.body]
        refuse(
            "vectorize.innermost",
            f"Loop {loop!r} holds {', '.join(map(repr, inside))}; a vectorised loop holds one block and nothing else.",
            (loop, *inside),
            for_innermost(func, loop),
        )
    check_independent(func, loop, "vectorize", "vectorising it", hint=for_sum)


def check_marks(func: Func, step: str) -> None:
    """After a step: loops marked earlier must still be allowed to have their kind; code "loop.mark" when not."""
    for lp, path in Outline.of(func.body).marked:
        try:
            if lp.kind == "parallel":
                _check_parallel(func, lp, path)
            elif lp.kind == "vectorize":
                _check_still_vector(func, lp)
        except Refusal as e:
            kind = as_marked(lp.kind)
            raise Refusal(
                "loop.mark",
                f"After this {step}, loop {lp.name!r} could no longer be marked {kind}: {e.message}",
                e.where,
                f"a mark cannot be taken off: go back to before {lp.name!r} was marked {kind}, or leave it there",
                e.evidence,
            ) from None


@remembered(1024, parts=lambda func, lp: (lp, func.relations))
def _check_still_vector(func: Func, lp: For) -> None:
    """A question about the loop and what is in it alone."""
    check_vector(func, lp.name)
