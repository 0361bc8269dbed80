"""Steering a tuning run from a front end: forms made from the declared commands, choices, and what came of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import UsageError
from workbench.log import Command, Comparison, Record, TaskLedger
from workbench.session.state.history import View, open_parts
from workbench.session.state.session_state import SessionState
from workbench.session.state.statistics import rounded
from workbench.session.state.trial_origin import MADE, filling, numbered
from workbench.tune.run.rounds import verdict
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.state.events import FINAL, TaskRow
from workbench.tune.state.events import Snapshot as TuningSnapshot
from workbench.tune.state.run_state import START, TaskRequests
from workbench.tune.steer.commands import STEERING_COMMANDS

SHOWN = 8
"""Commands that are listed; all of them are in the log."""

LONGEST = 200
"""Letters of an error that are sent; the log has all of it."""

_SAID = {"variant": "sketch"}
"""Arguments that are called otherwise in a front end, where variants are those of the tree."""

_INPUT = ("name", "widget", "label", "required", "names", "of")
"""What a front end needs of a field."""


def forms() -> list[dict[str, Any]]:
    """Describe the declared commands that take arguments, each with the inputs of its form.

    A field has `name`, `widget`, `label` and `required`; `names` says what its text or number names (task, hole or
    variant), and `of` which field its values belong to.
    """
    out = []
    for order in STEERING_COMMANDS.values():
        shown = [f for f in order.fields() if not f.kind.hidden]
        if any(not f.kind.widget for f in shown):  # nobody writes a row into a form, so its variant is not asked
            shown = [f for f in shown if f.kind.widget and f.kind.names != "variant"]
        fields = [{k: v for k, v in f.describe().items() if k in _INPUT} for f in shown]
        if fields:
            out.append({"name": order.name, "summary": order.summary(), "fields": fields})
    return out


def completed(name: str, args: Mapping[str, Any], view: View | None) -> dict[str, Any]:
    """Return the arguments with the schedule on show where a command wants a trace and a front end sent ``true``."""
    fields: list[dict[str, Any]] = next((form["fields"] for form in forms() if form["name"] == name), [])
    out = dict(args)
    for field in fields:
        if field["widget"] == "shown" and out.get(field["name"]) is True:
            if view is None:
                raise UsageError("session.no_program", "There is no schedule on show", (), "open a task first")
            if names := open_parts(view.schedule):
                text = f"It cannot be measured while {', '.join(names)} {'is' if len(names) == 1 else 'are'} open"
                raise UsageError("steer.trace", text, names, "choose numbers first")
            out[field["name"]] = view.schedule.to_json()
            if not out[field["name"]]:
                text = "The schedule on show is the program as it is written"
                raise UsageError("steer.trace", text, (), "take a step first")
    return out


def choices(tuning: TuningSession, task: object) -> dict[str, Any]:
    """Return what can be pinned and forbidden: the holes of a task's space with their values, and its variants."""
    space = tuning.space(task)  # type: ignore[arg-type]
    holes: dict[str, tuple[set[int], list[int]]] = {}
    for variant in space.variants:
        for group in variant.sampler.domain.groups:
            for k, hole in enumerate(group.holes):
                values, variants = holes.setdefault(hole, (set(), []))
                values.update(int(x) for x in group.table[:, k])
                variants.append(variant.index)
    return {
        "holes": [{"name": h, "values": sorted(values), "variants": vs} for h, (values, vs) in holes.items()],
        "variants": [{"id": v.index, "label": v.label, "rows": v.sampler.size} for v in space.variants],
    }


def steering(state: SessionState, snapshot: TuningSnapshot | None) -> dict[str, Any] | None:
    """Return the slice `steering`; None when there is neither a run nor a log."""
    if state.watch is None or snapshot is None:
        task = _remembered(state)
        none: dict[str, Any] = {"next": None, "held": [], "values": {}, "commands": [], "count": 0, "refused": 0}
        return None if task is None else {**none, "task": task}
    tuning = state.watch.tuning
    steered = tuning.steered
    return {
        "next": _next(tuning, snapshot),
        "task": _task(state, tuning, snapshot.rows),
        "held": [row for i, task in enumerate(tuning.tasks) for row in _held(tuning.held(i), task.key, task.name)],
        "values": _values(tuning, snapshot),
        "commands": [_command(c, n, tuning) for n, c in reversed([*enumerate(steered)][-SHOWN:])],
        "count": len(steered),
        "refused": sum(not c.accepted for c in steered),
    }


def _next(tuning: TuningSession, snapshot: TuningSnapshot) -> dict[str, Any] | None:
    """Say which task is tuned now, and what the scheduler expects of it."""
    if snapshot.next_id is None:
        return None
    row, terms = snapshot.rows[snapshot.next_id], tuning.terms(snapshot.next_id)
    numbers = {name: rounded(getattr(terms, name), 3) for name in ("gain", "backward", "optimism", "similarity")}
    return {"name": row.name, "reason": row.reason, **numbers}


def _task(state: SessionState, tuning: TuningSession, rows: Sequence[TaskRow]) -> dict[str, Any] | None:
    """Say what is known about the task on show."""
    key = None if state.index is None else state.infos[state.index].key
    row = next((r for r in rows if r.key == key), None)
    if row is None:
        return None
    lines = [c for c in tuning.comparisons if c.task_key == key]
    return {
        **_best(state, row.key, row), **_chosen(state, row.key),
        "quality": rounded(row.quality, 3), "reason": row.reason, "resting": row.state == "resting",
        "waiting": len(tuning.held(row.id).added), **_told(state, row.key, lines),
    }  # fmt: skip


