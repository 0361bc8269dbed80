"""Panels of a workbench as SVG pictures, from the same values that a front end draws them from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from workbench import markup as m
from workbench.analysis.graph_drawing.svg import THEMES, Canvas, line_path, width_of
from workbench.arguments import is_a, shown
from workbench.errors import UsageError, did_you_mean

Row = Mapping[str, Any]

PAD, ROW = 16.0, 26.0
STEP_X, STEP_Y = 112.0, 74.0
LEVELS = {"reg": "s1", "L1": "s1", "L2": "s3", "L3": "s5", "RAM": "s6"}
CALM = ("", "ok", "queued", "measuring")


def draw(slices: Mapping[str, Any], panel: str, theme: str = "light") -> str:
    """Draw a panel.

    Parameters
    ----------
    slices : mapping
        The slices of a session's snapshot; ``graph`` is the drawing of the network, as the question "graph" answers
        (`network(...).columns()`).
    panel : {"nest", "variants", "graph", "stages", "tasks"}
    theme : {"light", "dark"}

    Returns
    -------
    str
        A whole SVG document without references to anything else.

    Raises
    ------
    UsageError
        "export.panel" for something that cannot be drawn, "export.empty" when there is nothing in it, "export.theme".
    """
    is_a("slices", slices, Mapping)
    drawable(panel)
    if theme not in list(THEMES):  # which compares, whatever was passed in
        raise UsageError("export.theme", f"There is no theme {shown(theme)}", (), "choose 'light' or 'dark'")
    value = slices.get("history" if panel == "variants" else panel)
    if not value or not value.get({"graph": "id", "stages": "nodes"}.get(panel, "rows")):
        raise UsageError("export.empty", f"There is nothing in {panel!r} to draw", (), "open a task or a model first")
    return PANELS[panel](value, slices, Canvas(theme))


def drawable(panel: object) -> str:
    """Return the name of a panel that can be drawn; raises "export.panel" for anything else."""
    if not isinstance(panel, str) or panel not in PANELS:
        hint = did_you_mean(panel, PANELS, "drawings")
        raise UsageError("export.panel", f"There is no drawing of {shown(panel)}", (), hint)
    return panel


# ----- the loop nest


def _nest(nest: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    rows = _with_depth(nest["rows"])
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


def _with_depth(rows: Sequence[Row]) -> list[dict[str, Any]]:
    depths: dict[str, int] = {}
    for row in rows:
        depths[row["id"]] = 0 if row["parent"] is None else depths.get(row["parent"], -1) + 1
    return [{**row, "depth": depths[row["id"]]} for row in rows]


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


# ----- variants


def _variants(history: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    rows = [{**row, "x": row.get("x", k), "y": row.get("y", 0)} for k, row in enumerate(history["rows"])]
    at, top = history["at"], min(row["y"] for row in rows)
    place = {row["id"]: (PAD + 48 + STEP_X * row["x"], 58 + STEP_Y * (row["y"] - top)) for row in rows}
    parent = {row["id"]: row.get("parent", rows[k - 1]["id"] if k else None) for k, row in enumerate(rows)}
    for row in rows:
        if (before := parent[row["id"]]) in place:
            _edge(to, place[before], place[row["id"]], dashed=bool(row.get("undone")))
    best = min((row["ms"] for row in rows if row["ms"] is not None and not row.get("doubt")), default=None)
    for row in rows:
        _variant(to, row, *place[row["id"]], now=row["id"] == at, best=best)
    head = slices.get("head") or {}
    to.text(PAD, 20, f"Variants of {head.get('name', '')}", size=13, bold=True)
    width = max(x for x, _ in place.values()) + STEP_X / 2 + PAD
    return to.done(max(width, 360), max(y for _, y in place.values()) + 62, "Variants")


def _edge(to: Canvas, a: tuple[float, float], b: tuple[float, float], dashed: bool) -> None:
    (x0, y0), (x1, y1) = a, b
    if y0 == y1:
        d = line_path([a, b])
    else:
        bend, r = x1 - STEP_X / 2, 8.0 if y1 > y0 else -8.0
        d = f"M{x0} {y0}H{bend - 8}Q{bend} {y0} {bend} {y0 + r}V{y1 - r}Q{bend} {y1} {bend + 8} {y1}H{x1}"
    to.path(d, width=1.5, stroke_dasharray="3 3" if dashed else None)


def _variant(to: Canvas, row: Row, x: float, y: float, *, now: bool, best: float | None) -> None:
    failed, fastest = row["status"] not in CALM, best is not None and row["ms"] == best and not row.get("doubt")
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


# ----- the network, and the stages of a task


def _graph(columns: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    words = columns["words"]
    texts = {name: [words[k] for k in columns[name]] for name in ("label", "sub", "kind")}
    names = ("label", "sub", "kind", "task", "x", "y", "w", "h")
    cells = zip(*(texts.get(name) or columns[name] for name in names), strict=True)
    nodes = [dict(zip(names, cell, strict=True)) for cell in cells]
    edges = [{"points": _absolute(steps)} for steps in columns["points"]]
    folds = columns["folds"]
    for values in zip(*folds.values(), strict=True):
        fold = dict(zip(folds, values, strict=True))
        x, y = fold["x"] + PAD, fold["y"] + PAD
        to.rect(x, y, fold["w"], fold["h"], r=6, stroke=to.colour["line2"])
        to.text(x + 8, y + 15, words[fold["title"]], size=11, fill="tx2", room=fold["w"] - 48)
        to.text(x + fold["w"] - 8, y + 15, f"×{fold['times']}", size=11, bold=True, anchor="end")
    return _stages({**columns, "nodes": nodes, "edges": edges}, slices, to)


def _absolute(steps: Sequence[int]) -> list[int]:
    """Return the points of a line that travelled as its beginning and steps."""
    both = (accumulate(steps[::2]), accumulate(steps[1::2]))
    return [v for point in zip(*both, strict=True) for v in point]


def _stages(drawing: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    tones = _tones((slices.get("tasks") or {"rows": ()})["rows"])
    current = (slices.get("head") or {}).get("task")
    for edge in drawing["edges"]:
        flat = edge["points"]
        to.path(_bend([(x + PAD, y + PAD) for x, y in zip(flat[::2], flat[1::2], strict=True)]))
    for node in drawing["nodes"]:
        x, y, w, h = node["x"] + PAD, node["y"] + PAD, node["w"], node["h"]
        tone = tones.get(node["task"], 0) if node["kind"] == "task" else 0
        light = node["kind"] in ("view", "input", "output")
        round_ = h / 2 if node["kind"] in ("input", "output") else 4
        if node["task"] is not None and node["task"] == current:
            to.rect(x - 3, y - 3, w + 6, h + 6, r=round_ + 3, stroke=to.colour["ac"], stroke_width=2)
        to.rect(
            x, y, w, h, r=round_, fill=f"s{tone}" if tone else "bg", stroke=to.colour["line2"],
            stroke_dasharray="3 2" if node["kind"] == "view" else None,
        )  # fmt: skip
        ink = "tx3" if light else "hi" if tone > 4 else "lo" if tone else "tx"
        two = bool(node["sub"]) and h >= 32
        to.text(
            x + w / 2,
            y + (h / 2 - 3 if two else h / 2 + 4),
            node["label"],
            size=11,
            anchor="middle",
            fill=ink,
            room=w - 8,
        )
        if two:
            to.text(x + w / 2, y + h / 2 + 11, node["sub"], size=10, anchor="middle", fill=ink, room=w - 8)
    return to.done(drawing["width"] + 2 * PAD, drawing["height"] + 2 * PAD, "Graph")


def _bend(points: Sequence[tuple[float, float]]) -> str:
    """Return a path that leaves and arrives vertically."""
    out = f"M{points[0][0]:g} {points[0][1]:g}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        out += f"C{x0:g} {middle:g} {x1:g} {middle:g} {x1:g} {y1:g}"
    return out


def _tones(rows: Sequence[Row]) -> dict[int, int]:
    """Return how dark each task is drawn: by its share of the time, where that is known."""
    most = max((row["share"] or 0.0 for row in rows), default=0.0)
    return {row["id"]: 1 + min(5, int(5.999 * row["share"] / most)) for row in rows if row["share"]} if most else {}


# ----- tasks


def _tasks(tasks: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    rows = sorted(tasks["rows"], key=lambda row: -(row["share"] or 0.0))
    name = max(200.0, *(width_of(row["name"]) for row in rows))
    ends = [PAD + name + at for at in (40, 120, 200, 260)]
    to.text(PAD, 24, "Tasks", size=13, bold=True)
    network, total_ms = tasks.get("network"), tasks.get("total_ms")
    if network or total_ms is not None:
        whole = (
            f"end to end {m.milliseconds(network['ms'])}" if network else f"sum of kernels {m.milliseconds(total_ms)}"
        )
        to.text(ends[3] + 110, 24, whole, anchor="end", fill="tx2")
    for x, word in zip(ends, ("×", "best", "GFLOP/s", "trials"), strict=True):
        to.text(x, 50, word, size=11, fill="tx3", anchor="end")
    y = 34.0
    for row in rows:
        y += 22
        to.text(PAD, y + 15, row["name"])
        for x, value in zip(
            ends, (row["weight"], m.milliseconds(row["ms"]), m.digits(row["gflops"]), row["trials"]), strict=True
        ):
            to.text(x, y + 15, value, anchor="end")
        to.rect(ends[3] + 16, y + 7, 50 * (row["share"] or 0.0), 8, fill="s4")
        to.text(ends[3] + 110, y + 15, m.percent(row["share"]) if row["share"] is not None else "", anchor="end")
    return to.done(ends[3] + 110 + PAD, y + 22 + PAD, "Tasks")


Draw = Callable[[Row, Mapping[str, Any], Canvas], str]
PANELS: Mapping[str, Draw] = {
    "nest": _nest, "variants": _variants, "graph": _graph, "stages": _stages, "tasks": _tasks,
}  # fmt: skip
"""What can be drawn."""
