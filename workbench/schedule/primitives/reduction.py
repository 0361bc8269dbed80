"""Primitives that take a reduction apart: decompose_reduction, rfactor."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Annotated

from workbench.errors import ScheduleError
from workbench.ir import Affine, Binary, Block, Buffer, Dim, For, Func, Iter, Load, Stmt, blocks, loops
from workbench.ir.affine import bijective
from workbench.ir.expr_dtypes import dtype_of, neutral
from workbench.ir.poly import normal
from workbench.ir.stmt import as_marked
from workbench.schedule import legality
from workbench.schedule.nest_rewrites import (
    NotRadix,
    axis_names,
    fresh_names,
    nest,
    own_nest,
    replace_block,
    replace_loop,
    split_axis,
)
from workbench.schedule.primitive import Applied, BlockRef, LoopRef, Number, Primitive, primitive
from workbench.schedule.refusal import Deferred, Refusal, Witness, refuse


@primitive(
    "decompose_reduction",
    category="loop",
    returns="name",
    codes={
        "decompose_reduction.reduction": "the block is no reduction, or it starts from what is there already",
        "decompose_reduction.loop": "the loop is not around the block, or a loop around it reduces",
        "decompose_reduction.repeats": "the loop may compute an element of the block more than once",
    },
)
class DecomposeReduction(Primitive):
    """Write the initial values of a reduction in a nest of their own, before a loop.

    Contract: a new block ``X.init`` writes the initial value of every element that block X computes inside `loop`,
    right before `loop`, in loops ``loop.init`` over the elements; X then goes on from what is there. All reduction
    loops of X lie inside `loop` or are it, and `loop` computes every element once. The new nest can be vectorised or
    run in parallel. Gives back the name of the new block. Take this step late: a buffer with two writers is moved no
    more.
    """

    block: Annotated[str, BlockRef("reduction")]
    loop: Annotated[str, LoopRef("loop around it, before which the elements are initialised")]

    def apply(self, func: Func) -> Applied:
        block, path = func.block(self.block)
        func.loop(self.loop)
        self._check(func, block, path)
        at = next(k for k, lp in enumerate(path) if lp.name == self.loop)
        spatial = legality.spatial_loops(block)
        inner = [lp for lp in path[at:] if lp.name in spatial]
        names = fresh_names(func, [f"{lp.name}.init" for lp in inner])
        rename = {lp.name: Affine.var(n) for lp, n in zip(inner, names, strict=True)}
        kept = [(it, b) for it, b in zip(block.iters, block.binds, strict=True) if it.kind == "S"]
        first = {it.name: Affine() for it in block.iters if it.kind == "R"}
        assert block.init is not None
        start = Block(
            func.fresh_name(f"{block.name}.init"),
            tuple(it for it, _ in kept),
            tuple(b.subst(rename) for _, b in kept),
            block.buffer,
            block.index,
            block.init,
            guard=tuple(replace(g, form=g.form.subst(first)) for g in block.guard),
        )
        before = nest([(n, lp.extent) for lp, n in zip(inner, names, strict=True)], (start,))
        body = replace_block(func.body, self.block, lambda b: (replace(b, init=b.own_load()),))
        body = replace_loop(body, self.loop, lambda lp: (*before, lp))
        return func.with_body(body), (start.name,)

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, path in blocks(func.body):
            reducing = legality.reduction_loops(block)
            if not block.is_reduction or block.resumes:
                continue
            first = next((k for k, lp in enumerate(path) if lp.name in reducing), 0)
            for lp in path[: first + 1]:
                if at in (None, block.name, lp.name):
                    yield DecomposeReduction(block.name, lp.name)

    def _check(self, func: Func, block: Block, path: tuple[For, ...]) -> None:
        if not block.is_reduction or block.resumes:
            refuse(
                "decompose_reduction.reduction",
                f"Block {self.block!r} has no initial values of its own: it "
                + ("goes on from what is there." if block.is_reduction else "is no reduction."),
                (self.block,),
                "name the block that the reduction starts in",
            )
        around = [lp.name for lp in path]
        reducing = legality.reduction_loops(block)
        outside = [n for n in around[: around.index(self.loop)] if n in reducing] if self.loop in around else []
        outside = [n for n in outside if not legality.is_unit(func, func.loop(n)[0].extent)]
        if self.loop not in around or outside:
            why = f"reduces over {outside[0]!r} outside of it" if outside else "is not inside of it"
            refuse(
                "decompose_reduction.loop",
                f"Before {self.loop!r} is no place for the initial values: block {self.block!r} {why}.",
                (self.block, self.loop),
                f"choose {next((n for n in around if n in reducing), around[0])!r} or a loop outside of it"
                if around
                else "",
            )
        inside = legality.chain(path, self.loop)
        for lp in inside:
            if lp.name in reducing or legality.is_unit(func, lp.extent):
                continue
            if not legality.writes_distinct(func, block, path, lp.name):
                refuse(
                    "decompose_reduction.repeats",
                    f"Loop {lp.name!r} may compute elements of {block.buffer!r} again, which would be added twice.",
                    (self.block, lp.name),
                    f"choose a loop inside of {lp.name!r}",
                    Deferred(lambda: legality.twice(func, block, path, lp.name)),  # noqa: B023
                )


@primitive(
    "rfactor",
    category="loop",
    returns="name",
    codes={
        "rfactor.loop": "the loop does not carry the reduction of one block alone",
        "rfactor.digit": "the reduction axis does not fall apart at the loop",
        "rfactor.dim": "the temporary has no such dimension",
        "rfactor.resumes": "the block goes on from what is there, or runs under a condition on the reduction",
        "rfactor.writers": "other blocks write the same buffer",
        "rfactor.consumers": "a block that reads the result runs in the same nest",
    },
)
class RFactor(Primitive):
    """Reduce in two steps: the iterations of a reduction loop keep results of their own, which are reduced afterwards.

    Contract: a new block ``X.rf`` takes the place of block X; it writes the temporary ``buffer.rf``, which has one more
    dimension, for `loop`, so `loop` reduces no longer and can run in parallel or as vectors. X then reduces the
    temporary over that dimension, in a nest of its own right after, with loops ``X_axis`` and, innermost, ``loop.rf``.
    Sums are added up in another order. Gives back the name of the new block.
    """

    loop: Annotated[str, LoopRef("reduction loop")]
    dim: Annotated[
        int, Number("where the new dimension goes: 0 is first, -1 is last", said=((0, "first"), (-1, "last")))
    ] = 0

    def apply(self, func: Func) -> Applied:
        return self._made(func, self._block(func))

    def alike(self, func: Func) -> Hashable | None:
        # Where the new dimension goes decides nothing else: the temporary has as many elements, and the same block.
        return self.loop if self.dim in (0, -1) else None

    def _made(self, func: Func, block: Block) -> Applied:
        buffer = func.buffer(block.buffer)
        rank = len(buffer.shape)
        if not -rank - 1 <= self.dim <= rank:
            refuse(
                "rfactor.dim",
                f"{buffer.name!r} has {rank} dimensions, so a new one cannot be put at {self.dim}.",
                (self.loop, buffer.name),
                f"one of {-rank - 1} to {rank}",
            )
        dim = self.dim % (rank + 1)
        apart, axis = self._apart(func, block)
        part = next(it for it in apart.iters if it.name == axis)
        op, term = apart.update()
        start = neutral(op, dtype_of(block.own_load(), func))
        temp = func.fresh_name(f"{buffer.name}.rf")
        index = (*apart.index[:dim], Affine.var(axis), *apart.index[dim:])
        iters = tuple(replace(it, kind="S") if it.name == axis else it for it in apart.iters)
        open_ = any(it.kind == "R" for it in iters)
        partial = replace(
            apart,
            name=func.fresh_name(f"{block.name}.rf"),
            iters=iters,
            buffer=temp,
            index=index,
            value=Binary(op, Load(temp, index), term) if open_ else term,
            init=start if open_ else None,
        )
        shape = (*buffer.shape[:dim], part.extent, *buffer.shape[dim:])
        k = own_nest(func, block.name) + 1
        func = replace(
            func.with_buffers([Buffer(temp, shape, buffer.dtype)]),
            body=replace_block(func.body, block.name, lambda _: (partial,)),
        )
        total = self._total(func, block, temp, dim, part.extent)
        return func.with_body((*func.body[:k], *total, *func.body[k:])), (partial.name,)

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for lp, _ in loops(func.body):
            inside = [b for b, _ in blocks(lp.body) if lp.name in legality.reduction_loops(b)]
            if inside and at in (None, lp.name, *(b.name for b in inside)):
                yield RFactor(lp.name)
                yield RFactor(lp.name, -1)

    def _block(self, func: Func) -> Block:
        """The one block that reduces over the loop; refuse where it cannot be taken apart."""
        lp, _ = func.loop(self.loop)
        inside = [(b, p) for b, p in blocks(func.body) if any(x.name == self.loop for x in p)]
        reducing = [b for b, _ in inside if self.loop in legality.reduction_loops(b)]
        if len(inside) != 1 or not reducing or lp.kind != "serial":
            mark = "" if lp.kind == "serial" else f"is marked {as_marked(lp.kind)} and "
            refuse(
                "rfactor.loop",
                f"Loop {self.loop!r} {mark}holds {', '.join(repr(b.name) for b, _ in inside)}; an unmarked loop around "
                "one block that reduces over it is wanted.",
                (self.loop,),
                "split the reduction loop, and name one part",
            )
        block, path = inside[0]
        reduced = {it.name for it in block.iters if it.kind == "R"}
        if block.resumes or any(g.form.vars & reduced for g in block.guard):
            refuse(
                "rfactor.resumes",
                f"Block {block.name!r} goes on from what is there, or asks a condition about its reduction.",
                (self.loop, block.name),
                "take this step before decompose_reduction, and before splitting with a tail",
            )
        legality.check_sole_writer(func, block, "rfactor.writers")
        early = legality.reading_in_nest(func, block.buffer, path[0].name)
        if early:
            refuse(
                "rfactor.consumers",
                f"{early[0]!r} reads {block.buffer!r} in the same nest, before it would be complete.",
                (block.name, *early),
                f"take this step before moving {early[0]!r}",
                Deferred(lambda: self._early(func, block, early[0])),
            )
        return block

    def _early(self, func: Func, block: Block, reader: str) -> Witness | None:
        try:
            new, _ = self._made(func, block)
        except ScheduleError:  # the axis does not fall apart at the loop either
            return None
        return legality.early(new, block.buffer, reader)

    def _apart(self, func: Func, block: Block) -> tuple[Block, str]:
        """The block with an axis of its own for the loop, and that axis."""
        _, path = func.block(block.name)
        extents = legality.extents_of(path)
        it, bind = next((i, b) for i, b in zip(block.iters, block.binds, strict=True) if self.loop in b.vars)
        if bind.single_var() == self.loop and it.extent == extents[self.loop]:
            return block, it.name
        digits = [d for d, _ in bind.terms]
        if not all(d.plain for d in digits) or not bijective(bind, extents, it.extent, func.relations):
            raise self._no_digit(block, it)
        order = _by_weight(func, bind, extents)
        names = axis_names(block, it.name, len(order))
        parts = [(n, extents[v], Affine.var(v)) for n, v in zip(names, order, strict=True)]
        try:
            return split_axis(func, block, it.name, parts), names[order.index(self.loop)]
        except NotRadix:
            raise self._no_digit(block, it) from None

    def _no_digit(self, block: Block, it: Iter) -> Refusal:
        return Refusal(
            "rfactor.digit",
            f"Axis {it.name!r} of block {block.name!r} runs over {block.env[it.name]}, of which {self.loop!r} is no "
            "separate part.",
            (self.loop, block.name),
            "take this step before fusing reduction loops",
        )

    def _total(self, func: Func, block: Block, temp: str, dim: int, extent: Dim) -> tuple[Stmt, ...]:
        """Nest that reduces the temporary over its new dimension."""
        kept = [it for it in block.iters if it.kind == "S"]
        axis = "v"
        while any(it.name == axis for it in kept):
            axis += "_"
        names = fresh_names(func, [*(f"{block.name}_{it.name}" for it in kept), f"{self.loop}.rf"])
        op, _ = block.update()
        load = Load(temp, (*block.index[:dim], Affine.var(axis), *block.index[dim:]))
        iters = (*kept, Iter(axis, extent, "R"))
        binds = tuple(Affine.var(n) for n in names)
        total = replace(block, iters=iters, binds=binds, value=Binary(op, block.own_load(), load))
        return nest([(n, it.extent) for n, it in zip(names, iters, strict=True)], (total,))


def _by_weight(func: Func, bind: Affine, extents: dict[str, Dim]) -> list[str]:
    """Loops of a mixed-radix form, outermost digit first."""
    todo = [(d.var, c) for d, c in bind.terms]
    out: list[str] = []
    weight: Dim = 1
    while todo:
        # A loop that runs once may stand anywhere: the one with the least weight that fits goes first.
        fits = [x for x in todo if normal(x[1] - weight, func.relations) == 0]
        one = [x for x in todo if normal(extents[x[0]] - 1, func.relations) == 0]
        hit = next((x for x in fits if x in one), None) or next(iter(fits or one))
        todo.remove(hit)
        out.insert(0, hit[0])
        weight = normal(weight * extents[hit[0]], func.relations)
    return out
