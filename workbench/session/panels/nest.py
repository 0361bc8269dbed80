"""The schedule on show: its loop nest, its stages, and the steps that are taken on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench import markup as m
from workbench.advice.drop_targets import drops
from workbench.analysis.graph_drawing.svg_canvas import Canvas, width_of
from workbench.arguments import shown
from workbench.codegen.backend import require_runnable
from workbench.errors import ScheduleError, UsageError, did_you_mean
from workbench.log import Record
from workbench.schedule.html import nest_table
from workbench.schedule.primitive import from_json
from workbench.session import registry as declare
from workbench.session.core.encoding import deep
from workbench.session.core.notifications import NO_PROGRAM_HINT
from workbench.session.registry import Host, Row, SliceContext, needed
from workbench.session.schedule_view.current_schedule import current_view, listed, measure_new, taken_back
from workbench.session.schedule_view.nest_listing import accesses_slice, known, loop_of
from workbench.session.state.history import open_parts

MANY = 3
"""Steps taken at once that are still a variant each."""


@declare.slice_("nest")
def nest(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `nest`."""
    return context.nest


@declare.slice_("accesses", by_selection=True)
def accesses(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `accesses`: what the selected loop, or the one around what is selected, does to memory."""
    if context.view is None or context.nest is None:
        return None
    func, target, loop = context.view.schedule.func, context.state.target, loop_of(context.nest, context.state.selected)
    return context.cache["accesses"].of((func, loop), lambda: accesses_slice(func, target, loop))


@declare.command
def select(host: Host, id: str) -> None:
    """Select a row of the nest, a block or a buffer; "" selects nothing."""
    if not isinstance(id, str):
        raise UsageError("session.select", f"There is nothing called {id!r} to select", (), "give a name as text")
    nest = host.shown().get("nest")
    if nest is not None and id not in known(nest) and f"stmt:{id}" in known(nest):
        id = f"stmt:{id}"
    if id and (nest is None or id not in known(nest)):
        hint = did_you_mean(id, sorted(known(nest)), "rows") if nest is not None else NO_PROGRAM_HINT
        raise UsageError("session.select", f"There is nothing called {shown(id)} to select", (), hint)
    host.state.selected = id


@declare.command
def apply(host: Host, step: object, then: object = None, without: object = None) -> None:
    """Take a step, given in its JSON form, and those of the list `then` right after it; only their end is measured.

    Of several steps all are taken, or none; more than `MANY` are one variant (the command ``unfold`` shows each). The
    steps at the places `without` of the trace are taken back before.
    """
    steps = [from_json(one) for one in (step, *listed(then))]
    trial, schedule = taken_back(current_view(host).schedule, without), host.state.schedule
    assert schedule is not None
    names = [name for one in steps for name in trial.apply(one)] if then or without else []
    if len(steps) > MANY:
        host.state.go(host.state.tree.add_reached(trial, ", ".join(dict.fromkeys(one.name for one in steps))))
    elif without:
        schedule.go_to(trial)
    else:
        names = [name for one in steps for name in schedule.apply(one)]
    host.state.made = tuple(names)
    measure_new(host)


@declare.question("drops", lane="preview")
def drop_targets(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say where ``row`` can be dropped, and what is in the way elsewhere."""
    row, view = needed(args, "drops", "row"), current_view(host).schedule
    return lambda: {"targets": [drop.to_json() for drop in drops(view, row)]}


@declare.command
def measure(host: Host) -> None:
    """Measure the schedule on show, again if it was measured before."""
    view = current_view(host)
    if names := open_parts(view.schedule):
        text = f"Cannot measure while {', '.join(names)} {'is' if len(names) == 1 else 'are'} open"
        raise ScheduleError("schedule.open", text, names, "tune the schedule, or choose numbers")
    require_runnable(host.state.target)
    host.request(view)


declare.panel("nest", "Loop nest", 4, needs="program", about_task=True, page=4)
declare.panel("accesses", "Accesses", 5, needs="program", about_task=True)

PAD, ROW = 16.0, 26.0
"""Margin of the drawing and height of a row, in pixels."""

LEVELS = {"reg": "s1", "L1": "s1", "L2": "s3", "L3": "s5", "RAM": "s6"}
"""Shade of a cache."""


@declare.static("nest")
def _nest_html(nest: Mapping[str, Any], limit: int) -> m.Html:
    counts = f"{m.plural(nest['loops'], 'loop')}, {m.plural(nest['statements'], 'statement')}"
    return m.join(m.section("Loop nest"), m.line(m.faint(counts)), nest_table(nest, limit))


@declare.static("accesses")
def _accesses_html(accesses: Mapping[str, Any], limit: int) -> m.Html:
    if not accesses["row"]:
        return m.Html("")
    columns = (
        m.Column("Element", code=True),
        m.Column(""),
        m.Column("From one iteration to the next"),
        m.Column("touched"),
    )
    rows = [[m.text(r["text"], 80), r["kind"], m.text(r["says"], 80), m.size(r["touched"])] for r in accesses["rows"]]
    return m.join(
        m.section(f"Accesses while {m.clean(accesses['row'])} runs"), m.table(columns, m.cut(rows, limit, "accesses"))
    )


@declare.table("nest")
def _nest_table(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each loop and statement."""
    rows = deep(slices["nest"])["rows"] if slices.get("nest") else ()
    return [{k: v for k, v in row.items() if k != "kinds"} for row in rows]


@declare.drawing("nest")
def _nest_svg(nest: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    rows = deep(nest)["rows"]
    name = max([240.0, *(_name_width(row) for row in rows)])
    ends = [PAD + name + at for at in (52, 132, 260, 360)]  # right edges of extent, iterations, traffic, working set
    width = ends[3] + 8 + 64 + 10 + 30 + PAD
    head = slices.get("head") or {}
    to.text(PAD, 24, f"{head.get('name', 'Loop nest')} {head.get('step', '')}".strip(), size=13, bold=True)
    y = 34.0
    for x, word in zip(ends, ("extent", "iterations", "traffic", "working set"), strict=True):
        to.text(x, y + 17, word, size=11, fill="tx3", anchor="end")
    scales = _scales(rows)
    selected = (slices.get("selection") or {}).get("id")
    for row in rows:
        y += ROW
        if row["id"] == selected:
            to.rect(0, y, width, ROW, fill="soft")
            to.rect(0, y, 2, ROW, fill="ac")
        _nest_row(to, row, y, ends, scales)
    if nest.get("hidden"):
        y += ROW
        to.text(PAD, y + 17, f"… {m.plural(nest['hidden'], 'more row')}", size=11, fill="tx3")
    return to.done(width, y + ROW + PAD, f"Loop nest of {head.get('name', '')}")


def _nest_row(to: Canvas, row: Row, y: float, ends: Sequence[float], scales: Mapping[str, float]) -> None:
    x, base = PAD + 12 * row["depth"], y + 17
    for k in range(row["depth"]):
        to.path(f"M{PAD + 12 * k + 11.5:g} {y:g}v{ROW:g}", stroke="line", width=1)
    if row["kind"] != "loop":
        to.text(x, base, row["text"], mono=True, fill="tx2")
        return
    to.text(x, base, row["name"], mono=True, bold=True)
    x += width_of(row["name"], 12, mono=True) + 8
    for chip in row["chips"]:
        w = width_of(chip, 11) + 12
        to.rect(x, y + 4, w, 18, r=4, stroke=to.colour["line2"])
        to.text(x + 6, base, chip, size=11, fill="tx2")
        x += w + 6
    to.text(ends[0], base, _extent(row["extent"]), anchor="end")
    to.text(ends[1], base, m.compact(row["iters"]), anchor="end")
    to.text(ends[2], base, m.size(row["bytes"]), anchor="end")
    to.text(ends[3], base, m.size(row["ws"]), anchor="end")
    to.rect(ends[1] + 6, y + 10, 44 * _share(row["iters"], scales["iters"]), 6, fill="bar")
    to.rect(ends[3] + 8, y + 10, 64 * _share(row["ws"], scales["ws"]), 6, fill="bar")
    if level := row["level"]:
        tone = LEVELS.get(level, "s1")
        to.rect(ends[3] + 82, y + 5, 26, 16, r=3, fill=tone)
        to.text(
            ends[3] + 95,
            y + 17,
            level,
            size=10,
            bold=True,
            anchor="middle",
            fill="hi" if tone in ("s5", "s6") else "lo",
        )


def _name_width(row: Row) -> float:
    indent: float = 12.0 * row["depth"]
    if row["kind"] != "loop":
        return indent + width_of(row["text"], 12, mono=True) - 300  # may reach below the numbers
    return indent + width_of(row["name"], 12, mono=True) + sum(width_of(c, 11) + 18 for c in row["chips"]) + 16


def _scales(rows: Sequence[Row]) -> dict[str, float]:
    loops = [row for row in rows if row["kind"] == "loop"]
    return {name: max([2.0, *(row[name] or 0 for row in loops)]) for name in ("iters", "ws")}


def _share(value: float | None, most: float) -> float:
    return 0.0 if not value or value <= 0 else min(1.0, max(0.04, math.log(max(value, 1)) / math.log(most)))


def _extent(value: object) -> str:
    return m.UNKNOWN if value is None else m.counted(value) if isinstance(value, int) else str(value)
