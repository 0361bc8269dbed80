"""Order of data: whatever a block reads has been written before, completely."""

from __future__ import annotations

from typing import TypeAlias

from workbench.ir import Affine, Block, For, Func, accesses, blocks
from workbench.ir.buffer_regions import spans_of
from workbench.ir.poly import equal
from workbench.ir.stmt import shared_loops, written
from workbench.schedule.legality.affine_queries import nonneg
from workbench.schedule.legality.readers_writers import extents_of, is_unit, readers, reduction_loops, writers
from workbench.schedule.legality.witness import early
from workbench.schedule.refusal import Deferred, refuse


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
                    Deferred(lambda: early(func, buffer, reader.name)),  # noqa: B023
                )
            common = shared_loops(wpath, rpath)
            if common:
                _check_shared(func, (writer, wpath), (reader, rpath), common, code, alone=len(made) == 1)


_Placed: TypeAlias = tuple[Block, tuple[For, ...]]


def _check_shared(
    func: Func, writer: _Placed, reader: _Placed, common: tuple[For, ...], code: str, alone: bool
) -> None:
    """Refuse unless one iteration of the shared loops writes all that the reader needs in it."""
    (w, _), (r, _) = writer, reader
    where = (r.name, w.name, common[-1].name)
    search = Deferred(lambda: early(func, w.buffer, r.name))
    running = [lp.name for lp in common if lp.name in reduction_loops(w) and not is_unit(func, lp.extent)]
    if running:
        refuse(
            code,
            f"Inside {common[-1].name!r}, block {w.name!r} is not finished: it reduces over {', '.join(running)}.",
            where,
            f"place {r.name!r} outside of {running[0]!r}",
            search,
        )
    if not alone:
        refuse(
            code,
            f"{w.buffer!r} has several writers, and {w.name!r} shares the loop {common[-1].name!r} with {r.name!r}.",
            where,
            "take this step before decompose_reduction and before a peeled split",
            search,
        )
    missing = _missing(func, writer, reader, common)
    if missing is not None:
        needed, written = missing
        refuse(
            code,
            f"In one iteration of {common[-1].name!r}, block {r.name!r} needs {needed} of {w.buffer!r}, and it is not "
            f"proved that this lies within {written}, which {w.name!r} writes there.",
            where,
            f"move {w.name!r} out of {common[-1].name!r} first",
            search,
        )


def _missing(func: Func, writer: _Placed, reader: _Placed, common: tuple[For, ...]) -> tuple[str, str] | None:
    """What the reader needs in one iteration of the shared loops and what is written in it, as intervals of the first
    dimension in which the one is not proved to lie within the other; None when there is no such dimension.
    """
    (w, wpath), (r, rpath) = writer, reader
    still = {lp.name: lambda _: Affine() for lp in common if is_unit(func, lp.extent)}
    made = spans_of(written(w), extents_of(wpath[len(common) :]), func.relations)
    for acc in accesses(r)[1:]:
        if acc.buffer != w.buffer:
            continue
        needed = spans_of(acc.index, extents_of(rpath[len(common) :]), func.relations)
        for want, have, whole in zip(needed, made, func.buffer(w.buffer).shape, strict=True):
            if have.base.is_const and have.base.const == 0 and equal(have.width, whole, func.relations):
                continue  # nothing else exists
            shift = Affine() if want.base == have.base else (want.base - have.base).subst(still).normal(func.relations)
            inside = (
                shift.is_const
                and nonneg(shift.const, func.relations)
                and nonneg(have.width - want.width - shift.const, func.relations)
            )
            if not inside:
                return str(want), str(have)
    return None
