"""`LogExplorer`: the widget that shows what any tuner has written. It carries messages between one `Explorer` and any
number of views of it.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib import resources
from typing import Any

import anywidget
import numpy as np
import traitlets

from workbench.arguments import known_options
from workbench.errors import UsageError, WorkbenchError
from workbench.logs.explorer import Explorer, Selection
from workbench.logs.explorer.answers import ANSWERS
from workbench.logs.explorer.columns import Column
from workbench.logs.explorer.follower import Follower
from workbench.logs.explorer.parameters import parameters_of
from workbench.logs.explorer.slices import SLICES
from workbench.logs.explorer.subject import Subject, opened
from workbench.logs.html import log_html
from workbench.logs.tuning_log import TuningLog
from workbench.session.core.protocol import error_json
from workbench.session.core.threads import Lane, Worker
from workbench.widgets.log_figure import LogFigure

_STATIC = resources.files("workbench.widgets") / "static"
_ESM = (_STATIC / "explorer.js").read_text(encoding="utf-8")
_CSS = (_STATIC / "explorer.css").read_text(encoding="utf-8")
_TYPES = {"u1": np.uint8, "u4": np.uint32, "f4": np.float32}
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}
_log = logging.getLogger(__name__)
VIEW_TYPE = "application/vnd.schedule-workbench.view+json"


class LogExplorer(anywidget.AnyWidget):
    """Explore what a tuner has written: linked views of its records, and what they answer.

    A range that is chosen in one view narrows all others. The same can be done from Python: `change` chooses, and
    `selection` and `records` say what is chosen.

    Parameters
    ----------
    log : TuningLog, path, TuningSession, or a list of them
        What to explore; several are compared as runs. A path is opened by `workbench.logs.open`. Files that grow and
        sessions that run are followed.
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

    def __init__(self, log: Any, **options: Any) -> None:
        known_options(options, self.class_trait_names(), "An explorer")
        subject = opened(log)
        key = uuid.uuid4().hex
        super().__init__(key=key, model_id=key, **{"layout": {"flex": "1 1 auto"}, **options})
        if hasattr(self.comm, "_reply_subshell_for"):  # as for the workbench, see `root`
            self.comm._reply_subshell_for = lambda _data, sent_to: sent_to
        self._owns_layout = "layout" not in options
        self._explorer = Explorer(subject.log, subject.title, later=True)
        self._subject = subject
        self._follower = Follower(subject, self._explorer)
        self._sent: dict[str, object] = {}
        self._settled: tuple[list[str], list[dict[str, Any]]] = ([], [])
        self._greeted = False
        self._worker = Worker("workbench-explorer", self._tell)
        self._lane = Lane("workbench-explorer-questions", self._worker.idle)
        self._parameters = Lane("workbench-explorer-parameters", self._worker.idle)
        self._reading = -1
        self._figure = LogFigure()
        self.on_msg(self._receive)

    # ----- what Python sees

    @property
    def log(self) -> TuningLog:
        """What is explored."""
        return self._explorer.log

    @property
    def selection(self) -> Selection:
        """What is chosen."""
        return self._explorer.selection

    @property
    def records(self) -> Any:
        """The records that are chosen, as rows of ``log.records``."""
        return self._explorer.log.records.loc[self._explorer.records]

    def change(self, **settings: Any) -> LogExplorer:
        """Choose, or change what the views show: the fields of `Selection` and `Views` by their names.

        Raises
        ------
        UsageError
            "explorer.change" for something that is not there.
        """
        if self.comm is None:
            raise UsageError("session.closed", "The explorer was closed", (), "open a new one")
        self._explorer.change(**settings)
        self._worker.put(_nothing)
        return self

    def close(self) -> None:
        """Remove the widget from the page."""
        if getattr(self, "_worker", None) is not None:
            self._follower.close()
            self._lane.close()
            self._parameters.close()
            self._worker.close(1.0)
            self._figure.close()
            if self._owns_layout:
                self._owns_layout = False
                self.layout.close()
        super().close()

    # ----- messages

    def _receive(self, _widget: object, content: Any, _buffers: object) -> None:
        """Take a message from the browser, on whichever thread the kernel chose, so it is only passed on."""
        if not isinstance(content, Mapping):
            return
        kind, name, args = content.get("t"), str(content.get("id", "")), content.get("args")
        given = args if isinstance(args, Mapping) else {}
        if kind == "hello":
            self._worker.put(self._greet, awaited=True)
        elif kind == "here":
            self._worker.put(self._follower.seen)
        elif kind == "set":
            self._worker.put(lambda: self._set(name, given), awaited=True)
        elif kind == "ask":
            self._worker.put(lambda: self._ask(name, str(content.get("q")), given), awaited=True)

    def _greet(self) -> None:
        self._greeted = True
        self._sent.clear()
        self._follower.seen()

    def _set(self, name: str, args: Mapping[str, Any]) -> None:
        try:
            self._explorer.change(**{str(key): value for key, value in args.items()})
        except Exception as error:  # also of a fault of ours: the page waits for an answer
            self._settled[1].append({"id": name, "error": error_json(error)})
        else:
            self._settled[0].append(name)

    def _ask(self, name: str, question: str, args: Mapping[str, Any]) -> None:
        """Prepare an answer in this thread, which has the state, and work it out in another one where it takes long."""
        prepare = self._figure.question if question == "figure" else ANSWERS.get(question, _unknown(question))
        try:
            work = prepare(self._explorer, args)
        except WorkbenchError as error:
            self._reply(name, partial(_raise, error))
            return
        if question == "detail":
            self._reply(name, work)
        else:
            self._lane.submit(question, lambda: self._reply(name, work))

    def _reply(self, name: str, work: Callable[[], Any]) -> None:
        try:
            answer: dict[str, Any] = {"ok": True, "value": work()}
        except Exception as error:  # of an analysis; it is told, and the next question is answered
            answer = {"ok": False, "error": error_json(error)}
        if self.comm is not None:
            self.send({"t": "ret", "id": name, **answer})

    def _tell(self) -> float | None:
        """Send what has changed; returns after how many seconds to look again."""
        if self._greeted and self.comm is not None:
            (done, failed), self._settled = self._settled, ([], [])
            slices, arrays = {}, _Arrays()
            for name, one in SLICES.items():
                key = one.key(self._explorer)
                if self._sent.get(name, _nothing) != key:
                    self._sent[name] = key
                    try:
                        slices[name] = arrays.packed(one.make(self._explorer))
                    except Exception as error:  # a fault of ours in one view; the others are right all the same
                        _log.exception("the explorer could not show %s", name)
                        failed += [{"id": each, "error": error_json(error)} for each in done]
                        done = []
            if slices or done or failed:
                self.send({"t": "slices", "done": done, "failed": failed, "slices": slices}, arrays.buffers)
            self._read_parameters()
        return self._follower.look()

    def _read_parameters(self) -> None:
        """Read the parameters of what is on show, where they come later."""
        e, serial = self._explorer, self._explorer.serial
        rows = e.unread
        if rows is None or serial == self._reading:
            return
        self._reading = serial

        def told(share: float) -> None:
            if serial != e.serial:
                raise _Outdated
            if share - (e.reading or 0.0) > 0.05:
                self._worker.put(partial(setattr, e, "reading", share if serial == e.serial else None))

        def work() -> None:
            with suppress(_Outdated):
                found = parameters_of(e.log, rows, told)
                self._worker.put(lambda: self._have(found, serial))

        self._parameters.submit("parameters", work)

    def _have(self, found: list[Column], serial: int) -> None:
        self._explorer.add_parameters(found, serial)
        self._explorer.reading = None

    # ----- without a browser

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if not data:
            return bundle
        html = log_html(self.log)
        saved = {"model_id": self.model_id, "html": html, "version": 1}
        return {**data, "text/plain": repr(self), "text/html": html, VIEW_TYPE: saved}, metadata

    def __repr__(self) -> str:
        chosen = len(self._explorer.records)
        return f"LogExplorer({self.log!r}, {chosen} of {len(self.log)} records chosen)"


class _Outdated(Exception):
    """Nobody waits for this any more."""


class _Arrays:
    """Puts arrays beside a message, and their numbers and types into it."""

    def __init__(self) -> None:
        self.buffers: list[Any] = []

    def packed(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            self.buffers.append(np.ascontiguousarray(value).tobytes())
            return {"$": len(self.buffers) - 1, "d": _NAMES[value.dtype]}
        if isinstance(value, Mapping):
            return {name: self.packed(one) for name, one in value.items()}
        if isinstance(value, list | tuple) and any(isinstance(one, np.ndarray | Mapping) for one in value):
            return [self.packed(one) for one in value]
        return value


def _nothing() -> None:
    """Stand in for a job when only what has changed is to be sent."""


def _unknown(question: str) -> Callable[[Explorer, Mapping[str, Any]], Callable[[], Any]]:
    error = UsageError("explorer.question", f"The explorer has no question {question[:40]!r}")
    return lambda _explorer, _args: partial(_raise, error)


def _raise(error: WorkbenchError) -> None:
    raise error


__all__ = ["LogExplorer", "Subject"]
