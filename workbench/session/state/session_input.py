"""What a session can be opened on, and what each brings: tasks, a schedule, a graph, trials."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workbench.arguments import elements, known_options
from workbench.arguments import path as as_path
from workbench.codegen.backend import backend_for
from workbench.errors import InputError, UsageError, WorkbenchError
from workbench.graph.graph import Graph
from workbench.graph.passes import optimized
from workbench.graph.tasks import Task, extract_tasks
from workbench.ir import Func
from workbench.log import Comparison, Log, NetworkTime, Record, Round, load_log
from workbench.log.reader import check_model
from workbench.schedule import Schedule
from workbench.session.core.notifications import NO_PROGRAM_HINT
from workbench.target import Target
from workbench.tune.run.tuning_session import TuningSession

if TYPE_CHECKING:
    import pandas

Kind = Literal["model", "task", "schedule", "tuning", "log"]
ACCEPTS = (
    "give a Graph or the path of an ONNX model, a Task or a list of them, a Func, a Schedule, a TuningSession, "
    "a Replay, or a tuning log (its path, or the table of read_log)"
)


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task as the table shows it; that of a log has no program."""

    key: str
    name: str
    weight: int
    flops: int
    task: Task | None = None

    @staticmethod
    def of(task: Task) -> TaskInfo:
        """Describe a task."""
        return TaskInfo(task.key, task.name, task.weight, int(task.flops), task)


@dataclass(frozen=True, slots=True)
class SessionInput:
    """A subject, taken apart.

    Attributes
    ----------
    stem : str
        What a log is named after where none is given; "" for the title.
    """

    kind: Kind
    title: str
    target: Target
    tasks: tuple[TaskInfo, ...] = ()
    graph: Graph | None = None
    schedule: Schedule | None = None
    tuning: TuningSession | None = None
    records: tuple[Record, ...] = field(default=())
    lines: tuple[Record | Comparison | NetworkTime, ...] = field(default=())
    rounds: tuple[Round, ...] = field(default=())
    path: str = ""
    shaped: bool = False
    stem: str = ""


LOADING = ("shapes", "dynamic", "fill_weights")
"""Options that are about the file of a model."""

OPTIONS = (*LOADING, "precision")
"""All options of a subject."""


def open_subject(
    subject: Any, target: Target | None, log: str | None, loading: Mapping[str, Any] | None = None
) -> SessionInput:
    """Take apart whatever a user passed; `loading` are those of `OPTIONS` that were given.

    Raises
    ------
    UsageError
        "workbench.subject" for something that cannot be shown, "usage.option" for an option that does not exist, or
        that has nothing to do with the subject.
    ModelError, LogError
        What is wrong with a file; "log.other_model" when `log` belongs to another model.
    """
    given = {name: value for name, value in (loading or {}).items() if value is not None}
    known_options(loading or (), OPTIONS, "A session")
    opened = _open(subject, target, given)
    if opened.graph is None and "precision" in given:
        text = "A precision is chosen for a model, and this is none"
        raise UsageError("usage.option", text, ("precision",), "give a graph or the path of an ONNX model")
    if (of_file := [name for name in given if name in LOADING]) and not opened.path:
        text = f"{', '.join(of_file)} is for the file of a model, and this is none"
        raise UsageError("usage.option", text, tuple(of_file), "give the path of an ONNX model")
    if log is None or opened.kind == "log" or not Path(log).exists():
        return opened
    found = load_log(log)
    keys = [t.key for t in opened.tasks]
    check_model(found.header, found.records, keys, log)
    records = tuple(r for r in found.records if r.task_key in set(keys))
    lines = tuple(
        x for x in timed(found) if (set(x.alone_ms) if isinstance(x, NetworkTime) else {x.task_key}) <= set(keys)
    )
    rounds = tuple(r for r in found.rounds if r.task_key in set(keys))
    return replace(opened, records=records, lines=lines, rounds=rounds)


def for_target(opened: SessionInput, target: Target) -> SessionInput:
    """Make the same tasks for another target; a schedule begins as its program is written.

    Raises
    ------
    UsageError
        "session.no_program" for a log.
    TargetError
        "target.tasks" where an accelerator computes nothing of the model.
    """
    if opened.graph is not None:
        made = _graph(opened.graph, target, None)
        return replace(made, title=opened.title, path=opened.path, shaped=opened.shaped)
    tasks = [replace(t.task, target=target) for t in opened.tasks if t.task is not None]
    if not tasks:
        raise UsageError("session.no_program", "The log does not hold the program", (), NO_PROGRAM_HINT)
    return replace(_tasks(tasks, target), title=opened.title)


def why_not_for(opened: SessionInput, target: Target) -> WorkbenchError | None:
    """Return what `for_target` would refuse a target with; None where it would not. Few targets need tasks for that."""
    try:
        if opened.graph is None:
            for_target(opened, target)
        elif not backend_for(target).any_nest:
            extract_tasks(opened.graph, target)
    except WorkbenchError as error:
        return error
    return None


def timed(log: Log) -> tuple[Record | Comparison | NetworkTime, ...]:
    """Return the lines of a log that are of times, in its order."""
    return tuple(line for line in log.lines if isinstance(line, Record | Comparison | NetworkTime))


