"""Spaces and searches of the tasks, made when a task is first chosen, and asked ahead where a core is free."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.runtime.results.measurement import Measurement
from workbench.tune.plan.tune_context import GivenCandidate
from workbench.tune.plan.user_code import guarded

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.log import Comparison, Record
    from workbench.schedule import Schedule
    from workbench.search import Search
    from workbench.space.space import Space
    from workbench.tune.plan.run_plan import RunPlan
    from workbench.tune.state.run_state import RunState, TaskRequests


_UNTRIED = Measurement(status="cancelled")
"""The measurement of a candidate that was proposed and never tried."""


@dataclass(slots=True)
class TaskSearch:
    """Space and search of one task.

    Attributes
    ----------
    version : int
        Which requests the search knows.
    ahead : list of Candidate
        Proposals that were asked for before the task was chosen.
    schedules : dict of int to Schedule
        Trial number -> schedule, of the champion and of this round's trials.
    """

    space: Space
    search: Search
    version: int = 0
    ahead: list[Any] = field(default_factory=list)
    schedules: dict[int, Schedule] = field(default_factory=dict)


class TaskSearches:
    """Space and search of every task; spaces may be asked for from any thread, all else belongs to the loop's.

    Parameters
    ----------
    say : callable
        Gets (kind of event, message, task).

    Attributes
    ----------
    context : TuneContext
        That of the plan; what a user's code raises in it is the fault of its task.
    """

    def __init__(self, plan: RunPlan, run_state: RunState, say: Callable[..., None]) -> None:
        self._tasks, self._seed, self._run_state, self._say = plan.tasks, plan.seed, run_state, say
        self.context = guarded(plan.context)
        self._made: dict[int, TaskSearch] = {}
        self._spaces: dict[int, Space] = {}
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None

    def space(self, index: int) -> Space:
        """Return the space of a task."""
        with self._lock:
            if index not in self._spaces:
                self._spaces[index] = self.context.space(self._tasks[index])
            return self._spaces[index]

    def of(self, index: int) -> TaskSearch:
        """Return the search of a task; a new one knows what the log knows about the task."""
        if index not in self._made:
            task = self._tasks[index]
            space = self.space(index)
            search = self.context.search(task, space, (self._seed * 1_000_003 + index) & 0x7FFFFFFF)
            task_search = TaskSearch(space, search)
            known = [r for r in self._run_state.records if r.task_key == task.key]
            if known:  # those of other spaces too: the same program may be a row of this one
                search.restore(known)
            for line in self._run_state.comparisons:
                if line.task_key == task.key:
                    self._compared(search, line)
            self._plant(task, task_search)
            self._made[index] = task_search  # at last: what has failed half-way is made anew
        return self._made[index]

    def _plant(self, task: Task, task_search: TaskSearch) -> None:
        if remark := self.context.remark(task):
            self._say("warning", remark, task.name)
        try:
            seeds = self.context.seeds(task, task_search.space)
        except WorkbenchError as error:
            self._say("warning", f"no seeds for this task: {error.message}", task.name)
            return
        task_search.search.seed(seeds)
        for seed in seeds:
            self._say("seed", seed.note, task.name)

    def learn(self, index: int, record: Record) -> None:
        """Give the search a candidate that it did not propose."""
        self.wait()
        self.of(index).search.restore([record])

    # ---- asking ----

    def ask(self, index: int, n: int) -> list[Any]:
        """Return up to `n` proposals, those that were asked for ahead first."""
        self.wait()
        task_search = self.of(index)
        self._obey(index, task_search)
        found, task_search.ahead = task_search.ahead[:n], task_search.ahead[n:]
        return found + (task_search.search.ask(n - len(found)) if len(found) < n else [])

    def ask_ahead(self, index: int, n: int) -> None:
        """Ask for proposals in another thread, while something else is measured."""
        self.wait()
        task_search = self.of(index)
        self._obey(index, task_search)
        missing = n - len(task_search.ahead)
        if missing > 0:
            self._thread = threading.Thread(
                target=self._ahead, args=(task_search, missing), name="workbench-ask", daemon=True
            )
            self._thread.start()

    @staticmethod
    def _ahead(task_search: TaskSearch, n: int) -> None:
        try:
            task_search.ahead += task_search.search.ask(n)
        except Exception:  # it is asked again in its turn, and then it is told
            return

    def wait(self) -> None:
        """Wait for proposals that are being made: searches share a model, so only one of them may work at a time."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def tell(self, index: int, results: Sequence[tuple[Any, Measurement]]) -> None:
        """Hand measurements to the search."""
        self.wait()
        self.of(index).search.tell(results)

    def take_back(self, index: int, candidates: Sequence[Any]) -> None:
        """Tell the search of those that it proposed and that were never tried."""
        untried = [(c, _UNTRIED) for c in candidates if not isinstance(c, GivenCandidate)]
        if untried:
            self.tell(index, untried)

    def compared(self, index: int, line: Comparison) -> None:
        """Hand the outcome of a comparison to the search, so that it does not build on what was measured by chance."""
        self.wait()
        self._compared(self.of(index).search, line)

    def _compared(self, search: Search, line: Comparison) -> None:
        found = {n: r.key for n in line.trials if (r := self._run_state.trial(n)) is not None}
        if line.winner in found:
            search.compared(found[line.winner], [key for n, key in found.items() if n != line.winner])

    def _obey(self, index: int, task_search: TaskSearch) -> None:
        """Tell the search what has been pinned and forbidden since it was last asked."""
        task = self._tasks[index]
        if task_search.search.epsilon != self._run_state.epsilon:
            task_search.search.epsilon = self._run_state.epsilon
        requests = self._run_state.requests[task.key]
        if requests.version == task_search.version:
            return
        task_search.version = requests.version
        dropped = [c for c in task_search.ahead if not requests.allow(c.variant, c.row)]
        task_search.ahead = [c for c in task_search.ahead if requests.allow(c.variant, c.row)]
        if dropped:
            task_search.search.tell([(c, _UNTRIED) for c in dropped])
        try:
            task_search.search.restrict(*restriction(requests))
        except WorkbenchError:  # a log of another version, with another space
            for error in _hold_what_holds(task_search.search, requests):
                self._say("warning", f"what was pinned or forbidden does not hold: {error.message}", task.name)


def _hold_what_holds(search: Search, requests: TaskRequests) -> list[WorkbenchError]:
    """Hold a search to as many requests as its space can meet, one after the other; return why not to the rest."""
    held: TaskRequests = replace(requests, pins={}, forbids={}, variants=set())
    steps = [("pins", hole, value) for hole, value in requests.pins.items()]
    steps += [("forbids", hole, value) for hole, values in requests.forbids.items() for value in sorted(values)]
    steps += [("variants", "", variant) for variant in sorted(requests.variants)]
    problems: list[WorkbenchError] = []
    for kind, hole, value in steps:
        more = held.copy()
        if kind == "pins":
            more.pins[hole] = value
        elif kind == "forbids":
            more.forbids.setdefault(hole, set()).add(value)
        else:
            more.variants.add(value)
        try:
            search.restrict(*restriction(more))
            held = more
        except WorkbenchError as error:
            problems.append(error)
    search.restrict(*restriction(held))  # it was possible a moment ago
    return problems


def restriction(requests: TaskRequests) -> tuple[Mapping[str, int], Mapping[str, set[int]], set[int]]:
    """Return what a search's `restrict` takes, as copies."""
    return dict(requests.pins), {h: set(v) for h, v in requests.forbids.items()}, set(requests.variants)
