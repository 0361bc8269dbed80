"""Primitive that makes a block run over more than there is, so that its loops split evenly: pad."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from workbench.ir import (
    Affine,
    Binary,
    Block,
    Bound,
    Cast,
    Const,
    Dim,
    Expr,
    For,
    Func,
    Iter,
    Load,
    PadStep,
    Select,
    blocks,
)
from workbench.ir.dtypes import is_float
from workbench.ir.expr import map_children, walk
from workbench.ir.expr_dtypes import dtype_of, neutral, zero
from workbench.ir.interval import interval, within
from workbench.schedule import legality, size_limits
from workbench.schedule.legality_classes import all_plain
from workbench.schedule.nest_rewrites import replace_block, replace_loop
from workbench.schedule.primitive import Applied, AxisRef, BlockRef, Number, Primitive, primitive
from workbench.schedule.primitives.cache_read_write import CacheWrite
from workbench.schedule.refusal import Refusal, refuse


@primitive(
    "pad",
    category="loop",
    returns="names",
    codes={
        "pad.axis": "the block has no such axis",
        "pad.extent": "the extent is open, or the new one is not larger",
        "pad.loop": "the axis is not driven by one loop of its own, or that loop is marked",
        "pad.index": "the block does not write at the axis itself, or the dimension has another size",
        "pad.writers": "other blocks write the same buffer, or read it before a copy could be made",
        "pad.guard": "the block runs under a condition on the axis",
        "pad.division": "integers are divided, which zeros in the padding must not be",
    },
)
class Pad(Primitive):
    """Let an axis of a block run further than there is data, so that it splits evenly by any factor, also by holes.

    Contract: the axis and its loop get the new extent; results stay the same. A spatial axis: the block writes a
    temporary that is longer by the padding; where it wrote an output, a new block copies the part that exists, as
    after ``cache_write`` (moved back with ``reverse_compute_at`` it is guarded). A reduction axis: what is added
    beyond the old end is neutral. Reads beyond the end of a buffer give zero: constants get zeros ahead of time, an
    element-wise block writes zeros into the padding, and where a reduction reads a temporary that such a block fills,
    that block is padded too, so that nothing is asked in the inner loop. So copy inputs with ``cache_read`` first.
    Pad before splitting or moving the loop. Gives back the name of the copy block, if one was made.
    """

    block: Annotated[str, BlockRef("block to pad")]
    axis: Annotated[str, AxisRef("axis of the block")]
    extent: Annotated[int, Number("new extent")]

    def apply(self, func: Func) -> Applied:
        block, _ = func.block(self.block)
        it = next((it for it in block.iters if it.name == self.axis), None)
        if it is None:
            refuse(
                "pad.axis",
                f"Block {self.block!r} has no axis {self.axis!r}.",
                (self.block,),
                f"its axes are {', '.join(i.name for i in block.iters)}",
            )
        if not isinstance(it.extent, int) or self.extent <= it.extent:
            refuse(
                "pad.extent",
                f"Axis {self.axis!r} of block {self.block!r} has the extent {it.extent}, so it cannot be padded to "
                f"{self.extent}.",
                (self.block, self.axis),
                "pad before splitting, to a larger number",
            )
        site = _check_site(func, self.block, it)
        names: tuple[str, ...] = ()
        if it.kind == "S" and func.buffer(block.buffer).role == "output":
            try:
                func, names = CacheWrite(self.block).apply(func)
            except Refusal as e:
                raise Refusal("pad.writers", e.message, e.where, e.hint.replace("cache_write", "pad")) from None
        return _padded(func, site, self.extent), names

    def alike(self, func: Func) -> Hashable | None:
        # By how much an axis grows decides what is read where, but not what may be padded.
        extents = (it.extent for it in func.block(self.block)[0].iters if it.name == self.axis)
        extent = next(extents, None)
        little = isinstance(extent, int) and extent < self.extent < 2 * extent
        return (self.block, self.axis) if little and all_plain(func) and size_limits.have_room(func, 16) else None

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        for block, path in blocks(func.body):
            for it, bind in zip(block.iters, block.binds, strict=True):
                loop = bind.single_var()
                if at not in (None, block.name, loop) or loop is None or not isinstance(it.extent, int):
                    continue
                whole = next(lp for lp in path if lp.name == loop).extent == it.extent
                sizes = [-(-it.extent // n) * n for n in (4, 16, 64)]
                for size in dict.fromkeys(s for s in sizes if it.extent < s < 2 * it.extent and whole):
                    yield Pad(block.name, it.name, size)


# ------------------------------------------------------------------------------------------------------------- the step


@dataclass(frozen=True, slots=True)
class _Site:
    """An axis that may be padded: its block, its loop, and the dimension of the result that it moves (None: none)."""

    block: str
    axis: Iter
    loop: str
    dim: int | None


def _padded(func: Func, site: _Site, extent: int) -> Func:
    """Pad an axis of a block, whose kind of block decides what stands in the padding."""
    name, it, axis = site.block, site.axis, site.axis.name
    block, _ = func.block(name)
    if site.dim is not None:
        buffer = func.buffer(block.buffer)
        shape = (*buffer.shape[: site.dim], extent, *buffer.shape[site.dim + 1 :])
        func = func.with_buffers([replace(buffer, shape=shape)])
    longer = tuple(Iter(i.name, extent, i.kind) if i.name == axis else i for i in block.iters)
    func = func.with_body(replace_loop(func.body, site.loop, lambda lp: (replace(lp, extent=extent),)))
    block = replace(block, iters=longer)
    assert isinstance(it.extent, int)
    if not block.is_reduction:
        block = replace(block, value=_zero_value(func, block.value, Bound(Affine.var(axis), 0, it.extent)))
    else:
        if it.kind == "S" or _vanishes(block, axis):
            func = _pad_producers(func, block, axis)
        block = _spatial(func, block, axis) if it.kind == "S" else _reduction(func, block, axis, it.extent)
    return func.with_body(replace_block(func.body, name, lambda _: (block,)))


def _zero_value(func: Func, value: Expr, bound: Bound) -> Expr:
    """The value, and zero where the bound does not hold."""
    match value:
        case Select(conds, a, Const(value=0) as zero):
            implied = any(c.form == bound.form and _at_most(c.hi, bound.hi) for c in conds)
            return value if implied else Select((*conds, bound), a, zero)
    return Select((bound,), value, _zero(func, value))


def _spatial(func: Func, block: Block, axis: str) -> Block:
    """Reads of a reduction beyond the end of a buffer give zero; nobody looks at what comes of them."""
    op, term = block.update()
    init = None if block.init is None else _inside(func, block, block.init, axis)
    return replace(block, value=Binary(op, block.own_load(), _inside(func, block, term, axis)), init=init)


def _reduction(func: Func, block: Block, axis: str, old: int) -> Block:
    """Beyond the old end the term is neutral: as a product of zeros where it is one, else by a condition around it."""
    op, term = block.update()
    bound = Bound(Affine.var(axis), 0, old)
    if _vanishes(block, axis):
        term = _zero_factors(func, term, bound)
    else:
        term = Select((bound,), term, neutral(op, dtype_of(term, func)))
    return replace(block, value=Binary(op, block.own_load(), term))


def _vanishes(block: Block, axis: str) -> bool:
    """Whether the reduction adds up products of which every factor moves with the axis: zeros stay zeros."""
    op, term = block.update()
    return op == "add" and all(isinstance(f, Const) or _factor_moves(f, axis) for f in _factors(term))


def _pad_producers(func: Func, block: Block, axis: str) -> Func:
    """Pad constants that are read too far, ahead of time, and the element-wise blocks that fill such temporaries, where
    their loops allow it.
    """
    extents = {it.name: it.extent for it in block.iters}
    for ld in dict.fromkeys(block.loads()):
        for dim, form in enumerate(ld.index):
            size = func.buffer(ld.buffer).shape[dim]
            if axis not in form.vars or ld == block.own_load() or not isinstance(size, int):
                continue
            hi = legality.form_range(form, extents, func.relations)[1]
            if not isinstance(hi, int) or hi < size:
                continue
            made = _filler(func, ld.buffer, dim)
            if func.buffer(ld.buffer).role == "const":
                func = _pad_constant(func, ld.buffer, dim, hi + 1)
            elif made is not None:
                filler = func.block(made[0])[0]
                try:
                    site = _check_site(func, filler.name, next(it for it in filler.iters if it.name == made[1]))
                except Refusal:
                    continue  # the read is guarded instead
                func = _padded(func, site, hi + 1)
    return func


def _pad_constant(func: Func, name: str, dim: int, extent: int) -> Func:
    buffer = func.buffer(name)
    size = buffer.shape[dim]
    assert isinstance(size, int)
    step = PadStep(dim, size, extent)
    longer = tuple(extent if d == dim else n for d, n in enumerate(buffer.shape))
    return func.with_buffers([replace(buffer, shape=longer, layout=(*buffer.layout, step))])


def _filler(func: Func, buffer: str, dim: int) -> tuple[str, str] | None:
    """Block that alone fills a temporary, element by element, and its axis along the dimension."""
    made = legality.writers(func, buffer)
    if func.buffer(buffer).role != "temp" or len(made) != 1 or made[0][0].is_reduction or made[0][0].guard:
        return None
    axis = made[0][0].index[dim].single_var()
    return None if axis is None else (made[0][0].name, axis)


# -------------------------------------------------------------------------------------------------------------- checks


def _check_site(func: Func, name: str, it: Iter) -> _Site:
    """Refuse unless one serial loop drives the axis, and nothing else, and zeros may stand in the padding."""
    block, path = func.block(name)
    where = (name, it.name)
    loop = block.env[it.name].single_var()
    lp: For | None = next((x for x in path if x.name == loop), None)
    alone = lp is not None and [b.name for b, _ in blocks(lp.body)] == [name] and lp.extent == it.extent
    alone = alone and sum(loop in b.vars for b in block.binds) == 1
    if lp is None or not alone:
        refuse(
            "pad.loop",
            f"Axis {it.name!r} of block {name!r} runs over {block.env[it.name]}, not over one whole loop that belongs "
            "to the block alone.",
            where,
            "pad before splitting, fusing or moving anything into the loop",
        )
    if lp.kind != "serial" or lp.is_unit:
        refuse("pad.loop", f"Loop {lp.name!r} is marked already.", (*where, lp.name), "pad before marking loops")
    if any(it.name in g.form.vars for g in block.guard):
        text = f"Block {name!r} runs under a condition on {it.name!r} already."
        refuse("pad.guard", text, where, "pad instead of splitting with a guard")
    if it.kind == "S":
        legality.check_sole_writer(func, block, "pad.writers")
    dim = _written_dim(func, block, it) if it.kind == "S" else None
    _check_division(func, block)
    return _Site(name, it, lp.name, dim)


def _written_dim(func: Func, block: Block, it: Iter) -> int:
    """Dimension of the result that the axis moves."""
    dims = [d for d, x in enumerate(block.index) if it.name in x.vars]
    buffer = func.buffer(block.buffer)
    if len(dims) != 1 or block.index[dims[0]].single_var() != it.name or buffer.shape[dims[0]] != it.extent:
        refuse(
            "pad.index",
            f"Block {block.name!r} writes {block.buffer}[{', '.join(map(str, block.index))}], which axis {it.name!r} "
            "does not move along one whole dimension.",
            (block.name, it.name),
            "pad before packing the result",
        )
    return dims[0]


def _check_division(func: Func, block: Block) -> None:
    for e in walk(block.value):
        if not isinstance(e, Binary) or e.op not in ("div", "mod") or is_float(dtype_of(e, func)):
            continue
        if not isinstance(e.b, Const) or e.b.value == 0:
            refuse(
                "pad.division",
                f"Block {block.name!r} divides integers, and zeros in the padding would be divisors.",
                (block.name,),
                "split with a tail instead: split(loop, [None, n], 'guard')",
            )


# --------------------------------------------------------------------------------------------------------- expressions


def _inside(func: Func, block: Block, e: Expr, axis: str, known: tuple[Bound, ...] = ()) -> Expr:
    """The expression with a condition around every load that the axis could move out of its buffer."""
    extents = {it.name: it.extent for it in block.iters}

    def missing(ld: Load, known: tuple[Bound, ...]) -> tuple[Bound, ...]:
        out = []
        for form, size in zip(ld.index, func.buffer(ld.buffer).shape, strict=True):
            if axis in form.vars and not within(interval(form, extents, known, func.relations), size, func.relations):
                out.append(Bound(form, 0, size))
        return tuple(out)

    match e:
        case Load():
            conds = missing(e, known)
            near = map_children(e, lambda c: _inside(func, block, c, axis, (*known, *conds)))
            return Select(conds, near, _zero(func, e)) if conds else near
        case Select(conds, Load() as ld, Const(value) as other) if value == 0:
            conds = (*conds, *missing(ld, (*known, *conds)))
            return Select(conds, map_children(ld, lambda c: _inside(func, block, c, axis, (*known, *conds))), other)
        case Select(conds, a, b):
            return Select(conds, _inside(func, block, a, axis, (*known, *conds)), _inside(func, block, b, axis, known))
        case _:
            return map_children(e, lambda c: _inside(func, block, c, axis, known))


def _factors(e: Expr) -> list[Expr]:
    """Factors of a product."""
    return _factors(e.a) + _factors(e.b) if isinstance(e, Binary) and e.op == "mul" else [e]


def _factor_moves(e: Expr, axis: str) -> bool:
    """Whether the expression is one read that the axis moves, so that it is zero where the read is."""
    match e:
        case Cast(_, a) | Select(_, Load() as a, Const(value=0)):
            return _factor_moves(a, axis)
        case Load(_, index):
            return any(axis in x.vars for x in index)
    return False


def _zero_factors(func: Func, e: Expr, bound: Bound) -> Expr:
    """The product with every read zero where the bound does not hold."""
    match e:
        case Load():
            return e if _zero_beyond(func, e, bound) else Select((bound,), e, _zero(func, e))
        case Select(conds, Load() as ld, other):
            return e if _zero_beyond(func, ld, bound) else Select((*conds, bound), ld, other)
        case _:
            return map_children(e, lambda c: _zero_factors(func, c, bound))


def _zero_beyond(func: Func, ld: Load, bound: Bound) -> bool:
    """Whether the buffer holds zeros where the bound, on an axis that the load uses as an index, does not hold."""
    if ld.at:  # what the element is picked by must not be read there either
        return False
    axis = bound.form.single_var()
    # Steps of another kind give dimensions another meaning: only the last ones can be looked at.
    steps = itertools.takewhile(lambda s: isinstance(s, PadStep), reversed(func.buffer(ld.buffer).layout))
    zeros = {s.dim: s.size for s in steps if isinstance(s, PadStep)}
    for dim in (d for d, x in enumerate(ld.index) if x.single_var() == axis):
        made = _filler(func, ld.buffer, dim)
        if dim in zeros and _at_most(zeros[dim], bound.hi):
            return True
        if made is None or axis is None:
            continue
        match func.block(made[0])[0].value:
            case Select(conds, _, Const(value=0)):
                if any(c.form.single_var() == made[1] and _at_most(c.hi, bound.hi) for c in conds):
                    return True
    return False


def _at_most(a: Dim, b: Dim) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a <= b


def _zero(func: Func, e: Expr) -> Const:
    return zero(dtype_of(e, func))
