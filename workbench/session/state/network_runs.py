"""Recorded runs of the model of a session: what is shown of them, as plain JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.graph import Graph
from workbench.runtime.buffers import Array
from workbench.runtime.execution.recorded_run import RecordedRun
from workbench.runtime.networks.execution_plan import ExecutablePlan, main_node
from workbench.runtime.networks.memory_map import live_bytes, memory_map
from workbench.session.state.statistics import rounded

REST = -1
"""Id of the calls that belong to no task."""


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
        and ``gaps_ms`` in it, ``whole_ms`` of runs that nobody recorded; ``interrupted``, the number of the call in it
        that something else interrupted, or -1. ``rows``: for each task the number of its
        calls, and for each run the sum of their medians, of their gaps, and their share. ``nodes``: milliseconds of
        the kernel of each node in the last one.
    """
    return {
        "runs": [_totals(one) for one in made],
        "rows": _rows(made, tasks),
        "nodes": dict(_nodes(made[-1], graph)) if made else {},
    }


def _totals(shown: Shown) -> dict[str, Any]:
    found = shown.recorded
    return {
        "name": shown.name, "number": shown.number, "threads": found.recording.threads,
        "runs": len(found.recording.stamps), "run_ms": rounded(float(found.stamps[-1]) * 1e-6),
        "calls_ms": rounded(float(found.calls_ns.sum()) * 1e-6), "gaps_ms": rounded(float(found.gaps_ns.sum()) * 1e-6),
        "whole_ms": rounded(found.profile.attrs["whole_ms"]), "untuned": len(shown.plan.untuned),
        "interrupted": found.interrupted,
    }  # fmt: skip


def _rows(made: Sequence[Shown], tasks: Mapping[str, int]) -> list[dict[str, Any]]:
    """One row per task, those first that take the most in the last run."""
    found: dict[int, dict[str, Any]] = {}
    for k, one in enumerate(made):
        spent, gaps = one.recorded.profile["ms"].to_numpy(), one.recorded.gaps_ns * 1e-6
        moved = one.recorded.profile["bytes"].tolist()
        for call, ms, gap, nbytes in zip(one.plan.calls, spent.tolist(), gaps.tolist(), moved, strict=True):
            id, last = _task(call, tasks), k == len(made) - 1
            row = found.setdefault(
                id, {"id": id, "calls": 0, "ms": [0.0] * len(made), "gap": [0.0] * len(made), "bytes": 0}
            )
            row["ms"][k] += ms
            row["gap"][k] += gap
            row["calls"] += last
            row["bytes"] += nbytes * last
    sums = [sum(row["ms"][k] for row in found.values()) or 1.0 for k in range(len(made))]
    for row in found.values():
        row["share"] = [rounded(ms / whole, 4) for ms, whole in zip(row["ms"], sums, strict=True)]
        row["ms"], row["gap"] = [rounded(ms) for ms in row["ms"]], [rounded(ms, 3) for ms in row["gap"]]
    return sorted(found.values(), key=lambda row: -row["ms"][-1])


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
