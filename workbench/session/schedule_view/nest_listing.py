"""The loop nest as the front end reads it, and what of it can be selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from workbench.analysis import accesses, nest_rows
from workbench.ir import Func, blocks
from workbench.session.core.encoding import lean
from workbench.session.schedule_view import applicable_primitives
from workbench.session.state.history import View
from workbench.session.state.session_state import SessionState
from workbench.target import Target


def nest_slice(func: Func, target: Target) -> dict[str, Any]:
    """Return the slice `nest`: the rows, the axes of every block, and how a buffer lies where that is special."""
    axes = {b.name: [it.name for it in b.iters] for b, _ in blocks(func.body)}
    stored = {b.name: said for b in func.buffers if (said := applicable_primitives.storage(b))}
    return lean(nest_rows(func, target).to_json() | {"axes": axes, "storage": stored})


def accesses_slice(func: Func, target: Target, loop: str) -> dict[str, Any]:
    """Return the slice `accesses` for a loop; without rows for ""."""
    rows: list[dict[str, Any]] = []
    count: Counter[str] = Counter()
    for row in accesses(func, loop, target) if loop else ():
        rows.append({"id": f"{row.block}:{count[row.block]}", **row.to_json()})
        count[row.block] += 1
    return {"row": loop, "rows": rows}


def loop_of(nest: Mapping[str, Any], selected: str) -> str:
    """Return the selected loop, or the one around the selected statement; "" where there is none."""
    row = next((r for r in nest["rows"] if r["id"] == selected), None)
    if row is None:
        return ""
    return str(row["id"] if row["kind"] == "loop" else row["parent"] or "")


def known(nest: dict[str, Any]) -> set[str]:
    """Return everything that can be selected."""
    return {r["id"] for r in nest["rows"]} | set(nest["buffers"])


def starting_row(nest: dict[str, Any]) -> str:
    """Return the row to select first: the innermost loop, of more than one iteration, around the most arithmetic.

    Its body is what runs most often, so what it does to memory from one iteration to the next says most about the time.
    """
    rows = {r["id"]: r for r in nest["rows"]}
    stmts = [r for r in rows.values() if r["kind"] == "stmt"]
    if not stmts:
        return ""
    row = max(stmts, key=lambda r: (r["flops"] or 0, r["bytes"] or 0))
    found = row
    while (up := found["parent"]) is not None:
        found = rows[up]
        if found["extent"] != 1:
            return str(found["id"])
    return str(row["id"])


def choose(state: SessionState, view: View | None, nest: dict[str, Any] | None) -> None:
    """Make sure that what is selected exists."""
    if view is None or nest is None:
        state.selected = ""
        return
    there, old = known(nest), state.selected
    if state.fresh or (old and old not in there):
        # What was selected at this state before; the loops that the step made; those that `old` came of or became.
        wanted = (state.history.selected.get(view.key, ""), *state.made, f"{old}.0", old.rpartition(".")[0])
        state.selected = next((name for name in wanted if name in there), starting_row(nest))
    state.fresh, state.made = False, ()
    state.history.selected[view.key] = state.selected
