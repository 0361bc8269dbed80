"""The table that `read_log` returns: an ordinary data frame that shows itself as a tuning log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas

from workbench import markup as m
from workbench.log.task_table import failure_words, task_table
from workbench.log.weighted_latency import shares
from workbench.safe_text import shown_legibly

MAIN = ("trial", "task", "status", "latency_ms", "gflops", "origin", "elapsed_s", "error")
"""Columns that are shown."""

_ENDS, _TASKS = 5, 20
"""Trials at each end, and tasks, that are shown: a screen."""

_NEEDED = {*MAIN, "task_key", "weight"}


class LogFrame(pandas.DataFrame):
    """A tuning log, one row per trial.

    Everything that is derived from it (a selection, a copy, a sorted table) is a plain data frame; so is this one, but
    for what it prints: how the tuning went, then the first and the last trials.
    """

    @property
    def _constructor(self) -> Callable[..., pandas.DataFrame]:
        return pandas.DataFrame

    @shown_legibly
    def __repr__(self) -> str:
        if not set(self.columns) >= _NEEDED:  # columns were removed in place
            return super().__repr__()
        return "\n".join([*summary_text(self), "", *_table_text(self)])

    def _repr_html_(self) -> str | None:
        if not pandas.get_option("display.notebook_repr_html"):
            return None
        return log_html(self) if set(self.columns) >= _NEEDED else self.to_html(max_rows=60, max_cols=20)


def task_rows(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """Return one row per task, in the order of first appearance, for `task_table`."""
    rows = [_task_row(k, part) for k, (_, part) in enumerate(frame.groupby("task_key", sort=False))]
    for row, share in zip(rows, shares([(r["weight"], r["ms"]) for r in rows]), strict=True):
        row["share"] = share
    return rows


def _task_row(number: int, part: pandas.DataFrame) -> dict[str, Any]:
    good = part[(part["status"] == "ok") & part["latency_ms"].notna()]
    failures = part["status"][part["status"] != "ok"].value_counts()
    ms, flops = _best_ms(part, good), float((good["gflops"] * good["latency_ms"]).max()) if len(good) else 0.0
    return {
        "id": number, "name": str(part["task"].iloc[0]), "weight": int(part["weight"].iloc[0]), "trials": len(part),
        "ms": ms, "gflops": flops / ms if ms and flops > 0 else None,
        "failed": int(failures.sum()), "failures": {str(s): int(n) for s, n in failures.items()}, "state": "",
    }  # fmt: skip


def _best_ms(part: pandas.DataFrame, good: pandas.DataFrame) -> float | None:
    """What the ledger told after the last trial; the least latency where that column was removed in place."""
    if not len(good):
        return None
    return float(good["latency_ms"].min() if "best_ms" not in part.columns else part["best_ms"].loc[part.index.max()])


def _facts(frame: pandas.DataFrame, rows: Sequence[dict[str, Any]]) -> list[str]:
    spent = float(frame["elapsed_s"].max()) if len(frame) else 0.0
    facts = [m.plural(len(frame), "trial"), m.plural(len(rows), "task"), m.duration(spent) if spent > 0 else ""]
    failed = sum(r["failed"] for r in rows)
    return [f for f in [*facts, f"{m.counted(failed)} failed" if failed else ""] if f]


def summary_text(frame: pandas.DataFrame) -> list[str]:
    """Return some lines about a log."""
    rows = task_rows(frame)
    lines = ["Tuning log: " + ", ".join(_facts(frame, rows))]
    for row in rows[:_TASKS]:
        kinds = failure_words(row["failures"])
        best = "no valid trial" if row["ms"] is None else f"best {row['ms']:.4g} ms"
        lines.append(
            f"  {m.shortened(row['name'], 60)}: {best}, {row['trials']} trials{f' ({kinds})' if kinds else ''}"
        )
    if len(rows) > _TASKS:
        lines.append(f"  … {len(rows) - _TASKS} more tasks")
    return lines


def _table_text(frame: pandas.DataFrame) -> list[str]:
    shown = pandas.DataFrame(frame[[c for c in MAIN if c != "error"]])
    text = shown.to_string(max_rows=2 * _ENDS, max_colwidth=40) if len(shown) else "no trials"
    return [text, f"[{len(frame)} rows × {len(frame.columns)} columns]"]


def log_html(frame: pandas.DataFrame) -> str:
    """Return what a notebook shows of a log."""
    rows = task_rows(frame)
    parts: list[object] = [m.heading("Tuning log", "", *_facts(frame, rows))]
    if rows:
        parts += [task_table(rows, _TASKS), m.section("Trials"), _trials(frame)]
    parts.append(m.line(m.faint(f"A DataFrame of {m.plural(len(frame), 'row')} and {len(frame.columns)} columns.")))
    return m.page(*parts)


def _trials(frame: pandas.DataFrame) -> m.Html:
    columns = (
        m.Column("Trial", number=True), m.Column("Task"), m.Column("Status"), m.Column("Latency", number=True),
        m.Column("GFLOP/s", number=True), m.Column("Origin"), m.Column("At", number=True),
    )  # fmt: skip
    if len(frame) <= 2 * _ENDS + 1:
        return m.table(columns, [_trial(r) for r in _records(frame)])
    gap = m.Wide(m.faint(f"… {m.counted(len(frame) - 2 * _ENDS)} more trials"), len(columns))
    head, tail = (_records(part) for part in (frame.iloc[:_ENDS], frame.iloc[-_ENDS:]))
    return m.table(columns, [*map(_trial, head), [gap], *map(_trial, tail)])


def _records(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in frame[list(MAIN)].to_dict("records")]


def _trial(row: dict[str, Any]) -> list[object]:
    last = m.last_line(str(row["error"]))
    status: object = row["status"]
    if status != "ok":
        status = m.bad(str(status).replace("_", " ") + (f": {last}" if last else ""), 60)
    return [
        row["trial"], m.text(row["task"], 50), status, m.milliseconds(row["latency_ms"]), m.digits(row["gflops"]),
        m.text(row["origin"], 24), m.duration(row["elapsed_s"]).replace(" ", "\u00a0"),
    ]  # fmt: skip
