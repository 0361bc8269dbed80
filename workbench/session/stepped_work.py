"""Work of a panel that takes many seconds: it waits for its turn to measure, says its steps, and can be cancelled."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Generic

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
    """

    name: ClassVar[str]
    kept: ClassVar[str]
    what: ClassVar[str]

    host: Host

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
        """End what is under way after the step that it is at; what the one before has found stays."""
        now = cls.progress(host)
        if now.step:
            now.cancelled.set()
            setattr(host.state, cls.kept, replace(now, step="Cancelling, after this step"))

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
        begun = WorkProgress("Waiting for its turn", answer=before.answer)
        self._keep(begun)
        self.host.later(self.name, lambda: self._work(begun), "measure")

    def step(self, what: str, at: int, of: int) -> None:
        """Tell of a step before it is done."""
        begun = self.progress(self.host)
        if begun.cancelled.is_set():
            raise Cancelled
        self.host.submit(lambda: self._show(begun, what, at, of))

    def _show(self, begun: WorkProgress[Answer], what: str, at: int, of: int) -> None:
        if not begun.cancelled.is_set():
            self._keep(replace(begun, step=what, at=at, of=of))

    def _keep(self, now: WorkProgress[Answer]) -> None:
        setattr(self.host.state, self.kept, now)

    def _work(self, begun: WorkProgress[Answer]) -> Callable[[], None]:
        answer, error = begun.answer, None
        try:
            with held(self.host.state.watch):
                answer = self.find()
        except Cancelled:
            pass
        except Exception as failure:
            error = error_json(failure)
            if error["code"] == "internal":
                _log.error("%s failed", self.what, exc_info=failure)
        return lambda: self._keep(WorkProgress(error=error, answer=answer))
