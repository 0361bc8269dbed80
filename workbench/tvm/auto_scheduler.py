"""The auto-scheduler's words: tasks of a network, a tuner, options, the best of a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import Token
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from workbench.errors import UsageError, did_you_mean
from workbench.graph.graph import Array
from workbench.graph.tasks import Task
from workbench.graph.tasks import extract_tasks as own_tasks
from workbench.ir import blocks
from workbench.log.database import Database
from workbench.log.replay import schedule_of
from workbench.te import Tensor, func
from workbench.tune.options import TuneOptions
from workbench.tune.run.start import tune
from workbench.tvm.relay import HISTORY, Module
from workbench.tvm.target import plain


def extract_tasks(
    mod: Module, params: Mapping[str, Array] | None, target: Any, include_simple_tasks: bool = False, **options: Any
) -> tuple[list[Task], list[int]]:
    """Return the tasks of a network, those that reduce nothing only where they are asked for, and their weights."""
    tasks = own_tasks(mod.bound(params), plain(target))
    if not include_simple_tasks:
        tasks = [t for t in tasks if any(it.kind == "R" for b, _ in blocks(t.func.body) for it in b.iters)]
    return tasks, [t.weight for t in tasks]


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """How candidates are measured on this machine; `number` is chosen, so that a repetition lasts `min_repeat_ms`."""

    timeout: float = 10.0
    number: int = 3
    repeat: int | None = None
    min_repeat_ms: float | None = None
    cooldown_interval: float = 0.0
    enable_cpu_cache_flush: bool = False


@dataclass(frozen=True, slots=True)
class RecordToFile:
    """Where trials are written."""

    filename: str


@dataclass(frozen=True, slots=True)
class PreloadMeasuredStates:
    """A log to go on with."""

    filename: str


class LocalRPCMeasureContext:
    """How candidates are measured, in a process of their own: its `runner` is a `LocalRunner`."""

    def __init__(self, **options: Any) -> None:
        known = {f.name for f in fields(LocalRunner)}
        self.runner = LocalRunner(**{n: v for n, v in options.items() if n in known})


@dataclass(frozen=True, slots=True)
class XGBModel:
    """The cost model; trained while a run lasts."""

    num_warmup_sample: int = 100


@dataclass(frozen=True, slots=True)
class RandomModel:
    """No cost model."""


#: TVM's number, for who counts measurements and does not say how many a round has.
_MEASURES_PER_ROUND = 64
#: Policies by their names.
_POLICIES: dict[str, dict[str, Any]] = {"default": {}, "sketch.xgb": {}, "sketch.random": {"search": "random"}}


def _searched(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """What `workbench.tune` is given for a policy's parameters; one that it has no word for is refused."""
    if odd := [name for name in params or () if name != "eps_greedy"]:
        text = f"The search has no parameter {odd[0]!r}"
        raise UsageError("usage.search_policy", text, ("search_policy_params",), "wb.tune(..., search=, epsilon=)")
    return {"epsilon": params["eps_greedy"]} if params else {}


@dataclass(frozen=True, slots=True)
class SketchPolicy:
    """How a task is searched: with a model or at random, going on with a log; of `params`, the share of random rows."""

    task: SearchTask
    program_cost_model: Any = field(default_factory=XGBModel)
    params: Mapping[str, Any] | None = None
    seed: int | None = None
    verbose: int = 1
    init_search_callbacks: Sequence[Any] = ()

    def arguments(self) -> dict[str, Any]:
        """What `workbench.tune` is given."""
        found: dict[str, Any] = {"search": "random"} if isinstance(self.program_cost_model, RandomModel) else {}
        found |= _searched(self.params)
        if self.seed is not None:
            found["seed"] = self.seed
        logs = [c.filename for c in self.init_search_callbacks or () if isinstance(c, PreloadMeasuredStates)]
        return {**found, "seeds": logs} if logs else found


