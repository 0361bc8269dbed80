"""The commands that a front end may send, and what each does to the desk. They run in the session's thread."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from workbench.arguments import whole
from workbench.codegen import require_runnable
from workbench.errors import ScheduleError, UsageError, did_you_mean
from workbench.schedule.primitive import from_json

from . import steering, tuning
from .desk import NO_PROGRAM_HINT, Desk
from .history import View, open_parts
from .view import known, note


class Host(Protocol):
    """What commands need of the session."""

    desk: Desk

    def request(self, view: View) -> None:
        """Ask for a measurement of a state."""

    def shown(self) -> Mapping[str, Any]:
        """Return the slices that were computed last."""


F = TypeVar("F", bound=Callable[..., None])
COMMANDS: dict[str, Callable[..., None]] = {}


def command(function: F) -> F:
    """Declare a command: its name and arguments are those of the function after the host."""
    COMMANDS[function.__name__] = function
    return function


def run(host: Host, name: object, args: object) -> None:
    """Run a command by name, or a function that the front end's own side has put into the queue.

    Raises
    ------
    WorkbenchError
        "session.command", "session.arguments", or whatever the command raises.
    """
    if not isinstance(args, Mapping) or not all(isinstance(k, str) for k in args):
        raise UsageError("session.arguments", f"The arguments of {name!r} are not an object")
    if callable(name):
        name(**args)
        return
    function = COMMANDS.get(name) if isinstance(name, str) else None
    if function is None:
        hint = did_you_mean(str(name), COMMANDS, "commands")
        raise UsageError("session.command", f"There is no command {name!r}", (), hint)
    try:
        inspect.signature(function).bind(host, **args)
    except TypeError as error:
        raise UsageError("session.arguments", f"{name}: {error}", (str(name),)) from None
    function(host, **args)


def _view(host: Host) -> View:
    """Return the schedule on show, or say that there is none."""
    view = host.desk.view()
    if view is None:
        raise UsageError("session.no_program", "There is no schedule on show", (), NO_PROGRAM_HINT)
    return view


def _measure_new(host: Host) -> None:
    """After a move: measure the state unless that is off, was done, or cannot be."""
    view = _view(host)
    if host.desk.auto and view.at and view.schedule.is_concrete and view.key not in host.desk.history.results:
        host.request(view)


# ----- the schedule


@command
def select(host: Host, id: str) -> None:
    """Select a row of the nest, a block or a buffer; "" selects nothing."""
    if not isinstance(id, str):
        raise UsageError("session.select", f"There is nothing called {id!r} to select", (), "give a name as text")
    nest = host.shown().get("nest")
    if nest is not None and id not in known(nest) and f"stmt:{id}" in known(nest):
        id = f"stmt:{id}"
    if id and (nest is None or id not in known(nest)):
        hint = did_you_mean(str(id), sorted(known(nest)), "rows") if nest is not None else NO_PROGRAM_HINT
        raise UsageError("session.select", f"There is nothing called {id!r} to select", (), hint)
    host.desk.selected = id


@command
def open_task(host: Host, task: object) -> None:
    """Show a task, given by number, key or name."""
    if task is None:
        raise UsageError("usage.task", "Say which task to open")
    host.desk.open_task(task)


@command
def apply(host: Host, step: object) -> None:
    """Take a step, given in its JSON form."""
    _view(host)
    schedule = host.desk.schedule
    assert schedule is not None
    host.desk.made = schedule.apply(from_json(step))
    _measure_new(host)


@command
def undo(host: Host, n: int = 1) -> None:
    """Take back steps; fewer when there are not as many."""
    _view(host).schedule.undo(n)  # on a copy: checks the argument
    assert host.desk.schedule is not None
    host.desk.schedule.undo(n)
    _measure_new(host)


@command
def redo(host: Host, n: int = 1) -> None:
    """Take undone steps again."""
    _view(host)
    assert host.desk.schedule is not None
    host.desk.schedule.redo(n)
    _measure_new(host)


@command
def goto(host: Host, step: int) -> None:
    """Go to a step of the history, taken or undone."""
    view = _view(host)
    schedule = host.desk.schedule
    assert schedule is not None
    if whole("step", step, 0) >= len(view.keys):
        raise UsageError("session.step", f"There is no step {step}", (), f"steps go from 0 to {len(view.keys) - 1}")
    schedule.undo(max(0, view.at - step)).redo(max(0, step - view.at))
    _measure_new(host)


@command
def measure(host: Host) -> None:
    """Measure the schedule on show, again if it was measured before."""
    view = _view(host)
    if names := open_parts(view.schedule):
        text = f"Cannot measure while {', '.join(names)} {'is' if len(names) == 1 else 'are'} open"
        raise ScheduleError("schedule.open", text, names, "tune the schedule, or choose numbers")
    require_runnable(host.desk.target)
    host.request(view)


@command
def auto_measure(host: Host, on: bool) -> None:
    """Measure every step that is taken here, or stop doing so."""
    if on:
        require_runnable(host.desk.target)
    host.desk.auto = bool(on)


@command
def dismiss(host: Host) -> None:
    """Clear the note."""
    host.desk.note = None


# ----- tuning


@command
def tune(host: Host, scope: str = "task", trials: int | None = None, seconds: float | None = None) -> None:
    """Tune the open numbers of the schedule on show, its task, or all tasks."""
    desk = host.desk
    if scope not in ("schedule", "task", "all"):
        raise UsageError("session.scope", f"There is no scope {scope!r}", (), "known: schedule, task, all")
    if desk.watch is not None and not desk.watch.ended:
        raise UsageError("session.tuning", "A tuning run is under way", (), "stop it first, or wait for its end")
    if not any(t.task for t in desk.infos):
        raise UsageError("session.no_program", "The log does not hold the program", (), NO_PROGRAM_HINT)
    require_runnable(desk.target)
    tasks = [t.task for t in desk.infos if t.task is not None]
    what: Any = _view(host).schedule if scope == "schedule" else tasks
    only = desk.infos[desk.find(None)].key if scope == "task" else None
    if trials is not None:
        whole("trials", trials, code="usage.trials")
    started = tuning.start(what, scope, only, desk.target, desk.log, desk.opened.title, trials, seconds)
    if known_trials := len(started.records) - started.new_trials:
        text = f"Tuning goes on with the {known_trials} trials that {started.log} holds already"
        desk.note = note("info", text, "session.resumed")
    desk.attach(started, scope)


def _watch(host: Host) -> tuning.TuningWatch:
    if host.desk.watch is None:
        raise UsageError("session.no_tuning", "No tuning was started", (), "start it with tune")
    return host.desk.watch


@command
def pause(host: Host) -> None:
    """Hold tuning after the trial in flight."""
    _watch(host).move("pause")


@command
def resume(host: Host) -> None:
    """Go on with tuning."""
    _watch(host).move("resume")


@command
def stop(host: Host) -> None:
    """End tuning after the trial in flight."""
    _watch(host).move("stop")


@command
def cancel(host: Host) -> None:
    """End tuning now; the trial in flight is thrown away."""
    _watch(host).move("cancel")


@command
def steer(host: Host, name: str, args: object = None) -> None:
    """Give the tuning run one of its own commands; `TuningSession.commands` lists them.

    An argument that holds a trace may be ``true``: the schedule on show.
    """
    given = {} if args is None else args
    if not isinstance(given, Mapping) or not all(isinstance(k, str) and k != "source" for k in given):
        raise UsageError("session.arguments", f"The arguments of {name!r} are not an object")
    _watch(host).steer(name, steering.completed(name, given, host.desk.view()))


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
