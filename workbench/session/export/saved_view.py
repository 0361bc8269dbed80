"""A view as JSON, to be sent to somebody: the program, its variants, what is selected, which panels are open."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.analysis.loop_nest.code_listing import code_kinds
from workbench.arguments import path as as_path
from workbench.arguments import shown
from workbench.errors import ScheduleError, UsageError, WorkbenchError
from workbench.graph.tasks import Task
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.verify import verify
from workbench.markup import clean
from workbench.runtime.results.measure_options import CONSTANTS
from workbench.schedule import Schedule
from workbench.schedule.primitive import from_json
from workbench.session.core.notifications import NO_PROGRAM_HINT
from workbench.session.export.exporters import Work, exporter, stem
from workbench.session.export.files import File
from workbench.session.registry import Host
from workbench.session.schedule_view.nest_listing import known, nest_slice
from workbench.session.state.history import History
from workbench.session.state.session_state import SessionState
from workbench.session.state.variant_tree import ROOT, Tree, keys_of
from workbench.session.variants.saved_file import SCHEMA, content, is_sound, take_in
from workbench.target import Target

KIND = "view"

View = str | os.PathLike[str] | Mapping[str, Any]
"""A view by itself, or the file that holds it."""

HINT = "give what Workbench.view() returns, or the file that the export “View” has written"

#: Calls of one task in a model at most; a larger number counts none.
MOST_CALLS = 1_000_000_000

#: What a screen says, and what it may say; panels are named by whoever declares them.
TABS = ("schedule", "tuning", "profile")


def view_of(state: SessionState, screen: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is on show as plain JSON; call it in the session's thread.

    Parameters
    ----------
    screen : mapping
        What a browser says of its side, see `checked_screen`.

    Raises
    ------
    UsageError
        "session.no_program" where no schedule is on show.
    """
    found = state.variant().schedule
    value = content(state)
    programs = {info.key: info.task for info in state.infos}
    for task in value["tasks"]:
        if (known_task := programs[task["key"]]) is not None:
            task["program"] = to_text(known_task.func)
    for task, tree in zip(value["tasks"], state.history.trees.values(), strict=True):
        for node in task["nodes"]:
            node.update(_seen(state.history, tree, node["id"]))
    return {
        "kind": KIND, **value, "title": state.opened.title, "trace": list(found.to_json()),
        "selected": state.selected, "screen": checked_screen(screen),
    }  # fmt: skip


def _seen(history: History, tree: Tree, id: int) -> dict[str, str]:
    """Return how fast a variant is beside the one that it was made of, in the words that are shown here."""
    node = tree.node(id)
    if node.parent is None:
        return {}
    found = history.verdict(node.key, tree.node(node.parent).key, "the one before")
    return {} if found is None else {"than": found.full}


def read_view(view: View) -> Mapping[str, Any]:
    """Return a view that is given by itself, or as a file.

    Raises
    ------
    UsageError
        "view.missing", "view.file".
    """
    if isinstance(view, Mapping):
        return view
    place = as_path("view", view)
    try:
        value = json.loads(Path(place).read_text(encoding="utf-8"))
    except OSError as error:
        text = f"The view cannot be read: {error.strerror or error}"
        raise UsageError("view.missing", text, (place,), HINT) from error
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping):
        raise UsageError("view.file", "This file does not hold a view", (place,), HINT)
    return value


def tasks_of(view: Mapping[str, Any], target: Target | None = None) -> list[Task]:
    """Return the tasks of a view, made from the programs in it, for a target; this machine by default.

    Raises
    ------
    UsageError
        "view.file"; "view.program" for a program that cannot be read, or means nothing.
    """
    there = Target.host() if target is None else target
    told: list[dict[str, Any]] = checked(view)["tasks"]
    found = [_task(one, there) for one in told if "program" in one]
    if not found:
        raise UsageError("view.program", "The view holds no program", (), "open its model, then the view")
    return found


def open_view(state: SessionState, value: object, alone: bool = False) -> dict[str, Any]:
    """Show the task and the schedule of a view, with its variants; call it in the session's thread.

    A task that is not open here is added. Where the view stands `alone`, nothing else being open, kernels are timed as
    they were there, and it is called as there: after the model. What the sender saw of a variant, its time and how
    fast that is, stands beside what is measured here. Returns the screen, for browsers.

    Raises
    ------
    UsageError
        "view.file" for what is no view, "view.program" where its task is not here and the view does not have it.
    ScheduleError
        "view.steps" where a step is not legal here; what was on show stays.
    """
    view = checked(value)
    told = next((one for one in view["tasks"] if one["key"] == view["task"]), None)
    info = next((info for info in state.infos if info.key == view["task"]), None)
    task = None if info is None else info.task
    if task is None:
        if told is None or "program" not in told:
            text = "The task of the view is not open here, and the view does not hold its program"
            raise UsageError("view.program", text, (), NO_PROGRAM_HINT)
        task = _task(told, state.target)
    found = _schedule(task, task.target or state.target, view["trace"])
    if alone:
        state.time_with(view["constants"])
        here = state.opened
        state.opened = replace(here, title=clean(view["title"]) or here.title, stem=here.stem or here.title)
    index = state.add_task(task)
    take_in(state, {**view, "task": task.key}, "the view")
    state.open_task(index)
    node = state.tree.find(keys_of(index, found)[-1])
    state.go(state.tree.add(ROOT, found, edge="steps", by="hand", label="view") if node is None else node.id)
    state.selected, state.fresh = "", True
    if view["selected"] in known(nest_slice(found.func, state.target)):
        state.selected, state.fresh = view["selected"], False
    return checked_screen(view["screen"])


