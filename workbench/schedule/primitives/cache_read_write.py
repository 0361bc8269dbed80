"""Primitives that give data a place of its own while it is used: cache_write, cache_read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from workbench.ir import Affine, Block, Buffer, Func, Iter, Load, blocks
from workbench.ir.stmt import map_block_loads
from workbench.schedule import legality
from workbench.schedule.nest_rewrites import fresh_names, nest, own_nest, replace_block
from workbench.schedule.primitive import Applied, BlockRef, BufferRef, Primitive, primitive
from workbench.schedule.refusal import Deferred, Witness, refuse


@primitive(
    "cache_write",
    category="memory",
    returns="name",
    codes={
        "cache_write.writers": "other blocks write the same buffer",
        "cache_write.consumers": "a block that reads the result runs in the same nest",
    },
)
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
        legality.check_sole_writer(func, block, "cache_write.writers")
        inside = legality.reading_in_nest(func, buffer.name, path[0].name if path else self.block)
        if inside:
            refuse(
                "cache_write.consumers",
                f"{', '.join(inside)} reads {buffer.name!r} in the same nest, before the copy would be made.",
                (self.block, *inside),
                f"do cache_write before moving {inside[0]!r}",
                Deferred(lambda: legality.early(self._made(func, block)[0], buffer.name, inside[0])),
            )
        return self._made(func, block)

    def _made(self, func: Func, block: Block) -> Applied:
        return _with_copy(func, block, func.buffer(block.buffer), own_nest(func, block.name) + 1, writing=True)

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, _ in blocks(func.body):
            if at in (None, block.name, block.buffer):
                yield CacheWrite(block.name)


@primitive(
    "cache_read",
    category="memory",
    returns="name",
    codes={
        "cache_read.reads": "the block does not read the buffer",
        "cache_read.producer": "the buffer is written in the same nest, or after it",
    },
)
class CacheRead(Primitive):
    """Copy what a block reads into a temporary, and let the block read that.

    Contract: a new block ``buffer.copy`` copies the whole buffer to ``buffer.local`` in a nest of its own right before
    the nest of the block; only this block reads the temporary. ``transform_layout`` on the temporary then packs it,
    ``compute_at`` brings the copy into the block's loops, where just the part that is needed there is copied, and
    ``pad`` fills it up with zeros. A read under a condition keeps its condition. Gives back the name of the copy block.
    """

    block: Annotated[str, BlockRef("block that reads")]
    buffer: Annotated[str, BufferRef("buffer to copy")]

    def apply(self, func: Func) -> Applied:
        block, _ = func.block(self.block)
        buffer = func.buffer(self.buffer)
        if buffer.name not in legality.reads(block):
            refuse(
                "cache_read.reads",
                f"Block {self.block!r} does not read {self.buffer!r}.",
                (self.block, self.buffer),
                f"it reads {', '.join(sorted(legality.reads(block))) or 'nothing'}",
            )
        k = own_nest(func, self.block)
        late = [b.name for b, _ in blocks(func.body[k:]) if b.buffer == buffer.name]
        if late:
            refuse(
                "cache_read.producer",
                f"{late[0]!r} writes {self.buffer!r} in the same nest as {self.block!r} or after it, so there is no "
                "place before the nest where the copy could be made.",
                (self.block, *late),
                f"do cache_read before moving {late[0]!r}, or cache_write {late[0]!r} instead",
                Deferred(lambda: self._early(func, block, k)),
            )
        return self._made(func, block, k)

    def _early(self, func: Func, block: Block, k: int) -> Witness | None:
        new, (copy,) = self._made(func, block, k)
        return legality.early(new, self.buffer, copy)

    def _made(self, func: Func, block: Block, k: int) -> Applied:
        return _with_copy(func, block, func.buffer(self.buffer), k, writing=False)

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, _ in blocks(func.body):
            for name in sorted(legality.reads(block)):
                if at in (None, block.name, name):
                    yield CacheRead(block.name, name)


def _with_copy(func: Func, block: Block, buffer: Buffer, k: int, writing: bool) -> Applied:
    """Let a block use a temporary in the place of a buffer; the copy becomes statement number `k` of the function."""
    local = Buffer(func.fresh_name(f"{buffer.name}.local"), buffer.shape, buffer.dtype)
    index = block.index if writing else next(ld.index for ld in block.loads() if ld.buffer == buffer.name)
    source, to = (local.name, buffer.name) if writing else (buffer.name, local.name)
    copy, names = _copied(func, source, to, index, buffer)

    def load(ld: Load) -> Load:
        return replace(ld, buffer=local.name) if ld.buffer == buffer.name else ld

    def redirect(b: Block) -> tuple[Block, ...]:
        return (replace(map_block_loads(b, load), buffer=local.name if writing else b.buffer),)

    body = replace_block(func.body, block.name, redirect)
    copies = nest(list(zip(names, buffer.shape, strict=True)), (copy,))
    return replace(func.with_buffers([local]), body=(*body[:k], *copies, *body[k:])), (copy.name,)


def _copied(
    func: Func, source: str, to: str, index: tuple[Affine, ...], buffer: Buffer
) -> tuple[Block, tuple[str, ...]]:
    """Block that copies every element from one buffer to another, with names for its loops.

    Its axes are called like the axes that alone make up `index`.
    """
    name = func.fresh_name(f"{buffer.name}.copy")
    single = [x.single_var() for x in index]
    axes: list[str] = []
    for d, a in enumerate(single):
        own_name = f"c{d}"
        while own_name in single:  # an axis that was packed may be called so
            own_name += "_"
        axes.append(a if a is not None and single.count(a) == 1 else own_name)
    iters = tuple(Iter(a, n, "S") for a, n in zip(axes, buffer.shape, strict=True))
    loops = fresh_names(func, [f"{name}_{a}" for a in axes])
    own = tuple(Affine.var(a) for a in axes)
    binds = tuple(Affine.var(n) for n in loops)
    return Block(name, iters, binds, to, own, Load(source, own)), loops
