"""What a session shows, for another target: a session of its own, beside the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.errors import LogError, UsageError
from workbench.session.panels.meta import target_text
from workbench.session.session import Session
from workbench.session.state.session_input import for_target
from workbench.session.state.session_state import SessionState
from workbench.session.tuning_run.start import log_names, slug
from workbench.target import Target


def retargeted(session: Session, target: Target, auto_measure: bool = True) -> Session:
    """Open what a session shows for another target; the session itself stays as it is.

    Parameters
    ----------
    target : Target
        What the tasks are made for, anew.
    auto_measure : bool
        As for `Session`.

    Returns
    -------
    Session
        Its log stands beside that of the session and has the target in its name; what it holds already is shown.

    Raises
    ------
    UsageError
        "session.no_program" for a log.
    TargetError
        "target.tasks" where an accelerator computes nothing of the model.
    """
    opened = replace(for_target(session.state.opened, target), stem=f"{session.state.opened.title} {_name(target)}")
    for log in _logs(session.state, target):
        try:
            return Session(opened, log=log, auto_measure=auto_measure)
        except LogError as error:
            if error.code != "log.other_model":
                raise
    raise AssertionError("the names never end")


def check_leave(session: Session) -> None:
    """Refuse to leave a session whose tuning is under way: it would go on where nobody sees it.

    Raises
    ------
    UsageError
        "session.tuning".
    """
    watch = session.state.watch
    if watch is not None and not watch.ended:
        text = f"A tuning run is under way for {target_text(session.state.target)}"
        raise UsageError("session.tuning", text, (), "stop it first, or wait for its end; its log keeps what it found")


def beside(path: str, target: Target) -> str:
    """Return the path, up to its suffixes, of a file that is to stand beside another one, for a target."""
    folder, mark, name = path.rpartition("/")
    return f"{folder}{mark}{name.partition('.')[0]}-{_name(target)}"


def _name(target: Target) -> str:
    """What a target is called in the name of a file."""
    return slug(f"{target_text(target)} {target.cpu or ''}")


def _logs(state: SessionState, target: Target) -> Iterator[str | None]:
    """Logs beside that of a session, in turn; None where it has none."""
    if state.log_now is None:
        yield None
    else:
        yield from log_names(beside(state.log_now, target))
