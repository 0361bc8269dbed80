"""`report`: one page of HTML with the tables and figures of a log, which needs nothing beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError, WorkbenchError
from workbench.logs import analysis
from workbench.logs.cells import in_columns, shown
from workbench.logs.conversion import target_of, write_whole
from workbench.logs.evaluation import STATUSES
from workbench.logs.tuning_log import TuningLog
from workbench.markup import text
from workbench.pages import page, table

if TYPE_CHECKING:
    import pandas

FIGURES: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("Best so far", analysis.best_so_far_figure),
    ("Distribution", analysis.distribution_figure),
    ("Failures", analysis.failures_figure),
    ("What predicts failures", analysis.failure_rule_figure),
    ("Importance of parameters", analysis.importance_figure),
    ("Interactions of parameters", analysis.interactions_figure),
    ("What the best have in common", analysis.traits_figure),
    ("Neighbours of the best", analysis.neighbours_figure),
    ("Repeats and noise", analysis.noise_figure),
    ("Where the time went", analysis.budget_figure),
    ("Coverage", analysis.coverage_figure),
    ("Predictions", analysis.predictions_figure),
)
"""Figures of each task (functions that return a plotly figure), with their headings."""

MOST_TASKS = 4
"""Tasks that get their figures; those with the most records. Chosen: a page of some MB."""

MOST_ROWS = 200
"""Rows of a table of the page. Chosen."""


def report(log: TuningLog, path: str | os.PathLike[str]) -> list[str]:
    """Write a page of HTML about a log.

    Parameters
    ----------
    log : TuningLog
        Any tuner's log.
    path : path
        The file to write, ``….html``. It holds its scripts and loads nothing.

    Returns
    -------
    list of str
        Headings of the figures that the page has.

    Raises
    ------
    UsageError
        ``usage.log_form`` for a name that ends in something else.
    LogError
        ``log.unwritable``.
    """
    target = target_of(log, path)
    if target.suffix.lower() not in (".html", ".htm"):
        hint = "let it end in .html"
        raise UsageError("usage.log_form", f"The name {target.name!r} tells no page", (str(target),), hint)
    made: list[str] = []
    files = ", ".join(Path(name).name for name in log.paths)
    whole = "".join(page(files, _body(log, made)))
    write_whole(target, whole.encode("utf-8", "replace"))
    return made


def _body(log: TuningLog, made: list[str]) -> Iterator[str]:
    tasks = log.tasks
    counts = f"{_counted(len(log), 'record')} of {_counted(len(tasks), 'task')}"
    yield f'<p class="faint">{counts}, read as {text(log.format)}</p>\n'
    yield from (f'<p class="warn">{text(warning, 600)}</p>\n' for warning in log.warnings)
    yield from _tasks(tasks)
    yield from _failures(log)
    chosen = list(dict.fromkeys(tasks.sort_values("records", ascending=False, kind="stable")["task"]))
    for task in chosen[:MOST_TASKS]:
        yield from _task(log, task, made)
    if len(chosen) > MOST_TASKS:
        yield f'<p class="faint">Figures of the {len(chosen) - MOST_TASKS:,} other tasks are left out.</p>\n'


def _counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _tasks(tasks: pandas.DataFrame) -> Iterator[str]:
    told = [name for name in ("device", "objective") if (tasks[name] != {"objective": "time"}.get(name, "")).any()]
    rows: list[list[object]] = []
    for row in tasks[:MOST_ROWS].to_dict("records"):
        words = [f"{row[n]} ({row['direction']})" if n == "objective" else row[n] for n in told]
        values = (shown(row[name], row["unit"]) for name in ("best", "median"))
        rows.append([row["task"] or "(none)", *words, f"{row['records']:,}", f"{row['failed']:,}", *values])
    heads = ("Task", *map(str.capitalize, told), "Records", "Failed", "Best", "Median")
    yield from table(heads, rows, set(range(1 + len(told), len(heads))), len(tasks))


def _failures(log: TuningLog) -> Iterator[str]:
    counts = log.records.loc[log.records["status"] != "ok", "status"].value_counts()
    told = [f"{count:,} {STATUSES[str(status)]}" for status, count in counts.items() if count]
    if told:
        yield f"<p>Failed: {text(', '.join(told))}.</p>\n"


def _task(log: TuningLog, task: str, made: list[str]) -> Iterator[str]:
    yield f"<h2>{text(task or 'The task', 300)}</h2>\n"
    yield from _best(log, task)
    left_out: list[str] = []
    for heading, draw in FIGURES:
        try:
            figure = draw(log, task)
        except WorkbenchError as error:
            left_out.append(f"{heading} ({error.message})")
            continue
        if not figure.data:
            left_out.append(heading)
            continue
        drawn = figure.to_html(
            full_html=False, include_plotlyjs=not made, config={"displaylogo": False, "responsive": True}
        )
        yield f'<section aria-label="{heading}">\n{drawn}\n</section>\n'
        made.append(heading)
    if left_out:
        yield f'<p class="faint">Nothing to show: {text("; ".join(left_out), 1200)}.</p>\n'


def _best(log: TuningLog, task: str) -> Iterator[str]:
    """Yield the ten best records of each device and objective."""
    best = log.best(10, task)
    rows: list[Any] = best[:MOST_ROWS].to_dict("records")
    if not rows:
        return
    devices = len({row["device"] for row in rows}) > 1
    names, cells = in_columns([row["params"] for row in rows])
    heads = ["Record", *["Device"] * devices, "Best", *(name[:80] for name in names)]
    lines = [
        [row["record"], *[row["device"]] * devices, shown(row["value"], row["unit"]), *params]
        for row, params in zip(rows, cells, strict=True)
    ]
    last = range(len(heads) - len(names), len(heads))
    yield from table(heads, lines, {0, 1 + devices}, len(best), code=set(last))
