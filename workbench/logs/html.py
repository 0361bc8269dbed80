"""A tuning log in a notebook: what it is, its tasks, what a reader has to know."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.logs.cells import shown

if TYPE_CHECKING:
    from workbench.logs.tuning_log import TuningLog

ROWS, WARNINGS = 20, 8
"""Tasks and warnings that are shown."""


def log_html(log: TuningLog) -> m.Html:
    """Return the display of a log."""
    names = [Path(path).name for path in log.paths]
    name = names[0] if len(names) == 1 else m.plural(len(names), "file")
    counts = log.records["status"].value_counts()
    chips = m.chips([f"{status} {m.counted(int(n))}" for status, n in counts.items() if n], 12)
    devices = [str(d) for d in log.records["device"].unique() if str(d)]
    words = [m.clean(d) for d in devices[:3]] + ([f"and {len(devices) - 3} more devices"] if len(devices) > 3 else [])
    heading = m.heading("Tuning log", name, log.format, m.plural(len(log), "record"), *words)
    return m.page(heading, m.line(chips), *_tasks(log), *_warnings(log))


def _tasks(log: TuningLog) -> list[m.Html]:
    tasks = log.tasks
    if not len(tasks):
        return [m.line(m.faint("There are no records."))]
    optional = [c for c in ("device", "target", "objective") if tasks[c].nunique() > 1]
    columns = [m.Column("Task"), *(m.Column(c.capitalize()) for c in optional), m.Column("Records", number=True),
               m.Column("Failed", number=True), m.Column("Best", number=True), m.Column("Median", number=True),
               m.Column("Median ÷ best", number=True), m.Column("Best record", number=True)]  # fmt: skip
    rows = [_row(task, optional) for task in tasks.head(ROWS).to_dict("records")]
    return [m.table(columns, m.Shown(rows, len(tasks) - len(rows), "tasks"))]


def _row(task: Any, optional: list[str]) -> list[object]:
    best = task["best_record"]
    return [
        m.text(str(task["task"]) or "(none)", 60), *(m.text(str(task[name]), 40) for name in optional),
        m.counted(int(task["records"])), m.counted(int(task["failed"])) if task["failed"] else "",
        _value(task["best"], task), _value(task["median"], task), _gain(task),
        "" if best is None or best != best else m.counted(int(best)),
    ]  # fmt: skip


def _value(value: Any, task: Any) -> str:
    return "" if value is None or value != value else m.clean(shown(float(value), str(task["unit"])))


def _gain(task: Any) -> str:
    best, median = task["best"], task["median"]
    if best is None or best != best or not best or not median or best * median < 0:
        return ""
    return f"{(median / best if task['direction'] == 'min' else best / median):.2f}×"


def _warnings(log: TuningLog) -> list[m.Html]:
    shown = [m.line(m.text(warning, 400)) for warning in log.warnings[:WARNINGS]]
    if not shown:
        return []
    more = len(log.warnings) - len(shown)
    if more > 0:
        shown.append(m.line(m.faint(f"… {m.plural(more, 'warning')} more")))
    return [m.section("To know before believing a figure"), *shown]
