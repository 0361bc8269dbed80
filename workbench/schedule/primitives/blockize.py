"""Primitive that makes a loop and all in it one unit: blockize."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Annotated

from workbench.ir import For, Func, blocks, loops
from workbench.ir.stmt import OWN_KINDS, as_marked
from workbench.schedule.legality import invariants
from workbench.schedule.legality_classes import properties_around
from workbench.schedule.nest_rewrites import replace_loop
from workbench.schedule.primitive import Applied, LoopRef, Primitive, primitive
from workbench.schedule.refusal import refuse


@primitive(
    "blockize",
    category="loop",
    returns="name",
    codes={
        "blockize.unit": "the loop is a unit already",
        "blockize.marked": "the loop is parallel or bound: a unit is what one thread does",
    },
)
class Blockize(Primitive):
    """Make a loop and everything in it one unit, which later steps move but do not cut through.

    Contract: nothing changes in what is computed. No step may name a loop or block inside the unit, put anything into
    it, or split, fuse or reorder its loops; loops around it stay free. `annotate` may still name what is inside, and
    `tensorize` the loop itself. Gives back the name of the unit, which is a note of the loop: later steps name the
    loop.
    """

    loop: Annotated[str, LoopRef("outermost loop of the unit")]

    def apply(self, func: Func) -> Applied:
        lp, _ = func.loop(self.loop)
        if lp.is_unit:
            refuse(
                "blockize.unit",
                f"Loop {self.loop!r} is {invariants.unit_name(lp)} already.",
                (self.loop,),
                "name a loop around it",
            )
        marked = next((x for x in (lp, *(x for x, _ in loops(lp.body))) if x.kind not in OWN_KINDS), None)
        if marked is not None:
            refuse(
                "blockize.marked",
                f"Loop {marked.name!r} is marked {as_marked(marked.kind)}, and a unit is what one thread does at a "
                "time.",
                (self.loop, marked.name),
                "choose a loop inside of it",
            )
        last = [b.name for b, _ in blocks(lp.body)][-1]
        taken = {x.note("block") for x, _ in loops(func.body)}
        name = func.fresh_name(f"{last}.unit")
        k = 0
        while name in taken:
            k += 1
            name = func.fresh_name(f"{last}.unit_{k}")
        notes = (*lp.notes, ("block", name))
        return func.with_body(replace_loop(func.body, self.loop, lambda x: (replace(x, notes=notes),))), (name,)

    def alike(self, func: Func) -> Hashable | None:
        lp, _ = func.loop(self.loop)
        own = lp.kind in OWN_KINDS and all(x.kind in OWN_KINDS for x, _ in loops(lp.body))
        return () if own and not properties_around(func, self.loop).units else None

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, path in loops(func.body):
            inside = any(x.is_unit for x in (*path, lp))
            if at == lp.name or (at is None and not inside and isinstance(lp.body[0], For)):
                yield cls(lp.name)