def _best(state: SessionState, key: str, row: TaskRow | None = None) -> dict[str, Any]:
    """Name the best trial of a task by its log, and that of the run where it is another one."""
    best, run = state.stats.of(key).best, None
    if best is None:
        return {"trial": None, "ms": None, "spread": None, "origin": "", "since": None, "run": None}
    if row is not None and row.trial is not None and row.trial != best.record.trial:
        run = {"trial": row.trial, "ms": rounded(row.latency_ms)}
    record = best.record
    return {
        "trial": record.trial, "ms": rounded(best.ms), "spread": rounded(best.spread, 3), "run": run,
        "origin": MADE.get(record.origin, f"proposed by {record.origin}"), "since": _since(state.stats.of(key)),
    }  # fmt: skip


def _since(task: TaskLedger) -> int | None:
    """Return after how many trials the best became it, where that was by a comparison and not when it was timed: there
    the curve of the best so far drops, not at the trial's own place.
    """
    if task.best is None:
        return None
    record = task.best.record
    *_, first = itertools.takewhile(lambda step: step.trial == record.trial, reversed(task.course))
    return first.nth if first.elapsed_s != record.elapsed_s else None


def _chosen(state: SessionState, key: str) -> dict[str, str]:
    """Say which numbers the best trial has where open ones of a variant were tuned."""
    best, tree = state.stats.of(key).best, state.history.trees.get(-1 if state.index is None else state.index)
    if best is None or tree is None or state.watch is None or state.watch.scope != "schedule":
        return {}
    trace = best.record.trace
    alike = [node.schedule for node in tree.nodes.values() if node.steps == len(trace) and node.trial is None]
    filled = [numbers for one in alike if (numbers := filling(one.to_json(), trace))]
    return {"chosen": numbered(filled[-1])} if filled else {}


def _remembered(state: SessionState) -> dict[str, Any] | None:
    """Say what a log tells of the task on show."""
    key = None if state.index is None else state.infos[state.index].key
    if key is None or not state.stats.of(key).trials:
        return None
    last = next((r for r in reversed(state.opened.rounds) if r.task_key == key and r.spearman is not None), None)
    lines = [c for c in state.stats.comparisons if c.task_key == key]
    return {
        **_best(state, key), "quality": rounded(last.spearman, 3) if last else None, "reason": "", "resting": False,
        "waiting": 0, **_told(state, key, lines),
    }  # fmt: skip


def _told(state: SessionState, key: str, lines: Sequence[Comparison]) -> dict[str, Any]:
    """Say how the trials of a task failed, and what its comparisons brought."""
    stats = state.stats.of(key)
    return {
        "failures": [_failure(stats.failed[kind], n) for kind, n in stats.failures.most_common() if n],
        "compared": len(lines), "won": sum(c.new_best for c in lines),
        "last": _comparison(lines[-1]) if lines else None,
    }  # fmt: skip


def _failure(record: Record, count: int) -> dict[str, Any]:
    """Say how often trials failed in one way, and how the newest of them did."""
    first = next((line for line in record.error.splitlines() if line.strip()), "")
    error = first if len(first) <= LONGEST else first[: LONGEST - 1] + "…"
    return {
        "kind": record.status, "count": count, "trial": record.trial, "error": error, "opens": bool(record.trace),
    }  # fmt: skip


def _comparison(line: Comparison) -> dict[str, Any]:
    return {
        "text": verdict(line), "won": line.new_best, "why": line.reason, "trials": list(line.trials),
        "winner": line.winner,
    }  # fmt: skip


def _held(requests: TaskRequests, key: str, name: str) -> list[dict[str, Any]]:
    """Return what is pinned and forbidden, each with the arguments that release it."""
    return [{"task": name, "text": text, "args": {"task": key, **args}} for text, args in requests.held()]


def _values(tuning: TuningSession, snapshot: TuningSnapshot) -> dict[str, Any]:
    """Return what commands would change, as it is now: by command and argument."""
    return {"budget": {"trials": snapshot.progress.total}, "epsilon": {"value": tuning.random_share}}


def _command(line: Command, number: int, tuning: TuningSession) -> dict[str, Any]:
    names = {task.key: task.name for task in tuning.tasks}
    said = {k: v for k, v in line.args.items() if k not in ("key", "until", "task")}
    if line.name == START:  # the rest of it is for those who read the log
        said = {k: v for k, v in said.items() if k in ("trials", "seconds")}
    words = [
        "the schedule" if k == "trace" else f"{_SAID.get(k, k)} {_words(v)}" for k, v in said.items() if v is not None
    ]
    words += _waits(line, tuning)
    return {
        "id": number, "name": line.name, "text": ", ".join(words), "task": _about(line, names),
        "source": line.source, "accepted": line.accepted, "error": line.error, "at": round(line.elapsed_s, 1),
    }  # fmt: skip


def _about(line: Command, names: Mapping[str, str]) -> str:
    """Say which tasks a command is about; nothing where it is about all."""
    some = line.args.get("tasks")
    keys = [str(key) for key in (some if isinstance(some, list | tuple) else [line.args.get("task")])]
    found = [names[key] for key in keys if key in names]
    return found[0] if len(found) == 1 else f"{len(found)} of {len(names)} tasks" if found else ""


def _waits(line: Command, tuning: TuningSession) -> list[str]:
    """Say of a candidate that somebody has added whether it still waits to be measured."""
    key, task = line.args.get("key"), line.args.get("task")
    if not key or not line.accepted or not any(one.key == task for one in tuning.tasks):
        return []
    waits = any(added["key"] == key for added in tuning.held(str(task)).added)
    return (["not measured"] if tuning.state in FINAL else ["waits for its turn"]) if waits else []


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