def _task(told: Mapping[str, Any], target: Target) -> Task:
    """Return the task that a view has as a text, which nothing evaluates."""
    try:
        func = parse(told["program"])
        verify(func)
    except WorkbenchError as error:
        raise UsageError("view.program", f"A program of the view cannot be read: {error.message}", (), HINT) from error
    made = Task.of_func(func, target, clean(told["name"]) or None)
    if made.key != told["key"]:
        text = f"A program of the view is not that of its task {shown(told['name'])}"
        raise UsageError("view.program", text, (), HINT)
    return replace(made, weight=told.get("weight", 1))


def _schedule(task: Task, target: Target, trace: list[Any]) -> Schedule:
    found = Schedule(task, target)
    for k, step in enumerate(trace):
        try:
            found.apply(from_json(step))
        except WorkbenchError as error:
            text = f"Step {k + 1} of the view cannot be taken here: {error.message}"
            raise ScheduleError("view.steps", text, error.where, error.hint) from error
    return found


def checked(value: object) -> dict[str, Any]:
    """Return a view whose parts have the right types; what they mean is seen when it is opened."""
    if not isinstance(value, Mapping) or value.get("kind") != KIND:
        raise UsageError("view.file", "This is no view of a workbench", (), HINT)
    if value.get("schema") != SCHEMA:
        text = f"The view has the schema {shown(value.get('schema'))}; this version reads {SCHEMA}"
        raise UsageError("view.file", text, ("schema",), "open it with the version that has written it")
    kinds = {"task": str, "title": str, "tasks": list, "trace": list, "selected": str, "screen": dict}
    wrong = next((name for name, kind in kinds.items() if not isinstance(value.get(name), kind)), "")
    if not wrong and not is_sound(value):
        wrong = "tasks"
    if wrong:
        raise UsageError("view.file", f"“{wrong}” of the view is {shown(value.get(wrong))}", (wrong,), HINT)
    if value.get("constants") not in CONSTANTS:
        text = f"“constants” of the view is {shown(value.get('constants'))}"
        raise UsageError("view.file", text, ("constants",), f"known: {', '.join(CONSTANTS)}")
    for task in value["tasks"]:
        if not isinstance(task.get("name"), str) or not isinstance(task.get("program", ""), str):
            raise UsageError("view.file", "A task of the view has no name, or a program that is no text", (), HINT)
        if type(weight := task.get("weight", 1)) is not int or not 1 <= weight <= MOST_CALLS:
            text = f"“weight” of a task of the view is {shown(weight)}"
            raise UsageError("view.file", text, ("weight",), "it says how often the model calls the task")
    checked_screen(value["screen"])
    return dict(value)


def checked_screen(screen: object) -> dict[str, Any]:
    """Return a browser's side of a view: what it does not say is left out.

    ``tab`` is one of `TABS`; ``middle`` the panel in the middle; ``code`` the form of code; ``whole`` the panel that
    has all the room, or ""; ``compare`` two variants beside each other.

    Raises
    ------
    UsageError
        "view.file" for anything else.
    """
    known_values: dict[str, Any] = {
        "tab": lambda v: v in TABS,
        "middle": _is_name,
        "whole": lambda v: v == "" or _is_name(v),
        "code": lambda v: v in code_kinds(),
        "compare": lambda v: isinstance(v, list | tuple) and len(v) == 2 and all(type(n) is int and n >= 0 for n in v),
    }
    if not isinstance(screen, Mapping):
        raise UsageError("view.file", f"A screen is an object, not {shown(screen)}", ("screen",), HINT)
    for name, value in screen.items():
        if not (name in known_values and isinstance(value, str | list | tuple) and known_values[name](value)):
            raise UsageError("view.file", f"{shown(value)} is no {shown(name)} of a screen", ("screen",), HINT)
    return {str(name): list(value) if isinstance(value, tuple) else value for name, value in screen.items()}


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isidentifier() and len(value) < 40


@exporter(
    "view",
    label="View",
    about="JSON: the program, {step}, its variants and what is open; Workbench(view=FILE) shows it anywhere",
    needs="schedule",
)
def _view(host: Host, args: Mapping[str, Any]) -> Work:
    """What is on show, to be sent to somebody."""
    value, name = view_of(host.state, args.get("screen") or {}), stem(host)
    return lambda: File(f"{name}.view.json", "application/json", json.dumps(value, ensure_ascii=False))
