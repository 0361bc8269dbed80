"""The panels of an explorer: questions to what is chosen, answered by `workbench.logs.analysis`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench import markup as m
from workbench.errors import UsageError, did_you_mean
from workbench.logs import analysis
from workbench.logs.cells import readable
from workbench.logs.explorer.columns import Columns
from workbench.logs.explorer.explorer import Explorer
from workbench.logs.explorer.rows import Mask
from workbench.logs.explorer.scales import number

if TYPE_CHECKING:
    import pandas

MOST_ROWS = 300
"""Rows of a panel's table that are shown."""

_OF_TWO = {"compare", "both_tried"}
"""Panels that compare two runs."""

_FINDING, _TOP = 30, 42
"""How `workbench.logs.analysis.charts` marks the sentence above a plot (by its shift), and its margin without it."""

_ONE_TASK = {"usage.task", "usage.one_task", "usage.units"}
"""What an analysis says where records cannot be compared; its hints name arguments of Python, ours what to press."""

_APART, MOST_CHOICES = ("task", "device", "objective", "run"), 40
"""Columns whose values are offered there, the first that varies, and how many of them."""

_IN_UNIT = {"value", "first", "second", "best", "p25", "median", "p75", "worst", "mean", "min", "low", "high"}
"""Columns that are in the unit of the column `unit`, where there is one."""

_BARS = {"importance", "share", "lift", "records", "gain", "strength", "spread", "seconds"}
"""Columns whose numbers have bars."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: its tab, the question that it answers, and the function of `workbench.logs.analysis`."""

    tab: str
    question: str
    function: str


_KNOWN = (
    Panel("Failures", "Which values of parameters fail?", "failures"),
    Panel("Failures", "Which simple rule predicts a failure?", "failure_rule"),
    Panel("Parameters", "Which parameters matter?", "importance"),
    Panel("Parameters", "Which matter together?", "interactions"),
    Panel("Parameters", "Which values do the best have more often?", "traits"),
    Panel("Best", "Which are the best, and how do they differ?", "winners"),
    Panel("Best", "What does one change of the best give?", "neighbours"),
    Panel("Times", "What does tuning gain?", "distribution"),
    Panel("Times", "How sure are the times?", "noise"),
    Panel("Times", "How right was the tuner's cost model?", "predictions"),
    Panel("Search", "Where did the time of the search go?", "budget"),
    Panel("Search", "How much of the space was tried?", "coverage"),
    Panel("Search", "How difficult is the search?", "centrality"),
    Panel("Compare", "Which run wins which task, at what cost?", "compare"),
    Panel("Compare", "Where do two runs disagree?", "both_tried"),
    Panel("Compare", "What is the best of one device worth on another?", "portability"),
)


def panels() -> dict[str, Panel]:
    """Return the panels, by the name of their function."""
    return {p.function: p for p in _KNOWN if hasattr(analysis, p.function)}


def source(e: Explorer) -> tuple[Any, str]:
    """Return what an analysis is made of, and that in words: the log, or the records that are chosen."""
    n, of = e.scope.chosen.n, len(e.log)
    if n == of:
        return e.log, f"Over all {m.plural(n, 'record')}."
    task = f" of the task {m.clean(e.selection.task)}" if e.selection.task else ""
    words = "all" if n == e.scope.columns.n else "the"
    chosen = "" if n == e.scope.columns.n else "chosen "
    return e.log.records.iloc[e.records], f"Over {words} {m.counted(n)} {chosen}records{task}, of {m.counted(of)}."


def prepared(e: Explorer, name: str, twin: str = "") -> tuple[Callable[..., Any], str]:
    """Return the function of a panel, or that of its figure, with what it looks at put in, and this in words.

    Raises
    ------
    UsageError
        "explorer.panel" for a panel that is not there, "explorer.nothing" where nothing is chosen, "explorer.runs"
        where there are no two runs to compare.
    """
    known = [one for one in panels() if hasattr(analysis, f"{one}{twin}")]
    if name not in known:
        hint = did_you_mean(name, known, "panels")
        raise UsageError("explorer.panel", f"The explorer has no panel {name[:40]!r}", (), hint)
    chosen, words = source(e)
    if not len(chosen):
        raise UsageError("explorer.nothing", "Nothing is chosen", (), "take a range or the filter away")
    function: Callable[..., Any] = getattr(analysis, f"{name}{twin}")
    if name not in _OF_TWO:
        return partial(function, chosen), words
    records = e.log.records if chosen is e.log else chosen
    counts = records["run"].astype(str).value_counts(sort=False)
    runs = [run for run, n in counts.items() if n]
    if len(runs) < 2:
        hint = "open several: wb.LogExplorer([one, other]), or mark their files in JupyterLab, press the right button, "
        hint += "and choose Explore Logs Together"
        raise UsageError("explorer.runs", "One run alone cannot be compared", (), hint)
    pair = [records[records["run"].astype(str) == run] for run in runs[:2]]
    more = f" The log has {len(runs)} runs, these are the first two." if len(runs) > 2 else ""
    return partial(function, *pair), f"{words} First: {m.clean(str(runs[0]))}; second: {m.clean(str(runs[1]))}.{more}"


