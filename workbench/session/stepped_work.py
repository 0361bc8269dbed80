"""Work of a panel that takes many seconds: it waits for its turn to measure, says its steps, and can be cancelled."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic

from workbench.errors import UsageError
from workbench.session.core.protocol import error_json
from workbench.session.registry import Host
from workbench.session.state.tuning_watch import held
from workbench.session.state.work_progress import Answer, Cancelled, WorkProgress

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SteppedWork(Generic[Answer]):
    """One piece of work; `find` runs in a lane, beside the session's thread, and tells of its steps by `step`.

    Attributes
    ----------
    name : str
        Of the work, for `Host.later`.
    kept : str
        Attribute of the session's state that holds the `WorkProgress`.
    what : str
        How a sentence about it begins.
    cancelled : Event
        Set when this one is to end; another may have been begun since.
    """

    name: ClassVar[str]
    kept: ClassVar[str]
    what: ClassVar[str]

    host: Host
    cancelled: threading.Event = field(init=False, compare=False, default_factory=threading.Event)

    def find(self) -> Answer:
        """Do the work."""
        raise NotImplementedError

    @classmethod
    def progress(cls, host: Host) -> WorkProgress[Answer]:
        """How far it is."""
        found: WorkProgress[Answer] = getattr(host.state, cls.kept)
        return found

    @classmethod
    def cancel(cls, host: Host) -> None:
        """End what is under way after the step that it is at, or at once where it is at none yet or the step asks
        `going_on`; what the one before has found stays.
        """
        now = cls.progress(host)
        if now.step:
            now.cancelled.set()
            ending = replace(now, step="Cancelling")
            setattr(host.state, cls.kept, ending if now.at else WorkProgress(answer=now.answer))

    def begin(self) -> None:
        """Put it into the line of what measures.

        Raises
        ------
        UsageError
            "session.busy" where such work is under way.
        """
        before = self.progress(self.host)
        if before.step:
            raise UsageError("session.busy", f"{self.what} is under way already", (), "wait for it, or cancel it")
        begun = WorkProgress("Waiting for its turn", answer=before.answer, cancelled=self.cancelled)
        self._keep(begun)
        self.host.later(self.name, lambda: self._work(begun), "measure")

    def step(self, what: str, at: int, of: int) -> None:
        """Tell of a step before it is done."""
        self._go_on()
        self.host.submit(lambda: self._show(what, at, of))

    def going_on(self) -> bool:
        """Whether nobody has cancelled it: for steps that take long."""
        return not self.cancelled.is_set()

    def _go_on(self) -> None:
        if not self.going_on():
            raise Cancelled

    def _show(self, what: str, at: int, of: int) -> None:
        if not self.cancelled.is_set():
            self._keep(replace(self.progress(self.host), step=what, at=at, of=of))

    def _keep(self, now: WorkProgress[Answer]) -> None:
        setattr(self.host.state, self.kept, now)

    def _work(self, begun: WorkProgress[Answer]) -> Callable[[], None]:
        answer, error = begun.answer, None
        try:
            self._go_on()
            with held(self.host.state.watch):
                answer = self.find()
        except Cancelled:
            pass
        except Exception as failure:
            error = error_json(failure)
            if error["code"] == "internal":
                _log.error("%s failed", self.what, exc_info=failure)
        return lambda: self._end(begun.answer if self.cancelled.is_set() else answer, error)

    def _end(self, answer: Answer | None, error: dict[str, Any] | None) -> None:
        if self.progress(self.host).cancelled is self.cancelled:  # else it was ended before, and another may be begun
            self._keep(WorkProgress(error=error, answer=answer))
