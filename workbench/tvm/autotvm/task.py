"""Templates that make their own computation, and tasks."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from workbench.errors import TemplateError
from workbench.graph.graph import Array
from workbench.graph.tasks import Task as OwnTask
from workbench.graph.tasks import extract_tasks
from workbench.machine_model.machine_parameters import Machine
from workbench.registry import Registry
from workbench.schedule import Schedule
from workbench.schedule.stages import LoopName
from workbench.space.space import Space, make_space
from workbench.space.template import TEMPLATES, Template
from workbench.space.template.config import Config
from workbench.space.template.symbolic_knobs import Closed
from workbench.te import Tensor
from workbench.tvm.auto_scheduler import best_schedule
from workbench.tvm.relay import HISTORY, Module
from workbench.tvm.target import plain

Made = tuple[Schedule, Sequence[Tensor]]
_FUNCTIONS: Registry[Callable[..., Made]] = Registry("template", "templates", "template.unknown", TemplateError)
_CONFIG: ContextVar[ConfigSpace | None] = ContextVar("config", default=None)


class ConfigSpace:
    """`Config` with AutoTVM's way of applying a knob: to a stage and its axis."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def define_split(self, name: str, axis: Any, *args: Any, **options: Any) -> Entity:
        """Leave the factors of a loop open; see `Config.define_split`."""
        if isinstance(axis, LoopName):
            self.config.schedule = axis.schedule
        return Entity(self.config.define_split(name, axis, *args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.config, name)

    def __getitem__(self, name: str) -> Entity:
        return Entity(self.config[name])


class Entity:
    """A knob: `val`, `size` and the rest are those of our knob."""

    def __init__(self, knob: Any) -> None:
        self.knob = knob

    def __getattr__(self, name: str) -> Any:
        return getattr(self.knob, name)

    def apply(self, schedule: Schedule, op: Any, axis: Any = None, **options: Any) -> Any:
        """Cut, order or mark the axes of a stage."""
        return self.knob.apply(schedule, axis)


def get_config() -> ConfigSpace:
    """Return what a template declares its knobs with.

    Raises
    ------
    TemplateError
        "template.config" outside of a template.
    """
    found = _CONFIG.get()
    if found is None:
        text = "There is no configuration outside of a template."
        raise TemplateError("template.config", text, (), 'put @autotvm.template("name") over the function')
    return found


@contextmanager
def _with(config: Config) -> Iterator[None]:
    token = _CONFIG.set(ConfigSpace(config))
    try:
        yield
    finally:
        _CONFIG.reset(token)


def _first(function: Callable[..., Made], args: Sequence[Any]) -> Made:
    """What a template makes with the first candidate of every knob whose value it needs, and holes for the others."""
    values: dict[str, Any] = {}
    while True:
        config = Config(None, Machine.of(plain()), values=values)  # type: ignore[arg-type]  # known with its first axis
        try:
            with _with(config):
                return function(*args)
        except Closed as closed:
            values[closed.knob] = config.knobs[closed.knob].candidates[0]


def template(name: str, func: Callable[..., Made] | None = None) -> Any:
    """Declare a template: put it over a function of shapes that returns a schedule, with open knobs, and its tensors.

    Calling the function inside of ``with apply_history_best(log)`` gives the best schedule of the log.
    """

    def declare(function: Callable[..., Made]) -> Callable[..., Made]:
        _FUNCTIONS[name] = function

        @functools.wraps(function)
        def made(*args: Any) -> Made:
            schedule, tensors = _first(function, args)
            if HISTORY.get() is None:
                return schedule, tensors
            return best_schedule(OwnTask.of_func(schedule.base, plain()), HISTORY.get()), tensors

        return made

    return declare if func is None else declare(func)


class Candidates:
    """A space, whose length is the number of its rows: ``min(n_trial, len(task.config_space))``."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def __len__(self) -> int:
        return min(self.space.size, sys.maxsize)

    def __repr__(self) -> str:
        return repr(self.space)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.space, name)


class Task:
    """A task of AutoTVM.

    Attributes
    ----------
    name : str
    own : Task of workbench
    template : str or None
        Where its candidates come from; the sketch rules where there is none.
    """

    def __init__(self, name: str, own: OwnTask, template: str | None = None) -> None:
        self.name, self.own, self.template = name, own, template

    @property
    def config_space(self) -> Candidates:
        """The candidates."""
        return Candidates(make_space(self.own, template=self.template))

    @property
    def flop(self) -> int:
        """Arithmetic operations of one run."""
        return self.own.flops

    def __repr__(self) -> str:
        return f"Task({self.name}: {self.own.description})"


def create(task_name: str, args: Sequence[Any], target: Any = None, target_host: Any = None) -> Task:
    """Return the task of a template for these arguments."""
    function = _FUNCTIONS[task_name]

    def steps(config: Config, schedule: Schedule) -> None:
        with _with(config):
            made, _ = function(*args)
        for step in made.trace:
            schedule.apply(step)

    made, _ = _first(function, args)
    known = f"{task_name} {' '.join(map(str, args))}"
    steps.__doc__ = function.__doc__ or f"the template {task_name}"
    TEMPLATES[known] = Template(known, steps.__doc__, steps, None)  # type: ignore[arg-type]
    return Task(task_name, OwnTask.of_func(made.base, plain(target), known), known)


def extract_from_program(
    mod: Module, target: Any = None, params: Mapping[str, Array] | None = None, ops: Any = None, **options: Any
) -> list[Task]:
    """Return the tasks of a network; with `ops` only those that compute one of these operators."""
    tasks = extract_tasks(mod.bound(params), plain(target))
    kinds = None if ops is None else {str(op).removeprefix("nn.").partition("_")[0] for op in ops}
    return [Task(t.name, t) for t in tasks if kinds is None or any(t.name.startswith(k) for k in kinds)]
