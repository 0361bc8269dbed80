"""The code of a variant, page by page, and what differs between two variants."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from workbench import markup as m
from workbench.analysis import DiffRow, Listing, listing
from workbench.analysis.loop_nest.code_diff import changes, rows_inside
from workbench.analysis.loop_nest.code_listing import CodeKind, code_kind
from workbench.analysis.loop_nest.schedule_estimate import estimated
from workbench.arguments import is_a, whole
from workbench.ir.func import Same
from workbench.session import registry as declare
from workbench.session.measurement import comparisons as contests
from workbench.session.registry import Host, needed
from workbench.session.state.statistics import rounded
from workbench.target import Target

declare.panel("code", "Code", 8, needs="program", about_task=True, page=6)
declare.panel("diff", "Difference", 9, needs="program")

PAGE = 400
"""Lines of a page at most."""
MOST_ROWS = 2_000
"""Rows of a comparison that travel at most."""

RECORDED_LINES = 6_000
"""Lines of a listing that are recorded at most."""
RECORDED_KINDS = ("nest", "c", "llvm", "cuda", "opencl", "asm", "kernels")
"""Listings that the panel has tabs for."""


@lru_cache(maxsize=4)
def _listing(of: Same, kind: CodeKind, target: Target) -> Listing:
    """Make a listing; the last ones are kept, for a reader takes page after page."""
    return listing(of.func, kind, target)


@declare.question("code", lane="code")
def code(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """List ``kind`` of the variant ``node`` (that on show by default): ``count`` lines from line ``from`` on.

    Where which row's lines are comes with the first page, for the whole listing.
    """
    kind, first = code_kind(needed(args, "code", "kind")), whole("from", args.get("from", 0), 0)
    count = min(PAGE, whole("count", args.get("count", PAGE)))
    node, target = host.state.variant(args.get("node")), host.state.target
    id, func = node.id, node.schedule.func

    def work() -> dict[str, Any]:
        found = _listing(Same(func), kind, target)
        rows = found.rows
        number = {row: k for k, row in enumerate(rows)} | {"": -1}
        return {
            "node": id, "kind": kind, "total": len(found), "from": first, "cut": found.cut,
            "lines": [line.text for line in found.lines[first : first + count]],
            "rows": [] if first else list(rows),
            "runs": [] if first else [[line, number[row]] for line, row in found.runs],
        }  # fmt: skip

    return work


@declare.question("diff", lane="code")
def diff(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """Compare ``kind`` of the variants ``a`` and ``b``: changed lines, with ``all`` every line, with ``row`` only those
    of this row of the nest and of the rows inside of it.
    """
    state, kind, row = host.state, code_kind(needed(args, "diff", "kind")), args.get("row")
    if row is not None:
        is_a("row", row, str)
    a, b = (state.variant(needed(args, "diff", side)) for side in ("a", "b"))
    known = [state.history.estimates.get(node.key) for node in (a, b)]
    times = [getattr(state.history.result(node.key), "ms", None) for node in (a, b)]
    met = contests.info(state.history, state.tree, a.id, b.id)
    versus = contests.versus(state.history, state.tree, a.id, b.id)
    schedules, target, peak = [node.schedule.copy() for node in (a, b)], state.target, state.peak
    constants = state.constants

    def work() -> dict[str, Any]:
        before, after = schedules
        within = rows_inside(before.func, row) | rows_inside(after.func, row) if row else None
        left, right = (_listing(Same(one.func), kind, target) for one in schedules)
        found = changes(left, right, rows=within, context=None if args.get("all") else 0)
        guesses = zip(known, schedules, strict=True)
        pair = [guess or estimated(one, target, peak, constants) for guess, one in guesses]
        both = tuple(guess.to_json() for guess in pair if guess is not None)
        moved = [guess["bytes"] for guess in both] if len(both) == 2 else [{}, {}]
        more = len(found.rows) - MOST_ROWS
        return {
            "a": a.id, "b": b.id, "kind": kind, "rows": list(_rows(found.rows[:MOST_ROWS], 0 if row else found.folded)),
            "changed": found.changed, "folded": found.folded,
            "cut": found.cut or (f"{more} more rows are not shown" if more > 0 else ""),
            "est": [None if guess is None else rounded(guess.ms, 3) for guess in pair],
            "bytes": {level: [moved[0][level], moved[1][level]] for level in moved[0] if level in moved[1]},
            "ms": [rounded(ms) for ms in times], "contest": met,
            "versus": versus,
        }  # fmt: skip

    return work


def _rows(rows: Sequence[DiffRow], folded: int) -> Iterator[dict[str, Any]]:
    """Yield rows as they are drawn; in between, how many lines that are the same are left out, where any are."""
    left = right = told = 0
    for one in rows:
        skipped = one.left[0] - left if one.left else one.right[0] - right if one.right else 0
        if skipped and folded:
            yield {"mark": " ", "left": None, "right": None, "skip": skipped}
        left, right, told = left + skipped + bool(one.left), right + skipped + bool(one.right), told + skipped
        said = {"row": one.row} if one.row else {}
        yield {"mark": one.mark, "left": one.left and list(one.left), "right": one.right and list(one.right), **said}
    if rows and folded > told:
        yield {"mark": " ", "left": None, "right": None, "skip": folded - told}


@declare.static("code")
def _code_html(code: Mapping[str, Any], limit: int) -> m.Html:
    return m.join(m.section("Code"), m.fold("The nest as text", m.code(code["text"], limit)))


@declare.recorded
def _recorded(slices: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    history = slices.get("history") or {"rows": []}
    rows = [row for row in history["rows"] if row["id"] == history["at"]]
    for row, kind in itertools.product(rows, RECORDED_KINDS):
        listing = {"kind": kind, "node": row["id"]}
        yield "code", listing
        yield from (("code", {**listing, "from": first}) for first in range(PAGE, RECORDED_LINES, PAGE))
        if row.get("parent") is not None:
            yield "diff", {"a": row["parent"], "b": row["id"], "kind": kind}
