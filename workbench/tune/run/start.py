"""`tune`: from whatever a user has to a running session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from workbench.arguments import elements, is_a, known_options, whole
from workbench.codegen import require_runnable
from workbench.errors import UsageError
from workbench.files import is_json_file
from workbench.host import usable_threads
from workbench.log.similar_tasks import differences
from workbench.tune.options import TuneOptions
from workbench.tune.plan.measurer import LocalMeasurer, constants_of
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.plan.tune_context import TuneContext, check_seeds
from workbench.tune.run.session import TuningSession

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.graph.tasks import Task
    from workbench.ir.func import Func
    from workbench.schedule import Schedule
    from workbench.target import Target
    from workbench.tune.plan.network_timer import NetworkTimer

_PLANNED = ("trials", "seconds", "log", "seed", "resume", "only_tasks", "source")
"""What a caller says of the run itself: these are fields of `RunPlan`, all else is an option."""

TRIALS_PER_TASK = 64
"""Budget when neither trials nor seconds are given."""


def tune(
    what: Task | Func | Schedule | Graph | Iterable[Task],
    *,
    target: Target | str | None = None,
    options: TuneOptions | None = None,
    seeds: Any = None,
    start: bool = True,
    **given: Any,
) -> TuningSession:
    """Tune in the background.

    Parameters
    ----------
    what : Task, Func, Schedule, Graph or iterable of Task
        What to tune. Of a schedule with holes, the search fills the holes and keeps the rest as it is.
    target : Target or str, optional
        What to tune for; that of the tasks, else this machine.
    options : TuneOptions, optional
        How to tune.
    seeds : Schedule, Record, path, or an iterable of them, optional
        What the searches start from: schedules by hand, trials, logs of this or of similar tasks, of this or of other
        machines. What was adapted is said in events (``seed``) and in the records.
    start : bool
        Whether the session runs when it is returned.
    trials : int, optional
        Trials in all, those that `log` already holds included. 64 for each task when `seconds` is not given either.
    seconds : float, optional
        Time limit of this run, in seconds.
    log : path, optional
        Where every trial is written before anything else is told about it. Without a log the trials are only kept in
        the session.
    seed : int
        Seed of the search and of the data that candidates are checked with.
    resume : bool
        Go on with an existing `log`: its trials count, and no candidate in it is measured again. Trials for another
        target, or with constants in other caches, stay in it and do not count; that is told in an event (``warning``).
    only_tasks : sequence of int or str, optional
        Tune only these: positions, keys or names.
    source : {"python", "widget", "control file", "command line"}
        Who starts it, for the log.
    batch, template, objective, runner, ...
        Any option of `TuneOptions` by its name, in the place of the one in `options`. With a template, candidates come
        from it (``space="template"``).

    Returns
    -------
    TuningSession
        Running, unless `start` is false.

    Raises
    ------
    UsageError
        ``usage.*`` for arguments that make no sense.
    LogError
        ``log.unwritable``, ``log.locked``, ``log.exists``, ``log.other_model``, ``log.corrupt``; before anything is
        measured.
    """
    resolved = _target(what, target)
    require_runnable(resolved)
    tasks, space_of, model = _tasks(what, resolved)
    known_options(given, (*_PLANNED, *(f.name for f in fields(TuneOptions))), "tune")
    planned = {name: given.pop(name) for name in _PLANNED if name in given}
    seed = whole("seed", planned.get("seed", 0), least=None)
    options = _options(options, given, tasks, resolved, drawn_up=bool(space_of))
    _check_names(options, tasks)
    _check_runner(options.runner, resolved)
    if planned.get("trials") is None and planned.get("seconds") is None:
        planned["trials"] = TRIALS_PER_TASK * len(tasks)
    plan = RunPlan(
        tasks,
        context=TuneContext(resolved, options, seed, space_of, check_seeds(seeds)),
        measurer=LocalMeasurer(resolved, options, seed, options.runner),
        network=_network(what, resolved, options),
        options=options,
        target=str(resolved),
        model=model,
        ahead=resolved.threads < usable_threads(),  # a kernel that uses all cores is not to be disturbed
        **planned,
    )
    session = TuningSession(plan)
    return session.start() if start else session


def _options(
    options: TuneOptions | None, given: Mapping[str, Any], tasks: Sequence[Task], target: Target, drawn_up: bool
) -> TuneOptions:
    """Return the options with what was given beside them, and with what is chosen when it is left out.

    Parameters
    ----------
    drawn_up : bool
        Whether the space is a user's schedule: the default schedule is not in it, so it is no yardstick there.
    """
    options = is_a("options", TuneOptions() if options is None else options, TuneOptions)
    options = replace(
        options,
        **{name: value for name, value in given.items() if value is not None},
        baseline=options.baseline and not drawn_up,
        constants=constants_of(tasks, target) if options.constants is None else options.constants,
    )
    if options.template is not None and options.space == "sketch":
        options = replace(options, space="template")
    return options


def _network(what: Any, target: Target, options: TuneOptions) -> NetworkTimer | None:
    """Who measures the whole network: nobody where there is none, or where others measure."""
    from workbench.graph import Graph

    if not isinstance(what, Graph) or options.runner is not None:
        return None
    from workbench.tune.plan.network_timer import NetworkTimer

    return NetworkTimer(what, target)


def _check_runner(runner: Any, target: Target) -> None:
    measured_for = getattr(runner, "target", None)
    if measured_for is not None and str(measured_for) != str(target):
        message = f"The runner measures for another target ({differences(str(measured_for), str(target))})"
        raise UsageError("usage.runner", message, ("runner",), "give tune and the runner the same target")


def _check_names(options: TuneOptions, tasks: Sequence[Task]) -> None:
    """Raise for a saved model, a structure or a template that cannot be used, before anything is written."""
    if is_json_file(options.model):
        from workbench.cost_model import load

        load(options.model)
    if options.structure is not None:
        from workbench.space.sketch.tile_structure import Structure

        Structure.parse(options.structure)
    if options.template is not None:
        from workbench.space.template import TEMPLATES

        named = TEMPLATES[options.template]
        fitting = [task for task in tasks if named.suits(task)]
        if tasks and not fitting:
            hint = "templates_for(task) lists those that do; space='both' searches the sketch rules too"
            message = f"The template '{options.template}' fits none of the tasks"
            raise UsageError("usage.template", message, [task.name for task in tasks[:3]], hint)


def _target(what: Any, target: Target | str | None) -> Target:
    from workbench.target import Target

    if isinstance(target, str):
        return Target(target)
    if target is not None:
        return is_a("target", target, Target, "give a Target, or its text such as 'llvm -mcpu=native -threads=2'")
    own = getattr(what, "target", None)
    return own if isinstance(own, Target) else Target.host()


def _tasks(what: Any, target: Target) -> tuple[tuple[Task, ...], dict[str, Schedule], str]:
    """Return the tasks, the schedules with holes that replace the space of a task, and the model's name."""
    from workbench.graph import Graph
    from workbench.graph.tasks import Task, extract_tasks
    from workbench.ir.func import Func
    from workbench.schedule import Schedule

    if isinstance(what, Graph):
        return tuple(extract_tasks(what, target)), {}, what.name
    if isinstance(what, Func):
        what = Task.of_func(what, target)
    if isinstance(what, Task):
        return (what,), {}, what.name
    if isinstance(what, Schedule):
        if what.is_concrete:
            hint = "leave numbers open, for instance s.split('i', [Hole(), Hole()]), or tune the task instead"
            raise UsageError("usage.no_holes", "The schedule has no holes, so there is nothing to search", (), hint)
        task = Task.of_schedule(what, target)
        return (task,), {task.key: what}, task.name
    tasks = elements(what)
    if tasks is not None and all(isinstance(task, Task) for task in tasks):
        return tasks, {}, ""
    hint = "give a task, tasks, a function, a graph, or a schedule with holes"
    raise UsageError("usage.tune", f"An object of type {type(what).__name__} cannot be tuned", (), hint)
