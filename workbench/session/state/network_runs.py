"""Recorded runs of the model of a session: what is shown of them, as plain JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.graph import Graph
from workbench.log.ledger.network import change
from workbench.runtime.buffers import Array
from workbench.runtime.execution.profile import relative_spread
from workbench.runtime.execution.recorded_run import RecordedRun
from workbench.runtime.networks.execution_plan import ExecutablePlan, main_node
from workbench.runtime.networks.memory_map import live_bytes, memory_map
from workbench.session.state.statistics import rounded

REST, BETWEEN = -1, -2
"""Ids of rows of no task: of the calls that belong to none, and of the time between kernels."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A recorded run of a network whose tasks have the schedules that `name` says: "default" or "best"."""

    name: str
    number: int
    plan: ExecutablePlan
    recorded: RecordedRun


def summary(made: Sequence[Shown], graph: Graph, tasks: Mapping[str, int]) -> dict[str, Any]:
    """Write what is always shown of recorded runs.

    Returns
    -------
    dict
        ``runs``: of each its name, number, threads, and milliseconds: ``run_ms`` of the one that is drawn, ``calls_ms``
        and ``gaps_ms`` in it, ``whole_ms`` of runs that nobody recorded with their spread; ``change``, how fast it is
        beside the first, in words; ``interrupted``, the number of the call in it that something else interrupted, or
        -1. ``rows``: for each task the number of its calls, and for each run that is drawn their milliseconds without
        gaps, their gaps and their share of it; ``change`` from the first to the last, in words. The last row is the
        time between kernels, so that milliseconds and shares add up to the run. ``nodes``: milliseconds of the kernel
        of each node in the last one.
    """
    return {
        "runs": [{**_totals(one), "change": _change(made[0], one) if k else ""} for k, one in enumerate(made)],
        "rows": _rows(made, tasks),
        "nodes": dict(_nodes(made[-1], graph)) if made else {},
    }


def _totals(shown: Shown) -> dict[str, Any]:
    found = shown.recorded
    return {
        "name": shown.name, "number": shown.number, "threads": found.recording.threads,
        "runs": len(found.recording.stamps), "run_ms": rounded(float(found.stamps[-1]) * 1e-6),
        "calls_ms": rounded(float(found.calls_ns.sum()) * 1e-6), "gaps_ms": rounded(float(found.gaps_ns.sum()) * 1e-6),
        "whole_ms": rounded(found.profile.attrs["whole_ms"]),
        "whole_spread": rounded(found.profile.attrs["whole_spread"], 3), "untuned": len(shown.plan.untuned),
        "interrupted": found.interrupted,
    }  # fmt: skip


def _change(before: Shown, after: Shown) -> str:
    """How fast a network is with other schedules, by the runs that nobody recorded."""
    a, b = (one.recorded.profile.attrs for one in (before, after))
    return change(a["whole_ms"], b["whole_ms"], (a["whole_spread"], b["whole_spread"]))


@dataclass(slots=True)
class _Spent:
    """What one run has spent on a task: milliseconds in the drawn one, and in each of all that were recorded."""

    calls: int
    bytes: int
    ms: float
    gap: float
    each: Array


def _rows(made: Sequence[Shown], tasks: Mapping[str, int]) -> list[dict[str, Any]]:
    """One row per task, those first that take the most in the last run, then the time between kernels."""
    if not made:
        return []
    spent = [_spent(one, tasks) for one in made]
    whole = [float(one.recorded.stamps[-1]) * 1e-6 or 1.0 for one in made]
    rows = [_row(id, [of.get(id) for of in spent], whole) for id in dict.fromkeys(id for of in spent for id in of)]
    gaps = [float(one.recorded.gaps_ns.sum()) * 1e-6 for one in made]
    between = {
        "id": BETWEEN, "calls": 0, "bytes": 0, "ms": [rounded(ms) for ms in gaps], "gap": [0.0] * len(made),
        "share": [rounded(ms / run, 4) for ms, run in zip(gaps, whole, strict=True)], "change": "",
    }  # fmt: skip
    return [*sorted(rows, key=lambda row: -row["ms"][-1]), between]


