"""`ExplorerExchange`: the messages between one `Explorer` and those who show it, however they travel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from workbench.errors import UsageError
from workbench.logs.explorer import Explorer
from workbench.logs.explorer.answers import ANSWERS, Answer
from workbench.logs.explorer.columns import Column
from workbench.logs.explorer.follower import Follower
from workbench.logs.explorer.parameters import parameters_of
from workbench.logs.explorer.slices import SLICES
from workbench.logs.explorer.subject import Subject
from workbench.session.core.protocol import error_json
from workbench.session.core.threads import Lane, Worker

_TYPES = {"u1": np.uint8, "u4": np.uint32, "f4": np.float32}
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}
_log = logging.getLogger(__name__)

Send = Callable[[Mapping[str, Any], list[bytes]], None]


class ExplorerExchange:
    """Takes the messages of those who show an explorer, and sends them what has changed, and answers.

    Parameters
    ----------
    subject : Subject
        What is explored; it is followed while somebody looks.
    send : callable
        Sends a message and the arrays beside it, as bytes; from several threads.
    figure : callable
        Prepares the figure of a panel, like the answers of `workbench.logs.explorer.answers`.

    Attributes
    ----------
    explorer : Explorer
    """

    def __init__(self, subject: Subject, send: Send, figure: Answer) -> None:
        self.explorer = Explorer(subject.log, subject.title, later=True)
        self._send, self._figure = send, figure
        self._follower = Follower(subject, self.explorer)
        self._sent: dict[str, object] = {}
        self._settled: tuple[list[str], list[dict[str, Any]]] = ([], [])
        self._greeted = False
        self._worker = Worker("workbench-explorer", self._tell)
        self._lane = Lane("workbench-explorer-questions", self._worker.idle)
        self._parameters = Lane("workbench-explorer-parameters", self._worker.idle)
        self._reading = -1

    def show(self) -> None:
        """Send what has changed."""
        self._worker.put(_nothing)

    def close(self) -> None:
        """Follow no more, and drop what waits."""
        self._follower.close()
        self._lane.close()
        self._parameters.close()
        self._worker.close(1.0)

    def receive(self, content: Any) -> None:
        """Take a message; on whichever thread it comes, it is only passed on."""
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
            self.explorer.change(**{str(key): value for key, value in args.items()})
        except Exception as error:  # also of a fault of ours: the page waits for an answer
            self._settled[1].append({"id": name, "error": error_json(error)})
        else:
            self._settled[0].append(name)

    def _ask(self, name: str, question: str, args: Mapping[str, Any]) -> None:
        """Prepare an answer in this thread, which has the state, and work it out in another one where it takes long."""
        prepare = self._figure if question == "figure" else ANSWERS.get(question, _unknown(question))
        try:
            work = prepare(self.explorer, args)
        except Exception as error:  # also of a fault of ours: the page waits for an answer
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
        self._send({"t": "ret", "id": name, **answer}, [])

    def _tell(self) -> float | None:
        """Send what has changed; returns after how many seconds to look again."""
        if self._greeted:
            (done, failed), self._settled = self._settled, ([], [])
            slices, arrays = {}, _Arrays()
            for name, one in SLICES.items():
                key = one.key(self.explorer)
                if self._sent.get(name, _nothing) != key:
                    self._sent[name] = key
                    try:
                        slices[name] = arrays.packed(one.make(self.explorer))
                    except Exception as error:  # a fault of ours in one view; the others are right all the same
                        _log.exception("the explorer could not show %s", name)
                        failed += [{"id": each, "error": error_json(error)} for each in done]
                        done = []
            if slices or done or failed:
                self._send({"t": "slices", "done": done, "failed": failed, "slices": slices}, arrays.buffers)
            self._read_parameters()
        return self._follower.look()

    def _read_parameters(self) -> None:
        """Read the parameters of what is on show, where they come later."""
        e, serial = self.explorer, self.explorer.serial
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
        self.explorer.add_parameters(found, serial)
        self.explorer.reading = None


class _Outdated(Exception):
    """Nobody waits for this any more."""


class _Arrays:
    """Puts arrays beside a message, in one piece since each takes time on its way, and where they begin into it."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    @property
    def buffers(self) -> list[bytes]:
        return [bytes(self._bytes)] if self._bytes else []

    def packed(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            at = len(self._bytes)
            self._bytes += value.tobytes()
            return {"$": at, "n": len(value), "d": _NAMES[value.dtype]}
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


def _raise(error: Exception) -> None:
    raise error
