"""Spaces, searches and default schedules of this machine, as the tuning loop wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.schedule import Schedule
    from workbench.target import Target
    from workbench.tune.loop import Search, Space


class LocalToolbox:
    """Makes the parts of one session; the cost model is shared by all tasks.

    Parameters
    ----------
    given : mapping of str to Schedule
        Task key -> schedule with holes that takes the place of the task's own space.
    """

    def __init__(self, target: Target, model: str, seed: int, given: Mapping[str, Schedule]) -> None:
        self._target, self._kind, self._seed, self._given = target, model, seed, dict(given)
        self._model: Any = None

    def space(self, task: Task) -> Space:
        """Return the space of a task."""
        from workbench.tune.space import make_space, space_from_schedule

        schedule = self._given.get(task.key)
        return make_space(task, self._target) if schedule is None else space_from_schedule(schedule)

    def search(self, task: Task, space: Any, seed: int) -> Search:
        """Return a new search over a space."""
        from workbench.tune.search import EvolutionarySearch

        return EvolutionarySearch(task, space, self._shared_model(), seed)

    def default(self, task: Task) -> Schedule:
        """Return the schedule that a task gets without tuning."""
        from workbench.tune.default import default_schedule

        return default_schedule(task, self._target)

    def model_version(self) -> str:
        """Return what the records say about the model that predicted."""
        return str(self._shared_model().version)

    def _shared_model(self) -> Any:
        if self._model is None:
            from workbench.tune.cost_model import make_model

            self._model = make_model(self._kind, self._seed)
        return self._model
