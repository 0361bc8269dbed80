"""Notebook widgets: the only place that imports ipywidgets and anywidget.

`Workbench` is the one root widget; `Panel` shows a part of it elsewhere; `LiveFigure` is its plotly figure. What they
show and do comes from `workbench.session`, so everything is also reachable without a browser.
"""

from __future__ import annotations

from workbench.widgets.root import Panel, Workbench

__all__ = ["Panel", "Workbench"]
