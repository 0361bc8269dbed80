"""Primitives that say how a loop is run: parallel, vectorize, unroll; and annotate, for everything else."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from workbench.errors import did_you_mean
from workbench.ir import Constraint, Dim, For, Func, LoopKind, Note, blocks, loops
from workbench.ir.pipelines import PIPELINE
from workbench.ir.poly import normal, product
from workbench.ir.stmt import as_marked
from workbench.schedule import legality
from workbench.schedule.field_kinds import NestRef, NoteKey, NoteValue
from workbench.schedule.legality_classes import properties_around
from workbench.schedule.nest_properties import NestProperties
from workbench.schedule.nest_rewrites import replace_block, replace_loop
from workbench.schedule.primitive import Applied, LoopRef, LoopRefs, Primitive, primitive
from workbench.schedule.refusal import refuse
from workbench.schedule.size_limits import UNROLL_LIMIT, VECTOR_LIMIT


@dataclass(frozen=True, slots=True)
class NoteEffect:
    """A note that something reads: what it does on a loop, and its least and greatest value."""

    does: str
    low: int
    high: int


#: Notes on loops that have an effect; all other keys are carried along for whoever reads the nest.
EFFECTS: Mapping[str, NoteEffect] = {
    "prefetch": NoteEffect("fetches into the cache what the body reads that many iterations later", 1, 256),
    "prefetch_write": NoteEffect("fetches for writing what the body writes that many iterations later", 1, 256),
}
#: Keys that other primitives own.
RESERVED: Mapping[str, str] = {"block": "blockize", PIPELINE: "pipeline"}


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
            text = f"parallel takes one or more different loops, not {list(self.loops)}."
            refuse("parallel.arity", text, where, "name the outermost loop: parallel('i')")
        for k, name in enumerate(self.loops):
            check_unmarked(func, name, "parallel")
            legality.check_parallel(func, name, self.loops, self.loops[:k])
        for name in self.loops:
            func = mark(func, name, "parallel")
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
class Vectorize(Primitive):
    """Run an innermost loop with vector instructions.

    Contract: the loop holds exactly one block, which writes another element in every iteration and does not reduce over
    the loop. Best where the loop moves the last dimension of what is read and written.
    """

    loop: Annotated[str, LoopRef("innermost loop")]

    def apply(self, func: Func) -> Applied:
        lp = check_unmarked(func, self.loop, "vectorize")
        legality.check_vector(func, self.loop)
        hint, what = "split it and vectorise the inner part", f"make {lp.extent} copies of the body"
        func = limit_size(func, "vectorize", self.loop, lp.extent, VECTOR_LIMIT, what, hint)
        return mark(func, self.loop, "vectorize"), ()

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
class Unroll(Primitive):
    """Write the iterations of a loop out one after the other.

    Contract: any loop may be unrolled. Together with the unrolled loops around and inside of it at most 512 copies are
    made; where the extent is open this limits the holes.
    """

    loop: Annotated[str, LoopRef("loop to unroll")]

    def apply(self, func: Func) -> Applied:
        check_unmarked(func, self.loop, "unroll")
        sizes = sizes_through(func, self.loop, {"unroll"})
        func = mark(func, self.loop, "unroll")
        for copies in dict.fromkeys(sizes):
            what = f"make {copies} copies of the body"
            func = limit_size(
                func, "unroll", self.loop, copies, UNROLL_LIMIT, what, "split it and unroll the inner part"
            )
        return func, ()

    def alike(self, func: Func) -> Hashable | None:
        if func.loop(self.loop)[0].kind != "serial" or properties_around(func, self.loop).units:
            return None
        sizes = sizes_through(func, self.loop, {"unroll"})
        return () if all(isinstance(n, int) and n <= UNROLL_LIMIT for n in sizes) else None

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            if lp.kind == "serial" and at in (None, lp.name):
                yield Unroll(lp.name)


@primitive(
    "annotate",
    category="annotation",
    codes={
        "annotate.reserved": "another primitive writes notes of that key",
        "annotate.unknown": "there is no loop or block of that name",
        "annotate.place": "the note has an effect on loops only, and a block is named",
        "annotate.value": "the note has an effect, and not with that value",
    },
)
class Annotate(Primitive):
    """Attach a note to a loop or block.

    Contract: a note is a key with a number or a text; it never changes the result. ``prefetch`` on a loop lets the code
    generator fetch what the body reads so many iterations later, where it is read last; ``prefetch_write`` fetches what
    will be written, so that no store waits for its line. Any other key is carried along in the nest, its text
    and the log, for tools of your own. A key that is there already gets the new value. Where a loop and a block have
    the same name, the loop is meant. Splitting a loop leaves its notes with the outer part; fusing joins them.
    """

    at: Annotated[str, NestRef("loop or block")]
    key: Annotated[str, NoteKey("what the note is about", keys=tuple(EFFECTS))]
    value: Annotated[int | str, NoteValue("number or text")]

    inside_units = True

    def apply(self, func: Func) -> Applied:
        is_loop = any(lp.name == self.at for lp, _ in loops(func.body))
        if not is_loop and all(b.name != self.at for b, _ in blocks(func.body)):
            known = [lp.name for lp, _ in loops(func.body)] + [b.name for b, _ in blocks(func.body)]
            hint = did_you_mean(self.at, known, "loops and blocks")
            refuse("annotate.unknown", f"There is no loop or block {self.at!r}.", (self.at,), hint)
        if self.key in RESERVED:
            owner = RESERVED[self.key]
            refuse("annotate.reserved", f"{owner} writes the notes {self.key!r}.", (self.at,), f"use {owner}")
        self._check(is_loop)
        if is_loop:
            body = replace_loop(func.body, self.at, lambda lp: (replace(lp, notes=self._with(lp.notes)),))
        else:
            body = replace_block(func.body, self.at, lambda b: (replace(b, notes=self._with(b.notes)),))
        return func.with_body(body), ()

    def alike(self, func: Func) -> Hashable | None:
        is_loop = any(lp.name == self.at for lp, _ in loops(func.body))
        return (self.key, self.value) if is_loop and not NestProperties.of(func.body).units else None

    def _check(self, is_loop: bool) -> None:
        effect = EFFECTS.get(self.key)
        if effect is None:
            return
        if not is_loop:
            refuse(
                "annotate.place",
                f"{self.key!r} {effect.does}, so it belongs to a loop; {self.at!r} is a block.",
                (self.at,),
                "name a loop around it",
            )
        if not isinstance(self.value, int) or not effect.low <= self.value <= effect.high:
            refuse(
                "annotate.value",
                f"{self.key!r} {effect.does}; it cannot be {self.value!r}.",
                (self.at,),
                f"a number from {effect.low} to {effect.high}",
            )

    def _with(self, notes: tuple[Note, ...]) -> tuple[Note, ...]:
        return tuple((dict(notes) | {self.key: self.value}).items())

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            if lp.kind == "serial" and lp.extent != 1 and at in (None, lp.name) and lp.note("prefetch") is None:
                yield cls(lp.name, "prefetch", 4)


def mark(func: Func, loop: str, kind: LoopKind) -> Func:
    """Give a loop its kind."""
    return func.with_body(
        replace_loop(func.body, loop, lambda lp: (For(lp.name, lp.extent, lp.body, kind, lp.notes, lp.intrin),))
    )


def check_unmarked(func: Func, loop: str, step: str) -> For:
    """Return the loop; refuse (``{step}.marked``) when it has a mark."""
    lp, _ = func.loop(loop)
    if lp.kind != "serial":
        refuse(
            f"{step}.marked",
            f"Loop {loop!r} is marked {as_marked(lp.kind)} already.",
            (loop,),
            f"a loop has one mark, and it cannot be taken off: go back to before it was marked {as_marked(lp.kind)}",
        )
    return lp


def limit_size(func: Func, step: str, loop: str, size: Dim, limit: int, what: str, hint: str) -> Func:
    """Refuse (``{step}.limit``) a concrete size above the limit; an open one becomes a constraint on rows."""
    if isinstance(size, int):
        if size > limit:
            refuse(f"{step}.limit", f"{step} of {loop!r} would {what}; the limit is {limit}.", (loop,), hint)
        return func
    return replace(func, constraints=(*func.constraints, Constraint(f"{step}({loop}) <= {limit}", limit - size)))


def sizes_through(func: Func, loop: str, kinds: Collection[str]) -> list[Dim]:
    """Product of the extents of `loop` and the loops of some kinds, on each path through it."""
    lp, outer = func.loop(loop)
    around = product(x.extent for x in (*outer, lp) if x is lp or x.kind in kinds)
    out: list[Dim] = []
    for last, path in loops((lp,)):
        if not any(isinstance(s, For) for s in last.body):
            inner = product(x.extent for x in (*path, last)[1:] if x.kind in kinds)
            out.append(normal(around * inner, func.relations))
    return out
