"""What the task scheduler makes small: the sum of weight times latency, or a user's function of the latencies."""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from workbench.arguments import real, shown
from workbench.errors import TuneError, UsageError, WorkbenchError

if TYPE_CHECKING:
    from workbench.tune.options import Objective
    from workbench.tune.state.task_scheduler import TaskLike

_STEP = 1e-3
"""Relative change of one latency from which the slope is taken. Chosen: above the rounding of an objective."""


class Goal:
    """The objective and its slopes.

    Parameters
    ----------
    tasks : sequence of tasks
    function : callable, optional
        Maps latencies in ms, by key and by name of the tasks, to a number that is to become small.

    Attributes
    ----------
    problem : WorkbenchError or None
        Why the function could not be used when it was last asked; the sum of weight times latency stood in for it.
    """

    def __init__(self, tasks: Sequence[TaskLike], function: Objective | None = None) -> None:
        self._tasks, self._function = tuple(tasks), function
        self.problem: WorkbenchError | None = None
        self._known: tuple[tuple[float, ...], tuple[float, ...]] | None = None
        if function is not None:
            try:
                self._value([1.0] * len(self._tasks))
            except TuneError as error:
                hint = "it gets latencies in ms by task key and by task name, and has to return a finite number"
                raise UsageError("usage.objective", error.message, ["objective"], hint) from error

    @property
    def given(self) -> bool:
        """Whether the user has given a function."""
        return self._function is not None

    def slopes(self, latencies: Sequence[float]) -> tuple[float, ...]:
        """Return by how much the objective falls for every millisecond that a task gets faster, one number per task."""
        weights = tuple(float(task.weight) for task in self._tasks)
        if self._function is None:
            return weights
        now, known = tuple(latencies), self._known  # a display asks from another thread
        if known is None or known[0] != now:
            try:
                known, self.problem = (now, self._differences(now)), None
            except TuneError as error:
                known, self.problem = (now, weights), error
            self._known = known
        return known[1]

    def _differences(self, latencies: tuple[float, ...]) -> tuple[float, ...]:
        here = self._value(latencies)
        slopes = []
        for i, ms in enumerate(latencies):
            faster = (*latencies[:i], ms * (1.0 - _STEP), *latencies[i + 1 :])
            slopes.append(max(0.0, (here - self._value(faster)) / (ms * _STEP)))
        return tuple(slopes)

    def _value(self, latencies: Sequence[float]) -> float:
        assert self._function is not None
        table = _table(self._tasks, latencies)
        try:
            value = self._function(table)
        except Exception as error:
            text = f"The objective failed: {type(error).__name__}: {shown(str(error))}"
            raise TuneError("tune.objective", text, ["objective"]) from error
        try:
            return real("the objective's value", value)
        except UsageError as error:
            raise TuneError("tune.objective", f"The objective gave no number: {error.message}", ["objective"]) from None


def _table(tasks: Sequence[TaskLike], latencies: Sequence[float]) -> Mapping[str, float]:
    by_name = {task.name: ms for task, ms in zip(tasks, latencies, strict=True)}
    return {**by_name, **{task.key: ms for task, ms in zip(tasks, latencies, strict=True)}}


def objective_text(function: Objective) -> str:
    """Return a function's source, or its name where the source is not known, for the log."""
    try:
        return textwrap.dedent(inspect.getsource(function)).strip()[:4000]
    except (OSError, TypeError):
        return getattr(function, "__qualname__", type(function).__name__)


def finite_or(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return `values`, with the number of `others` where one is not finite."""
    return [v if math.isfinite(v) else o for v, o in zip(values, others, strict=True)]
