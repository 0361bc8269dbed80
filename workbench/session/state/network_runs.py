"""Recorded runs of the model of a session: what is shown of them, as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.graph import Graph
from workbench.log.ledger.network import change_in_turns
from workbench.markup import percent
from workbench.runtime.buffers import Array
from workbench.runtime.execution.profile import relative_spread
from workbench.runtime.execution.recorded_run import RecordedRun
from workbench.runtime.networks.execution_plan import CallPlan, ExecutablePlan, HostCall, main_node
from workbench.runtime.networks.memory_map import live_bytes, memory_map
from workbench.runtime.results.comparison_words import SHAKY, factor, told_apart
from workbench.session.state.statistics import rounded

REST, BETWEEN = -1, -2
"""Ids of rows of no task: of the calls that belong to none, and of the time between kernels."""

SAME_SCHEDULE = "same schedule"
"""Stands where a change would, where the code of a task is the same on both sides."""

#: Calls that add up to the run but for this part of it do.
ADD_UP = 0.03

#: A drawn call that takes so many times its median, or its median so many times it, is far from it where the difference
#: is this part of the run. Chosen, not measured.
FAR, NOTED = 1.25, 0.005


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
        ``runs``: of each its name, number, threads, and milliseconds: ``calls_ms`` and ``gaps_ms`` of the medians of
        its calls, ``sum_ms`` both together, ``run_ms`` of the run that is drawn, ``timed_ms`` of the median recorded
        run, ``whole_ms`` of runs that nobody recorded with their spread; ``has_gaps``, whether gaps can be seen;
        ``doubt``, why the times are not to be trusted; ``change``, how fast it is beside the first, in words;
        ``interrupted``, the number of the call in the drawn run that something else interrupted, or -1. ``rows``: for
        each task the number of its calls, and for each run their milliseconds without gaps and their gaps, medians
        both, and their share of the sum; ``change`` from the first to the last, in words; ``far``, where the drawn run
        is far from the median. The last row is the time between kernels, where it can be seen, so that milliseconds
        and shares add up to the sum. ``nodes``: milliseconds of the kernel of each node in the last one.
    """
    return {
        "runs": [{**_totals(one), "change": _change(made[0], one) if k else ""} for k, one in enumerate(made)],
        "rows": _rows(made, tasks),
        "nodes": dict(_nodes(made[-1], graph)) if made else {},
    }


def _totals(shown: Shown) -> dict[str, Any]:
    found, medians = shown.recorded, _Medians.of(shown.recorded)
    about = found.profile.attrs
    return {
        "name": shown.name, "number": shown.number, "threads": found.recording.threads,
        "runs": len(found.recording.stamps), "calls_ms": rounded(float(medians.ms.sum())),
        "gaps_ms": rounded(float(medians.gaps.sum())), "sum_ms": rounded(medians.sum_ms),
        "run_ms": rounded(float(found.stamps[-1]) * 1e-6), "timed_ms": rounded(about["timed_ms"]),
        "whole_ms": rounded(about["whole_ms"]), "whole_spread": rounded(about["whole_spread"], 3),
        "untuned": len(shown.plan.untuned), "interrupted": found.interrupted, "has_gaps": found.has_gaps,
        "doubt": doubt(found, medians.sum_ms),
    }  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Medians:
    """Medians of each call over the runs that were recorded, in milliseconds: without gaps, and the gaps."""

    ms: Array
    gaps: Array

    @classmethod
    def of(cls, found: RecordedRun) -> _Medians:
        spent, gaps = np.diff(found.recording.stamps, axis=1), found.each_gap_ns
        return cls(np.median(spent - gaps, axis=0) * 1e-6, np.median(gaps, axis=0) * 1e-6)

    @property
    def sum_ms(self) -> float:
        """What all calls take, with what is between them."""
        return float(self.ms.sum() + self.gaps.sum())


def doubt(found: RecordedRun, sum_ms: float) -> str:
    """Say why the times of recorded runs are not to be trusted; empty where nothing speaks against them.

    Parameters
    ----------
    found : RecordedRun
    sum_ms : float
        What the medians of its calls add up to.
    """
    about = found.profile.attrs
    timed, plain = about["timed_ms"], about["whole_ms"]
    spreads = (relative_spread(np.ptp(found.recording.stamps, axis=1)), about["whole_spread"])
    why = ""
    if found.why_not:
        why = found.why_not
    elif max(spread or 0.0 for spread in spreads) >= SHAKY:
        why = f"runs spread by {percent(max(spread or 0.0 for spread in spreads))}"
    elif _apart(timed, plain, spreads):
        why = f"runs with a clock between the calls took {factor(timed / plain)}× as long as those without"
    elif _apart(sum_ms, plain, (0.0, about["whole_spread"])):
        beyond = "less" if sum_ms < plain else "more"
        why = f"the calls add up to {percent(abs(sum_ms / plain - 1.0))} {beyond} than the run takes"
    return f"disturbed: {why}; record again when the machine is quiet" if why else ""


def _apart(one: float, other: float, spreads: tuple[float | None, float | None]) -> bool:
    return abs(one - other) > ADD_UP * other and told_apart(one, other, spreads)


