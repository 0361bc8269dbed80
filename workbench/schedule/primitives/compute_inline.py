"""Primitives that make a block vanish: compute_inline into its readers, reverse_compute_inline into its producer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated

from workbench.errors import ScheduleError, WorkbenchError
from workbench.ir import Affine, Binary, Block, Const, Digit, Expr, For, Func, Index, Load, Pick, Select, Stmt, blocks
from workbench.ir.affine import FREE
from workbench.ir.expr import (
    free_number,
    index_forms,
    loads,
    map_affine,
    map_bounds,
    map_children,
    map_loads,
    map_picks,
    tidy,
)
from workbench.ir.expr_dtypes import neutral
from workbench.ir.poly import equal
from workbench.ir.stmt import map_block_loads, rewrite
from workbench.schedule import legality, size_limits
from workbench.schedule.legality.coverage import check_identity, uncovered
from workbench.schedule.nest_rewrites import remove_block, replace_block
from workbench.schedule.primitive import Applied, BlockRef, Primitive, primitive
from workbench.schedule.refusal import refuse


@primitive(
    "compute_inline",
    category="placement",
    codes={
        "compute_inline.output": "the block writes an output of the function",
        "compute_inline.reduction": "the block is a reduction",
        "compute_inline.writers": "other blocks write the same buffer",
        "compute_inline.guard": "the block runs only under a condition",
        "compute_inline.identity": "the block does not write its buffer at its own axes",
        "compute_inline.consumers": "no block reads the buffer",
        "compute_inline.affine": "the reader's index put into the block's would not be affine",
        "compute_inline.size": "the expression of a reader would become too large",
        "compute_inline.producer": "what the block reads is not complete where its readers run",
    },
)
class ComputeInline(Primitive):
    """Put the value of a block into every place that reads it; the block and its buffer disappear.

    Contract: the block is element-wise and the only writer of a temporary. Work is repeated where an element is read
    more than once, and nothing is stored in between.
    """

    block: Annotated[str, BlockRef("block to inline")]

    def apply(self, func: Func) -> Applied:
        block, _ = func.block(self.block)
        self._check(func, block)
        for reader, _ in legality.readers(func, block.buffer):
            size_limits.check_inlined(block, block.value, reader, "compute_inline.size")
        axes = [x.single_var() for x in block.index]

        def value_at(ld: Load) -> Expr:
            if ld.buffer != block.buffer:
                return ld
            env = {axis: x for axis, x in zip(axes, ld.index, strict=True) if axis is not None}
            return _picked(block.value, env, ld.at) if ld.at else map_affine(block.value, lambda a: a.subst(env))

        def fn(s: Stmt) -> tuple[Stmt, ...] | None:
            if not isinstance(s, Block) or block.buffer not in legality.reads(s):
                return None
            return (map_block_loads(s, value_at),)

        try:
            body = rewrite(remove_block(func.body, self.block), fn)
        except ScheduleError as e:
            refuse(
                "compute_inline.affine",
                f"Inlining {self.block!r} would need an index that is not affine: {e.message}",
                (self.block,),
                "split the reader's loops where the parts of the index meet, or compute_at places the block instead",
            )
        new = replace(func, body=body, buffers=tuple(b for b in func.buffers if b.name != block.buffer))
        for name in sorted(legality.reads(block)):
            legality.check_flow(new, name, "compute_inline.producer")
        return new, ()

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, _ in blocks(func.body):
            if at in (None, block.name):
                yield ComputeInline(block.name)

    def _check(self, func: Func, block: Block) -> None:
        if func.buffer(block.buffer).role != "temp":
            refuse(
                "compute_inline.output",
                f"Block {self.block!r} writes {block.buffer!r}, an output of the function.",
                (self.block,),
                "reverse_compute_inline puts it into the block that makes what it reads",
            )
        if block.is_reduction or any(it.kind == "R" for it in block.iters):
            refuse(
                "compute_inline.reduction",
                f"Block {self.block!r} is a reduction; its value is not one expression.",
                (self.block,),
                "compute_at places a reduction inside its reader's loops",
            )
        legality.check_sole_writer(func, block, "compute_inline.writers")
        if block.guard:
            text = f"Block {self.block!r} runs under a condition."
            refuse("compute_inline.guard", text, (self.block,), "inline it before splitting with a tail")
        check_identity(block, "compute_inline.identity")
        if not legality.readers(func, block.buffer):
            text = f"Nothing reads {block.buffer!r}."
            refuse("compute_inline.consumers", text, (self.block,), "its result is not used by any block")


@primitive(
    "reverse_compute_inline",
    category="placement",
    codes={
        "reverse_compute_inline.block": "the block is a reduction, or runs under a condition",
        "reverse_compute_inline.producer": "not exactly one temporary that it reads is made by one block for it alone",
        "reverse_compute_inline.reduction": "what is made of a reduction's result cannot be put into its initial value",
        "reverse_compute_inline.identity": "an element of the block does not belong to one element of the producer",
        "reverse_compute_inline.cover": "the producer computes elements more than once",
        "reverse_compute_inline.size": "the expression would become too large",
        "reverse_compute_inline.order": "what else the block reads is not complete where the producer runs",
    },
)
class ReverseComputeInline(Primitive):
    """Put a block into the block that makes what it reads; it and the temporary between them disappear.

    Contract: the block is element-wise and reads a temporary that one block makes for it alone, element by element. An
    element-wise producer then stores the finished value. A reduction can only take in a plain copy (which undoes
    ``cache_write``), or one more term of its own operator, as its initial value: the bias added to a sum, the limit of
    a maximum.
    """

    block: Annotated[str, BlockRef("block to put into its producer")]

    def apply(self, func: Func) -> Applied:
        block, _ = func.block(self.block)
        producer, path = self._producer(func, block)
        env = self._match(func, block, producer)
        _check_once(func, producer, path)
        size_limits.check_inlined(producer, producer.value, block, "reverse_compute_inline.size")
        value = map_affine(block.value, lambda form: form.subst(env))
        index = tuple(x.subst(env) for x in block.index)
        if producer.is_reduction:
            merged = self._continued(func, block, producer, value, index)
        else:
            merged = replace(
                producer,
                buffer=block.buffer,
                index=index,
                value=map_loads(value, lambda ld: producer.value if ld.buffer == producer.buffer else ld),
            )
        body = replace_block(remove_block(func.body, self.block), producer.name, lambda _: (merged,))
        new = replace(func, body=body, buffers=tuple(b for b in func.buffers if b.name != producer.buffer))
        for name in sorted({*legality.reads(merged), merged.buffer}):
            legality.check_flow(new, name, "reverse_compute_inline.order")
        return new, ()

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, _ in blocks(func.body):
            made = any(func.buffer(n).role == "temp" for n in legality.reads(block))
            if at in (None, block.name) and made and not block.is_reduction:
                yield ReverseComputeInline(block.name)

    def _producer(self, func: Func, block: Block) -> tuple[Block, tuple[For, ...]]:
        if block.is_reduction or block.guard:
            refuse(
                "reverse_compute_inline.block",
                f"Block {self.block!r} {'is a reduction' if block.is_reduction else 'runs under a condition'}.",
                (self.block,),
                "only an element-wise block can be put into what it reads",
            )
        producers = []
        for name in sorted(legality.reads(block)):
            made, used = legality.writers(func, name), legality.readers(func, name)
            if func.buffer(name).role == "temp" and len(made) == len(used) == 1 and not made[0][0].guard:
                producers += made
        if len(producers) != 1:
            names = ", ".join(repr(b.name) for b, _ in producers)
            refuse(
                "reverse_compute_inline.producer",
                f"Block {self.block!r} reads "
                + (
                    f"temporaries of several blocks: {names}."
                    if producers
                    else "no temporary that one block makes for it."
                ),
                (self.block, *(b.name for b, _ in producers)),
                "inline the others into it first: compute_inline",
            )
        return producers[0]

    def _match(self, func: Func, block: Block, producer: Block) -> dict[str, Affine]:
        """Axis of the block -> axis of the producer that moves the same element."""
        check_identity(producer, "reverse_compute_inline.identity")
        axes = [x.single_var() for x in producer.index]
        extents = {it.name: it.extent for it in producer.iters}
        reads_of_it = {ld for ld in loads(block.value) if ld.buffer == producer.buffer}
        env: dict[str, Affine] = {}
        good = len(reads_of_it) == 1
        for mine, its in zip(next(iter(reads_of_it)).index, axes, strict=True):
            axis = mine.single_var()
            if axis is None:
                good = good and mine == Affine() and its is not None and extents[its] == 1
            else:
                good = good and axis not in env and its is not None
                env[axis] = Affine.var(str(its))
        for it in block.iters:
            same = it.name in env and equal(extents.get(str(env[it.name]), 0), it.extent, func.relations)
            good = good and (same or (it.name not in env and it.extent == 1))
            env.setdefault(it.name, Affine())
        if not good:
            reads = "; ".join(f"[{', '.join(map(str, ld.index))}]" for ld in sorted(reads_of_it, key=str))
            over = ", ".join(f"{it.name}: {it.extent}" for it in block.iters)
            refuse(
                "reverse_compute_inline.identity",
                f"Block {self.block!r} over ({over}) reads "
                f"{producer.buffer!r} at {reads}, which is not one element for each.",
                (self.block, producer.name),
                _other_side(func, producer.name),
            )
        return env

    def _continued(self, func: Func, block: Block, producer: Block, value: Expr, index: tuple[Affine, ...]) -> Block:
        """The reduction with the block's operation in its initial value."""
        op, term = producer.update()
        assert producer.init is not None
        dtype = func.buffer(producer.buffer).dtype
        own = producer.own_load()
        init: Expr | None = None
        match value:
            case Load() if value == own:
                init = producer.init
            case Binary(same, a, b) if same == op and own in (a, b):
                other = b if a == own else a
                if all(ld.buffer != producer.buffer for ld in loads(other)):
                    start = producer.init
                    empty = isinstance(start, Const) and start == neutral(op, dtype)
                    init = other if empty else Binary(op, start, other)
        if init is None or func.buffer(block.buffer).dtype != dtype:
            refuse(
                "reverse_compute_inline.reduction",
                f"Block {producer.name!r} is a reduction, and what {self.block!r} makes of its result is not one more "
                f"term of it ({op}).",
                (self.block, producer.name),
                "reverse_compute_at moves the block to where the result is ready",
            )
        target = Load(block.buffer, index)
        return replace(producer, buffer=block.buffer, index=index, value=Binary(op, target, term), init=init)


