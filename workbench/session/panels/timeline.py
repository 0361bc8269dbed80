"""The network in motion: recorded runs with the schedules known, the memory over time, and shares from there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench import markup as m
from workbench.codegen.backend import require_runnable
from workbench.errors import UsageError
from workbench.graph import Graph
from workbench.log import Database, Record
from workbench.session import registry as declare
from workbench.session.export.network import fastest
from workbench.session.registry import Host, Row, SliceContext
from workbench.session.state.network_runs import BETWEEN, Shown, columns, summary
from workbench.session.state.session_state import SessionState
from workbench.session.stepped_work import SteppedWork

declare.panel("timeline", "Timeline", 13, needs="model", page=8)

_numbers = itertools.count(1)

#: Recorded runs of each network, of which one is drawn, and seconds after which fewer do. Chosen: so many tell thirty
#: changes of tasks apart from chance (`joint_level`).
RUNS, SECONDS = 15, 20.0


@declare.slice_("timeline")
def timeline(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `timeline`: how far a recording is, and what the last one has found; None without a model."""
    state = context.state
    if (graph := state.opened.graph) is None:
        return None
    made = state.runs.answer or ()
    found = context.cache["timeline"].of((made,), lambda: summary(made, graph, _tasks(state)))
    return {**state.runs.to_json(), **found}


def _tasks(state: SessionState) -> dict[str, int]:
    return {info.key: k for k, info in enumerate(state.infos)}


@declare.command
def record_timeline(host: Host) -> None:
    """Record runs of the model with default schedules, and in turns with them with the best ones that are known; it
    takes as long as compiling both, and measurements wait for it.
    """
    state = host.state
    if (graph := state.opened.graph) is None:
        hint = "open a model: Workbench('model.onnx')"
        raise UsageError("session.no_model", "There is no model to run", (), hint)
    require_runnable(state.target)
    _Recording(host, graph, tuple(fastest(state))).begin()


@dataclass(frozen=True, slots=True)
class _Recording(SteppedWork[tuple[Shown, ...]]):
    name = "timeline"
    kept = "runs"
    what = "The recording of runs"

    graph: Graph
    best: Sequence[Record]

    def find(self) -> tuple[Shown, ...]:
        from workbench.network.compile import compile
        from workbench.runtime.execution.recorded_run import record_in_turns

        logs = {"default": Database([]), **({"best": Database(self.best)} if self.best else {})}
        networks = []
        for k, (name, log) in enumerate(logs.items()):
            self.step(f"Compiling with {name} schedules", k + 1, len(logs) + 1)
            networks.append(compile(self.graph, log, self.host.state.target))
        self.step("Recording runs", len(logs) + 1, len(logs) + 1)
        found = record_in_turns(networks, runs=RUNS, seconds=SECONDS)
        return tuple(Shown(name, next(_numbers), one.plan, one) for name, one in zip(logs, found, strict=True))


@declare.command
def cancel_timeline(host: Host) -> None:
    """End a recording after the step that it is at; what the one before has found stays."""
    _Recording.cancel(host)


@declare.question("timeline", lane="layout")
def timeline_question(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """Write a recorded run, given by its number, column by column."""
    number = declare.needed(args, "timeline", "number")
    found = next((one for one in (host.state.runs.answer or ()) if one.number == number), None)
    if found is None:
        hint = "numbers stand in the slice timeline"
        raise UsageError("session.arguments", f"No recorded run has the number {number!r}", (), hint)
    tasks = _tasks(host.state)
    return lambda: columns(found, tasks)


# ----- without a front end


@declare.static("timeline")
def _timeline_html(timeline: Mapping[str, Any], limit: int) -> m.Html:
    if not timeline["runs"]:
        return m.Html("")
    heads = ("Sum of medians", "In calls", "Between kernels", "Not recorded")
    numbers = [m.Column(h, number=True) for h in (*heads, "±")]
    columns = [m.Column("Schedules"), *numbers, m.Column(""), m.Column("")]
    rows: list[list[object]] = [
        [r["name"], *(m.milliseconds(r[part]) for part in ("sum_ms", "calls_ms")),
         m.milliseconds(r["gaps_ms"]) if r["has_gaps"] else "", m.milliseconds(r["whole_ms"]),
         m.plus_minus(r["whole_ms"], r["whole_spread"]), r["change"], r["doubt"]]
        for r in timeline["runs"]
    ]  # fmt: skip
    return m.join(m.section("Timeline"), m.table(columns, rows))


@declare.table("timeline")
def _timeline_table(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each task, one for the calls that belong to none, and one for the time between kernels where that
    can be seen: medians of the recorded runs.
    """
    found = slices.get("timeline") or {"rows": ()}
    tasks = {r["id"]: r["name"] for r in (slices.get("tasks") or {"rows": ()})["rows"]} | {BETWEEN: "between kernels"}
    parts = [(k, run["name"], part) for k, run in enumerate(found.get("runs", ())) for part in ("ms", "gap", "share")]
    return [
        {
            "task": tasks.get(r["id"], ""),
            "calls": r["calls"],
            "bytes": r["bytes"],
            "change": r["change"],
            "far": r["far"],
        }
        | {f"{name}_{part}": r[part][k] for k, name, part in parts}
        for r in found["rows"]
    ]


@declare.recorded
def _recorded(slices: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for run in (slices.get("timeline") or {"runs": ()})["runs"]:
        yield "timeline", {"number": run["number"]}
