"""What earlier steps were promised, and every later step has to keep: bound loops, scopes of temporaries, units.

A unit is a loop to which `blockize` gave a name or `tensorize` an intrinsic, with everything in it; what the intrinsic
describes has to stay what the loops do, too. `legality.check_marks` looks after parallel and vectorised loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from workbench.errors import ScheduleError
from workbench.intrinsics import Mismatch, match, registry
from workbench.ir import Affine, Block, Dim, For, Func, accesses, blocks, loops
from workbench.ir.buffer_regions import Span, spans_of, union
from workbench.ir.compact_temporaries import shared_by
from workbench.ir.pipelines import copies, fetches
from workbench.ir.stmt import BLOCK_KINDS, combined, walk
from workbench.memoize import remembered
from workbench.schedule import legality
from workbench.schedule.nest_properties import NestProperties
from workbench.schedule.refusal import Refusal, refuse

#: How a loop that adds up can be bound.
COMBINE = "choose a loop of the output, or threadIdx.x with only loops of this sum inside"


def check_named(func: Func, step: str, names: Iterable[str]) -> None:
    """Refuse ("unit.inside") a step that names a loop or block inside a unit."""
    units = NestProperties.of(func.body).units
    wanted = set(names) if units else set()
    for unit in units:
        for s, _ in walk(unit.body):
            if s.name in wanted:
                refuse(
                    "unit.inside",
                    f"{s.name!r} lies inside {unit_name(unit)}, which {step} would cut through.",
                    (s.name, unit.name),
                    f"name the loop {unit.name!r} that stands for all of it, or do the {step} before",
                )


def check(before: Func, after: Func, step: str) -> None:
    """Refuse a step that breaks what an earlier one was promised: "loop.mark", "buffer.scope" or "unit.cut"."""
    properties = NestProperties.of(after.body)
    for lp in properties.bound:
        _keep_bound(after, lp, step)
    for lp in properties.pipelines:
        _keep_pipeline(after, lp, step)
    for b in after.buffers:
        if b.scope not in ("auto", "global"):
            check_scope(after, b.name, "buffer.scope", f"set the scope of {b.name!r} after the {step}")
    for unit in NestProperties.of(before.body).units:
        _keep_unit(after, unit, step)
    for unit in properties.units:
        for lp, _ in loops((unit,)):
            if lp.intrin is not None:
                _keep_intrinsic(after, lp.name, lp.intrin, step)


def _keep_bound(func: Func, lp: For, step: str) -> None:
    try:
        check_bound(func, lp.name)
    except Refusal as e:
        raise Refusal(
            "loop.mark",
            f"After this {step}, loop {lp.name!r} could no longer be bound to {lp.kind}: {e.message}",
            e.where,
            f"do the {step} first and bind {lp.name!r} after it",
            e.evidence,
        ) from None


def _keep_pipeline(func: Func, lp: For, step: str) -> None:
    try:
        check_pipeline(func, lp.name)
    except Refusal as e:
        raise Refusal(
            "loop.mark",
            f"After this {step}, loop {lp.name!r} could no longer be a pipeline: {e.message}",
            e.where,
            f"do the {step} first and pipeline {lp.name!r} after it",
            e.evidence,
        ) from None


def check_pipeline(func: Func, loop: str) -> None:
    """Refuse unless what a loop copies to shared memory may be copied an iteration ahead.

    Raises
    ------
    ScheduleError
        "pipeline.fetch" where nothing is, "pipeline.depends" where what is copied is made in the loop, and
        "pipeline.digit" where the next iteration cannot be said of what is read.
    """
    lp, _ = func.loop(loop)
    ahead = fetches(func, lp)
    late = [b.name for s in copies(func, lp) if s not in ahead for b, _ in blocks((s,))]
    if not ahead and late:
        refuse(
            "pipeline.depends",
            f"{late[0]!r} copies what loop {loop!r} computes, so it cannot be copied an iteration before.",
            (loop, late[0]),
            "compute it before the loop",
        )
    if not ahead or lp.kind != "serial":
        refuse(
            "pipeline.fetch",
            f"Loop {loop!r} holds no statement that copies to shared memory for one iteration alone.",
            (loop,),
            'bring a cache_read into it with compute_at, and give the copy set_scope(buffer, "shared")',
        )
    following = {loop: Affine.var(loop) + 1}
    for b, _ in (x for s in ahead for x in blocks((s,))):
        try:
            for x in (*b.binds, *(i.subst(b.env) for acc in accesses(b) for i in acc.index)):
                x.subst(following)
        except ScheduleError:
            refuse(
                "pipeline.digit",
                f"{b.name!r} reads at a part of {loop!r}, of which the next iteration cannot be said.",
                (loop, b.name),
                "pipeline a loop that was split, not fused",
            )


@remembered(1024, parts=lambda func, loop: (func.body, func.buffers, func.relations, func.loop(loop)[0]))
def check_bound(func: Func, loop: str) -> None:
    """Refuse unless a bound loop may have its kind.

    Raises
    ------
    ScheduleError
        "bind.taken" when a loop around or inside has the same kind, "bind.order" when the loops around do not allow
        it, "bind.reduction" and "bind.conflict" when iterations depend on each other.
    """
    lp, path = func.loop(loop)
    inner = [x for x, _ in loops(lp.body)]
    same = next((x for x in (*path, *inner) if x.kind == lp.kind and lp.kind != "vthread"), None)
    if same is not None:
        refuse(
            "bind.taken",
            f"Loops {loop!r} and {same.name!r} lie inside each other, so only one of them can be {lp.kind}.",
            (loop, same.name),
            "use another letter, or vthread",
        )
    _check_order(lp, path, inner)
    if combined(lp) is None:
        legality.check_independent(func, loop, "bind", f"binding it to {lp.kind}", hint=lambda *_: COMBINE)


def _check_order(lp: For, path: tuple[For, ...], inner: list[For]) -> None:
    """A launch has one grid outside, threads inside; the loops over its blocks hold nothing but each other."""
    mixed = next((x for x in (*path, *inner) if x.kind == "parallel"), None)
    if mixed is not None:
        refuse(
            "bind.order",
            f"Loop {mixed.name!r} runs on the cores of a CPU, {lp.name!r} would be a part of a device.",
            (lp.name, mixed.name),
            "use either parallel or bind in one nest",
        )
    inside = lp if lp.kind in BLOCK_KINDS else next((x for x in inner if x.kind in BLOCK_KINDS), None)
    around = path if inside is lp else (*path, lp)
    for up in around if inside is not None else ():
        if up.kind not in BLOCK_KINDS or len(up.body) != 1:
            detail = "is no loop over blocks" if up.kind not in BLOCK_KINDS else "holds other statements too"
            refuse(
                "bind.order",
                f"A loop over the blocks of a grid is outermost or directly inside others; {up.name!r} {detail}.",
                (lp.name, up.name),
                f"reorder the loops, or bind {up.name!r} to blocks as well",
            )


def check_scope(func: Func, buffer: str, code: str, hint: str) -> None:
    """Refuse (`code`) when iterations that run at once share a temporary that its scope gives to each of them."""
    lp = shared_by(func, buffer)
    if lp is None:
        return
    scope = func.buffer(buffer).scope
    users = [b.name for b, path in blocks((lp,)) if any(a.buffer == buffer for a in accesses(b))]
    rest = sorted({b.name for b, _ in blocks(func.body) if any(a.buffer == buffer for a in accesses(b))} - set(users))
    others = f"; {', '.join(rest)} outside of it would see a memory of its own" if rest else ""
    refuse(
        code,
        f"{buffer!r} cannot be {scope}: the iterations of the {lp.kind} loop {lp.name!r}, where {', '.join(users)} "
        f"uses it, run at once and share it{others}.",
        (buffer, lp.name, *users),
        hint,
    )


# --------------------------------------------------------------------------------------------------------------- units


def unit_name(lp: For) -> str:
    """Words for a unit in a sentence."""
    name = lp.note("block")
    return f"the intrinsic {lp.intrin!r}" if lp.intrin is not None else f"the unit {name!r}"


def _keep_unit(after: Func, unit: For, step: str) -> None:
    """Its loops and blocks are what they were. Extents may be written in new holes, and indices may change."""
    now = next((lp for lp, _ in loops(after.body) if lp.name == unit.name), None)
    if now is not None and list(_skeleton(now)) == list(_skeleton(unit)):
        return
    refuse(
        "unit.cut",
        f"This {step} would cut through {unit_name(unit)} at loop {unit.name!r}: its loops and blocks stay together.",
        (unit.name,),
        f"do the {step} before, or undo what made it a unit",
    )


def _keep_intrinsic(func: Func, loop: str, intrin: str, step: str) -> None:
    """What the intrinsic describes is still what its loops do: a step may have moved an operand in memory."""
    try:
        match(registry[intrin], func, loop)
    except Mismatch as e:
        refuse(
            "loop.mark",
            f"After this {step}, {intrin} could no longer compute loop {loop!r}: {e.sentence}",
            e.where,
            f"do the {step} first and tensorize {loop!r} after it",
        )


def _skeleton(unit: For) -> Iterator[tuple[str, str]]:
    yield unit.name, unit.kind if unit.intrin is not None else ""
    for s, _ in walk(unit.body):
        yield s.name, s.kind if isinstance(s, For) else "block"


Regions: TypeAlias = dict[str, tuple[Dim, ...] | None]


def unit_regions(func: Func, loop: str) -> tuple[Regions, Regions]:
    """Say what one run of a loop reads and writes.

    Returns
    -------
    (dict, dict)
        Buffer name -> sizes of the part that is read, and the same for what is written; None where several accesses
        make up no box. A temporary that lives inside the loop is in neither.
    """
    unit, _ = func.loop(loop)
    hulls: tuple[dict[str, tuple[Span, ...] | None], dict[str, tuple[Span, ...] | None]] = ({}, {})
    for block, path in blocks((unit,)):
        inside = {lp.name: lp.extent for lp in path}
        for acc in accesses(block):
            if _own(func, acc.buffer, loop) or (not acc.is_write and _accumulates(block, acc.buffer)):
                continue
            spans = spans_of(acc.index, inside, func.relations)
            table = hulls[acc.is_write]
            known = table.get(acc.buffer, spans)
            try:
                table[acc.buffer] = None if known is None else union(known, spans, func.relations)
            except ScheduleError:
                table[acc.buffer] = None
    reads, writes = ({n: _widths(s) for n, s in table.items()} for table in hulls)
    return reads, writes


def _widths(spans: tuple[Span, ...] | None) -> tuple[Dim, ...] | None:
    return None if spans is None else tuple(x.width for x in spans)


def _own(func: Func, buffer: str, loop: str) -> bool:
    return func.buffer(buffer).role == "temp" and legality.private(func, buffer, loop)


def _accumulates(block: Block, buffer: str) -> bool:
    return block.is_reduction and block.buffer == buffer
