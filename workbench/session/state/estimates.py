"""What the states of the schedules should take: the one on show at once, the others beside the session's thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from workbench.analysis import Estimate
from workbench.analysis.loop_nest.schedule_estimate import estimated
from workbench.graph.tasks import Task
from workbench.session.state.followed_plan import FollowedPlan
from workbench.session.state.history import History, View
from workbench.session.state.results import Key
from workbench.space.default_schedule import default_schedule
from workbench.target import Target

SLICE = 16
"""States that are estimated in one go beside the session's thread, so that they appear a few at a time."""

TASKS = 8
"""Tasks whose default schedules are made and estimated in one go: some 25 ms of a processor each."""

_log = logging.getLogger(__name__)


class Estimates:
    """Fills `History.estimates`. Used in the session's thread, but for the work that `rest` returns."""

    def __init__(self, history: History, target: Target, constants: str) -> None:
        self._history, self._target, self._constants = history, target, constants
        self._peak: float | None = None
        #: States that are being worked out.
        self._under_way: frozenset[Key] = frozenset()
        #: What tasks should take without any tuning, by their keys.
        self._untuned: dict[str, Estimate | None] = {}
        self._at_tasks = False
        self.plan = FollowedPlan()

    def of(self, view: View, peak: float | None) -> Estimate | None:
        """Return the estimate of the state on show; None where there is none, or not yet.

        A state with a choice of structure open stands for several nests, each of which is made first: that is for
        `rest`.
        """
        self._at(peak)
        known = self._history.estimates
        if view.key not in known and not any(step.open_choices() for step in view.schedule.trace):
            known[view.key] = estimated(view.schedule, self._target, peak, self._constants)
        return known.get(view.key)

    def known(self, view: View, peak: float | None) -> Estimate | None:
        """Return the estimate of the state on show where it was made at this clock, without making it."""
        return self._history.estimates.get(view.key) if peak == self._peak else None

    def rest(self, task: int | None, peak: float | None) -> Callable[[], Callable[[], None]] | None:
        """Return the work that estimates states of a task's tree that have none; None when there is nothing to do."""
        self._at(peak)
        tree = None if task is None else self._history.trees.get(task)
        if tree is None or self._under_way:
            return None
        known = self._history.estimates
        todo = {n.key: n.schedule for n in tree.nodes.values() if n.key not in known}
        todo = {key: todo[key] for key in list(todo)[:SLICE]}
        if not todo:
            return None
        self._under_way = frozenset(todo)
        target, constants = self._target, self._constants

        def work() -> Callable[[], None]:
            found: dict[Key, Estimate | None] = dict.fromkeys(todo)
            failure: Exception | None = None
            for key, schedule in todo.items():
                try:
                    found[key] = estimated(schedule, target, peak, constants)
                except Exception as error:  # the others have theirs; what went wrong is told, and not tried again
                    failure = error
            return lambda: self._take(found, peak, failure)

        return work

    def untuned(self, key: str) -> Estimate | None:
        """Return what a task should take with the schedule that it has without tuning; None where it is not known."""
        return self._untuned.get(key)

    def tasks(self, tasks: Iterable[Task], peak: float | None) -> Callable[[], Callable[[], None]] | None:
        """Return the work that estimates tasks without tuning, a few of them; None when there is nothing to do."""
        self._at(peak)
        todo = [] if self._at_tasks else [task for task in tasks if task.key not in self._untuned][:TASKS]
        if not todo:
            return None
        self._at_tasks = True

        def work() -> Callable[[], None]:
            found = {task.key: _untuned(task, self._target, peak, self._constants) for task in todo}
            return lambda: self._take_tasks(found, peak)

        return work

    def _take_tasks(self, found: dict[str, Estimate | None], peak: float | None) -> None:
        self._at_tasks = False
        if peak == self._peak:
            self._untuned.update(found)

    def _take(self, found: dict[Key, Estimate | None], peak: float | None, failure: Exception | None) -> None:
        self._under_way = frozenset()
        if peak == self._peak:
            self._history.estimates.update(found)
        if failure is not None:
            raise failure

    def _at(self, peak: float | None) -> None:
        """Forget what was said in cycles, or at another clock."""
        if peak != self._peak:
            self._peak = peak
            self._history.estimates.clear()
            self._untuned.clear()


def _untuned(task: Task, target: Target, peak: float | None, constants: str) -> Estimate | None:
    """Estimate a task with its default schedule; None for one that has none."""
    try:
        own = task.target or target
        return estimated(default_schedule(task, own), own, peak, constants)
    except Exception:  # it is but a hint which task matters, before anything is measured
        _log.debug("no estimate for %s", task.name, exc_info=True)
        return None
