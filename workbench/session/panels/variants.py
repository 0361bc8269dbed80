"""The variants of the schedule on show: a tree of the states that were reached by hand, and that the tuner found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench import markup as m
from workbench.analysis.graph_drawing.svg_canvas import Canvas, line_path
from workbench.arguments import shown, whole
from workbench.errors import UsageError
from workbench.exercise_mode import need
from workbench.log import Record
from workbench.markup import clean
from workbench.schedule.field_kinds import decode
from workbench.session import registry as declare
from workbench.session.core.notifications import NO_PROGRAM_HINT
from workbench.session.measurement import comparisons as contests
from workbench.session.registry import Host, Row, SliceContext, needed
from workbench.session.schedule_view import edit_step as changing
from workbench.session.schedule_view.current_schedule import measure_new
from workbench.session.state.trial_origin import DEFAULT
from workbench.session.state.variant_tree import ROOT
from workbench.session.variants.table import CALM, variant_table
from workbench.session.variants.transfer import carry
from workbench.space.default_schedule import default_schedule

LONGEST = 60
"""Letters of a name."""

declare.panel("variants", "Variants", 7, slice="history", needs="program", about_task=True, page=5)


@declare.slice_("history", after=("head",))
def history(context: SliceContext) -> dict[str, Any]:
    """Return the slice `history`."""
    state, view = context.state, context.view
    if view is None:
        return {
            "rows": [], "at": 0, "path": [], "can_undo": False, "can_redo": False, "auto": state.auto, "best": None,
            "hidden": 0, "contests": [], "change": None,
        }  # fmt: skip
    kept, tree = state.history, state.history.trees[view.key[0]]
    node = tree.nodes[view.node]
    return {
        "rows": kept.rows(tree, state.doing), "at": view.node, "path": list(tree.path(view.node)),
        "can_undo": node.parent is not None, "can_redo": node.last_child is not None, "auto": state.auto,
        "best": kept.best.get(tree.task), "hidden": kept.hidden.get(tree.task, 0),
        "contests": contests.shown(kept, tree), "change": contests.change(kept, tree),
        **contests.ahead(kept, tree),
    }  # fmt: skip


@declare.command
def undo(host: Host, n: int = 1) -> None:
    """Go to the variant that this one came of, and so on; fewer times when there are not as many."""
    tree = host.state.tree
    path = tree.path(tree.at)
    host.state.go(path[max(0, len(path) - 1 - whole("n", n, 0))])


@declare.command
def redo(host: Host, n: int = 1) -> None:
    """Go to the variant below this one that was on show last, and so on."""
    tree = host.state.tree
    ahead = [tree.at, *tree.undone()]
    host.state.go(ahead[min(whole("n", n, 0), len(ahead) - 1)])


@declare.command
def goto(host: Host, step: int) -> None:
    """Go to a variant, given by its number."""
    host.state.go(host.state.variant(step).id)


@declare.command
def branch(host: Host, node: int | None = None) -> None:
    """Go to a variant to begin another branch there: there is nothing to redo from it."""
    host.state.go(host.state.variant(node).id, afresh=True)


@declare.command
def name(host: Host, node: int | None, text: object) -> None:
    """Give a variant a name; "" takes it away."""
    found = host.state.variant(node)
    if not isinstance(text, str) or len(text.strip()) > LONGEST:
        raise UsageError("session.name", f"A name is a text of at most {LONGEST} letters, not {shown(text)}")
    found.name = " ".join(clean(text).split())  # it goes into files and pages


@declare.command
def star(host: Host, node: int | None = None, on: bool | None = None) -> None:
    """Mark a variant as one to come back to, or take the mark away; without `on` the other way round."""
    found = host.state.variant(node)
    found.star = not found.star if on is None else bool(on)


@declare.command
def forget(host: Host, node: int) -> None:
    """Remove a variant that nothing came of, and that has neither name nor star."""
    host.state.forget(host.state.variant(node))


@declare.command
def unfold(host: Host, node: int | None = None) -> None:
    """Show every single step on the way to a variant that was reached by several at once."""
    host.state.tree.unfold(host.state.variant(node).id)


@declare.command
def adopt(host: Host, task: object = None) -> None:
    """Show the best schedule of a task."""
    need("tuner")
    host.state.adopt(task)


@declare.command
def open_trial(host: Host, trial: int, task: object = None) -> None:
    """Show a trial's schedule as a branch, to go on with it by hand; without `task` the number says which it is."""
    number = whole("trial", trial, 0)
    host.state.adopt(host.state.task_of(number) if task is None else task, number)


@declare.command
def open_default(host: Host, task: object = None) -> None:
    """Show the schedule that a task has without tuning, as a branch; with its time where a run has measured it."""
    need("advice")
    state = host.state
    index = state.find(task)
    info = state.infos[index]
    if info.task is None:
        raise UsageError("session.no_program", "The log does not hold the program", (), NO_PROGRAM_HINT)
    known = [r for r in state.stats.records if r.task_key == info.key and r.origin == "default" and r.ok]
    if known:
        state.adopt(index, known[0].trial)
    else:
        found = default_schedule(info.task, info.task.target or state.target)
        found.target = info.task.target or state.target
        state.open_task(index)
        state.go(state.tree.add(ROOT, found, edge="steps", by="template", label=DEFAULT))
    measure_new(host)


@declare.command
def contest(host: Host, a: int, b: int | None = None) -> None:
    """Measure two variants against each other; one against that on show when `b` is left out."""
    contests.start(host, host.state.variant(a), host.state.variant(b))