def _spent(shown: Shown, tasks: Mapping[str, int]) -> dict[int, _Spent]:
    found = shown.recorded
    ms, gaps = found.calls_ns * 1e-6, found.gaps_ns * 1e-6
    each = np.diff(found.recording.stamps, axis=1) * 1e-6
    moved = found.profile["bytes"].tolist()
    out: dict[int, _Spent] = {}
    for k, call in enumerate(shown.plan.calls):
        one = out.setdefault(_task(call, tasks), _Spent(0, 0, 0.0, 0.0, np.zeros(len(each))))
        one.calls, one.bytes = one.calls + 1, one.bytes + moved[k]
        one.ms, one.gap, one.each = one.ms + float(ms[k]), one.gap + float(gaps[k]), one.each + each[:, k]
    return out


def _row(id: int, spent: Sequence[_Spent | None], whole: Sequence[float]) -> dict[str, Any]:
    """Write what each run has spent on one task; a run may have no call of it."""
    first, last = spent[0], spent[-1]
    told = ""
    if len(spent) > 1 and first and last and first.ms > 0.0 < last.ms:
        told = change(first.ms, last.ms, (relative_spread(first.each), relative_spread(last.each)))
    return {
        "id": id, "calls": last.calls if last else 0, "bytes": last.bytes if last else 0,
        "ms": [rounded(one.ms if one else 0.0) for one in spent],
        "gap": [rounded(one.gap if one else 0.0, 3) for one in spent],
        "share": [rounded((one.ms if one else 0.0) / run, 4) for one, run in zip(spent, whole, strict=True)],
        "change": told,
    }  # fmt: skip


def _task(call: Any, tasks: Mapping[str, int]) -> int:
    return tasks.get(getattr(call, "task", ""), REST)


def _nodes(shown: Shown, graph: Graph) -> Iterator[tuple[str, float]]:
    """Yield the median milliseconds of the kernel of each node."""
    kernel = {name: group.nodes for group in graph.groups for name in group.nodes}
    for name, ms in zip(shown.recorded.profile["call"], shown.recorded.profile["ms"], strict=True):
        if (head := main_node(str(name), kernel)) is not None:
            yield from ((node, rounded(float(ms), 4)) for node in kernel[head])


def columns(shown: Shown, tasks: Mapping[str, int]) -> dict[str, Any]:
    """Write one run column by column: times in nanoseconds from its beginning, medians in milliseconds."""
    found, calls = shown.recorded, shown.plan.calls
    profile = found.profile
    names = ("thread", "call", "begin", "end", "busy")
    return {
        **_totals(shown),
        "names": [c.name for c in calls],
        "task": [_task(c, tasks) for c in calls],
        "stamps": _whole(found.stamps),
        "gaps": _whole(found.gaps_ns),
        "ms": [rounded(x, 4) for x in profile["ms"]],
        "bytes": _whole(profile["bytes"].to_numpy()),
        "share": [rounded(x, 3) for x in profile["share"]],
        "gflops": [rounded(x, 4) for x in profile["gflops"]],
        "gbytes": [rounded(x, 4) for x in profile["gbytes"]],
        "roof": list(profile["roof"]),
        "roof_share": [rounded(x, 3) for x in profile["roof_share"]],
        "tuned": [int(getattr(c, "tuned", False)) for c in calls],
        "work": {name: _whole(column) for name, column in zip(names, found.work(), strict=True)},
        "memory": _memory(shown.plan),
    }


def _memory(plan: ExecutablePlan) -> dict[str, Any]:
    held = memory_map(plan)
    return {
        "arena": plan.arena_bytes, "constants": sum(a.nbytes for a in plan.constants),
        "names": [h.name for h in held], "start": [h.start for h in held], "bytes": [h.nbytes for h in held],
        "first": [h.first for h in held], "last": [h.last for h in held], "live": live_bytes(held, len(plan.calls)),
    }  # fmt: skip


def _whole(column: Array) -> list[int]:
    return [int(x) for x in column]