def answer(e: Explorer, name: str) -> Callable[[], Mapping[str, Any]]:
    """Prepare what a panel says of what is chosen; the work is done when the result is called."""
    function, words = prepared(e, name)
    columns, mask = e.scope.columns, e.scope.chosen.mask

    def work() -> Mapping[str, Any]:
        try:
            frame = function()
        except UsageError as error:
            found = _choices(columns, mask) if error.code in _ONE_TASK else None
            if found is None:
                raise
            nothing = {"columns": [], "rows": [], "more": 0, "figure": False}
            return {"finding": f"{error.message}: choose one.", "scope": words, **nothing, "choices": found}
        return {
            "finding": m.clean(frame.attrs.get("finding", "")), "scope": words,
            **table(_short_rule(frame) if name == "failure_rule" else frame),
            "figure": hasattr(analysis, f"{name}_figure") and len(frame) > 0, "choices": None,
        }  # fmt: skip

    return work


def _short_rule(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the terms of a rule, and the whole without its text: this is the sentence above the table."""
    if len(frame) <= 2:
        return frame.iloc[:1]
    terms = frame.iloc[:-1]
    return frame.assign(term=[*terms["term"].astype(str), "all"], rule=[*terms["rule"], "one of them"])


def _choices(columns: Columns, mask: Mask) -> Mapping[str, Any] | None:
    """Return the column that tells chosen records apart, with its values, the most frequent first; None without one."""
    for name in _APART:
        if name not in columns:
            continue
        column = columns[name]
        values = column.values[mask]
        counts = np.bincount(values[values >= 0], minlength=len(column.labels))
        order = [int(k) for k in np.argsort(-counts, kind="stable") if counts[k]]
        if len(order) > 1:
            shown = [[k, column.keys[k], column.labels[k], int(counts[k])] for k in order[:MOST_CHOICES]]
            return {"column": name, "values": shown, "more": len(order) - len(shown)}
    return None


def drawing(e: Explorer, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Prepare the figure of the panel ``name``, as wide as its place; the work is done when the result is called."""
    draw, _ = prepared(e, str(args.get("name")), "_figure")
    theme = "dark" if args.get("theme") == "dark" else "light"

    def work() -> Any:
        figure = draw(theme=theme)
        figure.update_layout(autosize=True, width=None)
        _without_finding(figure)
        return figure

    return work


def _without_finding(figure: Any) -> None:
    """Take the sentence out that stands above a figure: the panel has it."""
    kept = [a for a in figure.layout.annotations if a.yshift != _FINDING]
    spare = figure.layout.margin.t - _TOP
    if len(kept) < len(figure.layout.annotations) and spare > 0:
        figure.layout.annotations = kept  # `update_layout` would mix each note with the one before it
        figure.update_layout(height=figure.layout.height - spare, margin_t=_TOP)


def table(frame: pandas.DataFrame) -> Mapping[str, Any]:
    """Return a table as a front end shows it: texts, and numbers with what their bars show."""
    shown = _in_readable_units(frame.head(MOST_ROWS))
    columns, cells = [], []
    for name in shown.columns:
        values = shown[name]
        numbers = values.dtype.kind in "iuf"
        texts = [_cell(value, numbers) for value in values.astype(object).where(values.notna(), None)]
        if len(shown) and not any(texts):
            continue  # no row says anything here
        title = m.clean(str(name)).replace("_", " ")
        bars = numbers and name in _BARS
        told = values.dropna()
        most = float(told.max()) if bars and len(told) and told.min() < told.max() else None
        columns.append({"name": title, "numbers": numbers, "most": most})
        cells.append(texts)
    return {
        "columns": columns,
        "rows": [list(row) for row in zip(*cells, strict=True)],
        "more": len(frame) - len(shown),
    }


def _in_readable_units(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return a table whose short and long times are in a unit of their size, the same one in all rows."""
    names = [name for name in frame.columns if name in _IN_UNIT and frame[name].dtype.kind in "iuf"]
    if "unit" not in frame or not names:
        return frame
    frame = frame.astype(dict.fromkeys(names, float) | {"unit": object})
    for unit in frame["unit"].unique():
        rows = frame["unit"] == unit
        sizes = np.abs(frame.loc[rows, names].to_numpy())
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        factor, better = readable(float(sizes.min()), str(unit)) if len(sizes) else (1.0, unit)
        if better != unit:
            frame.loc[rows, names] *= factor
            frame.loc[rows, "unit"] = better
    return frame


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None or value != value else str(value)


def _cell(value: Any, is_number: bool) -> Any:
    if not is_number:
        return m.shortened(m.clean(_words(value)), 120)
    if value is None:
        return ["–", 0.0]
    plain = float(value)
    if not math.isfinite(plain):
        return ["∞", 0.0]
    return [m.counted(int(plain)) if plain == int(plain) and abs(plain) < 1e15 else number(plain), plain]
