"""The states of the schedule on show: those that were reached by hand, and those that the tuner found."""

from __future__ import annotations

from typing import Any

from workbench.arguments import whole
from workbench.errors import UsageError

from ..acting import measure_new, on_show
from ..registry import Host, Look, command, slice_


@slice_("history")
def history(look: Look) -> dict[str, Any]:
    """Return the slice `history`."""
    desk, view = look.desk, look.view
    rows = [] if view is None else desk.history.rows(view, desk.doing)
    at = 0 if view is None else view.at
    return {
        "rows": rows, "at": at, "can_undo": at > 0, "can_redo": at + 1 < len(rows), "can_back": desk.can_back,
        "auto": desk.auto,
    }  # fmt: skip


@command
def undo(host: Host, n: int = 1) -> None:
    """Take back steps; fewer when there are not as many."""
    on_show(host).schedule.undo(n)  # on a copy: checks the argument
    assert host.desk.schedule is not None
    host.desk.schedule.undo(n)
    measure_new(host)


@command
def redo(host: Host, n: int = 1) -> None:
    """Take undone steps again."""
    on_show(host)
    assert host.desk.schedule is not None
    host.desk.schedule.redo(n)
    measure_new(host)


@command
def goto(host: Host, step: int) -> None:
    """Go to a step of the history, taken or undone."""
    view = on_show(host)
    schedule = host.desk.schedule
    assert schedule is not None
    if whole("step", step, 0) >= len(view.keys):
        raise UsageError("session.step", f"There is no step {step}", (), f"steps go from 0 to {len(view.keys) - 1}")
    schedule.undo(max(0, view.at - step)).redo(max(0, step - view.at))
    measure_new(host)


@command
def adopt(host: Host, task: object = None) -> None:
    """Show the tuner's best schedule of a task."""
    host.desk.adopt(task)


@command
def open_trial(host: Host, trial: int, task: object = None) -> None:
    """Show a trial's schedule, to go on with it by hand; `back` returns."""
    host.desk.adopt(task, whole("trial", trial, 0))


@command
def back(host: Host) -> None:
    """Return to the schedule before `adopt`."""
    host.desk.back()
