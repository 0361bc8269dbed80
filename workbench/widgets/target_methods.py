"""The targets of a workbench: a session for each, and the one that is on show."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from workbench.arguments import is_a
from workbench.arguments import path as as_path
from workbench.errors import UsageError
from workbench.session import Session
from workbench.session.autosave import autosave
from workbench.session.core.protocol import error_json
from workbench.session.panels.meta import target_text
from workbench.session.retargeting import beside, check_leave, retargeted
from workbench.session.state.work_progress import WorkProgress
from workbench.target import Target
from workbench.widgets.figure import LiveFigure

W = TypeVar("W", bound="TargetMethods")

_log = logging.getLogger(__name__)


class Sessions:
    """The sessions of a workbench, by target.

    Parameters
    ----------
    owned : bool
        Whether the first is closed with the workbench; the others always are.
    variants : path or None
        A file that keeps the variants of the first; those of others have files beside it.
    auto_measure : bool
        Whether sessions of other targets measure every step.

    Attributes
    ----------
    shown : Session
        The one that the workbench shows.
    deliver : callable
        Takes a session and its message; set once there is somebody to deliver to.
    """

    def __init__(
        self, first: Session, owned: bool, variants: str | os.PathLike[str] | None, auto_measure: bool
    ) -> None:
        self._first, self._owned, self._auto = first, owned, auto_measure
        self._variants = None if variants is None else as_path("variants", variants)
        self._endings = [autosave(first, variants, owned)]
        self._known = {first.state.target: first}
        self._opening, self._closed = threading.Lock(), False
        self.shown = first
        self.deliver: Callable[[Session, Mapping[str, Any]], None] = lambda session, message: None
        self._hear(first)

    def of(self, target: Target) -> Session:
        """Return the session of a target; it is opened when it is first asked for, which may take seconds."""
        with self._opening:
            if target not in self._known:
                made = retargeted(self._first, target, self._auto)
                if self._closed:
                    made.close()
                    raise UsageError("session.closed", "The workbench was closed", (), "open a new one")
                if self._variants is not None:
                    self._endings.append(autosave(made, f"{beside(self._variants, target)}.json", True))
                self._known[target] = made
                self._hear(made)
            return self._known[target]

    def known(self, target: Target) -> Session | None:
        """Return the session of a target, if there is one; at once."""
        return self._known.get(target)

    def close(self) -> None:
        """Close the sessions; tuning goes on."""
        self._closed = True
        for end in self._endings:
            end()
        for session in self._known.values():
            if self._owned or session is not self._first:
                session.close()

    def _hear(self, session: Session) -> None:
        self._endings.append(session.subscribe(lambda message: self.deliver(session, message)))


class OfSessions:
    """What has the sessions of a workbench, and works with the one on show."""

    _sessions: Sessions

    @property
    def _session(self) -> Session:
        return self._sessions.shown


class TargetMethods(OfSessions):
    """Methods of a `Workbench` that are about what kernels are made for."""

    _figure: LiveFigure
    _turning: threading.Lock

    def retarget(self: W, target: Target | str) -> W:
        """Show the same for another target: its tasks are made anew, with variants, a log and tuning of their own.

        Nothing of the target before is lost; going back to it finds everything as it was. `session`, `schedule` and
        `task` are then those of the new target.

        Parameters
        ----------
        target : Target or str
            Such as ``"cuda"``; `workbench.devices` lists what there is.

        Raises
        ------
        TargetError
            "target.…" for a target that there is not, or one that computes nothing of the model.
        UsageError
            "session.tuning" while a tuning run is under way, "session.no_program" for a log.
        """
        made = target if isinstance(target, Target) else _read(target)
        check_leave(self._session)
        self._turn(self._sessions.of(made))
        return self

    def _retarget_soon(self, target: object = None) -> None:
        """Begin to do so, for the browser; runs in the session's thread, and the work beside it."""
        session, made = self._session, _read(target)
        state = session.state
        if state.retargeting.step:
            text = f"{state.retargeting.step} is under way already"
            raise UsageError("session.busy", text, (), "wait for it")
        check_leave(session)
        state.retargeting = WorkProgress()
        if (known := self._sessions.known(made)) is not None:
            self._turn(known)
            return
        state.retargeting = WorkProgress(f"Making the tasks for {target_text(made)}")
        session.later("retarget", partial(self._open, session, made), "retarget")

    def _open(self, session: Session, target: Target) -> Callable[[], None]:
        """Open the session of a target, and return how to show it in the place of another one."""
        error = None
        try:
            found = self._sessions.of(target)
        except Exception as failure:
            error = error_json(failure)
            if error["code"] == "internal":
                _log.error("another target could not be opened", exc_info=failure)

        def end() -> None:
            session.state.retargeting = WorkProgress(error=error)
            if error is None and session is self._session:
                check_leave(session)
                self._turn(found)

        return end

    def _turn(self, session: Session) -> None:
        """Show another session, whole; from any thread."""
        with self._turning:
            self._sessions.shown = session
        session.submit(partial(self._figure.turn, session))
        session.greet(partial(self._sessions.deliver, session))

    def _own_or_settled(self, session: Session, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return what of a message is for the views: of a session that is not on show, how its commands have ended."""
        if session is self._session:
            return message
        if not (message.get("done") or message.get("failed")):
            return None
        return {**message, "rev": 0, "base": 0, "ops": {}}


def _read(text: object) -> Target:
    return Target(is_a("target", text, str, "a text such as 'cuda'; workbench.devices() lists what there is"))
