"""Look at a tuning log."""

from __future__ import annotations

import argparse
import json
from argparse import Namespace
from pathlib import Path

from workbench.cli import arguments as shared
from workbench.cli import log_summary, tuner_logs
from workbench.cli.arguments import Parser
from workbench.cli.log_summary import load, names
from workbench.cli.output import Output, columns, number
from workbench.errors import LogError
from workbench.log import Best, Database, Log, Record
from workbench.log.merge import merge_logs
from workbench.log.reader import is_there, write_log
from workbench.log.record import speed
from workbench.tune.display.terminal_table import latency_text

__all__ = ["best", "convert", "diff", "distill", "merge", "report", "summary"]

TEXTS = {
    "summary": "what was tuned and how far it came",
    "best": "the best records of every task",
    "convert": "write the records as Parquet, CSV, or a log of the workbench",
    "diff": "two logs: who wins which task, what both tried, where they disagree",
    "report": "one page of HTML with the figures",
    "distill": "write a log that holds the best trials only",
    "merge": "write one log that holds several, for instance of several machines",
}
"""Actions; the last two are for logs of the workbench, the others for those of any tuner."""


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, text in TEXTS.items():
        action = actions.add_parser(name, help=text)
        _files(name, action)
        if name in ("best", "distill"):
            action.add_argument(
                "-k", type=shared.positive, default=1, metavar="K", help="records of each task (default 1)"
            )
        if name not in ("distill", "merge"):
            _hints(action)
        shared.json_option(action)
        action.set_defaults(function=name)


def _files(name: str, action: Parser) -> None:
    """Declare what an action reads and writes."""
    if name == "merge":
        action.add_argument("logs", nargs="+", metavar="F", help="tuning logs")
        action.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write; it must not exist")
        action.add_argument("--force", action="store_true", help="merge logs of different models, too")
    elif name == "distill":
        action.add_argument("log", metavar="F", help="a tuning log")
        action.add_argument("-o", "--output", metavar="OUT", help="file to write (default: F with '.best' in its name)")
    elif name == "diff":
        action.add_argument("first", metavar="A", help="a tuning log")
        action.add_argument("second", metavar="B", help="another one of the same tasks")
        action.add_argument("--only", metavar="TASK", help="this task only")
        action.add_argument(
            "--rename", type=_pair, action="append", default=[], metavar="B_NAME=A_NAME",
            help="a parameter of B and what A calls it; case does not matter anyway; may be repeated",
        )  # fmt: skip
        action.add_argument(
            "--same", type=_pair, action="append", default=[], metavar="B_TASK=A_TASK",
            help="a task of B and what A calls it; not needed where each has one task; may be repeated",
        )  # fmt: skip
    else:
        action.add_argument("logs", nargs="+", metavar="F", help="tuning logs of any tuner, files or folders")
    if name in ("convert", "report"):
        what = ".parquet, .csv, .csv.gz, .tunelog.jsonl" if name == "convert" else ".html"
        action.add_argument("-o", "--output", required=True, metavar="OUT", help=f"file to write: {what}")


def _hints(action: Parser) -> None:
    """Declare what a person can say of a log that does not say it."""
    group = action.add_argument_group("what a log does not say (for logs of other tuners)")
    group.add_argument("--format", metavar="NAME", help="whose log it is (default: by its contents)")
    group.add_argument("--objective", metavar="NAME", help="which of the measured values counts")
    group.add_argument("--unit", metavar="U", help="s, ms, us, ns, or another one")
    group.add_argument("--direction", choices=("min", "max"), help="whether small or large values are good")
    group.add_argument("--device", metavar="NAME", help="where it was measured")
    group.add_argument(
        "--column", dest="columns", type=_pair, action="append", metavar="ROLE=NAME",
        help="a column of a table of one's own: cost=ms, params=tile,unroll, status=state; may be repeated",
    )  # fmt: skip
    group.add_argument("--space", metavar="T1", help="a T1 file that says what could have been tried")


def _pair(text: str) -> str:
    if "=" not in text:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form A=B")
    return text


