"""Questions under way: answered in the session's thread or worked out in a lane, and told in order with the patches."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.errors import UsageError
from workbench.session.core.protocol import error_json
from workbench.session.core.publisher import Deliver, Message, Publisher, hand_over
from workbench.session.core.threads import Lanes, Worker

_log = logging.getLogger(__name__)


class Questions:
    """Takes questions from any thread and answers them in the session's.

    Of each kind only the newest question waits, for its turn as for its lane; the one whose place it takes is answered
    with the error "session.superseded". No answer comes before the patch with what was done before the question.

    Parameters
    ----------
    answer : callable
        Answers a question by its name and arguments: the answer and "", or the work that finds it and its lane.
    """

    def __init__(
        self, answer: Callable[[str, Any], tuple[Any, str]], worker: Worker, lanes: Lanes, publisher: Publisher
    ) -> None:
        self._answer_of, self._worker, self._lanes, self._publisher = answer, worker, lanes, publisher
        self._lock = threading.Lock()
        self._asked: dict[str, tuple[Any, Deliver]] = {}
        self._answers: list[tuple[Deliver, Message]] = []

    def ask(self, q: str, args: Any, reply: Deliver) -> None:
        """Take a question."""
        with self._lock:
            older = self._asked.get(q)
            self._asked[q] = (args, reply)
        if older is not None:
            self._worker.put(lambda: self._supersede(older[1]))
        self._worker.put(lambda: self._answer(q))

    def tell(self) -> None:
        """Hand over the answers that are ready, unless a patch is owed first. Call it in the session's thread."""
        if self._publisher.urgent:
            return
        answers, self._answers = self._answers, []
        for reply, message in answers:
            hand_over(reply, message)

    def _answer(self, q: str) -> None:
        with self._lock:
            found = self._asked.pop(q, None)
        if found is None:
            return
        args, reply = found
        try:
            value, lane = self._answer_of(q, args)
        except Exception as error:
            self._ready(reply, failure(error))
            return
        if not lane:
            self._ready(reply, {"ok": True, "value": value})
            return
        dropped = self._lanes.lane(lane).submit(q, _Work(self, value, reply))
        if isinstance(dropped, _Work):
            self._supersede(dropped.reply)

    def _supersede(self, reply: Deliver) -> None:
        self._ready(reply, failure(UsageError("session.superseded", "A newer question took its place")))

    def _ready(self, reply: Deliver, message: Message) -> None:
        self._answers.append((reply, message))
        self.tell()

    def done(self, reply: Deliver, message: Message) -> None:
        """Take an answer from a lane's thread."""
        self._worker.put(lambda: self._ready(reply, message))


@dataclass(frozen=True, slots=True)
class _Work:
    """A question whose answer is worked out in a lane."""

    asking: Questions
    work: Callable[[], Any]
    reply: Deliver

    def __call__(self) -> None:
        try:
            message: Message = {"ok": True, "value": self.work()}
        except Exception as error:
            message = failure(error)
        self.asking.done(self.reply, message)


def failure(error: Exception) -> Message:
    """Return the answer to a question that could not be answered."""
    data = error_json(error)
    if data["code"] == "internal":
        _log.error("a question to a session could not be answered", exc_info=error)
    return {"ok": False, "error": data}
