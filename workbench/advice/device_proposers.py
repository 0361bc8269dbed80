"""Proposers against what takes the time on a GPU or an accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.advice.proposals import Case, Way, proposer, step_of
from workbench.advice.reason_proposers import halves

#: Threads of a block that are tried, most first. Chosen, not measured.
THREADS = (256, 128, 64, 32)


@proposer("threads", "grid", "occupancy", "coalescing")
def _bound(case: Case) -> Iterator[Way]:
    """Loops over results for threads and for the grid."""
    at, kinds = case.at, {lp.kind for lp in case.at.path}
    for lp in at.free:
        if "threadIdx.x" not in kinds:
            yield (step_of("bind", lp.name, "threadIdx.x"),)
            extent = lp.extent if isinstance(lp.extent, int) else 0
            for n in (n for n in THREADS if extent > n):
                outer, inner = halves(at.func, lp.name)
                split = step_of("split", lp.name, [None, n], *(() if extent % n == 0 else ("guard",)))
                yield (split, step_of("bind", inner, "threadIdx.x"))
                if "blockIdx.x" not in kinds:
                    yield (split, step_of("bind", inner, "threadIdx.x"), step_of("bind", outer, "blockIdx.x"))
    for lp in reversed(at.free):
        if "blockIdx.x" not in kinds:
            yield (step_of("bind", lp.name, "blockIdx.x"),)


@proposer("waits")
def _ahead(case: Case) -> Iterator[Way]:
    """The next fetch while this one is used: a pipeline of a GPU, virtual threads of an accelerator."""
    yield (step_of("pipeline", case.row),)
    for lp in case.at.free:
        if isinstance(lp.extent, int) and lp.extent % 2 == 0:
            yield (step_of("split", lp.name, [2, None]), step_of("bind", halves(case.func, lp.name)[0], "vthread"))
