"""Primitive that says which part of a device runs a loop: bind."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Annotated, cast, get_args

from workbench.ir import Func, LoopKind, blocks, loops
from workbench.ir.stmt import BLOCK_KINDS, BOUND_KINDS, THREAD_KINDS
from workbench.schedule.legality import invariants
from workbench.schedule.legality_classes import all_plain
from workbench.schedule.primitive import Applied, Choice, LoopRef, Primitive, primitive
from workbench.schedule.primitives.loop_annotations import check_unmarked, limit_size, mark, sizes_through
from workbench.schedule.size_limits import THREAD_LIMIT

_TAGS = tuple(kind for kind in get_args(LoopKind) if kind in BOUND_KINDS)


@primitive(
    "bind",
    category="annotation",
    codes={
        "bind.marked": "the loop has another mark",
        "bind.taken": "a loop around or inside it is bound to the same thing",
        "bind.order": "blocks of the grid lie inside other loops, or the nest runs on the cores of a CPU",
        "bind.reduction": "the loop carries a reduction, and is not one whose threads can combine their results",
        "bind.conflict": "two iterations may write the same element",
        "bind.limit": f"more than {THREAD_LIMIT} threads in a block",
    },
)
class Bind(Primitive):
    """Say which blocks or threads of a device, or which virtual threads, run the iterations of a loop.

    Contract: iterations are independent, as for `parallel`; statements in one body are separated by a barrier. A loop
    of a reduction may be bound to ``threadIdx`` too, where it holds this block alone and only loops of the same
    reduction inside of it: each thread reduces its part, and the threads of the block combine these, half of them at a
    time. `split` and `reorder`, or `rfactor`, bring a nest into this form. ``blockIdx`` loops are outermost and hold
    nothing but each other. A loop bound to ``vthread`` is run by one thread, whose iterations may be interleaved. The
    interpreter runs independent iterations in any order. Code for a CPU runs them one after the other, so there a
    binding is a description and makes nothing faster. Bind last: a bound loop cannot be split or fused any more.
    """

    loop: Annotated[str, LoopRef("loop to bind")]
    to: Annotated[str, Choice("what runs its iterations", values=_TAGS)]

    def apply(self, func: Func) -> Applied:
        check_unmarked(func, self.loop, "bind")
        kind = cast(LoopKind, self.to)
        sizes = sizes_through(func, self.loop, THREAD_KINDS) if kind in THREAD_KINDS else []
        func = mark(func, self.loop, kind)
        invariants.check_bound(func, self.loop)
        for threads in dict.fromkeys(sizes):
            what = f"make {threads} threads in a block"
            func = limit_size(func, "bind", self.loop, threads, THREAD_LIMIT, what, "split it and bind one part")
        return func, ()

    def alike(self, func: Func) -> Hashable | None:
        # What makes them independent is asked for every kind; other kinds around or inside decide the rest.
        lp, path = func.loop(self.loop)
        fits = self.to not in THREAD_KINDS or (isinstance(lp.extent, int) and lp.extent <= THREAD_LIMIT)
        placed = self.to not in BLOCK_KINDS or not path
        combines = self.to in THREAD_KINDS and any(self.loop in b.driving("R") for b, _ in blocks(lp.body))
        return (self.loop, combines) if fits and placed and all_plain(func) else None

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, path in loops(func.body):
            if lp.kind != "serial" or at not in (None, lp.name):
                continue
            taken = {up.kind for up in path} | {x.kind for x, _ in loops(lp.body)}
            families = [THREAD_KINDS, BLOCK_KINDS] if {up.kind for up in path} <= BLOCK_KINDS else [THREAD_KINDS]
            for kinds in reversed(families):
                yield from (cls(lp.name, kind) for kind in sorted(kinds - taken)[:1])
            yield cls(lp.name, "vthread")
