"""The tasks with what is known of each, and the one to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench import markup as m
from workbench.analysis.graph_drawing.svg_canvas import Canvas, width_of
from workbench.errors import UsageError
from workbench.ir.product_type import PLAIN
from workbench.log import Record
from workbench.log.task_table import end_to_end, kernels_covered, network_fields, task_table
from workbench.log.weighted_latency import shares, total
from workbench.session import registry as declare
from workbench.session.measurement import faster_than_peak as above
from workbench.session.registry import Host, Row, SliceContext
from workbench.session.state import task_costs
from workbench.session.state import tuning_watch as tuning
from workbench.session.state.session_state import SessionState
from workbench.session.state.statistics import delta, rounded, spark
from workbench.tune.state.events import TaskRow

declare.panel("tasks", "Tasks", 2, needs="tasks", page=1)

PAD = 16.0
"""Margin of the drawing, in pixels."""

FEW = 40
"""Tasks that a saved notebook shows at most."""


@declare.slice_("tasks")
def tasks(context: SliceContext) -> dict[str, Any]:
    """Return the slice `tasks`."""
    state = context.state
    by_key = {r.key: r for r in context.tuning.rows} if context.tuning is not None else {}
    if state.watch is not None and context.tuning is not None:
        outlook = state.watch.outlook(context.tuning)
    else:
        rounds = state.opened.rounds
        outlook = context.cache["outlook"].of((rounds,), lambda: tuning.remembered(rounds))
    rows = [
        {**_task_row(state, i, by_key.get(info.key)), **outlook.get(info.key, {})} for i, info in enumerate(state.infos)
    ]
    now, network = task_costs.measured(state), state.stats.ledger.network
    for row, share in zip(rows, shares(task_costs.inside(state)), strict=True):
        row["share"] = None if share is None else round(share, 4)
    untuned = total([(r["weight"], r["untuned_ms"]) for r in rows])
    guess = _guess(state, rows) if total(now) is None else None
    out = {"rows": rows, "total_ms": rounded(total(now)), "untuned_ms": rounded(untuned), "est_ms": guess,
           "covers": kernels_covered(weight for weight, _ in now)}  # fmt: skip
    if network is None:
        return out
    found = network_fields(network, state.stats.ledger.trials)
    return {**out, "network": {k: rounded(v) if isinstance(v, float) else v for k, v in found.items()}}


def _guess(state: SessionState, rows: list[dict[str, Any]]) -> Any:
    """Write beside tasks that have no time what they should take without tuning, and beside all of them their share of
    measured and estimated times; return the sum of these.
    """
    calls, in_ms = task_costs.estimated(state)
    for row, share in zip(rows, shares(calls), strict=True):
        if row["ms"] is None:
            one = state.estimates.untuned(row["key"])
            row["est"] = None if one is None else rounded(one.ms, 3)
        row["est_share"] = rounded(share, 3)
    return rounded(total(calls), 3) if in_ms else None


_REASONS = {
    "waiting": "the tuner has not come to this task yet",
    "tuning": "the tuner measures this task now",
    "exhausted": "every candidate of this task was tried",
    "resting": "its last rounds have gained nothing, so other tasks go first",
    "skipped": "not part of this run",
    "no result": "no candidate ran correctly",
}
"""Why a task is in a state, where the scheduler says no more of it."""


def _task_row(state: SessionState, index: int, row: TaskRow | None) -> dict[str, Any]:
    info = state.infos[index]
    task = state.stats.of(info.key)
    best = state.best(index)
    ms = None if best is None else best.ms
    clean = best is None or best.sure != "disturbed"
    gflops = info.flops / (ms * 1e6) if ms and info.flops and clean else None
    faster = above.of_task(state, index, gflops)
    product = {} if state.products[index] == PLAIN else {"product": state.products[index]}
    word = row.state if row is not None else "measured" if ms is not None else ""
    reason = (row.reason if row is not None else "") or _REASONS.get(word, "")
    return {
        "id": index, "key": info.key, "name": info.name, "weight": info.weight, "flops": info.flops, "ms": rounded(ms),
        "gflops": rounded(gflops), **({"above": faster} if faster else {}), **product, "trials": task.trials,
        "failed": task.failures.total(), "failures": dict(task.failures), "untuned_ms": rounded(task.untuned_ms),
        "share": None, "state": word, "reason": reason, "delta": delta(task),
        "spark": spark(task), "spread": rounded(best.spread, 3) if best is not None and clean else None,
        "compared": task.comparisons, "confidence": None if row is None else rounded(row.confidence, 4),
        "sure": "" if best is None else best.sure,
    }  # fmt: skip


@declare.command
def open_task(host: Host, task: object) -> None:
    """Show a task, given by number, key or name."""
    if task is None:
        raise UsageError("usage.task", "Say which task to open")
    host.state.open_task(task)


# ----- without a front end


@declare.static("tasks")
def _tasks_html(tasks: Mapping[str, Any], limit: int) -> m.Html:
    if not tasks["rows"]:
        return m.Html("")
    whole = end_to_end(tasks.get("network"), tasks["total_ms"], tasks["untuned_ms"], tasks["covers"])
    return m.join(m.section("Tasks"), whole, task_table(tasks["rows"], min(limit, FEW)))


@declare.table("tasks")
def _tasks_table(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each task."""
    rows = (slices.get("tasks") or {"rows": ()})["rows"]
    return [{k: v for k, v in row.items() if k != "spark"} for row in rows]


@declare.drawing("tasks")
def _tasks_svg(tasks: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    rows = sorted(tasks["rows"], key=lambda row: -(row["share"] or 0.0))
    name = max(200.0, *(width_of(row["name"]) for row in rows))
    ends = [PAD + name + at for at in (40, 120, 200, 260)]
    to.text(PAD, 24, "Tasks", size=13, bold=True)
    network, total_ms = tasks.get("network"), tasks.get("total_ms")
    if network or total_ms is not None:
        whole = (
            f"end to end {m.milliseconds(network['ms'])}" if network else f"sum of kernels {m.milliseconds(total_ms)}"
        )
        to.text(ends[3] + 110, 24, whole, anchor="end", fill="tx2")
    for x, word in zip(ends, ("×", "best", "GFLOP/s", "trials"), strict=True):
        to.text(x, 50, word, size=11, fill="tx3", anchor="end")
    y = 34.0
    for row in rows:
        y += 22
        to.text(PAD, y + 15, row["name"])
        for x, value in zip(
            ends, (row["weight"], m.milliseconds(row["ms"]), m.digits(row["gflops"]), row["trials"]), strict=True
        ):
            to.text(x, y + 15, value, anchor="end")
        to.rect(ends[3] + 16, y + 7, 50 * (row["share"] or 0.0), 8, fill="s4")
        to.text(ends[3] + 110, y + 15, m.percent(row["share"]) if row["share"] is not None else "", anchor="end")
    return to.done(ends[3] + 110 + PAD, y + 22 + PAD, "Tasks")