def _open(subject: Any, target: Target | None, loading: Mapping[str, Any]) -> SessionInput:
    if isinstance(subject, SessionInput):
        return subject
    if isinstance(subject, str | os.PathLike):
        return _file(as_path("the path", subject), target, loading)
    if isinstance(subject, Graph):
        return _graph(subject, target, loading.get("precision"))
    if isinstance(subject, Task):
        own = target or subject.target or Target.host()
        return SessionInput("task", subject.name, own, (TaskInfo.of(subject),))
    if isinstance(subject, Func):
        own = target or Target.host()
        return SessionInput("task", subject.name, own, (TaskInfo.of(Task.of_func(subject, own)),))
    if isinstance(subject, Schedule):
        given = target or subject.target or Target.host()
        own = Target(given) if isinstance(given, str) else given
        task = Task.of_schedule(subject, own)
        return SessionInput("schedule", task.name, own, (TaskInfo.of(task),), schedule=subject)
    if isinstance(subject, TuningSession):
        return _tuning(subject, target)
    if type(subject).__name__ == "Replay":  # of `workbench.logs`, which stays unloaded
        opened = _open(subject.rebuilt().copy(), target, loading)
        return replace(opened, title=f"{opened.title}, record {subject.record}")
    if any(kind.__name__ == "DataFrame" for kind in type(subject).__mro__):  # pandas stays unloaded
        return _table(subject, target)
    return _tasks(subject, target)


def _file(path: str, target: Target | None, loading: Mapping[str, Any]) -> SessionInput:
    if path.endswith(".jsonl"):
        log = load_log(path)
        names = [(key, name) for key, name in log.header.tasks] if log.header else []
        opened = _log(Path(path).name, log.records, names, target)
        return replace(opened, lines=timed(log), rounds=log.rounds)
    shapes, dynamic, seed = (loading.get(name) for name in LOADING)
    if seed is None:
        from workbench.graph import load_onnx

        graph = load_onnx(path, shapes, dynamic)
    else:
        from workbench.network.seeded_model import load_filled

        graph = load_filled(path, seed, shapes, target, dynamic)
    return replace(_graph(graph, target, loading.get("precision")), path=path, shaped=bool(shapes))


def _graph(graph: Graph, target: Target | None, precision: str | None) -> SessionInput:
    own = target or Target.host()
    ready = optimized(graph, precision=precision, target=own)
    tasks = tuple(map(TaskInfo.of, extract_tasks(ready, own)))
    return SessionInput("model", graph.name, own, tasks, graph=ready)


def _tuning(tuning: TuningSession, target: Target | None) -> SessionInput:
    tasks = tuning.tasks
    own = target or next((t.target for t in tasks if t.target is not None), None) or Target.host()
    title = Path(tuning.log).name if tuning.log else tasks[0].name
    return SessionInput("tuning", title, own, tuple(map(TaskInfo.of, tasks)), tuning=tuning)


def _tasks(subject: Any, target: Target | None) -> SessionInput:
    items = elements(subject) or ()
    if not items or not all(isinstance(t, Task) for t in items):
        what = f"An object of type {type(subject).__name__}"
        if items:
            what = "A list of something other than tasks"
        elif isinstance(subject, list | tuple):
            what = "An empty list"
        raise UsageError("workbench.subject", f"{what} cannot be shown", (), ACCEPTS)
    own = target or items[0].target or Target.host()
    title = items[0].name if len(items) == 1 else f"{len(items)} tasks"
    return SessionInput("task" if len(items) == 1 else "model", title, own, tuple(map(TaskInfo.of, items)))


def _table(frame: pandas.DataFrame, target: Target | None) -> SessionInput:
    try:
        records = tuple(Record.from_json(_plain(row)) for row in frame.to_dict("records"))
    except (WorkbenchError, TypeError, ValueError) as error:
        why = error.message if isinstance(error, WorkbenchError) else str(error)
        raise UsageError("workbench.subject", f"The table is not a tuning log: {why}", (), ACCEPTS) from error
    return _log("tuning log", records, [], target)


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    """Turn a row of a table back into the JSON form of a record: pandas has NaN where a record has nothing."""
    out: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, float) and value != value:
            value = None
        if name not in ("gflops", "schema"):
            out[str(name)] = value
    return out


def _log(
    title: str,
    records: tuple[Record, ...],
    names: list[tuple[str, str]],
    target: Target | None,
) -> SessionInput:
    first: dict[str, Record] = {}  # names a task: later ones may be of a schedule of one's own
    for r in records:
        first.setdefault(r.task_key, r)
    infos = {key: TaskInfo(key, name, 1, 0) for key, name in names}
    for key, r in first.items():
        infos[key] = TaskInfo(key, infos[key].name if key in infos else r.task, int(r.weight), int(r.flops))
    tasks = tuple(infos.values())
    return SessionInput("log", title, target or _recorded(records), tasks, records=records, lines=records)


def _recorded(records: tuple[Record, ...]) -> Target:
    """Return the target that the trials were made for; this machine when there are none or it cannot be read."""
    if not records:
        return Target.host()
    try:
        return Target(records[-1].target)
    except InputError:
        return Target.host()
