"""The questions that primitives share: may these iterations run at once, is this produced before it is read, does it
stay inside?

Every answer is for all fillings of the holes. There are three answers (proved, refuted, undecided), and undecided
counts as no: what changes the structure of a nest must be proved, with the open inequality in the message. Limits on
numbers are not asked here; they become `Constraint` values that are checked per row.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence

from ..ir.affine import Affine, Digit, digit_extent, split_base, width
from ..ir.func import Func
from ..ir.poly import Dim, Relation, equal, negative, normal
from ..ir.poly import nonneg as _nonneg
from ..ir.remembered import Remembered
from ..ir.stmt import Block, For, accesses, blocks, loops
from .refusal import Refusal, Witness, refuse

# ---------------------------------------------------------------------------------------------------------------- facts


@functools.lru_cache(maxsize=256)
def _answers(relations: tuple[Relation, ...]) -> dict[Dim, bool | None]:
    return {}


#: Answers that are kept for the same relations; a long session asks about ever new sizes.
_MOST_ANSWERS = 1 << 14

_ANSWERS: Remembered[dict[Dim, bool | None]] = Remembered(1024)


def nonneg(dim: Dim, relations: Sequence[Relation]) -> bool | None:
    """``dim >= 0`` for every filling, remembered: one nest asks the same questions at every step."""
    if isinstance(dim, int):
        return dim >= 0
    if not isinstance(relations, tuple):
        return _nonneg(dim, relations)
    known = _ANSWERS.of((relations,), lambda: _answers(relations))
    if dim not in known:
        if len(known) >= _MOST_ANSWERS:
            known.clear()
        known[dim] = _nonneg(dim, relations)
    return known[dim]


def extents_of(path: Iterable[For]) -> dict[str, Dim]:
    """Loop name -> extent."""
    return {lp.name: lp.extent for lp in path}


def is_unit(func: Func, dim: Dim) -> bool:
    """Whether a dim is 1 for every filling."""
    return equal(dim, 1, func.relations)


def reduction_loops(block: Block) -> set[str]:
    """Loops that drive a reduction axis of the block."""
    return {v for it, b in zip(block.iters, block.binds, strict=True) if it.kind == "R" for v in b.vars}


def spatial_loops(block: Block) -> set[str]:
    """Loops that drive a spatial axis of the block."""
    return {v for it, b in zip(block.iters, block.binds, strict=True) if it.kind == "S" for v in b.vars}


def reads(block: Block) -> set[str]:
    """Buffers that the block reads, its own accumulator not counted."""
    return set(_READS.of((block,), lambda: _reads(block)))


_READS: Remembered[frozenset[str]] = Remembered(1024)


def _reads(block: Block) -> frozenset[str]:
    own = block.own_load() if block.is_reduction else None
    return frozenset(ld.buffer for ld in block.loads() if ld != own)


def writers(func: Func, buffer: str) -> list[tuple[Block, tuple[For, ...]]]:
    """Blocks that write the buffer, in program order."""
    return [(b, p) for b, p in blocks(func.body) if b.buffer == buffer]


def check_sole_writer(func: Func, block: Block, code: str) -> None:
    """Refuse (`code`) when other blocks write the buffer of a block too: one after decompose_reduction, the rest of a
    peeled split, or the other parts of what is joined.
    """
    others = [b.name for b, _ in writers(func, block.buffer) if b.name != block.name]
    if others:
        refuse(
            code,
            f"{block.buffer!r} is also written by {', '.join(others)}.",
            (block.name, *others),
            "take this step before decompose_reduction and before a peeled split; cache_read gives a reader a copy of "
            "the whole",
        )


def readers(func: Func, buffer: str) -> list[tuple[Block, tuple[For, ...]]]:
    """Blocks that read the buffer, in program order."""
    return [(b, p) for b, p in blocks(func.body) if buffer in reads(b)]


def form_range(form: Affine, extents: Mapping[str, Dim], relations: Sequence[Relation]) -> tuple[Dim, Dim]:
    """Least and greatest value of a form over the loops in `extents` (a sign that is undecided counts as positive)."""
    lo = hi = form.const
    for digit, c in form.terms:
        reach = c * (digit_extent(digit, extents) - 1)
        if negative(c):
            lo = lo + reach
        else:
            hi = hi + reach
    return normal(lo, relations), normal(hi, relations)


def chain(path: Sequence[For], name: str) -> tuple[For, ...]:
    """Loops of `path` from `name` inwards."""
    k = next(k for k, lp in enumerate(path) if lp.name == name)
    return tuple(path[k:])


# --------------------------------------------------------------------------------------------------- iterations at once


def determines(form: Affine, varying: Mapping[str, Dim], relations: Sequence[Relation]) -> bool:
    """Whether the value of the form determines every varying digit in it: each step outreaches all smaller steps
    together.
    """
    todo: list[tuple[Dim, Dim]] = []
    for digit, c in form.terms:
        if digit.var in varying and not equal(size := digit_extent(digit, varying), 1, relations):
            todo.append((-c if negative(c) else c, size))
    if _are_digits(todo, relations):
        return True
    reach: Dim = 1
    while todo:
        hit = next((x for x in todo if all(nonneg(y[0] - x[0], relations) for y in todo if y is not x)), None)
        if hit is None or not nonneg(hit[0] - reach, relations):
            return False
        todo.remove(hit)
        reach = normal(reach + hit[0] * (hit[1] - 1), relations)
    return True


def _are_digits(steps: Sequence[tuple[Dim, Dim]], relations: Sequence[Relation]) -> bool:
    """Whether each step is the product of all smaller sizes: most forms are, and that is soon seen."""
    rest = [(normal(c, relations), size) for c, size in steps]
    at: Dim = 1
    while rest:
        hit = next((x for x in rest if x[0] == at), None)
        if hit is None:
            return False
        rest.remove(hit)
        at = normal(at * hit[1], relations)
    return True


def tiles(digits: Iterable[Digit], extent: Dim, relations: Sequence[Relation], once: bool = False) -> bool:
    """Whether the digits of one loop together determine it; with `once` also that none occurs twice."""
    if equal(extent, 1, relations):
        return True
    todo = list(digits)
    at: Dim = 1
    while not equal(at, extent, relations):
        hit = next((d for d in todo if equal(d.lower, at, relations)), None)
        if hit is None:
            return False
        todo.remove(hit)
        at = extent if hit.extent is None else normal(at * hit.extent, relations)
    return not (once and [d for d in todo if d.extent is None or not equal(d.extent, 1, relations)])


def writes_distinct(func: Func, block: Block, path: Sequence[For], loop: str) -> bool:
    """Whether different iterations of `loop` (an element of `path`) write different elements, whatever the loops inside
    do.
    """
    inner = chain(path, loop)
    parts = (block, func.relations, *(x for lp in inner for x in (lp.name, lp.extent)))
    return _DISTINCT.of(parts, lambda: _writes_distinct(func, block, extents_of(inner), loop))


_DISTINCT: Remembered[bool] = Remembered()


def _writes_distinct(func: Func, block: Block, varying: Mapping[str, Dim], loop: str) -> bool:
    if is_unit(func, varying[loop]):
        return True
    known: list[Digit] = []
    env = block.env
    for form in (x.subst(env) for x in block.index):
        if loop in form.vars and determines(form, varying, func.relations):
            known += [d for d, _ in form.terms if d.var == loop]
    return tiles(known, varying[loop], func.relations)


def conflict(func: Func, block: Block, path: Sequence[For], loop: str, limit: int = 4096) -> Witness | None:
    """Search two iterations of `loop` that write one element; None with open holes or if `limit` points show none."""
    inner = chain(path, loop)
    if func.holes or any(not isinstance(lp.extent, int) for lp in path):
        return None
    sizes = [lp.extent for lp in inner if isinstance(lp.extent, int)]
    index = accesses(block)[0].index
    zero = {lp.name: 0 for lp in path}
    seen: dict[tuple[int, ...], tuple[int, ...]] = {}
    order = itertools.product(*(range(n) for n in reversed(sizes)))  # the loop in question turns fastest
    for point in itertools.islice(order, limit):
        point = point[::-1]
        values = zero | {lp.name: v for lp, v in zip(inner, point, strict=True)}
        element = tuple(evaluate_form(x, values) for x in index)
        other = seen.setdefault(element, point)
        if other[0] != point[0]:
            first, second = (tuple((lp.name, v) for lp, v in zip(inner, p, strict=True)) for p in (other, point))
            return Witness(block.buffer, element, first, second)
    return None


def evaluate_form(form: Affine, values: Mapping[str, int]) -> int:
    """Value of a concrete form at a point."""
    total = form.const
    for d, c in form.terms:
        assert isinstance(d.lower, int)
        assert isinstance(d.extent, int | None)
        v = values[d.var] // d.lower
        total = total + c * (v if d.extent is None else v % d.extent)
    assert isinstance(total, int)
    return total


def check_independent(func: Func, loop: str, code: str, doing: str) -> None:
    """Refuse unless the iterations of `loop` may run in any order and at the same time.

    Raises
    ------
    ScheduleError
        ``{code}.reduction`` when the loop carries a reduction, ``{code}.conflict`` when two iterations may write one
        element.
    """
    lp, outer = func.loop(loop)
    if is_unit(func, lp.extent):
        return
    for block, rest in blocks(lp.body):
        path = (*outer, lp, *rest)
        if loop in reduction_loops(block):
            refuse(
                f"{code}.reduction",
                f"Loop {loop!r} carries the reduction of block {block.name!r}, so {doing} would update "
                f"one element of {block.buffer!r} from several iterations at once.",
                (loop, block.name),
                "choose a loop over the output, or reorder the reduction inwards",
                conflict(func, block, path, loop),
            )
        if writes_distinct(func, block, path, loop) or (code != "vectorize" and private(func, block.buffer, loop)):
            continue
        found = conflict(func, block, path, loop)
        detail = (
            str(found) if found else f"it is not proved that {_index_text(block)} differs from one {loop} to the next"
        )
        refuse(
            f"{code}.conflict",
            f"Iterations of {loop!r} may write the same element of {block.buffer!r}: {detail}.",
            (loop, block.name),
            "compute the block inside another loop, or mark a loop that moves its output",
            found,
        )


def private(func: Func, buffer: str, loop: str) -> bool:
    """Whether the buffer is a temporary that lives inside `loop` alone, so that every iteration can have its own."""
    if func.buffer(buffer).role != "temp":
        return False
    return all(
        any(lp.name == loop for lp in p) for b, p in blocks(func.body) if b.buffer == buffer or buffer in reads(b)
    )


def check_parallel(func: Func, loop: str) -> None:
    """Refuse unless `loop` may be marked parallel: outermost, above a perfect chain, with independent iterations."""
    lp, outer = func.loop(loop)
    for up, inner in itertools.pairwise((*outer, lp)):
        if up.kind != "parallel":
            refuse(
                "parallel.outermost",
                f"Loop {loop!r} lies inside {up.name!r}, which is {up.kind}: only the outermost loops of a "
                "nest can run in parallel.",
                (loop, up.name),
                f"parallel({up.name!r}, {loop!r}) marks both",
            )
        if len(up.body) != 1:
            refuse(
                "parallel.perfect",
                f"Loop {up.name!r} holds other statements beside {inner.name!r}, so the two cannot be run "
                "as one parallel loop.",
                (up.name, inner.name),
                f"mark only {up.name!r}",
            )
    check_independent(func, loop, "parallel", "running it in parallel")


def check_vector(func: Func, loop: str) -> None:
    """Refuse unless `loop` may be vectorised: it holds exactly one block, and every iteration writes an element of its
    own.
    """
    lp, _ = func.loop(loop)
    if len(lp.body) != 1 or not isinstance(lp.body[0], Block):
        inside = [s.name for s in lp.body]
        refuse(
            "vectorize.innermost",
            f"Loop {loop!r} holds {', '.join(map(repr, inside))}; a vectorised loop holds one block and nothing else.",
            (loop, *inside),
            "reorder the loop to the innermost place, or split off an inner part of it",
        )
    check_independent(func, loop, "vectorize", "vectorising it")


def check_marks(func: Func, step: str) -> None:
    """After a step: loops marked earlier must still be allowed to have their kind; code "loop.mark" when not."""
    for lp, _ in loops(func.body):
        try:
            if lp.kind == "parallel":
                check_parallel(func, lp.name)
            elif lp.kind == "vectorize":  # a question about the loop and what is in it alone
                _VECTORS.of((lp, func.relations), lambda: check_vector(func, lp.name))  # noqa: B023
        except Refusal as e:
            raise Refusal(
                "loop.mark",
                f"After this {step}, loop {lp.name!r} could no longer be marked {lp.kind}: {e.message}",
                e.where,
                f"do the {step} first and mark {lp.name!r} after it",
                e.witness,
            ) from None


_VECTORS: Remembered[None] = Remembered(1024)


def check_affine(func: Func) -> None:
    """Refuse ("index.affine") when some index, written in loops, is not affine."""
    for block, _ in blocks(func.body):
        accesses(block)


def check_reductions(func: Func, body: Sequence[Block], step: str) -> None:
    """Refuse (``{step}.reduction``) when a reduction would meet an element twice between its start and its end."""
    for block, path in blocks(func.body):
        if not block.is_reduction or block not in body:
            continue
        reducing = reduction_loops(block)
        first = next(
            (k for k, lp in enumerate(path) if lp.name in reducing and not is_unit(func, lp.extent)), len(path)
        )
        tail = extents_of(path[first:])
        for name in tail:
            if name in reducing or is_unit(func, tail[name]):
                continue
            forms = [b for it, b in zip(block.iters, block.binds, strict=True) if it.kind == "S" and name in b.vars]
            known = [d for b in forms if determines(b, tail, func.relations) for d, _ in b.terms if d.var == name]
            if not tiles(known, tail[name], func.relations):
                refuse(
                    f"{step}.reduction",
                    f"Loop {name!r} computes elements of block {block.name!r} again; it must stay outside of "
                    f"the reduction over {', '.join(sorted(reducing & set(tail)))}.",
                    (name, block.name),
                    f"keep {name!r} outside",
                )


# -------------------------------------------------------------------------------------------------------- order of data


def check_flow(func: Func, buffer: str, code: str) -> None:
    """Refuse unless every block that reads `buffer` comes after what it reads is complete.

    Where a writer and a reader share loops, the part that the reader needs in one iteration of those loops must be
    written in the same iteration.

    Raises
    ------
    ScheduleError
        With the given code.
    """
    made = writers(func, buffer)
    if not made:
        return
    order = {b.name: k for k, (b, _) in enumerate(blocks(func.body))}
    for reader, rpath in readers(func, buffer):
        for writer, wpath in made:
            if writer is reader:
                continue
            if order[writer.name] > order[reader.name]:
                refuse(
                    code,
                    f"Block {reader.name!r} would read {buffer!r} before {writer.name!r} has written it.",
                    (reader.name, writer.name),
                    f"move {writer.name!r} first",
                )
            common = shared_loops(wpath, rpath)
            if common:
                _check_shared(func, (writer, wpath), (reader, rpath), common, code, alone=len(made) == 1)


def shared_loops(a: Sequence[For], b: Sequence[For]) -> tuple[For, ...]:
    """Loops around both of two places."""
    return tuple(x for x, _ in itertools.takewhile(lambda ab: ab[0].name == ab[1].name, zip(a, b, strict=False)))


def _check_shared(
    func: Func,
    writer: tuple[Block, tuple[For, ...]],
    reader: tuple[Block, tuple[For, ...]],
    common: tuple[For, ...],
    code: str,
    alone: bool,
) -> None:
    (w, wpath), (r, rpath) = writer, reader
    where = (r.name, w.name, common[-1].name)
    running = [lp.name for lp in common if lp.name in reduction_loops(w) and not is_unit(func, lp.extent)]
    if running:
        refuse(
            code,
            f"Inside {common[-1].name!r}, block {w.name!r} is not finished: it reduces over {', '.join(running)}.",
            where,
            f"place {r.name!r} outside of {running[0]!r}",
        )
    if not alone:
        refuse(
            code,
            f"{w.buffer!r} has several writers, and {w.name!r} shares the loop {common[-1].name!r} with {r.name!r}.",
            where,
            "take this step before decompose_reduction and before a peeled split",
        )
    still = {lp.name: lambda _: Affine() for lp in common if is_unit(func, lp.extent)}
    written = _hull(func, w, wpath[len(common) :], accesses(w)[0].index)
    for acc in accesses(r)[1:]:
        if acc.buffer != w.buffer:
            continue
        hulls = zip(_hull(func, r, rpath[len(common) :], acc.index), written, strict=True)
        for ((base, size), (wbase, wsize)), whole in zip(hulls, func.buffer(w.buffer).shape, strict=True):
            if wbase == Affine() and equal(wsize, whole, func.relations):
                continue  # nothing else exists
            shift = (base - wbase).subst(still).normal(func.relations)
            inside = (
                shift.is_const
                and nonneg(shift.const, func.relations)
                and nonneg(wsize - size - shift.const, func.relations)
            )
            if not inside:
                refuse(
                    code,
                    f"In one iteration of {common[-1].name!r}, block {r.name!r} needs [{base}, {base} + {size}) of "
                    f"{w.buffer!r}, and it is not proved that this lies within [{wbase}, {wbase} + {wsize}), which "
                    f"{w.name!r} writes there.",
                    where,
                    f"move {w.name!r} out of {common[-1].name!r} first",
                )


def _hull(func: Func, block: Block, inner: Sequence[For], index: Sequence[Affine]) -> list[tuple[Affine, Dim]]:
    run = extents_of(inner)
    return [(split_base(x, run).normal(func.relations), normal(width(x, run), func.relations)) for x in index]


def _index_text(block: Block) -> str:
    return f"{block.buffer}[{', '.join(map(str, accesses(block)[0].index))}]"
