"""The run that tunes, what steers it, and its trials as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench import markup as m
from workbench.arguments import is_a, whole
from workbench.codegen.backend import require_runnable
from workbench.errors import UsageError
from workbench.exercise_mode import need, why_off
from workbench.log import Record
from workbench.log.reader import COLUMNS
from workbench.session import registry as declare
from workbench.session.core.notifications import NO_PROGRAM_HINT, note
from workbench.session.registry import Host, Row, SliceContext, needed
from workbench.session.state import tuning_watch as tuning
from workbench.session.state.history import View
from workbench.session.state.session_state import SessionState
from workbench.session.state.statistics import rounded
from workbench.session.tuning_run import steering_forms as steering
from workbench.session.tuning_run.start import start
from workbench.tune.constants import Budgets
from workbench.tune.options import TuneOptions
from workbench.tune.state.run_end import goes_first

SCOPES = ("schedule", "task", "all")


declare.panel("tuning", "Tuning", 10, needs="program", page=2)


# ----- the run


@declare.slice_("tuning")
def tuning_slice(context: SliceContext) -> dict[str, Any]:
    """Return the slice `tuning`."""
    state, view = context.state, context.view
    if state.watch is None or context.tuning is None:
        spent = state.stats.records[-1].elapsed_s if state.stats.records else None
        out = {**tuning.NONE, **state.stats.counts(), "elapsed_s": rounded(spent, 3), "log": state.log or ""}
    else:
        out = state.watch.slice(context.tuning)
    at_rest = state.watch is None or not state.watch.live
    if off := why_off("tuner"):
        out.update(off=off, best_ready=False, best_why=off.removesuffix("."))
    elif at_rest and view is not None and state.index is not None:
        out.update(_ready(state, view, state.index))
    elif not at_rest:
        out["best_why"] = "wait for the run's end, or stop it"
    return out


def _ready(state: SessionState, view: View, index: int) -> dict[str, Any]:
    """Say whether the best schedule of a task is faster than what is open, and why it is of no use where it is not."""
    best = state.ledger_of(index).best
    found = None if best is None else state.node_of(index, best.record)
    if best is None or (found is None and best.record.trial < 0):
        return {}
    shown = state.history.result(view.key)
    name = f"trial {best.record.trial}" if found is None or best.record.trial >= 0 else f"v{found.id}"
    if found is not None and found.id == view.node:
        return {"best_ready": False, "best_why": f"{name} is already open"}
    than = None if found is None else state.history.verdict(found.key, view.key, "")
    slower = than.ratio >= 1.0 if than is not None else shown is not None and (shown.ms or best.ms + 1.0) <= best.ms
    why = f"what is open is not slower than {name}" if slower else ""
    return {"best_ready": not slower, "best_why": why}


@declare.command
def tune(
    host: Host, scope: str = "task", trials: int | None = None, seconds: float | None = None, node: int | None = None
) -> None:
    """Tune the open numbers of the schedule on show or of the variant `node`, the task on show, or all tasks."""
    need("tuner")
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
        trials = Budgets.TRIALS_PER_TASK * (len(tasks) if scope == "all" else 1)
    with state.manual_trials.lock:  # what was measured is being written there
        started = start(
            what,
            state.opened.stem or state.opened.title,
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


def _declare_move(name: str, doc: str) -> None:
    """Declare a command that is one of the run's moves."""

    def move(host: Host) -> None:
        _watch(host).move(name, host.source)

    move.__name__, move.__doc__ = name, doc
    declare.command(move)


_declare_move("pause", "Hold tuning after the trial in flight.")
_declare_move("resume", "Go on with tuning.")
_declare_move("stop", "End tuning after the trial in flight.")
_declare_move("cancel", "End tuning now; the trial in flight is thrown away.")


# ----- what steers it


@declare.slice_("steering")
def steering_slice(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `steering`."""
    return steering.steering(context.state, context.tuning)


@declare.command
def steer(host: Host, name: str, args: object = None) -> None:
    """Give the tuning run one of its own commands; `TuningSession.commands` lists them.

    An argument that holds a trace may be ``true``: the schedule on show.
    """
    is_a("name", name, str)
    given = {} if args is None else args
    if not isinstance(given, Mapping) or not all(isinstance(k, str) and k != "source" for k in given):
        raise UsageError("session.arguments", f"The arguments of {name!r} are not an object")
    _watch(host).steer(name, steering.completed(name, given, host.state.view()), host.source)


@declare.question("space")
def space(host: Host, args: Mapping[str, Any]) -> Any:
    """Say what can be pinned and forbidden for ``task``: the holes with their values, and the variants."""
    task = needed(args, "space", "task")
    return steering.choices(_watch(host).tuning, task)


# ----- without a front end


@declare.static("tuning")
def _tuning_html(tuning: Mapping[str, Any], limit: int) -> m.Html:
    if tuning["state"] == "none" and not tuning.get("trials"):
        return m.Html("")
    done, total = m.counted(tuning["trials"]), tuning.get("total")
    trials = f"{done} of {m.counted(total)} trials" if total is not None else m.plural(tuning["trials"], "trial")
    state = "" if tuning["state"] == "none" else tuning["state"]
    failed = f"{m.counted(tuning['failed'])} failed" if tuning.get("failed") else ""
    facts = [state, trials, failed, m.duration(tuning["elapsed_s"]) if tuning.get("elapsed_s") else ""]
    parts = [m.section("Tuning"), m.line(" · ".join(f for f in facts if f))]
    if tuning.get("fraction"):
        parts.append(m.line(m.bar(tuning["fraction"], 240), " ", m.percent(tuning["fraction"]), " of the budget"))
    if tuning.get("message"):
        parts.append(m.line((m.bad if state == "failed" else m.text)(tuning["message"], 300)))
    return m.join(*parts)


@declare.table("trials")
def _trials_table(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each trial, with the columns that the log's table has."""
    return [{name: getattr(record, name) for name in COLUMNS if hasattr(record, name)} for record in records]
