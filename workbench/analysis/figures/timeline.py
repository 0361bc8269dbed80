"""Where the trials went: a cell for every task and round, darker the more it brought; its reason on hover."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.analysis.figures.style import Colours, Theme, axis, colours, shade
from workbench.analysis.figures.subplot import Part, Trace, alone, escaped, in_middle, trace
from workbench.analysis.trials.task_rounds import Turn, turns
from workbench.analysis.trials.trial_reader import RunHistory, read

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.analysis.trials.trial_reader import Source

#: Rows of the plot; tasks beyond share the last one. Chosen by eye.
ROWS = 16

#: Cells; more rounds than that are taken together, as many as it needs. Chosen, not measured.
TURNS = 400

#: Gain of a round that has the darkest colour. Chosen by eye.
MUCH = 0.3

#: Letters of a task's name beside its row. Chosen by eye.
LETTERS = 17


def timeline_figure(source: Source, tasks: Iterable[str] | None = None, *, theme: Theme = "auto") -> go.Figure:
    """Plot which task got the trials of every round, and what they brought.

    Parameters
    ----------
    source : DataFrame, path, TuningSession or iterable of Record, Comparison and Round
    tasks : iterable of str, optional
        Keys of the tasks to show; by default all that the source names.
    theme : {"auto", "light", "dark"}

    Returns
    -------
    plotly.graph_objects.Figure
        Always the same two traces: the rounds, and the newest one.
    """
    c = colours(theme)
    part = timeline_part(read(source), c, tasks)
    return alone(part, c, max(200, 100 + 20 * len(part.y["tickvals"])), left=120, barmode="overlay", bargap=0)


def timeline_part(
    lines: RunHistory, c: Colours, tasks: Iterable[str] | None = None, most: int = TURNS, current: str | None = None
) -> Part:
    """Return the plot; `current` is the key of the task whose name is bold."""
    keys = list(lines.keys if tasks is None else tasks)
    found = turns(lines, keys, most)
    places, labels = _rows(keys, found, current)
    first = min((turn.first for turn in found), default=0)
    end = max((turn.last for turn in found), default=0)
    y = axis(
        c, "", tickvals=list(range(len(labels))), ticktext=labels, range=[len(labels) - 0.5, -0.5],
        fixedrange=True,
    )  # fmt: skip
    x = axis(c, "round", range=[first - 0.5, max(end, first + 11) + 0.5], showgrid=False, minallowed=first - 0.5)
    notes = [] if found else [in_middle("No trials yet", c)]
    cells = _cells(found, places, {key: k for k, key in enumerate(lines.keys)}, c)
    return Part([cells, _newest(found, len(labels), c)], x, y, notes, None, "Where the trials went",
                f"darker: up to {100 * MUCH:.0f} % faster")  # fmt: skip


def _rows(keys: Sequence[str], found: Sequence[Turn], current: str | None) -> tuple[dict[str, int], list[str]]:
    """Row of every task, most trials first, and the names of the rows."""
    count = dict.fromkeys(keys, 0)
    names: dict[str, str] = {}
    for turn in found:
        count[turn.key] += turn.trials
        names.setdefault(turn.key, turn.name)
    shown = [key for key in sorted(keys, key=lambda key: -count[key]) if count[key]]
    if len(shown) > ROWS and current in shown[ROWS - 1 :]:  # the task on show has a row of its own
        shown.remove(current)
        shown.insert(ROWS - 2, current)
    own = shown if len(shown) <= ROWS else shown[: ROWS - 1]
    labels = [_short(names[key], bold=key == current) for key in own]
    if len(own) < len(shown):
        labels.append(f"{len(shown) - len(own)} smaller tasks")
    return {key: min(k, ROWS - 1) for k, key in enumerate(shown)}, labels


def _short(name: str, bold: bool) -> str:
    start = name.partition(" + ")[0].removeprefix("conv2d ")  # the rest is told on hover
    most = LETTERS - 2 if bold else LETTERS  # bold letters are wider
    text = start if len(start) <= most else f"{start[: most - 1]}…"
    return f"<b>{escaped(text)}</b>" if bold else escaped(text)


def _cells(found: Sequence[Turn], places: dict[str, int], numbers: dict[str, int], c: Colours) -> Trace:
    return trace(
        "rounds", [(turn.first + turn.last) / 2 for turn in found], [0.8] * len(found), type="bar", meta="turn",
        width=[turn.last - turn.first + 0.9 for turn in found], base=[places[turn.key] - 0.4 for turn in found],
        customdata=[[-1 if turn.trial is None else turn.trial, numbers[turn.key]] for turn in found],
        hovertext=[_told(turn) for turn in found], hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "color": [shade(c, turn.gain / MUCH) for turn in found], "cornerradius": 2,
            "line": {"width": 0.5, "color": c.scale[2]},
        },
    )  # fmt: skip


def _told(turn: Turn) -> str:
    """What a cell says: the trials, what they brought, why the task was chosen, and the terms of that."""
    where = f"round {turn.first}" if turn.first == turn.last else f"rounds {turn.first} to {turn.last}"
    failed = f", {turn.failed} failed" if turn.failed else ""
    out = [f"<b>{escaped(turn.name)}</b> · {where}", f"{turn.trials} trials{failed} · {_brought(turn)}"]
    line = turn.line
    if line is not None and line.reason:
        out.append(escaped(line.reason))
    if line is not None and line.gain is not None and math.isfinite(line.gain):
        terms = ((line.backward, "recent"), (line.optimism, "room"), (line.similarity, "alike"))
        parts = ", ".join(f"{name} {value:.2g}" for value, name in terms if value is not None)
        out.append(f"expected {line.gain:.2g} ms ({parts})")
    return "<br>".join(out)


def _brought(turn: Turn) -> str:
    if turn.after_ms is None:
        return "none was valid"
    if turn.gain <= 0.0:
        return turn.why or f"still {turn.after_ms:.3g} ms"
    return f"{100 * turn.gain:.3g} % faster, {turn.after_ms:.3g} ms"


def _newest(found: Sequence[Turn], rows: int, c: Colours) -> Trace:
    """A frame around the newest round."""
    last = found[-1:]
    return trace(
        "newest round", [(turn.first + turn.last) / 2 for turn in last], [rows] * len(last), type="bar",
        width=[turn.last - turn.first + 1.0 for turn in last], base=[-0.5] * len(last),
        marker={"color": "rgba(0,0,0,0)", "line": {"width": 1, "color": c.accent}, "cornerradius": 3},
    )  # fmt: skip
