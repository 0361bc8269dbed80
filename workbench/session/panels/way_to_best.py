"""How far the variant on show is from the best that was measured: the decisions that differ, and the way there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.advice.estimated_speedup import LEAST
from workbench.advice.way_to_best import way_to
from workbench.exercise_mode import why_off
from workbench.log import Record
from workbench.log.replay import schedule_of
from workbench.session import registry as declare
from workbench.session.measurement.comparisons import best_beside
from workbench.session.registry import Host
from workbench.session.state.session_state import SessionState
from workbench.session.state.variant_tree import TreeNode

_NOTHING: dict[str, Any] = {"text": "", "differs": "", "rows": []}


@declare.question("way", lane="way")
def way(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say how far the variant ``node`` (that on show by default) is from the best that was measured, by what decisions,
    and how to get there; each row takes the way up to itself. Nothing of what is about as fast as the best.
    """
    if why_off("advice") or why_off("tuner"):
        return lambda: _NOTHING
    state = host.state
    node = state.variant(args.get("node"))
    found = _best(state, node)
    task = None if state.index is None else state.infos[state.index].task
    if found is None or task is None:
        return lambda: _NOTHING
    record, share, view = found[0], found[1], node.schedule
    target, constants = state.target, state.constants

    def work() -> dict[str, Any]:
        there = way_to(view, schedule_of(task, record), target, constants=constants) if view.is_concrete else None
        if there is None or not there.offers:
            return _NOTHING
        named = {"default": "the default schedule"}.get(record.origin, f"trial {record.trial}")
        who = "made by hand" if record.trial < 0 and record.origin != "default" else named
        differs = "; ".join(there.differences) or "the same loops, other steps"
        return {"text": f"{100 * share:.0f} % of the best, {who}", "differs": differs, "rows": there.rows()}

    return work


def _best(state: SessionState, node: TreeNode) -> tuple[Record, float] | None:
    """Return the best of the task on show and the share of its speed that a variant has; None where that is all."""
    known = best_beside(state, node)
    if known is None or state.index is None or known[2].ratio > 1.0 / LEAST:
        return None
    record = state.traced(state.index, known[0].record)
    return None if record is None else (record, known[2].ratio)
