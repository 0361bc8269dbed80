"""A workbench without its browser: what a saved notebook, a printed page or a terminal shows of it.

It is made from the same slices that the live view gets, and shows the state at the time the cell was run; where the
notebook is saved in JupyterLab, its extension asks for newer copies (`copies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.session import readable
from workbench.session.registry import PANELS, static

if TYPE_CHECKING:
    from workbench.session import Session
    from workbench.widgets.root import Panel, Workbench

VIEW_TYPE = "application/vnd.schedule-workbench.view+json"
"""MIME type by which a saved notebook keeps a readable copy beside the live view."""

LARGEST = 40_000
"""Bytes of the HTML at most; long tables are cut shorter until it fits."""

_ROWS = (60, 40, 25, 15, 8, 4)
HEAD = 3
"""Where the numbers of the task on show stand on the page of the whole workbench, among the panels."""


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
    schedule = session.state.schedule
    if schedule is not None:
        slices["code"] = {"text": schedule.copy().nest()}
    return slices


def with_copy(widget: Workbench | Panel, bundle: Any, session: Session) -> Any:
    """Return what a notebook saves of a view, with the copy of it that can be read without a kernel."""
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    if not data:
        return bundle
    return {**data, **_copy(widget, saved_slices(session))}, metadata


def copies(widgets: Iterable[Workbench | Panel], session: Session) -> dict[str, dict[str, Any]]:
    """Return what a notebook saves of views now, beside what makes them live, by the numbers of their models."""
    slices = saved_slices(session)
    return {widget.model_id: _copy(widget, slices) for widget in widgets}


def _copy(widget: Workbench | Panel, slices: Mapping[str, Any]) -> dict[str, Any]:
    html = static_html(slices, widget.panel)
    saved = {"model_id": widget.model_id, "html": html, "version": 1}
    return {"text/plain": static_text(slices), "text/html": html, VIEW_TYPE: saved}


def _title(slices: Mapping[str, Any]) -> m.Html:
    meta = slices.get("meta") or {}
    return m.heading("Workbench", meta.get("title", ""), m.clean(meta.get("target", "")))


def _parts(slices: Mapping[str, Any], name: str, limit: int) -> list[m.Html]:
    if name != "all":
        panel = PANELS[name]
        around = [_part(slices, "head", limit)] if panel.about_task else []
        return [*around, _part(slices, panel.slice, limit) or m.line(m.faint("There is nothing to show here yet."))]
    there = (slices.get("meta") or {}).get("panels", PANELS)
    shown = [one for key, one in PANELS.items() if one.page and (key in there or one.needs != "tasks")]
    places = sorted([(HEAD, "head"), *((one.page, one.slice) for one in shown)])
    return [part for _, name in places if (part := _part(slices, name, limit))]


def _part(slices: Mapping[str, Any], name: str, limit: int) -> m.Html:
    return static[name](slices[name], limit) if slices.get(name) and name in static else m.Html("")
