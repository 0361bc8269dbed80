"""``workbench log summary | best | distill``."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any

from workbench.cli.output import Output, columns, number
from workbench.errors import LogError
from workbench.tune.database import Database
from workbench.tune.log import Log, load_log, write_log
from workbench.tune.record import Record
from workbench.tune.table import latency_text


def _load(options: Namespace, output: Output) -> Log:
    log = load_log(options.log)
    if log.torn is not None:
        output.warn("the last line of the log is not complete; it is left out")
    return log


def _names(log: Log) -> dict[str, str]:
    """Return the tasks of a log in the model's order."""
    names = dict(log.header.tasks) if log.header is not None else {}
    for record in log.records:
        names[record.task_key] = record.task
    return names


def summary(options: Namespace, output: Output) -> int:
    """Say what was tuned, how often, how well, and what failed."""
    log = _load(options, output)
    database = Database(log.records)
    tasks: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    for index, (key, name) in enumerate(_names(log).items()):
        records = [r for r in log.records if r.task_key == key]
        best = database.best(key)
        failed = Counter(r.status for r in records if not r.ok)
        entry: dict[str, Any] = {
            "id": index,
            "key": key,
            "name": name,
            "weight": records[0].weight if records else None,
            "trials": len(records),
            "failed": dict(failed),
            "latency_ms": best.latency_ms if best else None,
            "gflops": best.gflops if best else None,
        }
        tasks.append(entry)
        bad = ", ".join(f"{n} {status}" for status, n in sorted(failed.items())) or "-"
        rows.append(
            [str(index), name, str(entry["weight"] or "-"), str(len(records)), _latency(best),
             number(entry["gflops"], 2), bad]
        )  # fmt: skip
    known = [t["weight"] * t["latency_ms"] for t in tasks if t["latency_ms"] is not None]
    total = sum(known) if tasks and len(known) == len(tasks) else None
    seconds = max((r.elapsed_s for r in log.records), default=0.0)
    data = {
        "log": str(options.log),
        "model": log.header.model if log.header else None,
        "target": log.header.target if log.header else None,
        "trials": len(log.records),
        "seconds": seconds,
        "total_latency_ms": total,
        "tasks": tasks,
    }
    text = columns(["ID", "Task", "Weight", "Trials", "Latency (ms)", "GFLOP/s", "Failed"], rows, {0, 2, 3, 4, 5})
    estimate = "-" if total is None else f"{latency_text(total, 3)} ms"
    tail = f"Trials: {len(log.records)}   Tuning time: {seconds:.1f} s   Estimated total latency: {estimate}"
    output.result(data, f"{text}\n\n{tail}")
    return 0


def best(options: Namespace, output: Output) -> int:
    """List the best trials of every task."""
    log = _load(options, output)
    found = _top(log, options.k)
    rows = [
        [r.task, str(r.trial), _latency(r), number(r.gflops, 2), r.origin, _row_text(r)] for r in found
    ]  # fmt: skip
    text = columns(["Task", "Trial", "Latency (ms)", "GFLOP/s", "Origin", "Row"], rows, {1, 2, 3})
    data = {"log": str(options.log), "records": [{**r.to_json(), "gflops": r.gflops} for r in found]}
    output.result(data, text if rows else "The log holds no valid trial.")
    return 0


def _latency(record: Record | None) -> str:
    return "-" if record is None or record.latency_ms is None else latency_text(record.latency_ms)


def _row_text(record: Record) -> str:
    return json.dumps(dict(record.row), separators=(",", ":")) if record.row else "-"


def _top(log: Log, k: int) -> list[Record]:
    database = Database(log.records)
    targets = {key: {r.target for r in log.records if r.task_key == key} for key in database}
    found: list[Record] = []
    for key in _names(log):
        for target in sorted(targets.get(key, ())):
            found += [r for r in database.top(key, k, target) if r.target == target]
    return found


def distill(options: Namespace, output: Output) -> int:
    """Write the best trials of every task and target to a new log."""
    log = _load(options, output)
    source = Path(options.log)
    target = Path(options.output) if options.output else source.with_suffix(f".best{source.suffix}")
    if target.exists() and target.samefile(source):
        hint = "name another file with -o"
        raise LogError("log.unwritable", "A log cannot be distilled into itself", [str(target)], hint)
    if target.exists() and not options.output:
        raise LogError("log.exists", "The file is already there", [str(target)], "name a file with -o to write over it")
    found = _top(log, options.k)
    count = write_log(target, log.header, found)
    data = {"log": str(source), "output": str(target), "trials": count, "of": len(log.records)}
    output.result(data, f"{count} of {len(log.records)} trials are in {target}.")
    return 0
