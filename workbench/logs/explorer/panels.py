"""The panels of an explorer: questions to what is chosen, answered by `workbench.logs.analysis`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.errors import UsageError, did_you_mean
from workbench.logs import analysis
from workbench.logs.explorer.explorer import Explorer
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
        hint = "open several: wb.LogExplorer([one, other])"
        raise UsageError("explorer.runs", "One run alone cannot be compared", (), hint)
    pair = [records[records["run"].astype(str) == run] for run in runs[:2]]
    more = f" The log has {len(runs)} runs, these are the first two." if len(runs) > 2 else ""
    return partial(function, *pair), f"{words} First: {m.clean(str(runs[0]))}; second: {m.clean(str(runs[1]))}.{more}"


def answer(e: Explorer, name: str) -> Callable[[], Mapping[str, Any]]:
    """Prepare what a panel says of what is chosen; the work is done when the result is called."""
    function, words = prepared(e, name)

    def work() -> Mapping[str, Any]:
        try:
            frame = function()
        except UsageError as error:
            if error.code not in _ONE_TASK:
                raise
            hint = "choose a task at the top, or the device or run on its axis"
            raise UsageError(error.code, str(error.message), error.where, hint) from error
        return {
            "finding": m.clean(frame.attrs.get("finding", "")), "scope": words, **table(frame),
            "figure": hasattr(analysis, f"{name}_figure") and len(frame) > 0,
        }  # fmt: skip

    return work


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
    shown = frame.head(MOST_ROWS)
    columns, cells = [], []
    for name in shown.columns:
        values = shown[name]
        numbers = values.dtype.kind in "iuf"
        title = m.clean(str(name)).replace("_", " ")
        bars = numbers and name in _BARS
        told = values.dropna()
        most = float(told.max()) if bars and len(told) and told.min() < told.max() else None
        columns.append({"name": title, "numbers": numbers, "most": most})
        cells.append([_cell(value, numbers) for value in values.astype(object).where(values.notna(), None)])
    return {
        "columns": columns,
        "rows": [list(row) for row in zip(*cells, strict=True)],
        "more": len(frame) - len(shown),
    }


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