def _change(before: Shown, after: Shown) -> str:
    """How fast a network is with other schedules, by the runs that nobody recorded."""
    if _code(before.plan.calls) == _code(after.plan.calls):
        return SAME_SCHEDULE
    a, b = before.recorded, after.recorded
    return change_in_turns(a.plain_ms, b.plain_ms, 1, not (a.why_not or b.why_not))


@dataclass(slots=True)
class _Spent:
    """What one network spends on a task: medians and what the drawn run took (milliseconds, without gaps), all runs,
    and what runs there.
    """

    calls: int
    bytes: int
    ms: float
    gap: float
    drawn: float
    each: Array
    which: list[CallPlan | HostCall]


def _rows(made: Sequence[Shown], tasks: Mapping[str, int]) -> list[dict[str, Any]]:
    """One row per task, those first that take the most in the last run, then the time between kernels."""
    if not made:
        return []
    medians = [_Medians.of(one.recorded) for one in made]
    spent = [_spent(one, of, tasks) for one, of in zip(made, medians, strict=True)]
    whole = [of.sum_ms or 1.0 for of in medians]
    ids = list(dict.fromkeys(id for of in spent for id in of))
    changes = _changes(made, {id: (spent[0].get(id), spent[-1].get(id)) for id in ids})
    rows = [_row(id, made, [of.get(id) for of in spent], whole) | {"change": changes.get(id, "")} for id in ids]
    rows.sort(key=lambda row: -row["ms"][-1])
    if not any(one.recorded.has_gaps for one in made):
        return rows
    gaps = [float(of.gaps.sum()) for of in medians]
    between = {
        "id": BETWEEN, "calls": 0, "bytes": 0, "ms": [rounded(ms) for ms in gaps], "gap": [0.0] * len(made),
        "share": [rounded(ms / run, 4) for ms, run in zip(gaps, whole, strict=True)], "far": "", "change": "",
    }  # fmt: skip
    return [*rows, between]


def _spent(shown: Shown, medians: _Medians, tasks: Mapping[str, int]) -> dict[int, _Spent]:
    found = shown.recorded
    drawn = found.calls_ns * 1e-6
    each = np.diff(found.recording.stamps, axis=1) * 1e-6
    moved = found.profile["bytes"].tolist()
    out: dict[int, _Spent] = {}
    for k, call in enumerate(shown.plan.calls):
        one = out.setdefault(_task(call, tasks), _Spent(0, 0, 0.0, 0.0, 0.0, np.zeros(len(each)), []))
        one.calls, one.bytes, one.drawn = one.calls + 1, one.bytes + moved[k], one.drawn + float(drawn[k])
        one.ms, one.gap = one.ms + float(medians.ms[k]), one.gap + float(medians.gaps[k])
        one.each = one.each + each[:, k]
        one.which.append(call)
    return out


def _code(calls: Iterable[CallPlan | HostCall]) -> Counter[tuple[str, str | bytes]]:
    """What runs in some calls: equal ones have the same schedule, however often each was compiled."""
    return Counter(
        (call.operator, call.reason)
        if isinstance(call, HostCall)
        else (call.code.symbol, call.code.object or call.code.source)
        for call in calls
    )


def _changes(made: Sequence[Shown], tasks: Mapping[int, tuple[_Spent | None, _Spent | None]]) -> dict[int, str]:
    """Say of each task what the last schedules changed beside the first: nothing where the code is the same."""
    if len(made) < 2:
        return {}
    both = {id: (first, last) for id, (first, last) in tasks.items() if first and last}
    same = {id for id, (first, last) in both.items() if _code(first.which) == _code(last.which)}
    clean = not any(one.recorded.why_not for one in made)
    compared = max(1, len(both) - len(same))
    return {
        id: SAME_SCHEDULE if id in same else change_in_turns(first.each.tolist(), last.each.tolist(), compared, clean)
        for id, (first, last) in both.items()
    }


def _row(id: int, made: Sequence[Shown], spent: Sequence[_Spent | None], whole: Sequence[float]) -> dict[str, Any]:
    """Write what each network spends on one task; one may have no call of it."""
    last = spent[-1]
    far = [
        f"{one.name + ' ' if len(made) > 1 else ''}drawn at {factor(of.drawn / of.ms)}× its median"
        for one, of, run in zip(made, spent, whole, strict=True)
        if of and _far(of.drawn, of.ms, run)
    ]
    return {
        "id": id, "calls": last.calls if last else 0, "bytes": last.bytes if last else 0,
        "ms": [rounded(one.ms if one else 0.0) for one in spent],
        "gap": [rounded(one.gap if one else 0.0, 3) for one in spent],
        "share": [rounded((one.ms if one else 0.0) / run, 4) for one, run in zip(spent, whole, strict=True)],
        "far": "; ".join(far),
    }  # fmt: skip


def _far(drawn: float, median: float, whole: float) -> bool:
    """Whether a drawn run misleads about a task: it takes another time there than it usually does."""
    return abs(drawn - median) > max((FAR - 1.0) * min(drawn, median), NOTED * whole)


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
        "above": [
            note if share > 1.0 else "" for note, share in zip(profile["note"], profile["roof_share"], strict=True)
        ],
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
