"""Primitive that makes a block vanish into its readers: compute_inline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from ...errors import ScheduleError
from ...ir.expr import Expr, Load, map_affine, map_loads
from ...ir.func import Func
from ...ir.stmt import Block, Stmt, blocks, rewrite
from .. import legality
from ..primitive import Applied, BlockRef, Primitive, primitive
from ..refusal import refuse
from ..rewrite import remove_block
from .placement import check_identity


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
        "compute_inline.producer": "what the block reads is not complete where its readers run",
    },
)
@dataclass(frozen=True, slots=True)
class ComputeInline(Primitive):
    """Put the value of a block into every place that reads it; the block and its buffer disappear.

    Contract: the block is element-wise and the only writer of a temporary. Work is repeated where an element is read
    more than once, and nothing is stored in between.
    """

    block: Annotated[str, BlockRef("block to inline")]

    def apply(self, func: Func) -> Applied:
        block, _ = func.block(self.block)
        self._check(func, block)
        axes = [x.single_var() for x in block.index]

        def value_at(ld: Load) -> Expr:
            if ld.buffer != block.buffer:
                return ld
            env = {axis: x for axis, x in zip(axes, ld.index, strict=True) if axis is not None}
            return map_affine(block.value, lambda a: a.subst(env))

        def fn(s: Stmt) -> tuple[Stmt, ...] | None:
            if not isinstance(s, Block) or block.buffer not in legality.reads(s):
                return None
            return (
                replace(
                    s, value=map_loads(s.value, value_at), init=None if s.init is None else map_loads(s.init, value_at)
                ),
            )

        try:
            body = rewrite(remove_block(func.body, self.block), fn)
        except ScheduleError as e:
            refuse(
                "compute_inline.affine",
                f"Inlining {self.block!r} would need an index that is not affine: {e.message}",
                (self.block,),
            )
        new = replace(func, body=body, buffers=tuple(b for b in func.buffers if b.name != block.buffer))
        for name in legality.reads(block):
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
            )
        if block.is_reduction or any(it.kind == "R" for it in block.iters):
            refuse(
                "compute_inline.reduction",
                f"Block {self.block!r} is a reduction; its value is not one expression.",
                (self.block,),
                "compute_at places a reduction inside its reader's loops",
            )
        others = [b.name for b, _ in legality.writers(func, block.buffer) if b.name != self.block]
        if others:
            refuse(
                "compute_inline.writers",
                f"{block.buffer!r} is also written by {', '.join(others)}.",
                (self.block, *others),
            )
        if block.guard:
            refuse("compute_inline.guard", f"Block {self.block!r} runs under a condition.", (self.block,))
        check_identity(block, "compute_inline.identity")
        if not legality.readers(func, block.buffer):
            refuse("compute_inline.consumers", f"Nothing reads {block.buffer!r}.", (self.block,))
