"""What several commands do: look at the schedule on show, measure it after a move."""

from __future__ import annotations

from workbench.advice.offer import replayed
from workbench.arguments import shown
from workbench.errors import UsageError
from workbench.schedule import Schedule
from workbench.session.core.notifications import NO_PROGRAM_HINT
from workbench.session.registry import Host
from workbench.session.state.history import View


def current_view(host: Host) -> View:
    """Return the schedule on show, or say that there is none."""
    view = host.state.view()
    if view is None:
        raise UsageError("session.no_program", "There is no schedule on show", (), NO_PROGRAM_HINT)
    return view


def listed(steps: object) -> list[object]:
    """Return the steps that are to follow another one; none for None."""
    if steps is None:
        return []
    if not isinstance(steps, list):
        raise UsageError("session.arguments", f"The steps to take then are a list, not {shown(steps)}")
    return steps


def taken_back(schedule: Schedule, places: object) -> Schedule:
    """Return a copy of a schedule without the steps at these places of its trace; none for None.

    Raises
    ------
    UsageError
        "session.arguments" for what are no places; else what a later step raises that needs one of them.
    """
    if places is None:
        return schedule.copy()
    if not isinstance(places, list) or not all(type(k) is int and 0 <= k < len(schedule.trace) for k in places):
        raise UsageError("session.arguments", f"The steps to take back are a list of places, not {shown(places)}")
    return replayed(schedule, places)


def measure_new(host: Host) -> None:
    """After a step was taken: measure the state unless that is off, was done, or cannot be."""
    view = current_view(host)
    if host.state.auto and view.at and view.schedule.is_concrete and view.key not in host.state.history.results:
        host.request(view)
