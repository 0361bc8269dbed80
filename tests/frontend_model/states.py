"""States of a workbench that the front-end tests show: what the kernel would send, built from a few rules."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_SHAPES = [
    ("conv2d 3x3 256→256 @14x14 + bias + relu", 6, 0.412, 231),
    ("conv2d 3x3 512→512 @7x7 + bias + relu", 3, 0.553, 231),
    ("conv2d 3x3 128→128 @28x28 + bias + relu", 4, 0.403, 231),
    ("conv2d 3x3 64→64 @56x56 + bias + relu", 3, 0.438, 231),
    ("conv2d 1x1 256→1024 @14x14 + bias + add + relu", 6, 0.211, 103),
    ("conv2d 1x1 1024→256 @14x14 + bias + relu", 5, 0.205, 103),
    ("conv2d 1x1 64→256 @56x56 + bias + add + relu", 3, 0.277, 103),
    ("conv2d 7x7 3→64 /2 @112x112 + bias + relu", 1, 0.742, 236),
    ("max_pool 3x3 /2 64 @56x56", 1, 0.121, 2),
    ("global_avg_pool 2048 @7x7", 1, 0.02, 0.1),
    ("dense 2048→1000 + bias", 1, 0.31, 4),
]


def tasks(trials: int = 96, *, measured: bool = True) -> Json:
    """The `tasks` slice."""
    rows: list[Json] = []
    total = sum(w * ms for _, w, ms, _ in _SHAPES)
    for i, (name, weight, ms, mflop) in enumerate(_SHAPES):
        done = max(0, trials - 12 * i) if measured else 0
        known = done > 0
        state = "" if not measured else "tuning" if i == 3 else "exhausted" if i == 9 else "measured"
        if measured and not known:
            state = "waiting" if i < 10 else "no result"
        rows.append(
            {
                "id": i,
                "key": f"k{i}",
                "name": name,
                "weight": weight,
                "flops": int(mflop * 1e6),
                "ms": ms if known else None,
                "gflops": mflop / ms if known else None,
                "trials": done,
                "failed": 17 if i == 1 else (i % 3 if known else 0),
                "failures": {"timeout": 11, "wrong_answer": 4, "run_error": 2} if i == 1 else {},
                "untuned_ms": 2 * ms,
                "share": weight * ms / total if known else None,
                "state": state,
                "reason": "",
                "delta": None if not known else 0.0 if i in (5, 9) else -0.06 / (i + 1),
                "spark": [ms * (1 + 1.5 / (k + 1) ** 1.3) for k in range(min(24, done // 4))],
            }
        )
    return {
        "rows": rows,
        "total_ms": sum(r["weight"] * r["ms"] for r in rows if r["ms"]) if measured else None,
        "untuned_ms": 2 * total,
        "covers": "sum of 34 kernels",
    }


def estimated() -> Json:
    """The `tasks` slice before anything was measured."""
    slice_ = tasks(measured=False)
    total = sum(w * ms for _, w, ms, _ in _SHAPES)
    for row, (_, weight, ms, _) in zip(slice_["rows"], _SHAPES, strict=True):
        row |= {"est": ms, "est_share": weight * ms / total, "untuned_ms": None}
    return {**slice_, "untuned_ms": None, "est_ms": total}


def graph() -> Json:
    """A drawing: a residual network in small."""
    boxes: list[Json] = []
    edges: list[Json] = []

    def box(label: str, sub: str, task: int | None, kind: str, x: int, level: int) -> str:
        node = f"n{len(boxes)}"
        y = 8 + level * 56
        entry = {"id": node, "label": label, "sub": sub, "task": task, "kind": kind, "x": x, "y": y, "w": 168, "h": 36}
        boxes.append(entry)
        return node

    def edge(a: str, b: str) -> None:
        p, q = (next(n for n in boxes if n["id"] == i) for i in (a, b))
        start, end = [p["x"] + 84, p["y"] + 36], [q["x"] + 84, q["y"]]
        middle = (start[1] + end[1]) / 2
        edges.append({"a": a, "b": b, "points": [*start, start[0], middle, end[0], middle, *end]})

    last = box("data", "1x224x224x3", None, "input", 8, 0)
    level = 1
    for label, task in (("conv 7x7 /2", 7), ("max_pool 3x3", 8)):
        node = box(label, "1x112x112x64", task, "task", 8, level)
        edge(last, node)
        last, level = node, level + 1
    for block in range(8):
        first = box("conv 1x1", "1x56x56x64", 5, "task", 8, level)
        second = box("conv 3x3", "1x56x56x64", block % 4, "task", 8, level + 1)
        skip = box("reshape", "1x3136x64", None, "view", 200, level + 1)
        joined = box("conv 1x1 + add", "1x56x56x256", 4, "task", 8, level + 2)
        for a, b in ((last, first), (first, second), (last, skip), (second, joined), (skip, joined)):
            edge(a, b)
        last, level = joined, level + 3
    for label, task, kind in (("global_avg_pool", 9, "task"), ("dense 1000", 10, "task"), ("prob", None, "output")):
        node = box(label, "1x1000", task, kind, 8, level)
        edge(last, node)
        last, level = node, level + 1
    return {"nodes": boxes, "edges": edges, "width": 376, "height": level * 56}


def columns(drawing: Json, folds: list[Json] | None = None) -> Json:
    """The answer to the question "graph": a drawing column by column."""
    nodes, edges = drawing["nodes"], drawing["edges"]
    folds = folds or []
    words = sorted(
        {n[c] for n in nodes for c in ("label", "sub", "kind")}
        | {n.get("dtype", "") for n in nodes}
        | {f["title"] for f in folds}
    )
    fields = ("id", "title", "times", "nodes", "open", "task", "x", "y", "w", "h")
    frames = {c: [words.index(f[c]) if c == "title" else f[c] for f in folds] for c in fields}
    lines = [e["points"] for e in edges]
    at = {one["id"]: k for k, one in enumerate([*nodes, *folds])}
    return {
        "key": "k", "words": words, **{c: [words.index(n[c]) for n in nodes] for c in ("label", "sub", "kind")},
        **{c: [n[c] for n in nodes] for c in ("id", "task", "x", "y", "w", "h")},
        **{c: [n.get(c, usual) for n in nodes] for c, usual in (("bytes", 4096), ("ops", 1), ("fold", None))},
        "dtype": [words.index(n.get("dtype", "")) for n in nodes],
        "folds": frames, "points": [p[:2] + [b - a for a, b in zip(p, p[2:], strict=False)] for p in lines],
        "likes": {k: n["likes"] for k, n in enumerate(nodes) if n.get("likes")},
        "a": [at[e["a"]] for e in edges], "b": [at[e["b"]] for e in edges],
        "width": drawing["width"], "height": drawing["height"],
        "marks": [
            {"node": k, "mark": n["mark"], "reason": n["reason"]} for k, n in enumerate(nodes) if n.get("mark")
        ],
    }  # fmt: skip


def fold(drawing: Json, ids: list[str], **more: Any) -> Json:
    """A frame around some nodes of a drawing, which learn of it."""
    inside = [n for n in drawing["nodes"] if n["id"] in ids]
    left, top = min(n["x"] for n in inside) - 8, min(n["y"] for n in inside) - 24
    right, bottom = max(n["x"] + n["w"] for n in inside) + 8, max(n["y"] + n["h"] for n in inside) + 8
    for n in inside:
        n["fold"] = 0
    box = {"x": left, "y": top, "w": right - left, "h": bottom - top}
    usual = {"id": "fold:a", "title": "stage 1 · 56×56", "times": 4, "nodes": len(ids), "open": False, "task": None}
    return {**usual, **box, **more}


def huge_graph(count: int = 2000, columns: int = 10) -> Json:
    """A graph of `count` nodes in rows of `columns`."""
    nodes = [
        {
            "id": f"h{i}",
            "label": f"conv2d 3x3 {i}",
            "sub": "1x56x56x64",
            "task": i % len(_SHAPES),
            "kind": "task",
            "x": 8 + (i % columns) * 190,
            "y": 8 + (i // columns) * 60,
            "w": 168,
            "h": 36,
        }
        for i in range(count)
    ]
    edges = [
        {"a": a["id"], "b": b["id"], "points": [a["x"] + 84, a["y"] + 36, b["x"] + 84, b["y"]]}
        for a, b in zip(nodes, nodes[columns:], strict=False)
    ]
    return {"nodes": nodes, "edges": edges, "width": columns * 190, "height": (count // columns) * 60 + 16}


def stages() -> Json:
    """The `stages` slice of a convolution."""
    places = [
        ("in", "1x56x56x64 float32", "input", 8, 8),
        ("w", "3x3x64x64 float32", "input", 200, 8),
        ("pad", "1x58x58x64 float32", "task", 8, 72),
        ("acc", "1x56x56x64 float32", "task", 104, 136),
        ("out", "1x56x56x64 float32", "task", 104, 200),
    ]
    nodes = [
        {"id": n, "label": n, "sub": s, "task": None, "kind": k, "x": x, "y": y, "w": 168, "h": 40}
        for n, s, k, x, y in places
    ]
    at = {n["id"]: n for n in nodes}
    pairs = [("in", "pad"), ("pad", "acc"), ("w", "acc"), ("acc", "out")]
    edges = [
        {
            "a": a,
            "b": b,
            "points": [at[a]["x"] + 84, at[a]["y"] + 40, at[b]["x"] + 84, at[b]["y"]],
        }
        for a, b in pairs
    ]
    return {"nodes": nodes, "edges": edges, "width": 376, "height": 248}


def tuning(state: str = "running", **more: Any) -> Json:
    """The `tuning` slice in one of its states."""
    slice_: Json = {
        "state": state,
        "trials": 1216,
        "total": 2000,
        "elapsed_s": 641.0,
        "eta_s": 413.0,
        "fraction": 0.608,
        "rate": 1.9,
        "failed": 17,
        "scope": "all",
        "log": "/home/someone/resnet50.tunelog.jsonl",
        "message": "",
        "best_ready": True,
        "best_why": "the tuner has no result for this task yet",
    }
    if state in ("none", "idle"):
        blank = {"trials": 0, "total": None, "elapsed_s": 0.0, "eta_s": None, "fraction": None, "rate": None}
        slice_.update(blank, failed=0, log="", best_ready=False)
    if state == "failed":
        slice_["message"] = "The log file could not be written: no space left on the device."
    return {**slice_, **more}


def field(name: str, widget: str, **more: Any) -> Json:
    """An input of a command's form."""
    return {"name": name, "widget": widget, "label": f"what {name} is", "required": False, **more}


