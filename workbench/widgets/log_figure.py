"""The plotly figure of an explorer: one widget, whatever it shows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.logs.explorer.panels import drawing

if TYPE_CHECKING:
    from workbench.logs.explorer import Explorer
    from workbench.widgets.plot import Plot


class LogFigure:
    """Makes the figures of the panels and shows each in the place of the one before."""

    def __init__(self) -> None:
        self._plot: Plot | None = None
        self._lock = threading.Lock()

    def question(self, e: Explorer, args: Mapping[str, Any]) -> Callable[[], Any]:
        """Prepare a figure of what is chosen; the work is done when the result is called."""
        draw = drawing(e, args)
        return lambda: {"shown": self._shown(draw())}

    def _shown(self, figure: Any) -> str:
        from workbench.widgets.plot import Plot  # plotly's widget takes half a second to load

        with self._lock:
            if self._plot is None:
                self._plot = Plot(figure, {"displaylogo": False, "responsive": True})
            else:
                self._plot.replace(figure)
            return str(self._plot.model_id)

    def close(self) -> None:
        """Remove the figure from the page."""
        with self._lock:
            if self._plot is not None:
                self._plot.close()
                self._plot = None
