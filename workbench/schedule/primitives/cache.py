"""Primitive that gives a result a place of its own while it is computed: cache_write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from ...ir.affine import Affine
from ...ir.expr import Load, map_loads
from ...ir.func import Buffer, Func
from ...ir.stmt import Block, Iter, blocks
from .. import legality
from ..primitive import Applied, BlockRef, Primitive, primitive
from ..refusal import refuse
from ..rewrite import fresh_names, nest, replace_block


@primitive(
    "cache_write",
    category="memory",
    returns="name",
    codes={
        "cache_write.writers": "other blocks write the same buffer",
        "cache_write.consumers": "a block that reads the result runs in the same nest",
    },
)
@dataclass(frozen=True, slots=True)
class CacheWrite(Primitive):
    """Let a block accumulate into a temporary of its own, and copy that to the buffer afterwards.

    Contract: the block writes ``buffer.local``; a new block ``buffer.copy`` copies it to ``buffer`` in a nest of its
    own right after. ``reverse_compute_at`` then brings the copy into the block's loops, and the temporary shrinks to a
    tile, small enough for registers. Gives back the name of the copy block.
    """

    block: Annotated[str, BlockRef("block whose result to keep close")]

    def apply(self, func: Func) -> Applied:
        block, path = func.block(self.block)
        buffer = func.buffer(block.buffer)
        others = [b.name for b, _ in legality.writers(func, buffer.name) if b.name != self.block]
        if others:
            refuse(
                "cache_write.writers", f"{buffer.name!r} is also written by {', '.join(others)}.", (self.block, *others)
            )
        top = path[0].name if path else self.block
        inside = [b.name for b, p in legality.readers(func, buffer.name) if p and p[0].name == top]
        if inside:
            refuse(
                "cache_write.consumers",
                f"{', '.join(inside)} reads {buffer.name!r} in the same nest, before the copy would be made.",
                (self.block, *inside),
                f"do cache_write before moving {inside[0]!r}",
            )
        local = replace(buffer, name=func.fresh_name(f"{buffer.name}.local"), role="temp", layout=())
        copy, loops = _copy(func, block, buffer, local)

        def redirect(b: Block) -> tuple[Block, ...]:
            def load(ld: Load) -> Load:
                return Load(local.name, ld.index) if ld.buffer == buffer.name else ld

            return (replace(b, buffer=local.name, value=map_loads(b.value, load)),)

        body = replace_block(func.body, self.block, redirect)
        k = next(k for k, s in enumerate(body) if s.name == top) + 1
        copies = nest(list(zip(loops, buffer.shape, strict=True)), (copy,))
        return replace(func.with_buffers([local]), body=body[:k] + copies + body[k:]), (copy.name,)

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, _ in blocks(func.body):
            if at in (None, block.name, block.buffer):
                yield CacheWrite(block.name)


def _copy(func: Func, block: Block, buffer: Buffer, local: Buffer) -> tuple[Block, tuple[str, ...]]:
    name = func.fresh_name(f"{buffer.name}.copy")
    single = [x.single_var() for x in block.index]
    axes = [a if a is not None and single.count(a) == 1 else f"c{d}" for d, a in enumerate(single)]
    iters = tuple(Iter(a, n, "S") for a, n in zip(axes, buffer.shape, strict=True))
    loops = fresh_names(func, [f"{name}_{a}" for a in axes])
    index = tuple(Affine.var(a) for a in axes)
    binds = tuple(Affine.var(n) for n in loops)
    return Block(name, iters, binds, buffer.name, index, Load(local.name, index)), loops
