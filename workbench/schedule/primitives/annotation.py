"""Primitives that say how a loop is run: parallel, vectorize, unroll."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from ...ir.func import Constraint, Func
from ...ir.poly import Dim, normal
from ...ir.stmt import For, LoopKind, loops
from .. import legality
from ..primitive import Applied, LoopRef, LoopRefs, Primitive, primitive
from ..refusal import refuse
from ..rewrite import replace_loop

#: Most iterations that are written out one after the other.
UNROLL_LIMIT = 512
#: Most iterations that run as vectors; more of them are a loop of vectors, which a split says better.
VECTOR_LIMIT = 1024


@primitive(
    "parallel",
    category="annotation",
    codes={
        "parallel.arity": "no loop, or one named twice",
        "parallel.marked": "the loop has another mark",
        "parallel.outermost": "a loop around it is not parallel",
        "parallel.perfect": "a parallel loop around it holds other statements too",
        "parallel.reduction": "the loop carries a reduction",
        "parallel.conflict": "two iterations may write the same element",
    },
)
@dataclass(frozen=True, slots=True)
class Parallel(Primitive):
    """Run loops on several cores; several loops are run as one long one.

    Contract: the loops are the outermost ones of their nest, directly inside each other, named outermost first.
    Iterations must be independent: each writes elements of its own, or a temporary that is used inside the loop only,
    of which every core gets a copy. Mark the loops last: a marked loop cannot be split or fused any more.
    """

    loops: Annotated[tuple[str, ...], LoopRefs("loops to run in parallel, outermost first")]

    def apply(self, func: Func) -> Applied:
        if not self.loops or len(set(self.loops)) < len(self.loops):
            where = self.loops or tuple(lp.name for lp, path in loops(func.body) if not path)
            refuse("parallel.arity", f"parallel takes one or more different loops, not {list(self.loops)}.", where)
        for name in self.loops:
            _check_unmarked(func, name, "parallel")
            legality.check_parallel(func, name)
            func = _mark(func, name, "parallel")
        return func, ()

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, path in loops(func.body):
            if lp.kind == "serial" and at in (None, lp.name):
                serial = [up.name for up in path if up.kind == "serial"]
                yield Parallel((*serial, lp.name) if len(path) < 3 else (lp.name,))


@primitive(
    "vectorize",
    category="annotation",
    codes={
        "vectorize.marked": "the loop has another mark",
        "vectorize.innermost": "the loop holds more than one block, or other loops",
        "vectorize.reduction": "the loop carries a reduction",
        "vectorize.conflict": "two iterations may write the same element",
        "vectorize.limit": f"more than {VECTOR_LIMIT} iterations",
    },
)
@dataclass(frozen=True, slots=True)
class Vectorize(Primitive):
    """Run an innermost loop with vector instructions.

    Contract: the loop holds exactly one block, which writes another element in every iteration and does not reduce over
    the loop. Best where the loop moves the last dimension of what is read and written.
    """

    loop: Annotated[str, LoopRef("innermost loop")]

    def apply(self, func: Func) -> Applied:
        lp = _check_unmarked(func, self.loop, "vectorize")
        legality.check_vector(func, self.loop)
        func = _limit(func, "vectorize", self.loop, lp.extent, VECTOR_LIMIT, "split it and vectorise the inner part")
        return _mark(func, self.loop, "vectorize"), ()

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            if lp.kind == "serial" and at in (None, lp.name) and (at is not None or not isinstance(lp.body[0], For)):
                yield Vectorize(lp.name)


@primitive(
    "unroll",
    category="annotation",
    codes={
        "unroll.marked": "the loop has another mark",
        "unroll.limit": f"more than {UNROLL_LIMIT} copies of the body, other unrolled loops included",
    },
)
@dataclass(frozen=True, slots=True)
class Unroll(Primitive):
    """Write the iterations of a loop out one after the other.

    Contract: any loop may be unrolled. Together with the unrolled loops around and inside of it at most 512 copies are
    made; where the extent is open this limits the holes.
    """

    loop: Annotated[str, LoopRef("loop to unroll")]

    def apply(self, func: Func) -> Applied:
        _check_unmarked(func, self.loop, "unroll")
        func = _mark(func, self.loop, "unroll")
        for copies in dict.fromkeys(_copies(func, self.loop)):
            func = _limit(func, "unroll", self.loop, copies, UNROLL_LIMIT, "split it and unroll the inner part")
        return func, ()

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            if lp.kind == "serial" and at in (None, lp.name):
                yield Unroll(lp.name)


def _mark(func: Func, loop: str, kind: LoopKind) -> Func:
    return replace(func, body=replace_loop(func.body, loop, lambda lp: (replace(lp, kind=kind),)))


def _check_unmarked(func: Func, loop: str, step: str) -> For:
    lp, _ = func.loop(loop)
    if lp.kind != "serial":
        refuse(
            f"{step}.marked",
            f"Loop {loop!r} is marked {lp.kind} already.",
            (loop,),
            "a loop has one mark; undo the other first",
        )
    return lp


def _limit(func: Func, step: str, loop: str, size: Dim, limit: int, hint: str) -> Func:
    """Refuse a concrete size above the limit; an open one becomes a constraint on rows."""
    if isinstance(size, int):
        if size > limit:
            refuse(
                f"{step}.limit",
                f"{step} of {loop!r} would make {size} copies of the body; the limit is {limit}.",
                (loop,),
                hint,
            )
        return func
    return replace(func, constraints=(*func.constraints, Constraint(f"{step}({loop}) <= {limit}", limit - size)))


def _copies(func: Func, loop: str) -> list[Dim]:
    """Number of copies that each path through `loop` makes."""
    out: list[Dim] = []
    for lp, path in loops(func.body):
        line = (*path, lp)
        if any(x.name == loop for x in line) and not any(isinstance(s, For) for s in lp.body):
            size: Dim = 1
            for x in line:
                size = size * x.extent if x.kind == "unroll" else size
            out.append(normal(size, func.relations))
    return out
