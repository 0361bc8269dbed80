"""Primitive that overlaps copies to shared memory with what is computed from them: pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from workbench.ir import Func, loops
from workbench.ir.pipelines import PIPELINE, fetches
from workbench.schedule.legality import invariants
from workbench.schedule.nest_rewrites import replace_loop
from workbench.schedule.primitive import Applied, LoopRef, Primitive, primitive
from workbench.schedule.primitives.loop_annotations import check_unmarked
from workbench.schedule.refusal import refuse


@primitive(
    "pipeline",
    category="memory",
    codes={
        "pipeline.marked": "the loop has a mark, or is a pipeline already",
        "pipeline.fetch": "nothing in the loop is copied to shared memory for one of its iterations",
        "pipeline.depends": "what is copied is computed in the loop",
        "pipeline.digit": "what is copied is read at parts of the loop's variable",
    },
)
class Pipeline(Primitive):
    """Copy to shared memory what the next iteration of a loop reads, while this one computes (double buffering).

    Contract: the loop holds copies of what is complete before it begins, to ``shared`` temporaries that live inside the
    loop alone, and statements that read these. The nest stays as it is and says what happens. Code for a GPU gives each
    such temporary two places, copies for the first iteration before the loop, and in each iteration for the next one
    first: one barrier per iteration is enough, and nobody waits for what was asked for an iteration ago. That takes
    twice the shared memory. Code for a CPU runs the nest as it stands. Take this step last: the loop cannot be split or
    fused any more.
    """

    loop: Annotated[str, LoopRef("loop around the copies and what reads them")]

    idle = "No loop copies to shared memory; cache_read, compute_at and set_scope make one that does."

    def apply(self, func: Func) -> Applied:
        lp = check_unmarked(func, self.loop, "pipeline")
        if lp.note(PIPELINE) is not None:
            text = f"Loop {self.loop!r} is a pipeline already."
            refuse("pipeline.marked", text, (self.loop,), "leave it at that, or name another loop")
        invariants.check_pipeline(func, self.loop)
        noted = replace_loop(func.body, self.loop, lambda x: (replace(x, notes=(*x.notes, (PIPELINE, 2))),))
        return func.with_body(noted), ()

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            if lp.kind == "serial" and at in (None, lp.name) and fetches(func, lp) and lp.note(PIPELINE) is None:
                yield cls(lp.name)
