"""Primitive that packs a buffer: transform_layout."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, TypeVar

from workbench.ir import Affine, Block, Dim, Expr, Func, LayoutStep, Load, Stmt, blocks
from workbench.ir.expr import loads, tidy
from workbench.ir.poly import divide, nonneg, normal, product
from workbench.ir.stmt import map_block_loads, rewrite, touched
from workbench.schedule import legality
from workbench.schedule.holes import nearest, resolve_hole, unknown_hole
from workbench.schedule.nest_rewrites import NotRadix, axis_names, fresh_names, replace_block, split_axis, split_loop
from workbench.schedule.primitive import Applied, BlockSize, BufferRef, Choice, Number, Primitive, primitive
from workbench.schedule.refusal import Refusal, refuse

T = TypeVar("T")
_UNPACKED = "pack along a dimension that one loop moves, and split that loop by the block size"


@primitive(
    "transform_layout",
    category="layout",
    codes={
        "transform_layout.role": "the buffer is an input or output, whose layout belongs to the caller",
        "transform_layout.padded": "storage_align has padded the buffer",
        "transform_layout.dim": "the buffer has no such dimension",
        "transform_layout.divides": "the block size does not divide the dimension",
        "transform_layout.undecided": "with holes: it is not proved that the block size divides the dimension",
        "transform_layout.access": "an access does not fall apart into blocks and a place inside the block",
    },
)
class TransformLayout(Primitive):
    """Pack a constant or a temporary: ``a[..., j, ...]`` becomes ``a[j // block, ..., j % block]``.

    Contract: dimension `dim` is split into blocks; the block number comes first and the place inside the block last, so
    that what an inner loop of size `block` reads lies together. With ``count="here"`` the block number stays where the
    dimension was: ``a[..., j // block, ..., j % block]``, which groups neighbours for instructions that take several at
    once. Constants are packed once, ahead of time. Every access
    must fall apart along the block: split the loop that reads it by `block` first. `block` is an int, the name of the
    hole that this loop was split with, or several such names for the product of the innermost ones. The loop that
    computes a temporary is split where needed.
    """

    buffer: Annotated[str, BufferRef("buffer to pack")]
    dim: Annotated[int, Number("dimension to split, from 0")]
    block: Annotated[int | str | tuple[int | str, ...], BlockSize("elements in a block")]
    count: Annotated[str, Choice("where the number of the block goes", ("front", "here"))] = "front"

    def apply(self, func: Func) -> Applied:
        buffer = func.buffer(self.buffer)
        if buffer.role not in ("const", "temp"):
            refuse(
                "transform_layout.role",
                f"{self.buffer!r} is an {buffer.role} of the function, and its layout is what the caller passes.",
                (self.buffer,),
                "declare weights with constant=True, or pack a copy of it",
            )
        rank = len(buffer.shape)
        if not -rank <= self.dim < rank:
            refuse(
                "transform_layout.dim",
                f"{self.buffer!r} has {rank} dimensions, so there is no dimension {self.dim}.",
                (self.buffer,),
                f"one of {-rank} to {rank - 1}",
            )
        if buffer.align:
            refuse(
                "transform_layout.padded",
                f"The rows of {self.buffer!r} are padded, and packing would make other rows.",
                (self.buffer,),
                "pack first, then storage_align",
            )
        dim, size = self.dim % rank, self._size(func)
        count = self._count(func, buffer.shape[dim], size)
        for block, _ in legality.writers(func, self.buffer):
            func = self._split_producer(func, block.name, dim, size)
        inner: set[str] = set()
        for block in [b for b, _ in blocks(func.body) if self._uses(b)]:
            func, made = self._split_axes(func, block.name, dim, size)
            inner |= {f"{block.name}/{axis}" for axis in made[1::2]}
        func = func.with_body(self._rewritten(func, dim, size, inner))
        shape = self._arranged(buffer.shape, dim, count, size)
        layout = (*buffer.layout, LayoutStep(dim, size, self.count == "here")) if buffer.role == "const" else ()
        return func.with_buffers([replace(buffer, shape=shape, layout=layout)]), ()

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for buffer in func.buffers:
            if buffer.role not in ("const", "temp") or at not in (None, buffer.name):
                continue
            for dim in range(len(buffer.shape)):
                for size in _sizes(func, buffer.name, dim):
                    yield TransformLayout(buffer.name, dim, size)

    def _arranged(self, dims: tuple[T, ...], dim: int, count: T, rest: T) -> tuple[T, ...]:
        """Put the block's number and the place inside it where they belong."""
        head = (*dims[:dim], count) if self.count == "here" else (count, *dims[:dim])
        return (*head, *dims[dim + 1 :], rest)

    def _uses(self, block: Block) -> bool:
        return self.buffer in touched(block)

    def _size(self, func: Func) -> Dim:
        def one(part: int | str) -> Dim:
            known = part if isinstance(part, int) else resolve_hole(func, part)
            if known is None:
                raise unknown_hole(func, str(part))
            return known

        return normal(
            product(one(p) for p in (self.block if isinstance(self.block, tuple) else (self.block,))), func.relations
        )

    def _count(self, func: Func, extent: Dim, size: Dim) -> Dim:
        count = divide(extent, size, func.relations)
        if count is None and isinstance(extent, int) and isinstance(size, int):
            refuse(
                "transform_layout.divides",
                f"{size} does not divide {extent}, dimension {self.dim} of {self.buffer!r}.",
                (self.buffer,),
                nearest(extent, size),
            )
        if count is None:
            refuse(
                "transform_layout.undecided",
                f"It is not proved that {size} divides {extent}, dimension {self.dim} of "
                f"{self.buffer!r}, for every value of the holes.",
                (self.buffer,),
                "use the hole of the loop that reads it, or a product of the innermost ones",
            )
        return count

    def _split_producer(self, func: Func, name: str, dim: int, size: Dim) -> Func:
        """Split the loop that drives the writer's axis alone; the same for numbers and holes, so that names agree."""
        block, path = func.block(name)
        axis = block.index[dim].single_var()
        if axis is None:
            return func
        loop = block.env[axis].single_var()
        if loop is None:
            return func
        lp = next(x for x in path if x.name == loop)
        rest = divide(lp.extent, size, func.relations)
        if rest is None or lp.kind != "serial":
            return func
        names = fresh_names(func, [f"{loop}.0", f"{loop}.1"])
        try:
            return split_loop(func, loop, names, [rest, size])
        except NotRadix:
            return func

    def _split_axes(
        self, func: Func, name: str, dim: int, size: Dim, done: tuple[str, ...] = ()
    ) -> tuple[Func, tuple[str, ...]]:
        """Split the axis behind the dimension, so that every index is a multiple of the block plus a rest below it.

        Returns the names of the new axes too, outer and inner in turn.
        """
        block, path = func.block(name)
        extents = {it.name: it.extent for it in block.iters}
        indices = {x.index[dim] for x in block.loads() if x.buffer == self.buffer}
        indices |= {block.index[dim]} if block.buffer == self.buffer else set()
        for form in sorted(indices, key=str):
            axis, part = _cut(form, extents, size)
            simple = _apart(func, form, extents, size) is not None
            if simple and (axis is None or axis in done):
                continue
            parts = None if axis is None else _apart(func, block.env[axis], legality.extents_of(path), part)
            count = None if axis is None else divide(extents[axis], part, func.relations)
            if axis is None or parts is None or count is None:
                if simple:
                    continue
                raise self._refusal(func, block, form, size)
            names = axis_names(block, axis, 2)
            try:
                block = split_axis(func, block, axis, [(names[0], count, parts[0]), (names[1], part, parts[1])])
            except NotRadix:
                raise self._refusal(func, block, form, size) from None
            return self._split_axes(_with_block(func, block), name, dim, size, (*done, *names))
        return func, done

    def _refusal(self, func: Func, block: Block, form: Affine, size: Dim) -> Refusal:
        axis = form.single_var()
        bind = form if axis is None else block.env[axis]
        # The loop that moves the dimension fastest, which may run inside of what other loops have begun.
        fast = [d.var for d, c in bind.terms if axis is not None and d.plain and c == 1]
        loop = fast[0] if len(fast) == 1 else None
        lp, around = (None, ()) if loop is None else func.loop(loop)
        fits = lp is not None and lp.kind == "serial" and divide(lp.extent, size, func.relations) is not None
        # No step splits a loop of a unit.
        fits = fits and not any(up.is_unit for up in (*around, lp) if up is not None)
        hint = f"split({loop!r}, [None, {size}]) first" if fits else _UNPACKED
        return Refusal(
            "transform_layout.access",
            f"Block {block.name!r} reads or writes {self.buffer!r} at {bind} there, which is not proved to be a "
            f"multiple of {size} plus a rest below {size}.",
            (self.buffer, block.name),
            hint,
        )

    def _rewritten(self, func: Func, dim: int, size: Dim, inner: set[str]) -> tuple[Stmt, ...]:
        def index(idx: tuple[Affine, ...], extents: Mapping[str, Dim], block: str) -> tuple[Affine, ...]:
            parts = _apart(func, idx[dim], extents, size, {a for a in extents if f"{block}/{a}" in inner})
            assert parts is not None
            return self._arranged(idx, dim, *parts)

        def fn(s: Stmt) -> tuple[Stmt, ...] | None:
            if not isinstance(s, Block) or not self._uses(s):
                return None
            extents = {it.name: it.extent for it in s.iters}

            def load(ld: Load) -> Expr:
                if ld.buffer != self.buffer:
                    return ld
                return tidy(replace(ld, index=index(ld.index, extents, s.name)))

            own = index(s.index, extents, s.name) if s.buffer == self.buffer else s.index
            return (replace(map_block_loads(s, load), index=own),)

        return rewrite(func.body, fn)


def _cut(form: Affine, extents: Mapping[str, Dim], size: Dim) -> tuple[str | None, Dim]:
    """Axis to split, and the size of its inner part, for blocks of `size`: the only axis of the form, or the one of a
    form over several (an axis that was split before) in which a block ends.
    """
    if (axis := form.single_var()) is not None:
        return axis, size
    for digit, c in form.terms:
        extent = None if digit.free else extents[digit.var]
        if not (digit.plain and isinstance(c, int) and isinstance(size, int) and isinstance(extent, int)):
            continue
        if 0 < c < size and size % c == 0 and c * (extent - 1) >= size:
            return digit.var, size // c
    return None, size


def _with_block(func: Func, block: Block) -> Func:
    return func.with_body(replace_block(func.body, block.name, lambda _: (block,)))


def _apart(
    func: Func, form: Affine, extents: Mapping[str, Dim], size: Dim, inner: Collection[str] = ()
) -> tuple[Affine, Affine] | None:
    """``(form // size, form % size)`` when the terms fall into multiples of `size` and a rest that stays in ``[0,
    size)``.

    Variables in `inner` belong to the rest in any case (a block of size 1 divides everything).
    """
    relations = func.relations
    whole, rest = Affine(), Affine()
    if size == 1 and not inner:
        # What a hole may be filled with: the innermost loop that runs once is then the place inside the block.
        inner = [v for v, n in extents.items() if n == 1 and form.coefficient(v) == 1][-1:]
    for digit, c in form.terms:
        if c == 1 and digit.free and (count := divide(digit.extent or 0, size, relations)) is not None:
            # What is read at run time can be taken apart anywhere.
            whole += Affine() if count == 1 else Affine(((replace(digit, lower=digit.lower * size, extent=count), 1),))
            rest += Affine() if size == 1 else Affine(((replace(digit, extent=size), 1),))
            continue
        q = None if digit.var in inner else divide(c, size, relations)
        whole, rest = (whole + Affine(((digit, q),)), rest) if q is not None else (whole, rest + Affine(((digit, c),)))
    q = divide(form.const, size, relations)
    whole, rest = (whole + q, rest) if q is not None else (whole, rest + form.const)
    lo, hi = legality.form_range(rest, extents, relations)
    inside = nonneg(lo, relations) and nonneg(size - 1 - hi, relations)
    return (whole, rest) if inside else None


def _sizes(func: Func, buffer: str, dim: int) -> list[int | str]:
    """Block sizes that suit the loops which move the dimension fastest; a usual one where there are none."""
    out: dict[int | str, None] = {}
    for block, path in blocks(func.body):
        for ld in loads(block.value):
            axis = ld.index[dim].single_var() if ld.buffer == buffer else None
            if axis is None:
                continue
            for lp in path:
                if block.env[axis].coefficient(lp.name) == 1 and lp.extent != 1:
                    name = next((h.name for h in func.holes if str(lp.extent) == h.name), None)
                    out |= {name: None} if name is not None else {lp.extent: None} if isinstance(lp.extent, int) else {}
    whole = func.buffer(buffer).shape[dim]
    sizes = [size for size in (*out, 8, 16) if size != whole]
    return [size for size in sizes if size in out] or sizes[:1]