def summary(options: Namespace, output: Output) -> int:
    """Say what was tuned, how often, how well, and what failed."""
    if not tuner_logs.is_own(options.logs) or options.format:
        return tuner_logs.summary(options, output)
    options.log = options.logs[0]
    return log_summary.summary(options, output)


def convert(options: Namespace, output: Output) -> int:
    """Write the records to a file of another form."""
    return tuner_logs.convert(options, output)


def diff(options: Namespace, output: Output) -> int:
    """Compare two logs."""
    return tuner_logs.diff(options, output)


def report(options: Namespace, output: Output) -> int:
    """Write a page with the figures of a log."""
    return tuner_logs.report(options, output)


def best(options: Namespace, output: Output) -> int:
    """List the best records of every task."""
    if not tuner_logs.is_own(options.logs) or options.format:
        return tuner_logs.best(options, output)
    options.log = options.logs[0]
    log = load(options, output)
    rows, records = [], []
    for one in _top(log, options.k):
        r, gflops = one.record, speed(one.record.flops, one.ms)
        latency = latency_text(one.ms) + (" (disturbed)" if one.sure == "disturbed" else "")
        rows.append([r.task, str(r.trial), latency, number(gflops, 2), r.origin, _row_text(r)])
        told = {"latency_ms": one.ms, "gflops": gflops, "trial_ms": r.latency_ms, "sure": one.sure}
        records.append({**r.to_json(), **told})
    text = columns(["Task", "Trial", "Latency (ms)", "GFLOP/s", "Origin", "Row"], rows, {1, 2, 3})
    output.result({"log": str(options.log), "records": records}, text if rows else "The log holds no valid trial.")
    return 0


def _row_text(record: Record) -> str:
    return json.dumps(dict(record.row), separators=(",", ":")) if record.row else "-"


def _top(log: Log, k: int) -> list[Best]:
    database = Database(log.records, log.comparisons)
    targets = {key: {r.target for r in log.records if r.task_key == key} for key in database}
    best: list[Best] = []
    for key in names(log):
        for target in sorted(targets.get(key, ())):
            best += database.told(key, k, lambda r, t=target: r.target == t, target)  # type: ignore[misc]
    return best


def distill(options: Namespace, output: Output) -> int:
    """Write the best trials of every task and target to a new log, and the comparisons that they took part in."""
    log = load(options, output)
    source = Path(options.log)
    target = Path(options.output) if options.output else source.with_suffix(f".best{source.suffix}")
    there = is_there(target)
    if there and target.samefile(source):
        hint = "name another file with -o"
        raise LogError("log.unwritable", "A log cannot be distilled into itself", [str(target)], hint)
    if there and not options.output:
        raise LogError("log.exists", "The file is already there", [str(target)], "name a file with -o to write over it")
    records = [one.record for one in _top(log, options.k)]
    programs = {(r.task_key, r.program): r.trial for r in records if r.program}
    records += [
        r for r in log.records if r.ok and programs.get((r.task_key, r.program), r.trial) != r.trial
    ]  # once more
    kept = {(r.task_key, r.trial) for r in records}
    compared = [c for c in log.comparisons if any((c.task_key, trial) in kept for trial in c.trials)]
    write_log(target, log.header, [*records, *compared, *log.unknown])
    data = {
        "log": str(source), "output": str(target), "trials": len(records), "of": len(log.records),
        "comparisons": len(compared),
    }  # fmt: skip
    output.result(data, f"{len(records)} of {len(log.records)} trials are in {target}.")
    return 0


def merge(options: Namespace, output: Output) -> int:
    """Write the lines of several logs to a new one."""
    merged = merge_logs(options.logs, options.output, force=options.force)
    for path in merged.torn:
        output.warn(f"the last line of {path} is not complete; it is left out")
    if merged.lost:
        output.warn(f"{merged.lost} comparisons are left out: the trials that they are about are in none of the logs")
    data = {
        "logs": list(options.logs), "output": str(merged.path), "trials": merged.trials,
        "duplicates": merged.duplicates, "lost_comparisons": merged.lost,
    }  # fmt: skip
    twice = f"; {merged.duplicates} were in more than one" if merged.duplicates else ""
    output.result(data, f"{merged.trials} trials of {len(options.logs)} logs are in {merged.path}{twice}.")
    return 0
