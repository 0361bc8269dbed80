"""Primitive that lets an instruction compute a small nest: tensorize."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from workbench.intrinsics import Mismatch, computes, match, registry
from workbench.ir import For, Func, blocks, loops
from workbench.schedule.nest_rewrites import replace_loop
from workbench.schedule.primitive import Applied, Choice, LoopRef, Primitive, primitive
from workbench.schedule.refusal import refuse
from workbench.target import Target


@primitive(
    "tensorize",
    category="annotation",
    codes={
        "tensorize.target": "the target does not have the instruction",
        "tensorize.taken": "the loop, or one around or inside it, is computed by an intrinsic already",
        "tensorize.body": "a loop holds more than one statement",
        "tensorize.loops": "there are more or fewer loops than the intrinsic describes",
        "tensorize.marked": "a loop is parallel, vectorised, unrolled or bound",
        "tensorize.order": "a reduction stands where the intrinsic has a spatial loop, or the other way round",
        "tensorize.extent": "a loop is longer or shorter than the intrinsic's",
        "tensorize.warp": "a loop around is bound to the threads that compute a tile together",
        "tensorize.guard": "the block does not run at every point",
        "tensorize.compute": "the block computes something else",
        "tensorize.dtype": "an operand holds elements of another type",
        "tensorize.access": "an operand is read at a part of a loop's variable",
        "tensorize.stride": "an operand lies in memory in another way",
    },
)
class Tensorize(Primitive):
    """Compute a loop and all in it with an intrinsic: one instruction, or a few.

    Contract: the loops from this one inwards are exactly those of the intrinsic's description, up to names: as many, in
    the same order, of the same extents, around one block that computes the same on operands of the same types, which
    move with every loop as the description says. The nest stays as it is and says what happens; the code generator
    writes the instruction in its place. Results stay in registers from the outermost reducing loop on inside of which
    all spatial loops are unrolled, as long as there are registers for all of them.

    On a GPU the threads of a warp compute a tile together: 32 along threadIdx.x, which no loop around it is bound to.
    Loops bound to threadIdx.y are the warps.

    The target has to have the instruction. A schedule without a target takes any; where the machine lacks it, the
    interpreter still runs the schedule.
    """

    idle = "No product here is one of bfloat16 or of bytes, each cast to the type of the sum."
    loop: Annotated[str, LoopRef("outermost loop of the tile")]
    intrin: Annotated[str, Choice("instruction", registry.names)]

    def apply(self, func: Func) -> Applied:
        lp, path = func.loop(self.loop)
        taken = next((x for x in (*path, lp, *(x for x, _ in loops(lp.body))) if x.intrin is not None), None)
        if taken is not None:
            refuse(
                "tensorize.taken",
                f"{taken.intrin} computes loop {taken.name!r} already.",
                (self.loop, taken.name),
                "undo that step first",
            )
        try:
            match(registry[self.intrin], func, self.loop)
        except Mismatch as e:
            refuse(f"tensorize.{e.code}", e.sentence, e.where, e.hint)
        body = replace_loop(func.body, self.loop, lambda x: (replace(x, intrin=self.intrin),))
        return func.with_body(body), ()

    def require(self, target: object) -> None:
        if not isinstance(target, Target):
            return
        missing = registry[self.intrin].missing(target)
        if missing:
            refuse(
                "tensorize.target",
                f"{self.intrin} needs {', '.join(missing)}, which {target.title!r} does not have.",
                (self.loop,),
                "a Schedule without a target takes the step, and the interpreter runs it",
            )

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, path in blocks(func.body):
            chain = _perfect(path)
            for intrinsic in registry if chain and all(lp.intrin is None for lp in path) else ():
                try:
                    computes(intrinsic, func, block)
                except Mismatch:
                    continue
                wanted = len(intrinsic.chain)
                loop = chain[-wanted] if len(chain) >= wanted else chain[0]
                if at in (None, loop.name):
                    yield Tensorize(loop.name, intrinsic.name)


def _perfect(path: tuple[For, ...]) -> tuple[For, ...]:
    """The innermost loops that hold nothing but each other and the block."""
    count = 0
    for lp in reversed(path):
        if len(lp.body) != 1:
            break
        count += 1
    return path[len(path) - count :]
