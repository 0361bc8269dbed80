"""Whether the loops below a place are what an intrinsic describes, up to names; if not, the first difference in words.

Matching goes from the outside in: the loops (number, order, extents), what the block computes (operators, dtypes), and
how every operand moves with every loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.intrinsics.declaration import Intrinsic
from workbench.ir import Affine, Binary, Block, Buffer, Cast, Const, Dim, Expr, For, Func, Load
from workbench.ir.affine import flat_index
from workbench.ir.expr import loads
from workbench.ir.stmt import as_marked


class Mismatch(Exception):
    """A difference: `code` without its prefix, a sentence, names it is about, what to do."""

    def __init__(self, code: str, sentence: str, where: tuple[str, ...], hint: str = "") -> None:
        Exception.__init__(self, sentence)
        self.code, self.sentence, self.where, self.hint = code, sentence, where, hint


@dataclass(frozen=True, slots=True)
class Match:
    """A match: the loops in the description's order, the block, and each of the description's operands.

    Attributes
    ----------
    operands : mapping
        Description's buffer -> (index over the axes of the block, buffer, elements from row to row).
    """

    intrinsic: Intrinsic
    loops: tuple[For, ...]
    block: Block
    operands: Mapping[str, tuple[tuple[Affine, ...], Buffer, Dim]]


def match(intrinsic: Intrinsic, func: Func, loop: str) -> Match:
    """Match the nest at `loop` with an intrinsic.

    Raises
    ------
    Mismatch
        With what differs.
    """
    chain, block = _chain(intrinsic, func, loop)
    _check_loops(intrinsic, chain, block)
    bound = next((lp for lp in func.loop(loop)[1] if lp.kind == "threadIdx.x"), None)
    if intrinsic.threads > 1 and bound is not None:
        raise Mismatch(
            "warp",
            f"Loop {bound.name!r} is bound to threadIdx.x, and the {intrinsic.threads} threads along it compute one "
            f"tile of {intrinsic.name} together.",
            (bound.name,),
            f"bind {bound.name!r} to threadIdx.y: each of its iterations is a warp then",
        )
    if block.guard:
        raise Mismatch(
            "guard",
            f"Block {block.name!r} does not run everywhere: an instruction computes all of its tile.",
            (block.name,),
            "pad the loops to whole tiles and guard the copy of the result instead",
        )
    loaded = computes(intrinsic, func, block)
    names = dict(zip((lp.name for lp in intrinsic.chain), (lp.name for lp in chain), strict=True))
    operands = {}
    for name, load in loaded.items():
        buffer = func.buffer(load.buffer)
        row = _same_strides(intrinsic, name, load, buffer, block, names)
        operands[name] = (load.index, buffer, row)
    return Match(intrinsic, chain, block, operands)


def _chain(intrinsic: Intrinsic, func: Func, loop: str) -> tuple[tuple[For, ...], Block]:
    chain = [func.loop(loop)[0]]
    while True:
        body = chain[-1].body
        if len(body) != 1:
            inside = ", ".join(repr(s.name) for s in body)
            raise Mismatch(
                "body",
                f"Loop {chain[-1].name!r} holds {inside}; an intrinsic stands for one block and its loops.",
                (chain[-1].name,),
                "tensorize a loop further in, or move the other statements out",
            )
        if isinstance(body[0], Block):
            return tuple(chain), body[0]
        chain.append(body[0])


def _check_loops(intrinsic: Intrinsic, chain: tuple[For, ...], block: Block) -> None:
    wanted, name = intrinsic.chain, intrinsic.name
    if len(chain) != len(wanted):
        here = ", ".join(f"{lp.name} {lp.extent}" for lp in chain)
        raise Mismatch(
            "loops",
            f"{name} describes {len(wanted)} loops ({intrinsic.shape}), and at {chain[0].name!r} there are "
            f"{len(chain)} ({here}).",
            (chain[0].name,),
            "split the axes by the extents it names and reorder, so that exactly these loops are innermost",
        )
    marked = next((lp for lp in chain if lp.kind != "serial"), None)
    if marked is not None:
        raise Mismatch(
            "marked",
            f"Loop {marked.name!r} is marked {as_marked(marked.kind)}; the loops of an intrinsic have no other mark.",
            (marked.name,),
            "undo the mark first",
        )
    kinds = {it.name: it.kind for it in intrinsic.block.iters}
    reducing = block.driving("R")
    for lp, want in zip(chain, wanted, strict=True):
        if (lp.name in reducing) != (kinds[want.name] == "R"):
            is_, other = ("a reduction", "spatial") if lp.name in reducing else ("spatial", "a reduction")
            raise Mismatch(
                "order",
                f"Loop {lp.name!r} is {is_}, and loop {want.name!r} of {name} in its place is {other}.",
                (lp.name,),
                f"reorder the loops as {name} has them: {intrinsic.shape}",
            )
        if lp.extent != want.extent:
            raise Mismatch(
                "extent",
                f"Loop {lp.name!r} runs {lp.extent} times, and loop {want.name!r} of {name} runs {want.extent} times.",
                (lp.name,),
                f"split({lp.name!r}, [None, {want.extent}]) and tensorize the inner part"
                if isinstance(lp.extent, int) and isinstance(want.extent, int) and lp.extent % want.extent == 0
                else f"pad the axis to a multiple of {want.extent} and split it by {want.extent}",
            )


def computes(intrinsic: Intrinsic, func: Func, block: Block) -> dict[str, Load]:
    """Return the loads of the block by the name of the operand in the description; the result is one of them.

    Raises
    ------
    Mismatch
        When the block computes something else ("compute"), or on other types ("dtype").
    """
    description = intrinsic.block
    if block.init is None:
        raise Mismatch("compute", f"Block {block.name!r} accumulates nothing.", (block.name,))
    if not (isinstance(block.init, Const) and block.init.value == 0) and block.init != block.own_load():
        raise Mismatch(
            "compute",
            f"The sum of block {block.name!r} starts from something else than 0.",
            (block.name,),
            "decompose_reduction gives it a block of its own",
        )
    (want_op, want), (op, term) = description.update(), block.update()
    operands = {description.buffer: block.own_load()}
    if op != want_op or not (
        _same(want, term, operands) or _same(want, _swapped(term), operands := {**_own(operands)})
    ):
        raise Mismatch(
            "compute",
            f"Block {block.name!r} does not compute what {intrinsic.name} does: {intrinsic.summary}",
            (block.name,),
            "the term has to be the product of the two operands, each cast to the type of the sum, and nothing else",
        )
    for name, load in operands.items():
        have, need = func.buffer(load.buffer).dtype, intrinsic.func.buffer(name).dtype
        if have != need:
            raise Mismatch(
                "dtype",
                f"{load.buffer!r} holds {have}, and {name} of {intrinsic.name} holds {need}.",
                (load.buffer,),
                "choose an intrinsic for these types",
            )
    return operands


def _own(operands: Mapping[str, Load]) -> dict[str, Load]:
    """The entry of the result alone: what a failed attempt has bound is dropped."""
    return dict(list(operands.items())[:1])


def _swapped(e: Expr) -> Expr:
    return Binary(e.op, e.b, e.a) if isinstance(e, Binary) and e.op in ("mul", "add") else e


def _same(want: Expr, have: Expr, operands: dict[str, Load]) -> bool:
    """Whether two expressions agree up to their loads, which are noted in `operands`."""
    match want, have:
        case Load(name, _), Load() if not have.at:
            if name in operands:
                return operands[name] == have
            operands[name] = have
            return True
        case Cast(dtype, a), Cast(other, b):
            return dtype == other and _same(a, b, operands)
        case Binary(op, a, b), Binary(other, c, d):
            return op == other and _same(a, c, operands) and _same(b, d, operands)
    return want == have


def _same_strides(
    intrinsic: Intrinsic, name: str, load: Load, buffer: Buffer, block: Block, names: Mapping[str, str]
) -> Dim:
    """Check how an access moves with the loops; returns the elements from row to row."""
    described = intrinsic.func.buffer(name)
    index = _description_load(intrinsic, name).index
    fixed = described.strides()
    moves = flat_index([x.subst(block.env) for x in load.index], buffer.strides())
    row: Dim = fixed[0]
    free = name in intrinsic.rows
    for want_loop, loop in names.items():
        here = [(d, c) for d, c in moves.terms if d.var == loop]
        if any(not d.plain for d, _ in here):
            raise Mismatch(
                "access",
                f"{load.buffer!r} is read at a part of loop {loop!r}, which no fixed step describes.",
                (load.buffer, loop),
                f"split {loop!r} where the index takes it apart",
            )
        have = moves.coefficient(loop)
        if free and index[0].coefficient(want_loop) == 1:
            row = have
            if have == 0:
                raise _stride(intrinsic, name, load.buffer, loop, have, "a step from row to row")
            continue
        want = sum((x.coefficient(want_loop) * s for x, s in zip(index, fixed, strict=True)), 0)
        if have != want:
            raise _stride(intrinsic, name, load.buffer, loop, have, str(want))
    return row


def _stride(intrinsic: Intrinsic, name: str, buffer: str, loop: str, have: Dim, want: str) -> Mismatch:
    shape = ", ".join(str(d) for d in intrinsic.func.buffer(name).shape)
    return Mismatch(
        "stride",
        f"Loop {loop!r} moves {have} elements in {buffer!r}, and {intrinsic.name} needs {want}: "
        f"its {name} lies as [{shape}].",
        (buffer, loop),
        f"transform_layout({buffer!r}, ...) packs it so; of an input, pack a copy (cache_read)",
    )


def _description_load(intrinsic: Intrinsic, name: str) -> Load:
    return next(ld for ld in loads(intrinsic.block.value) if ld.buffer == name)