def orders() -> list[Json]:
    """Commands to a run as the kernel declares them; the last one is none that anybody knows."""
    task = field("task", "text", required=True, names="task")
    hole = field("hole", "text", names="hole")
    variant = field("variant", "number", names="variant")
    return [
        {
            "name": "pin",
            "summary": "Hold a hole at one value.",
            "fields": [task, {**hole, "required": True}, field("value", "number", required=True, of="hole")],
        },
        {
            "name": "forbid",
            "summary": "Propose no more of these.",
            "fields": [task, hole, field("values", "numbers", of="hole"), variant],
        },
        {"name": "add", "summary": "Measure a candidate next.", "fields": [task, field("trace", "shown")]},
        {"name": "epsilon", "summary": "Change the share.", "fields": [field("value", "real", required=True)]},
        {
            "name": "polish",
            "summary": "A command of a later version.",
            "fields": [field("hard", "checkbox"), field("how", "text"), field("steps", "number")],
        },
    ]


SPACE: Json = {
    "holes": [
        {"name": "i_0", "values": [1, 2, 4], "variants": [0, 1]},
        {"name": "j_0", "values": [8, 16], "variants": [1]},
    ],
    "variants": [{"id": 0, "label": "SSRS", "rows": 12}, {"id": 1, "label": "SSRSRS · pack", "rows": 99}],
}


