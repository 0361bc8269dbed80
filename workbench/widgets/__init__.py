"""Notebook widgets: the only place that imports ipywidgets and anywidget.

`Workbench` is the one root widget; `Panel` shows a part of it elsewhere; `LiveFigure` is its plotly figure; what it
shows and does comes from `workbench.session`. `LogExplorer` shows the log of any tuner; what it shows comes from
`workbench.logs.explorer`. `CacheView` plays a nest on simulated caches (`workbench.analysis.cache`). So everything is
also reachable without a browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from workbench.widgets.cache import CacheView
    from workbench.widgets.explorer import LogExplorer
    from workbench.widgets.root import Panel, Workbench

__all__ = ["CacheView", "LogExplorer", "Panel", "Workbench"]

# Who looks at a log waits for nothing of schedules.
__getattr__ = loaded_on_first_use(
    __name__,
    {
        "CacheView": "cache:CacheView",
        "LogExplorer": "explorer:LogExplorer",
        "Panel": "root:Panel",
        "Workbench": "root:Workbench",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
