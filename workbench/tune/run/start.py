"""`tune`: from whatever a user has to a running session."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, get_type_hints

from workbench import exercise_mode
from workbench.arguments import elements, is_a, known_options, shown, whole
from workbench.codegen.backend import backend_for, require_runnable
from workbench.cost_model import load
from workbench.errors import TargetError, UsageError
from workbench.files import is_json_file
from workbench.graph import Graph
from workbench.graph.passes import optimized
from workbench.graph.tasks import Task, extract_tasks
from workbench.host import usable_threads
from workbench.ir import Func
from workbench.log.similar_tasks import differences
from workbench.schedule import Schedule
from workbench.space.sketch import RULES
from workbench.space.sketch.tile_structure import Structure
from workbench.space.space import make_space
from workbench.space.template import TEMPLATES
from workbench.target import Target
from workbench.target_kinds import target_kinds
from workbench.tune.constants import Budgets
from workbench.tune.options import TuneOptions
from workbench.tune.plan.measurer import LocalMeasurer, constants_of
from workbench.tune.plan.run_plan import RunArguments, RunPlan
from workbench.tune.plan.tune_context import TuneContext, check_seeds
from workbench.tune.run.tuning_session import TuningSession

if TYPE_CHECKING:
    from workbench.tune.plan.network_timer import NetworkTimer


def tune(
    what: Task | Func | Schedule | Graph | Iterable[Task],
    *,
    target: Target | str | None = None,
    options: TuneOptions | None = None,
    seeds: Any = None,
    start: bool = True,
    precision: str | None = None,
    **given: Any,
) -> TuningSession:
    """Tune in the background.

    Without trials and seconds, each task has 64 trials. An option that is given by its name takes the place of the one
    in `options`. With a template, candidates come from it (``space="template"``).

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
    precision : str, optional
        For a graph, as for `compile`, which has to be given the same.

    Returns
    -------
    TuningSession
        Running, unless `start` is false.

    Raises
    ------
    UsageError
        ``usage.*`` for arguments that make no sense; ``lab.mode`` where an open lab keeps the tuner off.
    TargetError
        ``target.tasks``: an accelerator does not compute what some of the tasks do.
    LogError
        ``log.unwritable``, ``log.locked``, ``log.exists``, ``log.other_model``, ``log.corrupt``; before anything is
        measured.
    """
    exercise_mode.need("tuner")
    what = _in_precision(what, precision)
    resolved = _target(what, target)
    if given.get("runner", getattr(options, "runner", None)) is None:
        require_runnable(resolved)
    tasks, space_of, model = _tasks(what, resolved)
    known_options(given, (f.name for form in (RunArguments, TuneOptions) for f in fields(form)), "tune")
    planned = {f.name: given.pop(f.name) for f in fields(RunArguments) if f.name in given}
    seed = whole("seed", planned.get("seed", 0), least=None)
    options = _options(options, given, tasks, resolved, drawn_up=bool(space_of))
    _check_names(options, tasks)
    if options.space == "sketch":
        _check_computable([task for task in tasks if task.key not in space_of], resolved)
    _check_runner(options.runner, resolved)
    if planned.get("trials") is None and planned.get("seconds") is None:
        planned["trials"] = Budgets.TRIALS_PER_TASK * len(tasks)
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


def _declare(function: Callable[..., Any], *forms: type[Any]) -> None:
    """Let the signature and the documentation of a function name the fields of dataclasses, as its keywords."""
    own = inspect.signature(function)
    parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    head, mark, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\nReturns\n")
    for form in forms:
        hints = get_type_hints(form)
        parameters += [
            inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
            for f in fields(form)
        ]
        section = inspect.cleandoc(form.__doc__ or "").partition("Parameters\n----------\n")[2]
        head += "\n" + section.partition("\n\n")[0]
    setattr(function, "__signature__", own.replace(parameters=parameters))  # noqa: B010  # no attribute, says mypy
    function.__doc__ = head + mark + rest


_declare(tune, RunArguments, TuneOptions)


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
    options = replace(options, **{name: value for name, value in given.items() if value is not None})
    options = replace(
        options,
        baseline=options.baseline and not drawn_up,
        constants=constants_of(tasks, target) if options.constants is None else options.constants,
    )
    if options.template is not None and options.space == "sketch":
        options = replace(options, space="template")
    return options


def _network(what: Any, target: Target, options: TuneOptions) -> NetworkTimer | None:
    """Who measures the whole network: nobody where there is none, where others measure, or where none can run."""
    if not isinstance(what, Graph) or options.runner is not None or not target_kinds[target.kind].processor:
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
        load(options.model)
    if options.structure is not None:
        Structure.parse(options.structure)
    if options.template is not None:
        named = TEMPLATES[options.template]
        fitting = [task for task in tasks if named.suits(task)]
        if tasks and not fitting:
            hint = "templates_for(task) lists those that do; space='both' searches the sketch rules too"
            message = f"The template '{options.template}' fits none of the tasks"
            raise UsageError("usage.template", message, [task.name for task in tasks[:3]], hint)


def _check_computable(tasks: Sequence[Task], target: Target) -> None:
    """Raise for tasks that an accelerator cannot compute, whose candidates could only fail."""
    if backend_for(target).any_nest:
        return
    its = {rule.name for rule in RULES if rule.on == "accelerator"}
    fired = [any(r.fired and r.rule in its for r in make_space(task.func, target).rules()) for task in tasks]
    if all(fired):
        return
    lacking = [task.name for task, does in zip(tasks, fired, strict=True) if not does]
    names = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
    message = f"{target.kind!r} does not compute {names}: it computes products of bytes with constant weights."
    hint = f"wb.tune([t for t in tasks if …], target={target.kind!r}) with those that are; make_space(task).explain()"
    raise TargetError("target.tasks", message, lacking[:3], hint)


def _target(what: Any, target: Target | str | None) -> Target:
    if isinstance(target, str):
        return Target(target)
    if target is not None:
        return is_a("target", target, Target, "give a Target, or its text such as 'llvm -mcpu=native -threads=2'")
    own = getattr(what, "target", None)
    return own if isinstance(own, Target) else Target.host()


def _in_precision(what: Any, precision: str | None) -> Any:
    """A graph, optimised for a precision; anything else as it is."""
    if precision is None:
        return what
    if not isinstance(what, Graph):
        text = f"A precision is chosen for a graph; {shown(type(what).__name__)} has its element types already"
        raise UsageError("usage.precision", text, (shown(precision),), "leave precision out, or give the graph")
    return optimized(what, precision=precision)


def _tasks(what: Any, target: Target) -> tuple[tuple[Task, ...], dict[str, Schedule], str]:
    """Return the tasks, the schedules with holes that replace the space of a task, and the model's name."""
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