def command(number: int, name: str, **more: Any) -> Json:
    """One line of the list of commands."""
    usual = {"text": "value 0.2", "task": "", "source": "widget", "accepted": True, "error": "", "at": 12.3}
    return {"id": number, "name": name, **usual, **more}


def steering(**more: Any) -> Json:
    """The `steering` slice of a run that nobody has steered yet."""
    last = {
        "text": "trial 31 against trial 12: 31 is 1.044× as fast, sure",
        "won": True,
        "why": "new best",
        "trials": [12, 31],
        "winner": 31,
    }
    name = _SHAPES[0][0]
    terms = {"gain": 0.0042, "backward": 0.0011, "optimism": 0.0049, "similarity": 0.0}
    return {
        "next": {"name": name, "reason": "saves most", **terms},
        "task": {
            "trial": 31,
            "ms": 0.438,
            "spread": 0.006,
            "origin": "a fast one with another number",
            "since": None,
            "run": None,
            "quality": 0.87,
            "reason": "few rounds so far",
            "resting": False,
            "compared": 5,
            "won": 3,
            "last": last,
            "waiting": 1,
            "failures": [
                {"kind": "timeout", "count": 11, "trial": 71, "error": "It took longer than 10 s.", "opens": True},
                {"kind": "build_error", "count": 1, "trial": 9, "error": "No register is left.", "opens": False},
            ],
        },
        "held": [],
        "values": {"epsilon": {"value": 0.08}},
        "commands": [],
        "count": 0,
        "refused": 0,
        **more,
    }


