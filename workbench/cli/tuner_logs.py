"""``workbench log summary``, ``best``, ``convert`` and ``diff`` for the logs of any tuner."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli.output import Output, columns, counted, number
from workbench.cli.reading_line import ReadingLine
from workbench.errors import LogError
from workbench.log.reader import looks_ours
from workbench.logs.cells import in_columns, shown
from workbench.logs.importer import importer_of
from workbench.logs.source import LogSource
from workbench.logs.space import is_space, read_space
from workbench.safe_text import legible_line

if TYPE_CHECKING:
    import pandas

    from workbench.logs import TuningLog

HINTS = ("task", "device", "objective", "unit", "direction", "space")
"""Options that say what a log does not say; `wb.logs.open` takes them by the same names."""

MOST_ROWS = 60
"""Rows of a table in the terminal; ``--json`` has all. Chosen: some pages."""

SAMPLE = 200_000
"""Records of a log whose parameters are not counted: they would all be read for it. Chosen."""


def is_own(paths: Sequence[str]) -> bool:
    """Whether these are one log of the workbench, or what only its reader can tell about."""
    source = LogSource(Path(paths[0]))
    if len(paths) > 1 or source.is_folder:
        return False
    try:
        if is_space(source):
            return False
        found = importer_of(source)
        if found is None:
            return looks_ours(source.head[:4096])
    except LogError:  # its own reader says what is wrong
        return True
    return found.name == "workbench"


def opened(paths: Sequence[str], options: Namespace, output: Output) -> TuningLog:
    """Open a log with what the options say of it, and pass on its warnings."""
    from workbench import logs

    hints = {name: value for name in HINTS if (value := getattr(options, name, None)) is not None}
    if options.columns:
        roles = dict(pair.split("=", 1) for pair in options.columns)
        lists = {role: roles[role].split(",") for role in ("params", "repeats") if role in roles}
        hints["columns"] = {**roles, **lists}
    with ReadingLine(", ".join(Path(path).name for path in paths)) as line:
        log = logs.open(list(paths), options.format, progress=line, **hints)
    for warning in log.warnings:
        output.warn(warning)
    return log


def summary(options: Namespace, output: Output) -> int:
    """Say what was tuned, how often, how well, and what failed."""
    if len(options.logs) == 1 and is_space(LogSource(Path(options.logs[0]))):
        return _space_alone(options.logs[0], output)
    log = opened(options.logs, options, output)
    tasks = _rows(log.tasks)
    data = {
        "logs": list(log.paths), "format": log.format, "records": len(log), "tasks": tasks, "failures": _failures(log),
        "seconds": _spent(log), "parameters": _parameters(log), "space": _space(log), "warnings": log.warnings,
        "faults": len(log.faults),
    }  # fmt: skip
    output.result(data, "\n\n".join(_summary_text(data)))
    return 0


def best(options: Namespace, output: Output) -> int:
    """List the best records of every task."""
    log = opened(options.logs, options, output)
    names = ["task", "device", "record", "run", "value", "unit", "objective", "cost_s", "params", "where"]
    rows = _rows(log.best(options.k)[names])
    heads, params = in_columns([row["params"] for row in rows])
    told = [name for name in ("task", "device") if {row[name] for row in rows} != {""}]
    cells = [
        [*(row[name] for name in told), str(row["record"]), shown(row["value"], row["unit"]), *more]
        for row, more in zip(rows, params, strict=True)
    ]
    heads = [*map(str.capitalize, told), "Record", "Best", *heads]
    text = _limited(heads, cells, {len(told), len(told) + 1}) if rows else "The log holds no record with a result."
    output.result({"logs": list(log.paths), "format": log.format, "records": rows}, text)
    return 0


def convert(options: Namespace, output: Output) -> int:
    """Write the records to a file of another form."""
    from workbench.logs.conversion import convert as write

    log = opened(options.logs, options, output)
    count = write(log, options.output)
    data = {"logs": list(log.paths), "format": log.format, "output": options.output, "records": count}
    files = counted(len(log.paths), "file")
    output.result(data, f"{counted(count, 'record')} of {files} ({log.format}) now in {options.output}.")
    return 0


def report(options: Namespace, output: Output) -> int:
    """Write a page with the figures of a log."""
    from workbench.logs.reporting import report as write

    log = opened(options.logs, options, output)
    figures = write(log, options.output)
    data = {"logs": list(log.paths), "format": log.format, "output": options.output, "figures": figures}
    output.result(data, f"{counted(len(figures), 'figure')} of {counted(len(log), 'record')} now in {options.output}.")
    return 0


def diff(options: Namespace, output: Output) -> int:
    """Compare two logs: who wins which task at what cost, what both tried, where they disagree."""
    from workbench.logs.analysis import both_tried, compare

    renames = dict(pair.split("=", 1) for pair in options.rename)
    first, second = (opened([path], options, output) for path in (options.first, options.second))
    same = dict(pair.split("=", 1) for pair in options.same)
    frame = compare(first, second, options.only, renames, same)
    both = both_tried(first, second, options.only, renames, same)
    tasks, pairs = _rows(frame), _rows(both[both["disagree"].astype(bool)] if len(both) else both)
    data = {
        "first": list(first.paths), "second": list(second.paths), "tasks": tasks, "finding": frame.attrs["finding"],
        "both_tried": both.attrs["finding"], "disagreements": pairs,
        **{name: frame.attrs[name] for name in ("only_first", "only_second", "not_compared")},
    }  # fmt: skip
    output.result(data, "\n\n".join(_diff_text(data)))
    return 0


def _diff_text(data: dict[str, Any]) -> list[str]:
    again = len({t["task"] for t in data["tasks"]}) < len(data["tasks"])
    apart = [name for name in ("device", "objective") if again and len({t[name] for t in data["tasks"]}) > 1]
    rows = [
        [t["task"], *(t[name] for name in apart), shown(t["first"], t["unit"]), shown(t["second"], t["unit"]),
         number(t["ratio"], 3), t["winner"] or "-", str(t["both"]), number(t["ratio_of_both"], 3), str(t["disagree"])]
        for t in data["tasks"]
    ]  # fmt: skip
    heads = ["Task", *map(str.capitalize, apart), "First", "Second", "Second/first", "Winner", "Both tried",
             "Median of both", "Disagree"]  # fmt: skip
    right = {column + len(apart) for column in (1, 2, 3, 5, 6, 7)}
    parts = [_limited(heads, rows, right), data["finding"], data["both_tried"]]
    costs = [(t["task"], t["cost_first"], t["cost_second"]) for t in data["tasks"]]
    lines = [f"{task}: {_time(a)} against {_time(b)} of tuning" for task, a, b in costs if a or b]
    lines += [f"{t['task']}: the winners differ in {t['differ']}" for t in data["tasks"] if t["differ"]]
    for which in ("first", "second"):
        if data[f"only_{which}"]:
            lines.append(f"Only in the {which}: {_some(data[f'only_{which}'])}")
    lines += [f"Not compared: {name}: {why}" for name, why in data["not_compared"].items()]
    some = [
        f"  {json.dumps(p['params'])}: {p['status_first']} | {p['status_second']}" for p in data["disagreements"][:5]
    ]
    if some:
        more = len(data["disagreements"]) - len(some)
        lines += ["Failed in one only:", *some, *([f"  and {more} more (--json has all)"] if more > 0 else [])]
    return [part for part in [*parts, "\n".join(map(legible_line, lines))] if part]


def _summary_text(data: dict[str, Any]) -> list[str]:
    files = ", ".join(Path(path).name for path in data["logs"])
    parts = [
        f"{data['format']}: {counted(data['records'], 'record')} of {counted(len(data['tasks']), 'task')} in {files}"
    ]
    device, objective = any(t["device"] for t in data["tasks"]), any(t["objective"] != "time" for t in data["tasks"])
    heads = [
        "Task",
        *["Device"] * device,
        *["Objective"] * objective,
        "Records",
        "Failed",
        "Best",
        "Median",
        "Of record",
    ]
    rows = [
        [t["task"] or "(none)", *[t["device"]] * device, *[f"{t['objective']} ({t['direction']})"] * objective,
         str(t["records"]), str(t["failed"] or "-"), shown(t["best"], t["unit"]), shown(t["median"], t["unit"]),
         "-" if t["best_record"] is None else str(int(t["best_record"]))]
        for t in data["tasks"]
    ]  # fmt: skip
    parts.append(_limited(heads, rows, set(range(1 + device + objective, len(heads)))))
    lines = [_failure(item) for item in data["failures"]]
    if lines:
        parts.append("\n".join(lines))
    last = [f"{name}: {_time(seconds)}" for name, seconds in data["seconds"].items() if seconds]
    others = ["   ".join(last)] if last else []
    if data["parameters"]:
        others.append(f"Parameters: {_some([f'{name} ({n})' for name, n in data['parameters'].items()])}")
    if (space := data["space"]) is not None:
        known = "" if space["restricted"] else ", without restrictions: the log does not say whether there are any"
        others.append(f"Space: {space['tried']:,} of {space['configurations']:,} configurations were tried{known}")
    return [*parts, *(["\n".join(map(legible_line, others))] if others else [])]


def _failure(item: dict[str, Any]) -> str:
    told = f" ({item['told']})" if item["told"] else ""
    return legible_line(f"{item['count']} {item['status']}{told}" + (f": {item['error']}" if item["error"] else ""))


def _failures(log: TuningLog) -> list[dict[str, Any]]:
    """Return each kind of failure with the tuner's own word, its number and its commonest error."""
    bad = log.records[log.records["status"] != "ok"]
    found = []
    for (status, told), part in bad.groupby(["status", "told"], observed=True, sort=False):
        errors = part["error"].astype(str).str.strip().str.split("\n").str[-1].value_counts()
        text = next((str(error) for error in errors.index if error), "")
        found.append({"status": status, "told": told, "count": len(part), "error": text[:300]})
    return sorted(found, key=lambda item: -int(item["count"]))


