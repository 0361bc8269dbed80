"""A workbench as one HTML file: the front end, the state, and answers to what can be asked without changing anything.

The page needs neither a kernel nor a network. What would change the schedule is refused with the reason. A kernel
elsewhere can read it and measure what it shows (`saved_page`).
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from workbench.analysis.figures.style import Theme
from workbench.errors import UsageError
from workbench.markup import clean
from workbench.session.export.recording import Recording, record
from workbench.session.export.saved_view import view_of
from workbench.session.registry import Host
from workbench.session.state.chart_choice import ChartChoice
from workbench.session.tuning_run.charts import figure
from workbench.widgets.static_view import static_html

THEMES = ("auto", "light", "dark")

STATE_BEGINS = '<script type="application/json" id="swb-state">'
"""What the state of a page stands behind."""

_ESM = resources.files("workbench.widgets") / "static" / "workbench.js"
_CSS = resources.files("workbench.widgets") / "static" / "workbench.css"

_SCRIPT = (resources.files("workbench.widgets") / "html_page.js").read_text(encoding="utf-8")

_DARK = "{ background: #0b0c0f; color: #e7e9ec }"
_STYLE = f"""
body {{ margin: 0; padding: 16px; background: #eef0f3 }}
body[data-jp-theme-light=false] {_DARK}
@media (prefers-color-scheme: dark) {{ body:not([data-jp-theme-light]) {_DARK} }}
"""


@dataclass(frozen=True, slots=True)
class PageContent:
    """What a page is made of, as it was seen in the session's thread."""

    recording: Recording
    slices: Mapping[str, Any]
    figures: Mapping[str, str]
    view: Mapping[str, Any] | None


def page_content(host: Host, *, charts: bool) -> PageContent:
    """Look at what a page needs, in the session's thread."""
    view = host.state.view()
    code = {} if view is None else {"code": {"text": view.schedule.nest()}}
    opened = None if view is None else view_of(host.state, {})  # for a kernel elsewhere: `saved_page`
    return PageContent(record(host), {**host.shown(), **code}, _figures(host) if charts else {}, opened)


def _figures(host: Host) -> dict[str, str]:
    """Draw the charts as they may be looked at: each of them, around the task table or not, by day and by night."""
    state, before = host.state, host.state.chart
    wanted = [ChartChoice("tuning", wide) for wide in (False, True)] if state.stats.records else []
    if state.view() is not None:
        wanted.append(ChartChoice("roofline"))
    themes: tuple[Theme, ...] = ("light", "dark")
    out: dict[str, str] = {}
    try:
        for state.chart in wanted:
            for theme in themes:
                name = f"{state.chart.name}/{str(state.chart.wide).lower()}/{theme}"
                out[name] = str(figure(state, theme).to_json())
    finally:
        state.chart = before
    return out


def _library(figures: Mapping[str, str]) -> str:
    """What draws the charts; nothing where there are none."""
    if not figures:
        return ""
    from plotly.offline import get_plotlyjs

    return f"<script>{_embedded(get_plotlyjs())}</script>"


def page(seen: PageContent, theme: str = "auto") -> str:
    """Put a page together.

    Parameters
    ----------
    seen : PageContent
    theme : {"auto", "light", "dark"}
        "auto" is what the reader's system says.

    Raises
    ------
    UsageError
        "export.theme".
    """
    if theme not in THEMES:
        raise UsageError("export.theme", f"There is no theme {theme!r}", (), f"choose one of {', '.join(THEMES)}")
    state = seen.recording.to_json() | {"figures": {name: json.loads(text) for name, text in seen.figures.items()}}
    state["view"] = seen.view
    title = clean((state["slices"].get("meta") or {}).get("title", "")) or "Schedule Workbench"
    body = "" if theme == "auto" else f' data-jp-theme-light="{"true" if theme == "light" else "false"}"'
    return "\n".join([
        '<!doctype html>', '<html lang="en">', '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)} – Schedule Workbench</title>",
        f"<style>{_STYLE}{_CSS.read_text(encoding='utf-8')}</style>", f"<body{body}>",
        '<div id="swb"></div>', f"<noscript>{static_html(seen.slices)}</noscript>",
        _library(seen.figures),
        f"{STATE_BEGINS}{_data(state)}</script>",
        f'<script type="text/plain" id="swb-module">{_embedded(_ESM.read_text(encoding="utf-8"))}</script>',
        f'<script type="module">{_SCRIPT}</script>', "</body>", "</html>", "",
    ])  # fmt: skip


def _data(value: Mapping[str, Any]) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _embedded(script: str) -> str:
    """A script that cannot end the element it stands in; in its strings the two forms mean the same."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
