"""What the tuning loop is put together from: protocols of its parts, and the candidates that no search proposed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.log.record import Record
    from workbench.runtime.measuring.contest import Contest, ContestRules
    from workbench.runtime.measuring.results import Measurement
    from workbench.schedule import Schedule
    from workbench.search import Candidate
    from workbench.tune.run.run_state import Wishes


class Search(Protocol):
    """Proposes candidates of one task and learns from their measurements."""

    epsilon: float

    def ask(self, n: int) -> list[Candidate]: ...
    def tell(self, results: Sequence[tuple[Candidate, Measurement]]) -> None: ...
    def restore(self, records: Sequence[Record]) -> None: ...
    def compared(self, winner: str, losers: Iterable[str]) -> None: ...
    def seed(self, seeds: Iterable[Any]) -> None: ...
    def restrict(
        self, pins: Mapping[str, int], forbids: Mapping[str, Collection[int]], variants: Collection[int]
    ) -> None: ...

    @property
    def quality(self) -> Any:
        """How well predictions were confirmed: `tau` and `spearman`."""


class Space(Protocol):
    """Where the candidates of one task come from."""

    @property
    def id(self) -> str: ...
    def schedule(self, candidate: Candidate) -> Schedule: ...


class Measurer(Protocol):
    """Builds, checks and times schedules of one task, in worker processes."""

    def start(self) -> None:
        """Begin to start the workers, without waiting for them."""

    def measure(self, task: Task, schedules: Iterable[Schedule], best_ms: float) -> Iterator[tuple[int, Measurement]]:
        """Yield (position, measurement) for each schedule, each as soon as it is known; `best_ms` is to be beaten.

        `schedules` may be made while they are asked for, in whichever thread does so.
        """

    def compare(self, task: Task, schedules: Sequence[Schedule], rules: ContestRules) -> Contest:
        """Time schedules against each other in turns, for as long as `rules` say; the first one is the incumbent."""

    def hold(self, on: bool) -> None:
        """Start no more work, or go on, from any thread; what has begun is finished."""

    def kill(self) -> None:
        """End all workers at once, from any thread; a running `measure` ends soon after."""

    def close(self) -> None:
        """Let the workers go."""


class Toolbox(Protocol):
    """What the loop needs from the search and schedule side; one implementation for real, one in the tests."""

    def prepare(self) -> None:
        """Load what takes long to load; called in a thread of its own when a session starts."""

    def origin(self) -> str:
        """Return in words where the candidates come from: where that changes, rows and holes mean something else."""

    def space(self, task: Task) -> Space: ...
    def remark(self, task: Task) -> str:
        """Return what is to be said about a task's space; empty when there is nothing."""

    def search(self, task: Task, space: Space, seed: int) -> Search: ...
    def seeds(self, task: Task, space: Space) -> list[Any]:
        """Return the programs to try first: `workbench.search.seeds.Seed`."""

    def given(self, task: Task, space: Space, variant: int, row: Mapping[str, int], trace: Sequence[Any]) -> Given:
        """Return the candidate that a person has given as a row or a trace; ``steer.*`` when it is none."""

    def check_wishes(self, space: Space, wishes: Wishes) -> None:
        """Raise ``steer.*`` when no candidate of the space meets what was pinned and forbidden."""

    def default(self, task: Task) -> Schedule: ...
    def schedule(self, task: Task, record: Record) -> Schedule:
        """Return the schedule of a trial."""

    def model_version(self) -> str: ...
    def predicted(self, task: Task, schedule: Schedule) -> float | None:
        """Return the model's score of a schedule that no search has proposed; None where the search asks no model."""

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the cost model to a file."""


class Control(Protocol):
    """How the loop is steered from outside."""

    def proceed(self) -> bool:
        """Wait while paused; False when the loop should end."""

    @property
    def running(self) -> bool:
        """Whether work goes on now: nobody has paused or ended it."""

    @property
    def cancelled(self) -> bool:
        """Whether the trial in flight is to be thrown away."""

    @property
    def paused_s(self) -> float:
        """Seconds that were spent paused so far."""


@dataclass(frozen=True, slots=True)
class Given:
    """A candidate that no search proposed: the default schedule, or one that a person has given.

    Attributes
    ----------
    schedule : Schedule or None
        Where it is no row of the space.
    """

    key: str
    origin: str
    variant: int = -1
    row: Mapping[str, int] = field(default_factory=dict)
    schedule: Schedule | None = None
    predicted: float | None = None
    parent: str | None = None
    mutation: str | None = None
    model: str | None = None
