"""A plotly figure in the page that is complete from its first message on, in every page that shows it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata, resources
from types import ModuleType
from typing import Any

import plotly.graph_objects as go
import traitlets

from workbench.widgets import shared_plotly_js


def _widget_class() -> Any:
    """Load plotly's widget without nbformat: plotly asks only for its version, and to load it takes two seconds."""
    name = "nbformat"
    stand_in = ModuleType(name)
    with suppress(metadata.PackageNotFoundError):
        stand_in.__version__ = metadata.version(name)  # type: ignore[attr-defined]
        if sys.modules.setdefault(name, stand_in) is stand_in:
            try:
                return go.FigureWidget
            finally:
                del sys.modules[name]
    return go.FigureWidget


_ESM = (resources.files("workbench.widgets") / "plot.js").read_text(encoding="utf-8")

WHOLE = ("_widget_data", "_widget_layout")
"""Traits that hold the whole figure."""


class Plot(_widget_class()):  # type: ignore[misc]  # plotly has no types
    """A `FigureWidget` whose page only listens.

    Plotly's own page side is a module of five megabytes, and anywidget gives up on a module that takes more than two
    seconds to load: whatever the kernel sends to that model afterwards is dropped. This one's module is small and loads
    plotly by itself (`plot.js`), from a widget that all figures of the kernel share. It draws what the kernel says and
    sends nothing back.

    Parameters
    ----------
    figure : go.Figure
    config : dict
        Plotly's configuration.
    """

    data: Any
    _config: Any
    _esm = _ESM
    #: The widget that has plotly.
    _plotly = traitlets.Unicode().tag(sync=True)

    #: Whether plotly is borrowed.
    _lent = False
    #: Whether the figure is made: not before is it said to a page.
    _made = False
    #: Whether edits are to be left out, because the whole figure is sent afterwards.
    _quiet = False

    def __init__(self, figure: go.Figure, config: dict[str, Any]) -> None:
        self._turn = threading.RLock()  # a page may ask for the figure, in the kernel's thread, while it is edited
        super().__init__(figure)
        self._plotly, self._lent = f"IPY_MODEL_{shared_plotly_js.borrow().model_id}", True
        self._config = {**self._config, **config}
        self._made = True
        self.open()

    def open(self) -> None:
        """Tell the pages of the figure, as soon as it is made."""
        if self._made:
            super().open()

    def close(self) -> None:
        """Remove the figure, and plotly with the last one."""
        lent, self._lent = self._lent, False
        super().close()
        if lent:
            shared_plotly_js.give_back()

    def get_state(self, key: str | Iterable[str] | None = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the state as it is now: a `FigureWidget` sends its edits, but keeps the traits of its first moment."""
        with self._turn:
            state: dict[str, Any] = super().get_state(key, drop_defaults)
            if not self._made:
                return state
            for name, now in zip(WHOLE, (self._data, self._layout_obj._props), strict=True):
                if name in state:
                    state[name] = self.trait_metadata(name, "to_json")(now, self)
            return state

    def replace(self, figure: go.Figure) -> None:
        """Show another figure in this one's place: one message, instead of those that delete, add and lay out."""
        with self._turn:
            self._quiet = True
            try:
                self.data = ()
                self.layout = figure.layout  # an update would refuse axes that the first figure did not have
                self.add_traces(figure.data)
            finally:
                self._quiet = False
            self.send_state(WHOLE)

    @contextmanager
    def edits(self) -> Iterator[None]:
        """Send all edits of the block in one message."""
        with self._turn, self.batch_update():
            yield

    def _send_addTraces_msg(self, new_traces_data: Any) -> None:
        self._said_whole()

    def _send_deleteTraces_msg(self, delete_inds: Any) -> None:
        self._said_whole()

    def _send_moveTraces_msg(self, current_inds: Any, new_inds: Any) -> None:
        self._said_whole()

    def _send_relayout_msg(self, layout_data: Any, source_view_id: Any = None) -> None:
        if not self._quiet:
            super()._send_relayout_msg(layout_data, source_view_id)

    def _said_whole(self) -> None:
        """Send the whole figure where plotly would send which traces come and go."""
        if not self._quiet:
            self.send_state(WHOLE)
