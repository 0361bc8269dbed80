"""What a user has written and hands to a run (a sketch rule, a template, a search, a cost model) may raise anything.

That is the fault of one task: it is told with its place, tried again, and in the end the task is given up, while the
others go on. So every call from the loop into the toolbox and its searches goes through here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.arguments import shown
from workbench.errors import TuneError, WorkbenchError

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.log.record import Record
    from workbench.runtime.measuring.results import Measurement
    from workbench.schedule import Schedule
    from workbench.tune.run.protocols import Given, Search, Space, Toolbox
    from workbench.tune.run.run_state import Wishes


class TaskFault(TuneError):
    """A part of one task cannot work; has the code, the place and the hint of what it raised."""


@contextmanager
def fault_of(task: Task, part: str) -> Iterator[None]:
    """Turn whatever is raised into the fault of a task."""
    try:
        yield
    except TaskFault:
        raise
    except WorkbenchError as error:
        raise TaskFault(error.code, error.message, error.where, error.hint) from error
    except Exception as error:
        raise TaskFault("tune.part", *_told(task, part, error)) from error


@contextmanager
def told_of(task: Task, part: str) -> Iterator[None]:
    """Turn what is no `WorkbenchError` into one: the caller knows what to do with these."""
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        raise TuneError("tune.part", *_told(task, part, error)) from error


def _told(task: Task, part: str, error: Exception) -> tuple[str, list[str], str]:
    found = error.__traceback__
    while found is not None and found.tb_next is not None:
        found = found.tb_next
    place = [] if found is None else [f"{found.tb_frame.f_code.co_filename}:{found.tb_lineno}"]
    message = f"The {part} failed: {type(error).__name__}: {shown(str(error))}"
    return message, [task.name, *place], "the place is where it was raised; the cause is kept as __cause__"


class GuardedToolbox:
    """A toolbox whose parts raise nothing but `WorkbenchError`."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._inner = toolbox

    def prepare(self) -> None:
        """Load what takes long to load."""
        self._inner.prepare()

    def origin(self) -> str:
        """Return in words where the candidates come from."""
        return self._inner.origin()

    def space(self, task: Task) -> Space:
        """Return the space of a task; its rules or its template may be a user's."""
        with fault_of(task, "space"):
            return self._inner.space(task)

    def remark(self, task: Task) -> str:
        """Return what is to be said about a task's space."""
        with fault_of(task, "space"):
            return self._inner.remark(task)

    def search(self, task: Task, space: Space, seed: int) -> Search:
        """Return a search whose faults are the task's."""
        with fault_of(task, "search"):
            return GuardedSearch(task, self._inner.search(task, space, seed))

    def seeds(self, task: Task, space: Space) -> list[Any]:
        """Return the programs to try first."""
        with told_of(task, "seeds"):
            return self._inner.seeds(task, space)

    def given(self, task: Task, space: Space, variant: int, row: Mapping[str, int], trace: Sequence[Any]) -> Given:
        """Return the candidate that a person has given."""
        with told_of(task, "candidate by hand"):
            return self._inner.given(task, space, variant, row, trace)

    def check_wishes(self, space: Space, wishes: Wishes) -> None:
        """Raise ``steer.*`` when no candidate of the space meets what was pinned and forbidden."""
        self._inner.check_wishes(space, wishes)

    def default(self, task: Task) -> Schedule:
        """Return the schedule that a task gets without tuning."""
        with told_of(task, "default schedule"):
            return self._inner.default(task)

    def schedule(self, task: Task, record: Record) -> Schedule:
        """Return the schedule of a trial."""
        with told_of(task, "schedule of a trial"):
            return self._inner.schedule(task, record)

    def model_version(self) -> str:
        """Return what the records say about the model that predicted."""
        return self._inner.model_version()

    def predicted(self, task: Task, schedule: Schedule) -> float | None:
        """Return the model's score of a schedule that no search has proposed."""
        with told_of(task, "cost model"):
            return self._inner.predicted(task, schedule)

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the cost model to a file."""
        self._inner.save_model(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class GuardedSearch:
    """A search whose faults are told as those of its task."""

    def __init__(self, task: Task, search: Search) -> None:
        self._task, self._inner = task, search

    @property
    def epsilon(self) -> float:
        """Share of proposals that are drawn at random."""
        return self._inner.epsilon

    @epsilon.setter
    def epsilon(self, value: float) -> None:
        with fault_of(self._task, "search"):
            self._inner.epsilon = value

    @property
    def quality(self) -> Any:
        """How well predictions were confirmed."""
        with fault_of(self._task, "search"):
            return getattr(self._inner, "quality", None)

    def ask(self, n: int) -> list[Any]:
        """Propose up to `n` new programs."""
        with fault_of(self._task, "search"):
            return self._inner.ask(n)

    def tell(self, results: Sequence[tuple[Any, Measurement]]) -> None:
        """Take measurements."""
        with fault_of(self._task, "search"):
            self._inner.tell(results)

    def restore(self, records: Sequence[Record]) -> None:
        """Take measurements from a log."""
        with fault_of(self._task, "search"):
            self._inner.restore(records)

    def compared(self, winner: str, losers: Iterable[str]) -> None:
        """Take the outcome of a comparison."""
        with fault_of(self._task, "search"):
            self._inner.compared(winner, losers)

    def seed(self, seeds: Iterable[Any]) -> None:
        """Take programs to propose before all others."""
        with fault_of(self._task, "search"):
            self._inner.seed(seeds)

    def restrict(
        self, pins: Mapping[str, int], forbids: Mapping[str, Collection[int]], variants: Collection[int]
    ) -> None:
        """Hold all later proposals to what was pinned and forbidden."""
        with told_of(self._task, "search"):
            self._inner.restrict(pins, forbids, variants)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