def _spent(log: TuningLog) -> dict[str, float | None]:
    """Return how long the tuning took, as far as the log says it, in seconds."""
    names = {"Tuning time": "elapsed_s", "Compiling": "compile_s", "Running": "run_s", "Checking": "verify_s"}
    names |= {"Searching": "search_s", "Spent": "spent_s"}
    spent: dict[str, float | None] = {}
    for name, field in names.items():
        column = log.records[field]
        by_run = column.groupby(log.records["run"], observed=True).max().sum() if field == "elapsed_s" else column.sum()
        spent[name] = float(by_run) if column.notna().any() else None
    return spent


def _parameters(log: TuningLog) -> dict[str, int] | None:
    """Return how many values each parameter has; None for a log whose parameters would have to be read again."""
    return {name: len(values) for name, values in log.params.items()} if len(log) <= SAMPLE else None


def _space_alone(path: str, output: Output) -> int:
    """Say what a description of a space says."""
    space = read_space(path)
    restrictions = [restriction.text for restriction in space.restrictions or ()]
    data = {
        "space": path, "parameters": space.parameters, "restrictions": restrictions, "configurations": len(space),
        "combinations": space.combinations,
    }  # fmt: skip
    rows = [[name, str(len(values)), _some(map(str, values))] for name, values in space.parameters.items()]
    told = f"Space of {Path(path).name}: {len(space):,} of {space.combinations:,} combinations are allowed; no records"
    limits = "\n".join(legible_line(f"Restriction: {text}") for text in restrictions)
    parts = [told, _limited(["Parameter", "Values", ""], rows, {1}), limits]
    output.result(data, "\n\n".join(filter(None, parts)))
    return 0


def _space(log: TuningLog) -> dict[str, Any] | None:
    space = log.space
    if space is None or not len(log):
        return None
    if space.restrictions is None and space.combinations > SAMPLE:
        return None
    tried = space.tried(log.table())
    return {
        "configurations": len(space), "combinations": space.combinations, "tried": int((tried > 0).sum()),
        "restricted": space.restrictions is not None,
    }  # fmt: skip


def _rows(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as JSON has them: None where a value is missing."""
    rows: list[dict[str, Any]] = [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
    for row in rows:
        for name, value in row.items():
            if isinstance(value, float) and value != value:
                row[name] = None
    return rows


def _limited(heads: list[str], rows: list[list[str]], right: set[int]) -> str:
    some = [[_short(cell) for cell in row] for row in rows[:MOST_ROWS]]
    more = f"\nand {len(rows) - MOST_ROWS} more (--json has all)" if len(rows) > MOST_ROWS else ""
    return columns([_short(head, 40) for head in heads], some, right) + more


def _short(cell: str, most: int = 96) -> str:
    return cell if len(cell) <= most else cell[: most - 1] + "…"


def _time(seconds: float | None) -> str:
    return "-" if not seconds else f"{seconds:.1f} s" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _some(names: Iterable[str], most: int = 12) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
