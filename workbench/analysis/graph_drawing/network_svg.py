"""A network or the stages of a task as SVG: boxes, bent edges, and a shade for the share of each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from workbench.analysis.graph_drawing.svg_canvas import Canvas

Row = Mapping[str, Any]

#: Pixels of the margin around the drawing. Chosen by eye.
PAD = 16.0


def columns_svg(columns: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    """Draw a network that travels as columns, see `Drawing.columns`."""
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
    return network_svg({**columns, "nodes": nodes, "edges": edges}, slices, to)


def _absolute(steps: Sequence[int]) -> list[int]:
    """Return the points of a line that travelled as its beginning and steps."""
    both = (accumulate(steps[::2]), accumulate(steps[1::2]))
    return [v for point in zip(*both, strict=True) for v in point]


def network_svg(drawing: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    """Draw nodes and edges; a task is the darker the larger its share of the time is."""
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
