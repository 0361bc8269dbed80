"""The one live plotly figure of a workbench: best latency so far against trials, updated in place."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from workbench.analysis import best_so_far_figure
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.session import Session

INTERVAL_S = 1.5
"""Least time between two updates while tuning runs; a change of state or of task is drawn at once."""

FONT = {"family": "system-ui, -apple-system, 'Segoe UI', sans-serif", "size": 11}
"""As the panels around it."""

INK = {"light": "#1b1f24", "dark": "#e7e9ec"}
"""Colour of text by theme; everything else of the figure is readable on both."""


class LiveCurve:
    """Keeps a `FigureWidget` up to date with a session.

    A `FigureWidget` costs megabytes in the browser, so it is made when a view first asks for it, and there is one.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._widget: go.FigureWidget | None = None
        self._theme = "light"
        self._drawn_at = 0.0
        self._drawn: tuple[object, ...] = ()
        self._lock = threading.Lock()
        self._closed = False

    def widget(self) -> go.FigureWidget:
        """Return the figure, made on the first call."""
        with self._lock:  # making takes long enough for `close` to come in between, and nobody else would close it
            if self._closed:
                raise UsageError("session.closed", "The workbench was closed", (), "open a new one")
            if self._widget is None:
                self._widget = go.FigureWidget(self._figure())
                self._widget._config = {**self._widget._config, "responsive": True, "displayModeBar": False}
                self._paint()
            return self._widget

    def set_theme(self, theme: str) -> None:
        """Draw for a "light" or a "dark" page."""
        self._theme = theme if theme in INK else "light"
        if self._widget is not None:
            self._paint()

    def follow(self, ops: Mapping[str, Any]) -> None:
        """Draw what a patch changed: new trials at most every `INTERVAL_S`, a new state or task at once."""
        if self._widget is None or not ops.keys() & {"tuning", "tasks", "head"}:
            return
        now, shown = time.monotonic(), self._shown()
        live = shown[0] == "running"  # otherwise no later patch would bring what is left out now
        if live and shown == self._drawn and now - self._drawn_at < INTERVAL_S:
            return
        self._drawn_at, self._drawn = now, shown
        self._update(self._widget)

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
        return tuning.get("state"), head.get("task"), tuning.get("scope")

    def _figure(self) -> go.Figure:
        lines, task = self._session.curve_source()
        keys = [t.key for t in self._session.tasks] or {line.task_key for line in lines}
        figure = best_so_far_figure(lines, task, keys)
        figure.update_layout(title_text="", margin_t=12, font=FONT)  # the panel's head has the name
        figure.update_xaxes(title_font_size=FONT["size"])
        figure.update_yaxes(title_font_size=FONT["size"])
        return figure

    def _update(self, widget: go.FigureWidget) -> None:
        fresh = self._figure()
        with widget.batch_update():
            for old, new in zip(widget.data, fresh.data, strict=True):
                old.x, old.y, old.text, old.customdata = new.x, new.y, new.text, new.customdata
            widget.layout.annotations = fresh.layout.annotations

    def _paint(self) -> None:
        assert self._widget is not None
        self._widget.layout.font.color = INK[self._theme]