@declare.command
def replay(host: Host, node: int | None, task: object, skip: bool = False) -> None:
    """Take a variant's steps on another task until one is not legal there; with `skip` all that are."""
    found = host.state.variant(node)
    carry(host.state, found, host.state.find(task), skip=bool(skip))
    measure_new(host)


@declare.question("step")
def step(host: Host, args: Mapping[str, Any]) -> dict[str, Any]:
    """Answer which step a variant ends with, for a form that changes it."""
    return changing.last_step(host.state.variant(needed(args, "step", "node")))


@declare.command
def change(host: Host, step: int, args: object, node: int | None = None) -> None:
    """Take a variant's steps with other arguments in one of them (counted from 1), until one is not legal any more."""
    found = host.state.variant(node)
    if not isinstance(args, dict) or not all(isinstance(name, str) for name in args):
        raise UsageError("session.arguments", f"The arguments of a step are an object, not {shown(args)}")
    changing.change(host.state, found, step, {name: decode(value) for name, value in args.items()})
    measure_new(host)


# ----- without a front end

PAD, STEP_X, STEP_Y = 16.0, 112.0, 74.0
"""Margin of the drawing, and distances of its columns and rows, in pixels."""


@declare.static("history")
def _variants_html(history: Mapping[str, Any], limit: int) -> m.Html:
    if not history["rows"]:
        return m.Html("")
    return m.join(m.section("Variants"), variant_table(history["rows"], history["at"], limit))


@declare.table("variants")
def _variants_table(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each variant of the task on show."""
    history = slices.get("history") or {"rows": (), "at": 0}
    return [{**row, "current": row["id"] == history["at"]} for row in history["rows"]]


@declare.drawing("variants")
def _variants_svg(history: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    rows = [{**row, "x": row.get("x", k), "y": row.get("y", 0)} for k, row in enumerate(history["rows"])]
    at, top = history["at"], min(row["y"] for row in rows)
    place = {row["id"]: (PAD + 48 + STEP_X * row["x"], 58 + STEP_Y * (row["y"] - top)) for row in rows}
    parent = {row["id"]: row.get("parent", rows[k - 1]["id"] if k else None) for k, row in enumerate(rows)}
    for row in rows:
        if (before := parent[row["id"]]) in place:
            _draw_edge(to, place[before], place[row["id"]], dashed=bool(row.get("undone")))
    for row in rows:
        _draw_variant(to, row, *place[row["id"]], now=row["id"] == at, fastest=row["id"] == history.get("best"))
    head = slices.get("head") or {}
    to.text(PAD, 20, f"Variants of {head.get('name', '')}", size=13, bold=True)
    width = max(x for x, _ in place.values()) + STEP_X / 2 + PAD
    return to.done(max(width, 360), max(y for _, y in place.values()) + 62, "Variants")


def _draw_edge(to: Canvas, a: tuple[float, float], b: tuple[float, float], dashed: bool) -> None:
    (x0, y0), (x1, y1) = a, b
    if y0 == y1:
        d = line_path([a, b])
    else:
        bend, r = x1 - STEP_X / 2, 8.0 if y1 > y0 else -8.0
        d = f"M{x0} {y0}H{bend - 8}Q{bend} {y0} {bend} {y0 + r}V{y1 - r}Q{bend} {y1} {bend + 8} {y1}H{x1}"
    to.path(d, width=1.5, stroke_dasharray="3 3" if dashed else None)


def _draw_variant(to: Canvas, row: Row, x: float, y: float, *, now: bool, fastest: bool) -> None:
    failed = row["status"] not in CALM
    name = f"v{row['id']}" + (f" {row['name']}" if row.get("name") else "") + (" ★" if row.get("star") else "")
    note = f"{name} · best" if fastest and len(name) < 12 else name
    to.text(x, y - 16, note, size=11, anchor="middle", fill="ac" if now else "tx2", bold=now or fastest, room=STEP_X)
    stroke = "dng" if failed else "ac" if now or row["holes"] else "tx2"
    dash = "2.5 2" if row["holes"] else None
    if now:
        to.circle(x, y, 9.5, fill="bg", stroke="ac", stroke_width=1.5)
    if row["by"] == "tuner":
        to.path(
            f"M{x} {y - 6.4}L{x + 6.4} {y}L{x} {y + 6.4}L{x - 6.4} {y}Z",
            stroke=stroke,
            width=1.5,
            fill="s3",
            stroke_dasharray=dash,
        )
    else:
        fill = "ac" if now and not failed and not row["holes"] else "bg"
        to.circle(x, y, 5.5, fill=fill, stroke=stroke, stroke_width=1.5, stroke_dasharray=dash)
    if failed:
        to.path(f"M{x - 2.5} {y - 2.5}l5 5m0 -5l-5 5", stroke="dng", width=1.5)
    to.text(x, y + 24, _time(row, failed), anchor="middle", fill="dng" if failed else "tx", bold=now, room=STEP_X)
    to.text(x, y + 39, row["text"].replace("'", ""), size=11, mono=True, anchor="middle", fill="tx2", room=STEP_X - 6)


def _time(row: Row, failed: bool) -> str:
    if failed:
        return str(row["status"]).replace("_", " ")
    if row["ms"] is not None:
        return m.row_time(row)
    if row.get("est") is not None:
        return f"≈ {m.milliseconds(row['est'])} est."
    return m.plural(row["holes"], "open number") if row["holes"] else "not measured"
