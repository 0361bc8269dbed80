"""Primitives that say where a temporary lies in memory: set_scope, storage_align."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Annotated, cast, get_args

from workbench.ir import Align, Buffer, Func
from workbench.ir.func import Scope
from workbench.schedule.legality import invariants
from workbench.schedule.nest_properties import NestProperties
from workbench.schedule.primitive import Applied, BufferRef, Choice, Number, Primitive, primitive
from workbench.schedule.refusal import refuse


@primitive(
    "set_scope",
    category="memory",
    codes={
        "set_scope.role": "the buffer is no temporary",
        "set_scope.shared": "iterations that run at once share the temporary",
    },
)
class SetScope(Primitive):
    """Say which memory a temporary lives in.

    Contract: ``global`` is the workspace of the call, ``local`` belongs to the thread that uses it (on a CPU its stack,
    or its own part of the workspace where the stack is too small), ``shared`` to the threads of one block (on a CPU as
    ``global``), and with ``auto`` the code generator decides. What is local must be used inside one iteration of every
    parallel loop and every loop bound to blocks or threads (virtual threads are one thread), or each of its elements by
    one thread only, which all indices tell in the same way: sums in registers, from one nest over the threads of a
    block to the next. What is shared must be used inside one iteration of every parallel loop and every loop bound to
    blocks. The result never changes.
    """

    buffer: Annotated[str, BufferRef("temporary to place")]
    scope: Annotated[str, Choice("memory it lives in", values=get_args(Scope))]

    idle = "There is no temporary; cache_write makes one."

    def apply(self, func: Func) -> Applied:
        buffer = _temporary(func, self.buffer, "set_scope")
        func = func.with_buffers([replace(buffer, scope=cast(Scope, self.scope))])
        if self.scope in ("local", "shared"):
            hint = "bring all its uses into one iteration with compute_at, or leave it global"
            invariants.check_scope(func, self.buffer, "set_scope.shared", hint)
        return func, ()

    def alike(self, func: Func) -> Hashable | None:
        # Nothing is shared where nothing runs at once.
        return () if func.buffer(self.buffer).role == "temp" and NestProperties.of(func.body).plain else None

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for b in func.buffers:
            if b.role == "temp" and at in (None, b.name):
                yield from (cls(b.name, s) for s in ("local", "global", "shared") if s != b.scope)


@primitive(
    "storage_align",
    category="memory",
    codes={
        "storage_align.role": "the buffer is no temporary",
        "storage_align.dim": "there is no such dimension, or it is the last one",
        "storage_align.open": "the size of a row depends on a hole",
        "storage_align.factor": "the factor is not positive, or the offset is not below it",
    },
)
class StorageAlign(Primitive):
    """Pad the rows of a temporary, so that their distance suits vectors or spreads over the sets of a cache.

    Contract: the stride of dimension `dim` becomes the least number of elements that is not smaller than before and is
    `offset` more than a multiple of `factor`. ``(1, 16)`` lets every row begin where a vector of 16 may begin; ``(1,
    16, 1)`` keeps rows off each other's cache sets. The last dimension stays dense. Indices and results are the same;
    only memory is added. Asked for again, the dimension gets the new padding.
    """

    buffer: Annotated[str, BufferRef("temporary to pad")]
    dim: Annotated[int, Number("dimension whose stride is padded")]
    factor: Annotated[int, Number("elements that the stride is a multiple of")]
    offset: Annotated[int, Number("elements added to the multiple")] = 0

    idle = "There is no temporary with rows; cache_write makes one."

    def apply(self, func: Func) -> Applied:
        buffer = _temporary(func, self.buffer, "storage_align")
        last = len(buffer.shape) - 1
        if not 0 <= self.dim < last:
            refuse(
                "storage_align.dim",
                f"{self.buffer!r} has {last + 1} dimensions; the stride of dimension {self.dim} cannot be padded.",
                (self.buffer,),
                f"one of 0 to {last - 1}: elements of the last dimension stay next to each other"
                if last > 0
                else "pad a temporary that has rows",
            )
        if self.factor < 1 or not 0 <= self.offset < self.factor:
            refuse(
                "storage_align.factor",
                f"A stride cannot be {self.offset} more than a multiple of {self.factor}.",
                (self.buffer,),
                "a factor of at least 1, and an offset from 0 to below it",
            )
        open_ = [d for d in buffer.shape[self.dim + 1 :] if not isinstance(d, int)]
        if open_:
            refuse(
                "storage_align.open",
                f"A row of {self.buffer!r} has an open size, {open_[0]}, so there is no stride to pad yet.",
                (self.buffer,),
                "pad before packing by a hole, or use numbers there",
            )
        others = tuple(a for a in buffer.align if a.dim != self.dim)
        align = tuple(sorted((*others, Align(self.dim, self.factor, self.offset)), key=lambda a: a.dim))
        return func.with_buffers([replace(buffer, align=align)]), ()

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for b in func.buffers:
            if b.role == "temp" and at in (None, b.name) and len(b.shape) > 1:
                dim = len(b.shape) - 2
                yield cls(b.name, dim, 16)
                yield cls(b.name, dim, 16, 1)


def _temporary(func: Func, name: str, step: str) -> Buffer:
    buffer = func.buffer(name)
    if buffer.role != "temp":
        refuse(
            f"{step}.role",
            f"{name!r} is an {buffer.role}: the caller decides where it lies."
            if buffer.role != "const"
            else f"{name!r} is a constant: it lies where it was packed.",
            (name,),
            "cache_write or cache_read puts a temporary in its place",
        )
    return buffer
