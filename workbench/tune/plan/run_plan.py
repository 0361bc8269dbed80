"""A tuning run as one value: made once by `tune`, and passed on whole to whatever carries it out."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from workbench.arguments import path, real, whole
from workbench.errors import UsageError
from workbench.log import Header
from workbench.tune.constants import Budgets
from workbench.tune.options import TuneOptions
from workbench.tune.plan.task_selection import select_tasks
from workbench.tune.state.log_recorder import Stamp
from workbench.tune.state.objective import Goal

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.tune.plan.measurer import Measurer
    from workbench.tune.plan.network_timer import NetworkTimer
    from workbench.tune.plan.tune_context import TuneContext


def default_batch(trials: int | None, tasks: int, seconds: float | None = None) -> int:
    """Return the trials of a round: a few rounds for each task, see `Budgets`."""
    least, most = Budgets.LEAST_BATCH, Budgets.MOST_BATCH
    if trials is None and seconds is not None:
        trials = int(min(seconds, 1e6) * Budgets.TRIALS_PER_S)
    return most if trials is None else max(least, min(most, trials // max(1, Budgets.ROUNDS * tasks)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """What a caller says of the run itself.

    Parameters
    ----------
    trials : int, optional
        Trials in all, those that `log` already holds included.
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
    source : {"python", "widget", "control file", "command line", "sidebar"}
        Who starts it, for the log.
    progress : bool, optional
        Whether the table of tasks is shown: below the cell as long as the run lasts, in a terminal while somebody waits
        for its end; one line for each round where standard error is none. When left out, in notebooks and terminals.
    """

    trials: int | None = None
    seconds: float | None = None
    log: str | os.PathLike[str] | None = None
    seed: int = 0
    resume: bool = False
    only_tasks: Sequence[int | str] | None = None
    source: str = "python"
    progress: bool | None = None


@dataclass(frozen=True, slots=True)
class RunPlan(RunArguments):
    """What a run tunes, with what, for how long and where it is written down.

    Parameters
    ----------
    tasks : sequence of Task
        All tasks of the model, in table order.
    context : TuneContext
        Makes spaces, searches and schedules.
    measurer : Measurer
        Builds and times candidates.
    network : NetworkTimer, optional
        Measures the whole network, where there is one.
    options : TuneOptions
    target, model : str
        What is compiled for, in its text form, and the name of the model.
    ahead : bool
        Whether a core is free for the search while candidates are measured.
    trials, seconds, log, seed, resume, only_tasks, source
        See `RunArguments`.

    Attributes
    ----------
    active : tuple of int
        Positions of the tasks to tune.

    Raises
    ------
    UsageError
        ``usage.*`` for what makes no sense together; no file has been made then.
    """

    tasks: Sequence[Task]
    context: TuneContext
    measurer: Measurer
    network: NetworkTimer | None = None
    options: TuneOptions = field(default_factory=TuneOptions)
    target: str = ""
    model: str = ""
    ahead: bool = False
    active: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        tasks = tuple(self.tasks)
        _check_tasks(tasks)
        plain = {
            "tasks": tasks,
            # As a resumed run is going to read them from the log.
            "trials": None if self.trials is None else whole("trials", self.trials, code="usage.trials"),
            "seconds": None if self.seconds is None else real("seconds", self.seconds, 0.0, code="usage.seconds"),
            "active": tuple(select_tasks(tasks, self.only_tasks)),
            "log": None if self.log is None else path("log", self.log),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        Goal(tasks, self.options.objective)  # says what is wrong with it

    @property
    def batch(self) -> int:
        """Trials of a round."""
        return self.options.batch or default_batch(self.trials, len(self.active), self.seconds)

    @property
    def baseline(self) -> bool:
        """Whether a task's first trial is its default schedule."""
        return self.options.baseline and (self.trials is None or self.trials >= 2 * len(self.active))

    @property
    def stamp(self) -> Stamp:
        """What all lines of the run have in common."""
        return Stamp(self.target, f"{platform.node()} {platform.machine()}", self.seed, self.options.caches)

    def header(self) -> Header:
        """Return the first line of the run's log."""
        return Header(
            tasks=tuple((task.key, task.name) for task in self.tasks), target=self.target, model=self.model,
            seed=self.seed, version=_version(), created=time.time(),
        )  # fmt: skip


def _check_tasks(tasks: Sequence[Task]) -> None:
    if not tasks:
        raise UsageError("usage.no_tasks", "There is nothing to tune: the list of tasks is empty")
    known: set[str] = set()
    for task in tasks:
        if task.key in known:
            hint = "give each computation once; `weight` says how often it occurs"
            raise UsageError("usage.same_task", "A task is in the list twice", [task.name], hint)
        known.add(task.key)


def _version() -> str:
    try:
        return version("schedule-workbench")
    except PackageNotFoundError:
        return ""
