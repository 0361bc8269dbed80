"""``workbench log summary``: what was tuned, how far it came, what failed, and what does not fit together."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from typing import Any

from workbench.cli.output import Output, columns, network_fields, number
from workbench.log import Log, NetworkTime, TaskLedger, load_log
from workbench.log.record import speed
from workbench.log.tally import Tally
from workbench.log.weighted_latency import shares, total
from workbench.tune.display.terminal_table import latency_text, network_line, sum_text

TORN = "the last line of the log is not complete; it is left out"


def load(options: Namespace, output: Output) -> Log:
    """Read the log that is meant, and warn of a torn last line."""
    log = load_log(options.log)
    if log.torn is not None:
        output.warn(TORN)
    return log


def names(log: Log) -> dict[str, str]:
    """Return the tasks of a log in the model's order."""
    tasks = dict(log.header.tasks) if log.header is not None else {}
    for record in log.records:
        tasks.setdefault(record.task_key, record.task)
    return tasks


def summary(options: Namespace, output: Output) -> int:
    """Say what was tuned, how often, how well, and what failed."""
    log = Tally(options.log)
    if log.torn:
        output.warn(TORN)
    tasks = [_task(index, key, name, log.ledger.task(key)) for index, (key, name) in enumerate(log.names.items())]
    calls = log.ledger.calls(log.names)
    for task, share in zip(tasks, shares(calls), strict=True):
        task["share"] = share
    data = {
        "log": str(options.log),
        "model": log.header.model if log.header else None,
        "target": log.header.target if log.header else None,
        "trials": log.trials,
        "seconds": log.seconds,
        "total_latency_ms": total(calls),
        **network_fields(log.ledger.network),
        "tasks": tasks,
        "failures": _failures(log.failures),
        "comparisons": {"count": log.comparisons, "new_best": log.new_best},
        "rounds": {"count": log.rounds, **log.spent, "spearman": log.ranks},
        "commands": log.commands,
        "hosts": dict(log.hosts),
        "caches": dict(log.caches),
        "unknown_lines": dict(log.unknown),
    }
    for text in log.conditions.mixed():
        output.warn(text)
    output.result(data, "\n\n".join(_text(data, log.ledger.network)))
    return 0


def _task(index: int, key: str, name: str, task: TaskLedger) -> dict[str, Any]:
    latency = task.best.ms if task.best else None
    risen = [step.reason for step in task.course if step.reason]
    return {
        "id": index, "key": key, "name": name, "weight": task.weight if task.trials else None,
        "trials": task.trials, "failed": dict(task.failures), "latency_ms": latency,
        "gflops": speed(task.flops, latency), "comparisons": task.comparisons,
        "sure": task.best.sure if task.best else None, "untuned_ms": task.untuned_ms, "corrected": risen,
    }  # fmt: skip


def _failures(found: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return each kind of failure with its number and the first line of its commonest error."""
    by_status: dict[str, Counter[str]] = {}
    for (status, error), times in found.items():
        by_status.setdefault(status, Counter())[_first_line(error)] += times
    failures = []
    for status, errors in sorted(by_status.items(), key=lambda item: -item[1].total()):
        text, times = errors.most_common(1)[0]
        failures.append({"status": status, "count": errors.total(), "error": text, "error_count": times})
    return failures


def _first_line(error: str) -> str:
    """The first line that says something: of a traceback, what was raised."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    if lines and lines[0].startswith("Traceback"):
        raised = [line for line, raw in zip(lines, filter(str.strip, error.splitlines()), strict=True) if raw[0] != " "]
        return raised[1] if len(raised) > 1 else lines[-1]
    return lines[0] if lines else ""


def _text(data: dict[str, Any], network: NetworkTime | None) -> list[str]:
    rows = []
    for t in data["tasks"]:
        bad = ", ".join(f"{n} {status}" for status, n in sorted(t["failed"].items())) or "-"
        latency = "-" if t["latency_ms"] is None else latency_text(t["latency_ms"])
        latency += " (disturbed)" if t["sure"] == "disturbed" else ""
        rows.append(
            [str(t["id"]), t["name"], str(t["weight"] or "-"), str(t["trials"]), latency, number(t["gflops"], 2),
             str(t["comparisons"] or "-"), bad]
        )  # fmt: skip
    heads = ["ID", "Task", "Weight", "Trials", "Latency (ms)", "GFLOP/s", "Compared", "Failed"]
    parts = [columns(heads, rows, {0, 2, 3, 4, 5, 6})]
    told = sum_text(data["total_latency_ms"], network)
    parts.append(f"Trials: {data['trials']}   Tuning time: {data['seconds']:.1f} s   {told}")
    if network is not None:
        parts[-1] = f"{network_line(network, data['trials'])}\n{parts[-1]}"
    parts += ["\n".join(lines) for lines in (_failure_lines(data), _other_lines(data)) if lines]
    return parts


def _failure_lines(data: dict[str, Any]) -> list[str]:
    out = []
    for item in data["failures"]:
        often = f" ({item['error_count']} times)" if item["error_count"] > 1 else ""
        out.append(f"{item['count']} {item['status']}" + (f": {item['error']}{often}" if item["error"] else ""))
    return out


def _other_lines(data: dict[str, Any]) -> list[str]:
    out = []
    compared, rounds = data["comparisons"], data["rounds"]
    if compared["count"]:
        out.append(f"Comparisons: {compared['count']}, of which {compared['new_best']} gave a new best")
    if rounds["count"]:
        spent = f"{rounds['measure_s']:.1f} s measuring, {rounds['ask_s'] + rounds['tell_s']:.1f} s searching"
        ranks = sorted(rounds["spearman"].values())
        quality = f"; rank correlation of the model {ranks[len(ranks) // 2]:.2f} (median)" if ranks else ""
        out.append(f"Rounds: {rounds['count']}, {spent}{quality}")
    for task in data["tasks"]:
        out += [f"{task['name']}: {reason}" for reason in task["corrected"][-1:]]
    if data["commands"]:
        out.append(f"Commands: {data['commands']}")
    if len(data["hosts"]) > 1:
        out.append("Machines: " + ", ".join(f"{host or 'unknown'} ({n})" for host, n in data["hosts"].items()))
    if data["unknown_lines"]:
        kinds = ", ".join(f"{n} {kind}" for kind, n in data["unknown_lines"].items())
        out.append(f"Lines of a newer version, passed over: {kinds}")
    return out