@dataclass(frozen=True, slots=True)
class TuningOptions:
    """How to tune: trials in all, who measures, which log is written."""

    num_measure_trials: int = 64
    early_stopping: int | None = None
    num_measures_per_round: int | None = None
    verbose: int = 1
    builder: Any = "local"
    runner: LocalRunner | str = "local"
    measure_callbacks: Sequence[Any] = field(default_factory=tuple)

    def arguments(self) -> dict[str, Any]:
        """What `workbench.tune` is given."""
        files = [c.filename for c in self.measure_callbacks if isinstance(c, RecordToFile)]
        if len(files) > 1 or len(files) < len(self.measure_callbacks):
            text = "A run writes one log, and its callbacks are subscribed to its events"
            raise UsageError("usage.callbacks", text, ("measure_callbacks",), "wb.tune(...).events.subscribe(callback)")
        log = files[0] if files else None
        return {
            "trials": self.num_measure_trials, "log": log, "resume": log is not None and Path(log).exists(),
            "progress": bool(self.verbose), "options": self._options(),
        }  # fmt: skip

    def resting(self, measurements: int | None) -> dict[str, Any]:
        """After how many rounds a task rests that so many measurements made no faster, and how many a round has.

        None and negative numbers mean that it never rests.
        """
        if measurements is None or measurements < 0:
            return {"batch": self.num_measures_per_round}
        batch = self.num_measures_per_round or _MEASURES_PER_ROUND
        return {"batch": batch, "early_stop": max(1, math.ceil(measurements / batch))}

    def _options(self) -> TuneOptions:
        r = self.runner if isinstance(self.runner, LocalRunner) else LocalRunner()
        resting = self.resting(self.early_stopping)
        return TuneOptions(
            **resting, early_end="early_stop" in resting,
            repeat=r.repeat, min_repeat_ms=r.min_repeat_ms, flush_cache=r.enable_cpu_cache_flush, timeout_s=r.timeout,
        )  # fmt: skip


class TaskScheduler:
    """Tunes the tasks of a network."""

    def __init__(
        self, tasks: Sequence[Task], task_weights: Sequence[int] | None = None, load_log_file: str | None = None,
        strategy: str = "gradient", **options: Any,
    ) -> None:  # fmt: skip
        weights = [t.weight for t in tasks] if task_weights is None else task_weights
        if len(weights) != len(tasks):
            text = f"There are {len(tasks)} tasks and {len(weights)} weights"
            raise UsageError("usage.task_weights", text, ("task_weights",), "tasks, task_weights = extract_tasks(...)")
        self.tasks = [replace(t, weight=int(w)) for t, w in zip(tasks, weights, strict=True)]
        self._seeds = load_log_file
        self._scheduler = strategy

    def tune(
        self,
        tune_option: TuningOptions,
        search_policy: str | Sequence[SketchPolicy] = "default",
        search_policy_params: Mapping[str, Any] | None = None,
        adaptive_training: bool = False,
        per_task_early_stopping: int | None = None,
    ) -> None:
        """Tune, and wait until the trials are used up; when models are trained is for them to say.

        Parameters
        ----------
        tune_option : TuningOptions
            How many trials, and who measures.
        search_policy : str or sequence of SketchPolicy
            ``"default"``, ``"sketch.xgb"``, ``"sketch.random"``, or a policy for each task that say the same.
        search_policy_params : mapping, optional
            ``eps_greedy``, the share of candidates that are drawn at random.
        adaptive_training : bool
            Read and left alone.
        per_task_early_stopping : int, optional
            After how many measurements without a gain a task rests; never for None and negative numbers, unless
            `tune_option` has a number.

        Raises
        ------
        UsageError
            "usage.search_policy" for policies and parameters that are not here.
        """
        given = {**tune_option.arguments(), **self._policy(search_policy), **_searched(search_policy_params)}
        given |= tune_option.resting(per_task_early_stopping)
        logs = [*([self._seeds] if self._seeds else []), *given.pop("seeds", ())]
        target = self.tasks[0].target if self.tasks else None
        tune(self.tasks, target=target, seeds=logs or None, scheduler=self._scheduler, **given).wait()

    def _policy(self, policy: str | Sequence[SketchPolicy]) -> dict[str, Any]:
        """What one policy says for all tasks: a run has one search."""
        if isinstance(policy, str):
            if policy not in _POLICIES:
                hint = did_you_mean(policy, _POLICIES, "policies")
                raise UsageError("usage.search_policy", f"There is no policy {policy!r}", ("search_policy",), hint)
            return _POLICIES[policy]
        given: Sequence[Any] = policy
        if odd := [p for p in given if not isinstance(p, SketchPolicy)]:
            text, hint = f"A {type(odd[0]).__name__} is no policy", "give a SketchPolicy for each task"
            raise UsageError("usage.search_policy", text, ("search_policy",), hint)
        said = [p.arguments() for p in policy]
        logs = [log for each in said for log in each.pop("seeds", ())]
        if len(said) != len(self.tasks):
            text, hint = f"There are {len(self.tasks)} tasks and {len(said)} policies", "give one for each task"
            raise UsageError("usage.search_policy", text, ("search_policy",), hint)
        if any(each != said[0] for each in said):
            text = "A run has one search and one seed for all tasks, and these policies differ"
            hint = "tune those with another policy in a run of their own"
            raise UsageError("usage.search_policy", text, ("search_policy",), hint)
        return {**(said[0] if said else {}), **({"seeds": list(dict.fromkeys(logs))} if logs else {})}