def expecting(trials: int = 96) -> Json:
    """The `tasks` slice while a run is on: with what the scheduler expects of each task."""
    slice_ = tasks(trials)
    for i, row in enumerate(slice_["rows"]):
        known = row["ms"] is not None
        terms = {"backward": 0.002 * (i % 3), "optimism": 0.03 / (i + 1), "similarity": 0.0}
        row |= terms if known else dict.fromkeys(terms)
        row |= {"rounds": 3 + i if known else 0}
        row |= {"gain": 0.024 * row["weight"] / (i + 1) if known else None, "more": 10 * i, "confidence": 0.988}
        row |= {"reason": "few rounds so far" if known else "has not been tried yet", "compared": 5, "spread": 0.02}
    return slice_


def steered(**more: Any) -> Json:
    """All slices of a run that can be steered."""
    all_ = state(**{"steering": steering(), "tasks": expecting(), **more})
    return {**all_, "meta": {**all_["meta"], "orders": orders()}}


def state(**more: Any) -> Json:
    """All slices of a model that is being tuned; `more` replaces some."""
    return {
        "meta": {
            "version": "0.1.0",
            "kind": "model",
            "title": "ResNet-50",
            "target": "x86-64 · 2 threads · AVX-512",
            "threads": 2,
            "peak_gflops": 742.0,
            "caches": [{"name": "L1", "bytes": 49152}, {"name": "L2", "bytes": 1048576}],
            "primitives": [],
            "panels": ["graph", "tasks", "stages", "nest", "palette", "variants", "tuning", "chart"],
        },
        "graph": {"key": "k", "nodes": 60, "kernels": 30, "source": True},
        "tasks": tasks(),
        "head": {
            "task": 3,
            "name": "conv2d 3x3 64→64 @56x56 + bias + relu",
            "weight": 3,
            "flops": 231000000,
            "step": "v5",
            "ms": 0.512,
            "spread": 0.006,
            "gflops": 452.0,
            "peak_share": 0.609,
            "best_ms": 0.438,
            "best_by": "tuner",
            "holes": 0,
        },
        "stages": stages(),
        "nest": {"rows": [], "loops": 0, "statements": 0, "hidden": 0, "buffers": ["in", "w", "acc"], "holes": []},
        "selection": {"id": ""},
        "palette": {"at": "", "about": "", "rows": []},
        "history": {
            "rows": [],
            "at": 0,
            "can_undo": False,
            "can_redo": False,
            "path": [],
            "best": None,
            "hidden": 0,
            "contests": [],
            "auto": True,
        },
        "tuning": tuning(),
        "status": {"busy": "", "note": None, "log": ""},
        **more,
    }
