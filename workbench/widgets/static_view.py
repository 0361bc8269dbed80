"""A workbench without its browser: what a saved notebook, a printed page or a terminal shows of it.

It is made from the same slices that the live view gets, so it shows the state at the time the cell was run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.log.task_table import task_table, totals
from workbench.runtime.machine.above_roof import MARK, marked
from workbench.schedule.html import nest_table
from workbench.session import readable

if TYPE_CHECKING:
    from workbench.session import Session
    from workbench.widgets.root import Panel, Workbench

VIEW_TYPE = "application/vnd.schedule-workbench.view+json"
"""MIME type by which a saved notebook keeps a readable copy beside the live view."""

LARGEST = 40_000
"""Bytes of the HTML at most; long tables are cut shorter until it fits."""

_ROWS = (60, 40, 25, 15, 8, 4)
_FEW = 40
_VARIANTS = (
    m.Column("", number=True),
    m.Column("from", number=True),
    m.Column("", code=True),
    m.Column("Latency", number=True),
    m.Column(""),
    m.Column("GFLOP/s", number=True),
    m.Column(""),
)
#: Slices of the panels that are called otherwise.
_SLICES = {"variants": "history", "chart": "tuning"}
#: Panels that are about the task on show.
_OF_TASK = ("stages", "nest", "accesses", "palette", "variants", "code")
_NODES = (m.Column("Node"), m.Column("Shape or detail"), m.Column("Kind"))


def static_html(slices: Mapping[str, Any], panel: str = "all") -> str:
    """Return a readable copy of a workbench that survives a notebook's sanitiser.

    Parameters
    ----------
    slices : mapping
        The slices of a snapshot; those that are missing or None are left out.
    panel : str
        "all", or the one part to show.
    """
    slices, out = readable(slices), ""
    for limit in _ROWS:
        out = m.page(_title(slices), *_parts(slices, panel, limit))
        if len(out.encode()) <= LARGEST:
            break
    return out


def static_text(slices: Mapping[str, Any]) -> str:
    """Return one or two lines about a workbench."""
    meta, head = slices.get("meta") or {}, slices.get("head")
    lines = [f"Workbench: {m.clean(meta.get('title', ''))}".rstrip(": ")]
    if head:
        ms = f", {m.row_time(head)}" if head.get("ms") is not None else ""
        ms += f" ({m.clean(head['doubt']['text'])})" if head.get("doubt") else ""
        lines.append(f"  {m.clean(head['name'])} {head.get('step', '')}".rstrip() + ms)
    tuning = slices.get("tuning") or {}
    if tuning.get("state", "none") not in ("none", ""):
        lines.append(f"  tuning {tuning['state']}, {m.plural(tuning.get('trials') or 0, 'trial')}")
    return "\n".join(lines)


def saved_slices(session: Session) -> dict[str, Any]:
    """Return what is shown, and beside it the text of the nest, for `static_html`."""
    slices: dict[str, Any] = dict(session.snapshot().slices)
    schedule = session.schedule
    if schedule is not None:
        slices["code"] = {"text": schedule.copy().nest()}
    return slices


def with_copy(widget: Workbench | Panel, bundle: Any, session: Session) -> Any:
    """Return what a notebook saves of a view, with the copy of it that can be read without a kernel."""
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    if not data:
        return bundle
    slices = saved_slices(session)
    html = static_html(slices, widget.panel)
    saved = {"model_id": widget.model_id, "html": html, "version": 1}
    return {**data, "text/plain": static_text(slices), "text/html": html, VIEW_TYPE: saved}, metadata


def _title(slices: Mapping[str, Any]) -> m.Html:
    meta = slices.get("meta") or {}
    return m.heading("Workbench", meta.get("title", ""), m.clean(meta.get("target", "")))


def _parts(slices: Mapping[str, Any], panel: str, limit: int) -> list[m.Html]:
    if panel == "all":
        several = "tasks" in (slices.get("meta") or {}).get("panels", ("tasks",))
        names = (*(["tasks"] if several else []), "tuning", "head", "nest", "history", "code")
        return [part for name in names if (part := _part(slices, name, limit))]
    around = [_part(slices, "head", limit)] if panel in _OF_TASK else []
    found = _part(slices, _SLICES.get(panel, panel), limit)
    return [*around, found or m.line(m.faint("There is nothing to show here yet."))]


def _part(slices: Mapping[str, Any], name: str, limit: int) -> m.Html:
    value = slices.get(name)
    if not value:
        return m.Html("")
    draw = {
        "tasks": _tasks, "tuning": _tuning, "head": _head, "nest": _nest, "history": _variants, "palette": _palette,
        "graph": _model, "stages": _drawing, "accesses": _accesses, "code": _code,
    }[name]  # fmt: skip
    return draw(value, limit)


def _tasks(tasks: Mapping[str, Any], limit: int) -> m.Html:
    if not tasks["rows"]:
        return m.Html("")
    total, network = totals(tasks["total_ms"], tasks["untuned_ms"]), tasks.get("network")
    whole = totals(network["ms"], network["untuned_ms"], "end to end, measured") if network else ""
    return m.join(m.section("Tasks"), whole, total, task_table(tasks["rows"], min(limit, _FEW)))


def _tuning(tuning: Mapping[str, Any], limit: int) -> m.Html:
    if tuning["state"] == "none" and not tuning.get("trials"):
        return m.Html("")
    done, total = m.counted(tuning["trials"]), tuning.get("total")
    trials = f"{done} of {m.counted(total)} trials" if total is not None else m.plural(tuning["trials"], "trial")
    state = "" if tuning["state"] == "none" else tuning["state"]
    failed = f"{m.counted(tuning['failed'])} failed" if tuning.get("failed") else ""
    facts = [state, trials, failed, m.duration(tuning["elapsed_s"]) if tuning.get("elapsed_s") else ""]
    parts = [m.section("Tuning"), m.line(" · ".join(f for f in facts if f))]
    if tuning.get("fraction"):
        parts.append(m.line(m.bar(tuning["fraction"], 240), " ", m.percent(tuning["fraction"]), " of the budget"))
    if tuning.get("message"):
        parts.append(m.line((m.bad if state == "failed" else m.text)(tuning["message"], 300)))
    return m.join(*parts)


def _head(head: Mapping[str, Any], limit: int) -> m.Html:
    name = m.join(m.text(head["name"], 100), m.faint(f" ×{head['weight']}") if (head.get("weight") or 1) > 1 else "")
    step = head.get("step") or ""
    facts: list[object] = [step, m.operations(head.get("flops"))]
    if head.get("ms") is not None:
        facts.append(m.Html(f"<b>{m.row_time(head)}</b>"))
        facts.append(m.bad(head["doubt"]["text"], 120) if head.get("doubt") else "")
        facts.append(f"{m.digits(head.get('gflops'))} GFLOP/s" if head.get("gflops") else "")
        facts.append(f"{marked(head['peak_share'])} of the peak" if head.get("peak_share") else "")
    if head.get("best_ms") is not None:
        by = {"hand": " by hand", "tuner": " by the tuner"}.get(head.get("best_by") or "", "")
        facts.append(f"best {m.milliseconds(head['best_ms'])}{by}")
    if head.get("holes"):
        facts.append(m.plural(head["holes"], "open number"))
    shown = [m.text(f) for f in facts if f != ""]
    why = [m.line(m.faint(f"{MARK} {head['above']}."))] if head.get("above") else []
    return m.join(m.section("Task"), m.line(name), m.line(m.Html(" · ".join(shown))), *why)


def _nest(nest: Mapping[str, Any], limit: int) -> m.Html:
    counts = f"{m.plural(nest['loops'], 'loop')}, {m.plural(nest['statements'], 'statement')}"
    return m.join(m.section("Loop nest"), m.line(m.faint(counts)), nest_table(nest, limit))


def _variants(history: Mapping[str, Any], limit: int) -> m.Html:
    rows, at = history["rows"], history["at"]
    if not rows:
        return m.Html("")
    place = next((k for k, row in enumerate(rows) if row["id"] == at), 0)
    start = max(0, min(place - limit // 2, len(rows) - limit))  # the current one is always among those shown
    slowest = max((r["ms"] for r in rows if r["ms"] is not None and not r.get("doubt")), default=0.0)
    shown = [_variant(r, at, slowest) for r in rows[start : start + limit]]
    before = m.line(m.faint(f"… {m.plural(start, 'earlier variant')}")) if start else ""
    return m.join(m.section("Variants"), before, m.table(_VARIANTS, m.cut(shown, limit, "variants", len(rows) - start)))


def _variant(row: Mapping[str, Any], at: int, slowest: float) -> list[object]:
    text = m.text(row["text"], 90)
    if row["undone"]:
        text = m.faint(text)
    notes: list[m.Html] = []
    if row.get("name"):
        notes.append(m.text(row["name"], 60))
    if row.get("star"):
        notes.append(m.Html("★"))
    if row["id"] == at:
        notes.append(m.chip("now"))
    if row["undone"]:
        notes.append(m.chip("undone"))
    if row["by"] == "tuner":
        notes.append(m.chip("tuner" if row.get("trial") is None else f"trial {row['trial']}"))
    if row["holes"]:
        notes.append(m.chip(m.plural(row["holes"], "open number")))
    if row["status"] in ("queued", "measuring"):
        notes.append(m.chip(row["status"]))
    elif row["status"] not in ("", "ok"):
        last = m.last_line(row["error"])
        notes.append(m.bad(row["status"].replace("_", " ") + (f": {last}" if last else ""), 90))
    if row.get("doubt"):
        notes.append(m.bad(row["doubt"]["text"], 90))
    ms, parent = None if row.get("doubt") else row["ms"], row.get("parent")
    guess = f"≈ {m.milliseconds(row['est'])}" if row.get("est") is not None else ""
    return [
        f"v{row['id']}", "" if parent is None else f"v{parent}", text,
        m.row_time(row) or (m.faint(guess) if guess else ""),
        m.bar(ms / slowest if ms is not None and slowest else None), m.digits(row["gflops"]) if row["gflops"] else "",
        m.Html(" ".join(notes)),
    ]  # fmt: skip


def _palette(palette: Mapping[str, Any], limit: int) -> m.Html:
    items = sorted(palette["rows"], key=lambda i: not i["legal"])
    rows = [[m.mono(i["id"]), "legal" if i["legal"] else "", m.text(i["reason"] or "", 120)] for i in items]
    columns = (m.Column("Primitive"), m.Column(""), m.Column("Why not"))
    place = ": ".join(str(palette[k]) for k in ("at", "about") if palette.get(k))
    about = m.label("at", m.text(place, 100)) if place else ""
    return m.join(m.section("Primitives"), about, m.table(columns, m.cut(rows, limit, "primitives")))


def _accesses(accesses: Mapping[str, Any], limit: int) -> m.Html:
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


def _code(code: Mapping[str, Any], limit: int) -> m.Html:
    return m.join(m.section("Code"), m.fold("The nest as text", m.code(code["text"], limit)))


def _model(model: Mapping[str, Any], limit: int) -> m.Html:
    return m.line(f"{m.plural(model['nodes'], 'operator')} in {m.plural(model['kernels'], 'kernel')}")


def _drawing(drawing: Mapping[str, Any], limit: int) -> m.Html:
    nodes: Sequence[Mapping[str, Any]] = drawing["nodes"]
    rows = [[m.text(n["label"], 60), m.text(n["sub"] or "", 60), n["kind"]] for n in nodes]
    return m.table(_NODES, m.cut(rows, limit, "nodes"))