def _picked(e: Expr, env: dict[str, Affine], at: tuple[Pick, ...]) -> Expr:
    """An expression with its axes replaced by forms in which parts of `at` occur: loads take over what they need.

    Raises
    ------
    ScheduleError
        "index.affine" where something else than a load looks at what is picked.
    """
    if isinstance(e, Load):
        own = map_picks(e.at, lambda c: _picked(c, env, at))
        moved = {axis: x.subst(_renumbered(len(own), len(at))) for axis, x in env.items()}
        index = tuple(x.subst(moved) for x in e.index)
        return tidy(Load(e.buffer, index, (*own, *at)))
    if any(x.subst(env).free for x in index_forms(e)):
        raise ScheduleError("index.affine", "Something else than a load looks at an index that is read at run time.")
    match e:
        case Index(form):
            return Index(form.subst(env))
        case Select(conds, a, b):
            bounds = map_bounds(conds, lambda x: x.subst(env))
            return Select(bounds, _picked(a, env, at), _picked(b, env, at))
        case _:
            return map_children(e, lambda c: _picked(c, env, at))


def _renumbered(start: int, count: int) -> dict[str, Affine | Callable[[Digit], Affine]]:
    """Free digits by their variable, with numbers that begin at `start`."""

    def shifted(d: Digit) -> Affine:
        return Affine(((replace(d, var=f"{FREE}{free_number(d) + start}"), 1),))

    return {f"{FREE}{k}": shifted for k in range(count)}


def _check_once(func: Func, block: Block, path: tuple[For, ...]) -> None:
    """Refuse unless the loops reach every element of the block exactly once."""
    if uncovered(func, block.binds, [it.extent for it in block.iters], legality.extents_of(path)) is not None:
        refuse(
            "reverse_compute_inline.cover",
            f"Block {block.name!r} may compute an element more than once where it is now.",
            (block.name,),
            "take this step before moving blocks",
        )


def _other_side(func: Func, producer: str) -> str:
    """Say that a block can be put into its readers where it can, else that the two can only be brought together."""
    try:
        ComputeInline(producer).check(func)
    except WorkbenchError:
        return "it stays a block of its own; reverse_compute_at brings it near what it reads"
    return f"compute_inline({producer!r}) repeats what is read more than once"
