"""The tasks, the run that tunes them, and what steers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.arguments import is_a, whole
from workbench.codegen import require_runnable
from workbench.errors import UsageError
from workbench.log.weights import shares, total
from workbench.session.core.notes import NO_PROGRAM_HINT, note
from workbench.session.core.registry import Host, SliceContext, command, needed, question, slice_
from workbench.session.measurement import above_peak as above
from workbench.session.tuning_run import steering_forms as steering
from workbench.session.tuning_run import watch as tuning
from workbench.session.tuning_run.statistics import delta, rounded, spark
from workbench.tune.run.ends import goes_first
from workbench.tune.run.options import TuneOptions
from workbench.tune.run.start import TRIALS_PER_TASK

if TYPE_CHECKING:
    from workbench.log.lines import NetworkTime
    from workbench.session.core.state import SessionState
    from workbench.session.variant_tree.history import View
    from workbench.tune.run.events import TaskRow

SCOPES = ("schedule", "task", "all")


# ----- tasks


@slice_("tasks")
def tasks(context: SliceContext) -> dict[str, Any]:
    """Return the slice `tasks`."""
    state = context.state
    by_key = {r.key: r for r in context.tuning.rows} if context.tuning is not None else {}
    if state.watch is not None and context.tuning is not None:
        outlook = state.watch.outlook(context.tuning)
    else:
        rounds = state.opened.rounds
        outlook = context.kept.of("outlook", (rounds,), lambda: tuning.remembered(rounds))
    rows = [
        {**_task_row(state, i, by_key.get(info.key)), **outlook.get(info.key, {})} for i, info in enumerate(state.infos)
    ]
    for row in rows if len(rows) > 1 else ():
        _leave_out(state, row)
    bests = [state.best(i) for i in range(len(rows))]
    now = [(r["weight"], b.ms if b and r["ms"] is not None else None) for r, b in zip(rows, bests, strict=True)]
    network = state.stats.ledger.network
    longer = network.stretched() if network is not None else {}
    inside = [(w, None if ms is None else ms * longer.get(r["key"], 1.0)) for (w, ms), r in zip(now, rows, strict=True)]
    for row, share in zip(rows, shares(inside), strict=True):
        row["share"] = None if share is None else round(share, 4)
    untuned = total([(r["weight"], r["untuned_ms"]) for r in rows])
    guess = _guess(state, rows) if total(now) is None else None
    out = {"rows": rows, "total_ms": rounded(total(now)), "untuned_ms": rounded(untuned), "est_ms": guess}
    return out if network is None else {**out, "network": _network(network)}


def _network(found: NetworkTime) -> dict[str, Any]:
    """Write what the whole network takes, measured."""
    return {"ms": rounded(found.measured_ms), "untuned_ms": rounded(found.untuned_ms), "why_not": found.why_not}


def _leave_out(state: SessionState, row: dict[str, Any]) -> None:
    """Take away a time by hand that is in no log and more than the task should take without tuning: the network does
    not become slower by what somebody has tried.
    """
    usual = state.estimates.untuned(row["key"])
    if (
        row["ms"]
        and state.stats.of(row["key"]).best is None
        and usual is not None
        and (usual.ms or row["ms"]) < row["ms"]
    ):
        row.update(ms=None, gflops=None)


def _guess(state: SessionState, rows: list[dict[str, Any]]) -> Any:
    """Write beside tasks that have no time what they should take without tuning, and beside all of them their share of
    measured and estimated times; return the sum of these.
    """
    found = [state.estimates.untuned(r["key"]) for r in rows]
    for row, one in zip(rows, found, strict=True):
        if row["ms"] is None:
            row["est"] = None if one is None else rounded(one.ms, 3)
    mixed = [(r["weight"], r["est"] if r["ms"] is None else r["ms"]) for r in rows]
    if any(ms is None for _, ms in mixed):  # the clock is not known: cycles can be compared with each other only
        mixed = [(r["weight"], None if e is None else e.cycles) for r, e in zip(rows, found, strict=True)]
        whole = None
    else:
        whole = total(mixed)
    for row, share in zip(rows, shares(mixed), strict=True):
        row["est_share"] = rounded(share, 3)
    return rounded(whole, 3)


def _task_row(state: SessionState, index: int, row: TaskRow | None) -> dict[str, Any]:
    info = state.infos[index]
    task = state.stats.of(info.key)
    best = state.best(index)
    ms = None if best is None else best.ms
    clean = best is None or best.sure != "disturbed"
    gflops = info.flops / (ms * 1e6) if ms and info.flops and clean else None
    faster = above.of_task(state, index, gflops)
    word = row.state if row is not None else "measured" if ms is not None else ""
    return {
        "id": index, "key": info.key, "name": info.name, "weight": info.weight, "flops": info.flops, "ms": rounded(ms),
        "gflops": rounded(gflops), **({"above": faster} if faster else {}), "trials": task.trials,
        "failed": task.failures.total(), "failures": dict(task.failures), "untuned_ms": rounded(task.untuned_ms),
        "share": None, "state": word, "reason": row.reason if row is not None else "", "delta": delta(task),
        "spark": spark(task), "spread": rounded(best.record.spread, 3) if best is not None and clean else None,
        "compared": task.comparisons, "confidence": None if row is None else rounded(row.confidence, 4),
        "sure": "" if best is None else best.sure,
    }  # fmt: skip


@command
def open_task(host: Host, task: object) -> None:
    """Show a task, given by number, key or name."""
    if task is None:
        raise UsageError("usage.task", "Say which task to open")
    host.state.open_task(task)


# ----- the run


@slice_("tuning")
def tuning_slice(context: SliceContext) -> dict[str, Any]:
    """Return the slice `tuning`."""
    state, view = context.state, context.view
    if state.watch is None or context.tuning is None:
        spent = state.stats.records[-1].elapsed_s if state.stats.records else None
        out = {**tuning.NONE, **state.stats.counts(), "elapsed_s": rounded(spent, 3), "log": state.log or ""}
    else:
        out = state.watch.slice(context.tuning)
    at_rest = state.watch is None or not state.watch.live
    if at_rest and view is not None and state.index is not None:
        out.update(_ready(state, view, state.infos[state.index].key))
    elif not at_rest:
        out["best_why"] = "wait for the run's end, or stop it"
    return out


def _ready(state: SessionState, view: View, key: str) -> dict[str, Any]:
    """Say whether the best in the log is faster than what is open, and why it cannot be used where it is not."""
    best = state.stats.of(key).best
    if best is None:
        return {}
    shown = state.history.results.get(view.key)
    if shown is None or shown.ms is None or best.ms < shown.ms:
        return {"best_ready": True, "best_why": ""}
    there = state.tree.node(view.node).trial == best.record.trial
    name = f"trial {best.record.trial}"
    why = f"{name} is already open" if there else f"what is open is not slower than {name}"
    return {"best_ready": False, "best_why": why}


@command
def tune(
    host: Host, scope: str = "task", trials: int | None = None, seconds: float | None = None, node: int | None = None
) -> None:
    """Tune the open numbers of the schedule on show or of the variant `node`, the task on show, or all tasks."""
    state = host.state
    scope = scope if node is None else "schedule"
    if scope not in SCOPES:
        raise UsageError("session.scope", f"There is no scope {scope!r}", (), f"known: {', '.join(SCOPES)}")
    if state.watch is not None and not state.watch.ended:
        raise UsageError("session.tuning", "A tuning run is under way", (), "stop it first, or wait for its end")
    if not any(t.task for t in state.infos):
        raise UsageError("session.no_program", "The log does not hold the program", (), NO_PROGRAM_HINT)
    require_runnable(state.target)
    tasks = [t.task for t in state.infos if t.task is not None]
    what: Any = state.variant(node).schedule.copy() if scope == "schedule" else tasks
    if what is tasks and state.opened.graph is not None and len(tasks) == len(state.opened.tasks):
        what = state.opened.graph  # so that the whole network is measured, too
    only = state.infos[state.find(None)].key if scope == "task" else None
    if trials is not None:
        whole("trials", trials, code="usage.trials")
    elif seconds is None:
        trials = TRIALS_PER_TASK * (len(tasks) if scope == "all" else 1)
    with state.manual_trials.lock:  # what was measured is being written there
        started = tuning.start(
            what,
            state.opened.title,
            state.log,
            trials,
            seconds=seconds,
            only_tasks=None if only is None else [only],
            target=state.target,
            options=TuneOptions(constants=state.constants),  # as for all that is timed in a session
            source=host.source,
        )
    if known_trials := len(started.records) - started.new_trials:
        first = goes_first(started.snapshot().waiting)
        text = f"Tuning goes on with the {known_trials} trials that {started.log} holds already{first and f'; {first}'}"
        state.note = note("info", text, "session.resumed")
    state.attach(started, scope)


def _watch(host: Host) -> tuning.TuningWatch:
    if host.state.watch is None:
        raise UsageError("session.no_tuning", "No tuning was started", (), "start it with tune")
    return host.state.watch


@command
def pause(host: Host) -> None:
    """Hold tuning after the trial in flight."""
    _watch(host).move("pause", host.source)


@command
def resume(host: Host) -> None:
    """Go on with tuning."""
    _watch(host).move("resume", host.source)


@command
def stop(host: Host) -> None:
    """End tuning after the trial in flight."""
    _watch(host).move("stop", host.source)


@command
def cancel(host: Host) -> None:
    """End tuning now; the trial in flight is thrown away."""
    _watch(host).move("cancel", host.source)


# ----- what steers it


@slice_("steering")
def steering_slice(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `steering`."""
    return steering.steering(context.state, context.tuning)


@command
def steer(host: Host, name: str, args: object = None) -> None:
    """Give the tuning run one of its own commands; `TuningSession.commands` lists them.

    An argument that holds a trace may be ``true``: the schedule on show.
    """
    is_a("name", name, str)
    given = {} if args is None else args
    if not isinstance(given, Mapping) or not all(isinstance(k, str) and k != "source" for k in given):
        raise UsageError("session.arguments", f"The arguments of {name!r} are not an object")
    _watch(host).steer(name, steering.completed(name, given, host.state.view()), host.source)


@question("space")
def space(host: Host, args: Mapping[str, Any]) -> Any:
    """Say what can be pinned and forbidden for ``task``: the holes with their values, and the variants."""
    task = needed(args, "space", "task")
    return steering.choices(_watch(host).tuning, task)
