"""Which loops may be marked parallel or vectorised, and whether marks still hold after a later step."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

from workbench.ir import Affine, Block, Dim, For, Func, Stmt, blocks
from workbench.ir.affine import digit_extent
from workbench.ir.stmt import as_marked, parallel_chain, written
from workbench.memoize import remembered
from workbench.schedule.legality.independence import check_independent
from workbench.schedule.legality.loop_kind_hints import for_innermost, for_parallel, for_sum
from workbench.schedule.legality.readers_writers import reduction_loops
from workbench.schedule.nest_properties import NestProperties
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
    for nest in func.body if NestProperties.of(func.body).marked else ():
        if NestProperties.of_nest(nest).marked and not _plainly_marked(nest):
            _check_marked(func, nest, step)


def _check_marked(func: Func, nest: Stmt, step: str) -> None:
    for lp, path in NestProperties.of_nest(nest).marked:
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


@remembered(1024)
def _plainly_marked(nest: Stmt) -> bool:
    """Whether the marked loops of a nest may have their kinds whatever else there is, as is soon seen of most; no says
    nothing.
    """
    properties, chain = NestProperties.of_nest(nest), parallel_chain(nest)
    parallel = [lp for lp, _ in properties.marked if lp.kind == "parallel"]
    vectors = [lp for lp, _ in properties.marked if lp.kind == "vectorize"]
    if len(parallel) > len(chain) or not all(len(lp.body) == 1 and isinstance(lp.body[0], Block) for lp in vectors):
        return False
    return all(_plainly_apart(block, path) for block, path in blocks((nest,)))


def _plainly_apart(block: Block, path: Sequence[For]) -> bool:
    """Whether each marked loop around a block moves what it writes, in steps that nothing else reaches."""
    extents = {lp.name: lp.extent for lp in path}
    todo = {lp.name for lp in path if lp.kind in ("parallel", "vectorize") and lp.extent != 1}
    if todo & reduction_loops(block):
        return False
    apart: set[str] = set()
    for form in written(block):
        here = [d for d, _ in form.terms if d.var in todo]
        if not all(d.plain for d in here):
            return False
        if here and _in_order(form, extents):
            apart.update(d.var for d in here)
    return todo == apart


def _in_order(form: Affine, extents: Mapping[str, Dim]) -> bool:
    """Whether every step of a form, all of them numbers, outreaches the smaller ones together."""
    steps = []
    for digit, c in form.terms:
        if digit.var in extents and (size := digit_extent(digit, extents)) != 1:
            if not (isinstance(c, int) and isinstance(size, int)):
                return False
            steps.append((abs(c), size))
    reach = 1
    for c, size in sorted(steps):
        if c < reach:
            return False
        reach += c * (size - 1)
    return True
