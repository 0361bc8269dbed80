"""Primitives that move a block into another block's loops: compute_at, reverse_compute_at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, TypeAlias

from workbench.errors import ScheduleError
from workbench.ir import Affine, Block, Bound, Dim, For, Func, blocks, loops
from workbench.ir.affine import split_base
from workbench.ir.buffer_regions import Span, region
from workbench.ir.expr import loads
from workbench.ir.stmt import shared_loops
from workbench.schedule import legality
from workbench.schedule.legality.coverage import check_identity, uncovered
from workbench.schedule.nest_rewrites import fresh_names, insert, nest, remove_block
from workbench.schedule.primitive import Applied, BlockRef, LoopRef, Primitive, primitive
from workbench.schedule.refusal import Deferred, Refusal, Witness, refuse


@primitive(
    "compute_at",
    category="placement",
    returns="names",
    codes={
        "compute_at.output": "the block writes an output of the function",
        "compute_at.writers": "other blocks write the same buffer",
        "compute_at.identity": "the block does not write its buffer at its own axes",
        "compute_at.consumers": "no block in the loop reads the buffer, or one elsewhere would find it incomplete",
        "compute_at.producer": "what the block reads is not complete when it would run",
        "compute_at.own_loop": "the loop belongs to the block itself",
        "region.inside": "it is not proved that the part that is needed lies inside the buffer",
        "region.union": "the parts that two readers need cannot be ordered",
    },
)
class ComputeAt(Primitive):
    """Compute a block inside a loop of the blocks that read it, just the part that one iteration needs.

    Contract: the block is the only writer of a temporary, some of its readers lie inside `loop`, and what it reads
    itself is complete before `loop` begins. Readers elsewhere come later, and the parts that the ones inside need must
    make up all that these read, each once. Its loops are built anew, so earlier splits of them are lost: place first,
    split after. They are called ``block_axis``. The temporary keeps its shape in the nest; only what is live is
    allocated. Where the parts of two iterations overlap (a stencil's halo), the overlap is computed again. A reduction
    runs whole inside `loop`. Blocks that were placed into the old loops of the block stay where they are.
    """

    idle = "No statement elsewhere makes what is read here."

    block: Annotated[str, BlockRef("block to move")]
    loop: Annotated[str, LoopRef("loop of its readers")]

    def apply(self, func: Func) -> Applied:
        block, _ = func.block(self.block)
        func.loop(self.loop)
        self._check_block(func, block)
        moved = func.with_body(remove_block(func.body, self.block))
        lp, outer = _still_there(moved, self.loop, self.block, "compute_at")
        self._check_readers(moved, block)
        spans = _part(moved, lp, block.buffer, block, writes=False)
        axes = [x.single_var() for x in block.index]
        part = {axis: span for axis, span in zip(axes, spans, strict=True) if axis is not None}
        new, names, block, guard = _put(moved, block, (*outer, lp), part, first=True)
        for name in sorted(legality.reads(block)):
            legality.check_flow(new, name, "compute_at.producer")
        legality.check_flow(new, block.buffer, "compute_at.consumers")
        self._check_later(new, block, guard)
        return new, names

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, own in blocks(func.body):
            if func.buffer(block.buffer).role != "temp":
                continue
            for loop in _elsewhere(own, legality.readers(func, block.buffer)):
                if at in (None, block.name, loop):
                    yield ComputeAt(block.name, loop)

    def _check_block(self, func: Func, block: Block) -> None:
        if func.buffer(block.buffer).role != "temp":
            refuse(
                "compute_at.output",
                f"Block {self.block!r} writes {block.buffer!r}, an output of the function, which must be "
                "written once and whole.",
                (self.block, block.buffer),
                "move its readers instead: reverse_compute_at",
            )
        legality.check_sole_writer(func, block, "compute_at.writers")
        check_identity(block, "compute_at.identity")

    def _check_readers(self, func: Func, block: Block) -> None:
        users = legality.readers(func, block.buffer)
        if not users:
            text = f"Nothing reads {block.buffer!r}."
            refuse("compute_at.consumers", text, (self.block,), "its result is not used by any block")
        if not any(lp.name == self.loop for _, p in users for lp in p):
            outside = [b.name for b, _ in users]
            refuse(
                "compute_at.consumers",
                f"{', '.join(outside)} reads {block.buffer!r} outside of loop {self.loop!r}.",
                (self.block, self.loop, *outside),
                "choose a loop that holds a reader, or inline the block",
            )

    def _check_later(self, func: Func, block: Block, guarded: Collection[str]) -> None:
        """Refuse unless readers outside of the loop find everything written, as `legality.check_flow` takes for given:
        between its ends, what one iteration of the loops that they share writes must have no gaps.
        """
        _, path = func.block(self.block)
        for reader, rpath in legality.readers(func, block.buffer):
            if any(lp.name == self.loop for lp in rpath):
                continue
            if _gap(func, block, path, guarded, shared_loops(path, rpath)) is not None:
                refuse(
                    "compute_at.consumers",
                    f"{reader.name} reads {block.buffer!r} outside of loop {self.loop!r}, and it is not proved that "
                    "the parts that are needed inside make up all of it, each once.",
                    (self.block, self.loop, reader.name),
                    "choose a loop that holds all readers, or inline the block",
                    Deferred(lambda: legality.early(func, block.buffer, reader.name)),  # noqa: B023
                )


@primitive(
    "reverse_compute_at",
    category="placement",
    returns="names",
    codes={
        "reverse_compute_at.reduction": "the block is a reduction",
        "reverse_compute_at.producer": "nothing that the block reads is computed in the loop, or it is not complete",
        "reverse_compute_at.unfinished": "a reduction that the block reads still runs outside of the loop",
        "reverse_compute_at.stencil": "the block reads more than the one element that belongs to its own",
        "reverse_compute_at.cover": "the loops do not reach every element of the block exactly once",
        "reverse_compute_at.consumer": "a block that reads the result would run before it is complete",
        "reverse_compute_at.own_loop": "the loop belongs to the block itself",
        "region.inside": "it is not proved that the part that is computed lies inside the buffer",
        "region.union": "the parts that two writers compute cannot be ordered",
    },
)
class ReverseComputeAt(Primitive):
    """Move a block that reads a result into the loops that compute it: what is finished there is used at once.

    Contract: the block is no reduction and reads element by element what is computed inside `loop`; everything it reads
    is complete at the end of one iteration of `loop`; the loops around reach every element of it exactly once. It
    becomes the last statement in `loop`. Its loops are built anew, so earlier splits of them are lost: place first,
    split after. They are called ``block_axis``.
    """

    idle = "No statement elsewhere reads what is made here."

    block: Annotated[str, BlockRef("block to move")]
    loop: Annotated[str, LoopRef("loop of what it reads")]

    def apply(self, func: Func) -> Applied:
        block, _ = func.block(self.block)
        func.loop(self.loop)
        if block.is_reduction or any(it.kind == "R" for it in block.iters):
            refuse(
                "reverse_compute_at.reduction",
                f"Block {self.block!r} is a reduction; only an element-wise block can follow what it reads.",
                (self.block,),
                "move what it reads instead: compute_at",
            )
        moved = func.with_body(remove_block(func.body, self.block))
        lp, outer = _still_there(moved, self.loop, self.block, "reverse_compute_at")
        made = self._produced(moved, block, (*outer, lp))
        new, names, block, guard = self._placed(moved, block, (*outer, lp), made)
        self._check_cover(new, block, guard)
        for name in sorted(legality.reads(block)):
            legality.check_flow(new, name, "reverse_compute_at.producer")
        legality.check_flow(new, block.buffer, "reverse_compute_at.consumer")
        return new, names

    def _placed(self, func: Func, block: Block, path: tuple[For, ...], made: Sequence[str]) -> _Put:
        """Put the block behind what one iteration of the innermost loop makes."""
        part: dict[str, Span] = {}
        for name in made:
            spans = _part(func, path[-1], name, block, writes=True)
            self._match(func, block, name, spans, part)
        return _put(func, block, path, part, first=False)

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, own in blocks(func.body):
            if block.is_reduction:
                continue
            made = [w for buffer in sorted(legality.reads(block)) for w in legality.writers(func, buffer)]
            for loop in _elsewhere(own, made):
                if at in (None, block.name, loop):
                    yield ReverseComputeAt(block.name, loop)

    def _produced(self, func: Func, block: Block, around: tuple[For, ...]) -> list[str]:
        """Buffers that the block reads and that are computed inside the last loop; they must be finished there."""
        made = []
        for name in sorted(legality.reads(block)):
            inside = [(w, path) for w, path in blocks(around[-1].body) if w.buffer == name]
            if not inside:
                continue
            made.append(name)
            if len(inside) < len(legality.writers(func, name)):
                refuse(
                    "reverse_compute_at.producer",
                    f"Only a part of {name!r} is computed inside {self.loop!r}.",
                    (self.block, name),
                    "take this step before decompose_reduction and before a peeled split",
                )
            for w, path in inside:
                running = sorted(legality.reduction_loops(w) - {x.name for x in path})
                running = [n for n in running if not legality.is_unit(func, func.loop(n)[0].extent)]
                if running:
                    refuse(
                        "reverse_compute_at.unfinished",
                        f"Inside {self.loop!r}, block {w.name!r} is not finished: its reduction "
                        f"still runs over {', '.join(running)} outside.",
                        (self.block, self.loop, w.name),
                        f"choose a loop outside of {running[0]!r}, or reorder {running[0]!r} inwards",
                        Deferred(lambda: self._unfinished(func, block, around, name)),  # noqa: B023
                    )
        if not made:
            refuse(
                "reverse_compute_at.producer",
                f"Nothing that block {self.block!r} reads is computed inside {self.loop!r}.",
                (self.block, self.loop),
                f"it reads {', '.join(sorted(legality.reads(block)))}",
            )
        return made

    def _unfinished(self, func: Func, block: Block, around: tuple[For, ...], name: str) -> Witness | None:
        try:
            new, *_ = self._placed(func, block, around, [name])
        except ScheduleError:
            return None
        return legality.early(new, name, self.block)

    def _match(self, func: Func, block: Block, name: str, spans: tuple[Span, ...], part: dict[str, Span]) -> None:
        """Find for each axis of the block the part of it that is ready."""
        for ld in dict.fromkeys(x for x in loads(block.value) if x.buffer == name):
            for x, span in zip(ld.index, spans, strict=True):
                axis = x.single_var()
                if axis is None and x.is_const and span.base.is_const and (span.base.const, span.width) == (x.const, 1):
                    continue
                if axis is None or part.setdefault(axis, span) != span:
                    refuse(
                        "reverse_compute_at.stencil",
                        f"Block {self.block!r} reads {name!r} at [{', '.join(map(str, ld.index))}], "
                        f"not just the element that {self.loop!r} has ready.",
                        (self.block, name),
                        f"compute {name!r} inside the loops of {self.block!r} instead: compute_at",
                    )

    def _check_cover(self, func: Func, block: Block, guard: Mapping[str, Bound]) -> None:
        """Refuse unless the block, in its new place, runs once for each of its elements."""
        search = Deferred(lambda: self._uncovered(func))
        gap = _gap(func, block, func.block(block.name)[1], guard)
        if isinstance(gap, int):
            refuse(
                "reverse_compute_at.cover",
                f"Axis {block.iters[gap].name!r} of block {self.block!r} would run over {block.binds[gap]}, which is "
                f"not proved to take every value of [0, {block.iters[gap].extent}) exactly once.",
                (self.block, self.loop),
                "choose a loop further out",
                search,
            )
        if gap is not None:
            refuse(
                "reverse_compute_at.cover",
                f"Loop {gap!r} would run block {self.block!r} again for the same elements.",
                (self.block, gap),
                f"choose a loop outside of {gap!r}",
                search,
            )

    def _uncovered(self, func: Func) -> Witness | None:
        """An element that is read before it is there, or that two iterations write."""
        block, path = func.block(self.block)
        early = (legality.early(func, name, self.block) for name in sorted(legality.reads(block)))
        again = (legality.conflict(func, block, path, lp.name) for lp in path)
        return next((witness for witness in (*early, *again) if witness is not None), None)


def _gap(
    func: Func, block: Block, path: Sequence[For], guarded: Collection[str], common: Sequence[For] = ()
) -> int | str | None:
    """What keeps a block from making every element once in one iteration of the loops `common` (see `uncovered`);
    guards cut the axes `guarded` to size.
    """
    inner = legality.extents_of(path[len(common) :])
    parts = [x - split_base(x, inner) if common else x for x in block.binds]
    totals = [
        legality.form_range(x, inner, func.relations)[1] + 1 if common or it.name in guarded else it.extent
        for it, x in zip(block.iters, parts, strict=True)
    ]
    return uncovered(func, parts, totals, inner)


def _part(func: Func, lp: For, buffer: str, block: Block, writes: bool) -> tuple[Span, ...]:
    """What one iteration of the loop reads or writes of the buffer."""
    try:
        spans = region(func, lp.body, buffer, writes=writes)
    except ScheduleError as e:
        raise Refusal(e.code, e.message, (block.name, lp.name, buffer), "choose a loop further out") from None
    assert spans is not None
    return spans


def _still_there(func: Func, loop: str, block: str, step: str) -> tuple[For, tuple[For, ...]]:
    if not any(lp.name == loop for lp, _ in loops(func.body)):
        refuse(
            f"{step}.own_loop",
            f"Loop {loop!r} holds nothing but block {block!r} itself.",
            (block, loop),
            "choose a loop of another block",
        )
    return func.loop(loop)


#: The function with a block in its new place, the block's loops there, the block itself, and conditions by axis.
_Put: TypeAlias = tuple[Func, tuple[str, ...], Block, dict[str, Bound]]


def _put(func: Func, block: Block, path: Sequence[For], part: Mapping[str, Span], first: bool) -> _Put:
    """Put a block into the innermost loop of a path, in loops of its own over a part of each axis."""
    names, binds, extents = _new_loops(func, block, part)
    around = legality.extents_of(path) | dict(zip(names, extents, strict=True))
    guard = _guards(func, block, binds, around)
    block = replace(block, binds=tuple(binds), guard=tuple(dict.fromkeys((*block.guard, *guard.values()))))
    inner = nest(list(zip(names, extents, strict=True)), (block,))
    return func.with_body(insert(func.body, path[-1].name, inner, first=first)), names, block, guard


def _elsewhere(own: Sequence[For], others: Iterable[tuple[Block, tuple[For, ...]]]) -> list[str]:
    """Loops around other blocks that are not among the own ones, each once."""
    mine = {lp.name for lp in own}
    return list(dict.fromkeys(lp.name for _, path in others for lp in path if lp.name not in mine))


def _new_loops(func: Func, block: Block, part: Mapping[str, Span]) -> tuple[tuple[str, ...], list[Affine], list[Dim]]:
    """Loops for the part of each axis that is needed; an axis without a part runs whole."""
    names = fresh_names(func, [f"{block.name}_{it.name}" for it in block.iters])
    binds: list[Affine] = []
    extents: list[Dim] = []
    cut = {
        d.var for x in (*block.index, *(i for ld in block.loads() for i in ld.index)) for d, _ in x.terms if not d.plain
    }
    for it, name in zip(block.iters, names, strict=True):
        span = _existing(part.get(it.name, Span(Affine(), it.extent)), it.extent)
        # A part of one element of an axis that is used in parts stays without its loop: a sum has no parts.
        alone = it.name in cut and span.width == 1
        binds.append(span.base if alone else span.base + Affine.var(name))
        extents.append(span.width)
    return names, binds, extents


def _existing(span: Span, extent: Dim) -> Span:
    """The whole axis for a span that does not move and reaches beyond both of its ends."""
    lo, size = span.base.const, span.width
    if not span.base.is_const or not (isinstance(lo, int) and isinstance(size, int) and isinstance(extent, int)):
        return span
    return Span(Affine(), extent) if lo <= 0 and lo + size >= extent else span


def _guards(func: Func, block: Block, binds: list[Affine], extents: Mapping[str, Dim]) -> dict[str, Bound]:
    """Conditions for axes of an element-wise block that would run beyond what there is; refuse what is undecided."""
    out: dict[str, Bound] = {}
    for it, bind in zip(block.iters, binds, strict=True):
        lo, hi = legality.form_range(bind, extents, func.relations)
        for value, text in ((lo, f"{lo} >= 0"), (it.extent - 1 - hi, f"{hi} < {it.extent}")):
            inside = legality.nonneg(value, func.relations)
            if inside is False and not block.is_reduction and isinstance(it.extent, int):
                out[it.name] = Bound(Affine.var(it.name), 0, it.extent)
            elif not inside:
                refuse(
                    "region.inside",
                    f"Axis {it.name!r} of block {block.name!r} would run over {bind}, and {text} is not proved.",
                    (block.name, it.name),
                    "a guarded read can ask for elements that do not exist: give the padding a block of its own",
                )
    return out
