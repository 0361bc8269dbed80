"""The one live plotly figure of a workbench: the chart that is on show, updated in place."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workbench.analysis.figures.style import Theme
from workbench.errors import UsageError
from workbench.session import Session
from workbench.session.tuning_run import charts
from workbench.widgets.plot import Plot

if TYPE_CHECKING:
    import plotly.graph_objects as go

INTERVAL_S = 2.0
"""Least time between two updates while tuning runs; a change of state, of task or of chart is drawn at once."""

SLICES = frozenset({"tuning", "tasks", "head", "chart", "history"})
"""Slices whose change may be one of the figure."""

DATA = ("x", "y", "text", "customdata", "hovertext", "width", "base", "textposition")
"""Properties of a trace that change while it stays the same trace; `marker.color` is another."""

AXIS = ("tickvals", "ticktext", "range", "autorangeoptions", "title")
"""Properties of an axis that follow the data."""

CONFIG = {"responsive": True, "displayModeBar": False}


class LiveFigure:
    """Keeps a `FigureWidget` up to date with a session.

    A `FigureWidget` costs megabytes in the browser, so it is made when a view first asks for it, and there is one: a
    switch to another chart replaces what is in it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._widget: Plot | None = None
        self._theme: Theme = "light"
        self._drawn_at = 0.0
        self._drawn: tuple[object, ...] = ()
        #: What it looks like: another chart, width or theme is a new drawing, not an update.
        self._look: tuple[object, ...] = ()
        self._layout: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._closed = False

    def widget(self) -> Plot:
        """Return the figure, made on the first call. Call it in the session's thread."""
        with self._lock:  # making takes long enough for `close` to come in between, and nobody else would close it
            if self._closed:
                raise UsageError("session.closed", "The workbench was closed", (), "open a new one")
            if self._widget is None:
                fresh = self._fresh()
                self._widget = Plot(fresh, CONFIG)
                self._layout = fresh.layout.to_plotly_json()
                self._look, self._drawn = self._looks(), self._shown()
            return self._widget

    def turn(self, session: Session) -> None:
        """Draw what another session has, from now on. Call it in its thread."""
        self._session = session
        if (widget := self._widget) is not None:
            self._look = ()
            self._draw(widget)

    def set_theme(self, theme: str) -> None:
        """Draw for a "light" or a "dark" page."""
        self._theme = "dark" if theme == "dark" else "light"
        if (widget := self._widget) is not None and self._looks() != self._look:
            self._draw(widget)

    def follow(self, ops: Mapping[str, Any]) -> None:
        """Draw what a patch changed: new trials at most every `INTERVAL_S`, a new state, task or chart at once."""
        widget = self._widget  # `close` may come in between
        if widget is None or not ops.keys() & SLICES:
            return
        now, shown = time.monotonic(), self._shown()
        live = shown[0] == "running"  # otherwise no later patch would bring what is left out now
        if live and shown == self._drawn and now - self._drawn_at < INTERVAL_S:
            return
        self._drawn_at, self._drawn = now, shown
        self._draw(widget)

    def close(self) -> None:
        """Remove the figure from the page."""
        with self._lock:
            self._closed = True
            if self._widget is not None:
                self._widget.close()
                self._widget = None

    def _shown(self) -> tuple[object, ...]:
        """What makes a redraw urgent when it changes."""
        slices = self._session.snapshot().slices
        tuning, head = slices.get("tuning") or {}, slices.get("head") or {}
        return tuning.get("state"), head.get("task"), tuning.get("scope"), *self._looks()

    def _looks(self) -> tuple[object, ...]:
        state = self._session.state
        return state.chart, state.roofs, self._theme

    def _fresh(self) -> go.Figure:
        figure = charts.figure(self._session.state, self._theme)
        figure.layout.update(height=None, autosize=True)  # its place on the page says how large it is
        return figure

    def _draw(self, widget: Plot) -> None:
        fresh = self._fresh()
        look, layout = self._looks(), fresh.layout.to_plotly_json()
        before, self._look = self._look, ()  # a drawing that fails is followed by a whole one
        if look != before:
            widget.replace(fresh)
        else:
            with widget.edits():
                for old, new in zip(widget.data, fresh.data, strict=True):
                    _update(old, new)
                for path, value in _moved(self._layout, layout):
                    widget.layout[path] = value
        self._look, self._layout = look, layout


def _update(old: Any, new: Any) -> None:
    """Give a trace new data."""
    for name in DATA:
        if name in new:
            old[name] = new[name]
    if new.type == "scatter" and old.marker.symbol != new.marker.symbol:
        old.marker.symbol = new.marker.symbol
    if new.type == "bar":
        old.marker.color = new.marker.color


def _moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Notes and properties of axes that are others than at the last drawing, so that what a reader has zoomed stays."""
    if old["annotations"] != new["annotations"]:
        yield "annotations", new["annotations"]
    for name in new:
        if "axis" not in name:
            continue
        for key in AXIS:
            if key in new[name] and old[name].get(key) != new[name][key]:
                yield f"{name}.{key}", new[name][key]
