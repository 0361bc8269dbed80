"""`LogExplorer`: the widget that shows what any tuner has written. It carries messages between one `Explorer` and any
number of views of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from importlib import resources
from typing import Any

import anywidget
import traitlets

from workbench.arguments import known_options
from workbench.errors import UsageError
from workbench.logs.explorer import Selection
from workbench.logs.explorer.subject import Subject, opened
from workbench.logs.html import log_html
from workbench.logs.pasting import parse
from workbench.logs.tuning_log import TuningLog
from workbench.session.core.protocol import error_json
from workbench.session.explorer_exchange import ExplorerExchange
from workbench.widgets.log_figure import LogFigure

_STATIC = resources.files("workbench.widgets") / "static"
_ESM = (_STATIC / "explorer.js").read_text(encoding="utf-8")
_CSS = (_STATIC / "explorer.css").read_text(encoding="utf-8")
VIEW_TYPE = "application/vnd.schedule-workbench.view+json"


class _Pasted:
    """Stands for a log that is still to be pasted."""

    def __repr__(self) -> str:
        return "<pasted text>"


PASTED = _Pasted()


class LogExplorer(anywidget.AnyWidget):
    """Explore what a tuner has written: linked views of its records, and what they answer.

    A range that is chosen in one view narrows all others. The same can be done from Python: `change` chooses, and
    `selection` and `records` say what is chosen.

    Parameters
    ----------
    log : TuningLog, path, TuningSession, or a list of them, optional
        What to explore; several are compared as runs. A path is opened by `workbench.logs.open`. Files that grow and
        sessions that run are followed. Without it there is a box for a printed table, which `workbench.logs.parse`
        reads.
    **options
        What every widget has, such as `layout`.

    Raises
    ------
    UsageError
        "explorer.subject" for something else.
    LogError
        What is wrong with a file.
    """

    _esm = _ESM
    _css = _CSS
    key = traitlets.Unicode("").tag(sync=True)

    def __init__(self, log: Any = PASTED, **options: Any) -> None:
        known_options(options, self.class_trait_names(), "An explorer")
        subject = None if log is PASTED else opened(log)
        key = uuid.uuid4().hex
        super().__init__(key=key, model_id=key, **{"layout": {"flex": "1 1 auto"}, **options})
        if hasattr(self.comm, "_reply_subshell_for"):  # as for the workbench, see `root`
            self.comm._reply_subshell_for = lambda _data, sent_to: sent_to
        self._owns_layout = "layout" not in options
        self._figure = LogFigure()
        self._exchange: ExplorerExchange | None = None
        self._asking: dict[str, Any] = {"t": "asking", "text": "", "error": None}
        if subject is not None:
            self._explore(subject)
        self.on_msg(lambda _widget, content, _buffers: self._receive(content))

    def _explore(self, subject: Subject) -> ExplorerExchange:
        self._exchange = ExplorerExchange(subject, self._say, self._figure.question)
        return self._exchange

    def _receive(self, content: Any) -> None:
        if self._exchange is not None:
            self._exchange.receive(content)
        elif isinstance(content, Mapping) and content.get("t") == "text":
            self._read(str(content.get("text", "")))
        else:
            self._say(self._asking, [])

    def _read(self, text: str) -> None:
        """Explore a text that was pasted, or say what is wrong with it."""
        try:
            exchange = self._explore(Subject(parse(text), "Pasted text"))
        except Exception as error:  # also of a fault of ours: the page waits for an answer
            self._asking = {"t": "asking", "text": text, "error": error_json(error)}
            self._say(self._asking, [])
        else:
            exchange.receive({"t": "hello"})

    @property
    def _opened(self) -> ExplorerExchange:
        if self._exchange is None:
            hint = "paste one into the box, or give `LogExplorer` a log"
            raise UsageError("explorer.subject", "The explorer has no log yet", (), hint)
        return self._exchange

    # ----- what Python sees

    @property
    def log(self) -> TuningLog:
        """What is explored."""
        return self._opened.explorer.log

    @property
    def selection(self) -> Selection:
        """What is chosen."""
        return self._opened.explorer.selection

    @property
    def records(self) -> Any:
        """The records that are chosen, as rows of ``log.records``."""
        return self._opened.explorer.log.records.loc[self._opened.explorer.records]

    def change(self, **settings: Any) -> LogExplorer:
        """Choose, or change what the views show: the fields of `Selection` and `Views` by their names.

        Raises
        ------
        UsageError
            "explorer.change" for something that is not there.
        """
        if self.comm is None:
            raise UsageError("session.closed", "The explorer was closed", (), "open a new one")
        self._opened.explorer.change(**settings)
        self._opened.show()
        return self

    def close(self) -> None:
        """Remove the widget from the page."""
        exchange = getattr(self, "_exchange", None)
        if exchange is not None:
            exchange.close()
        if hasattr(self, "_figure"):
            self._figure.close()
        if getattr(self, "_owns_layout", False):
            self._owns_layout = False
            self.layout.close()
        super().close()

    def _say(self, message: Mapping[str, Any], buffers: list[bytes]) -> None:
        if self.comm is not None:
            self.send(message, buffers)

    # ----- without a browser

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if not data or self._exchange is None:
            return bundle
        html = log_html(self.log)
        saved = {"model_id": self.model_id, "html": html, "version": 1}
        return {**data, "text/plain": repr(self), "text/html": html, VIEW_TYPE: saved}, metadata

    def __repr__(self) -> str:
        if self._exchange is None:
            return "LogExplorer()"
        chosen = len(self._opened.explorer.records)
        return f"LogExplorer({self.log!r}, {chosen} of {len(self.log)} records chosen)"


__all__ = ["LogExplorer", "Subject"]