class ApplyHistoryBest(AbstractContextManager["ApplyHistoryBest"]):
    """`relay.build` inside of it takes the best schedules of a log."""

    def __init__(self, records: Any) -> None:
        self.log, self._tokens = records, list[Token[Any]]()

    def __enter__(self) -> ApplyHistoryBest:
        self._tokens.append(HISTORY.set(self.log))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        HISTORY.reset(self._tokens.pop())


#: Functions by their names, which `register_workload` adds.
_WORKLOADS: dict[str, Callable[..., Sequence[Tensor]]] = {}


def register_workload(function: Any) -> Any:
    """Declare a function that returns the tensors of a computation, results last."""
    _WORKLOADS[function.__name__] = function
    return function


class SearchTask:
    """A computation to tune, of a function that returns its tensors."""

    def __init__(self, func: Any, args: Sequence[Any], target: Any = None, **options: Any) -> None:
        self.args = list((_WORKLOADS[func] if isinstance(func, str) else func)(*args))
        self.target = plain(target)
        self.own = Task.of_func(_func_of(self.args), self.target)

    @property
    def compute_dag(self) -> str:
        """What is computed, one line per stage."""
        return self.own.compute_dag

    @property
    def workload_key(self) -> str:
        """Key and shapes."""
        return self.own.workload_key

    def tune(self, tuning_options: TuningOptions, search_policy: SketchPolicy | None = None) -> None:
        """Tune, and wait until the trials are used up."""
        searched = {} if search_policy is None else search_policy.arguments()
        tune(self.own, target=self.target, **tuning_options.arguments(), **searched).wait()

    def apply_best(self, log_file: str) -> tuple[Any, list[Tensor]]:
        """Return the best schedule of a log, and the arguments."""
        return best_schedule(self.own, log_file), self.args

    def print_best(self, log_file: str, print_mode: str = "schedule") -> str:
        """Return a script that makes the best schedule of a log."""
        return str(best_schedule(self.own, log_file).to_python())


def best_schedule(task: Task, log: Any) -> Any:
    """Schedule of the best trial of a log.

    Raises
    ------
    UsageError
        "usage.nothing_measured" where the log has none of the task.
    """
    record = Database.load(log).best(task.key, None if task.target is None else str(task.target))
    if record is None:
        text = f"The log {str(log)!r} has no valid trial of this task"
        raise UsageError("usage.nothing_measured", text, (task.name,), "tune it first, with this log")
    return schedule_of(task, record)


def _func_of(tensors: Sequence[Tensor]) -> Any:
    """The function of those tensors that are computed."""
    made = [t for t in tensors if t.stages]
    read = {r.name for t in made for s in t.stages for r in s.reads}
    return func([t for t in made if t.name not in read])
