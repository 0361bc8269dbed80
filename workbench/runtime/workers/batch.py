"""What a runner works on: candidates, what each worker is busy with, and the state of a batch."""

from __future__ import annotations

import math
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.runtime.measuring.jobs import Built
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.results.measurement import Measurement

if TYPE_CHECKING:
    from workbench.ir import Func
    from workbench.runtime.results.measure_options import ContestRules


@dataclass(frozen=True, slots=True)
class MeasureInput:
    """One candidate.

    Parameters
    ----------
    task_key : str
        What the candidates that compute the same have in common; inputs and reference result are kept per key.
    task_func : Func
        The unscheduled function: the reference.
    func : Func
        The scheduled function, without open holes.
    symbol : str
        Name of the kernel in the object code.
    flops : int
        Floating-point operations of one call, for `Measurement.gflops`; 0 if unknown.
    best_ms : float
        Best known time of the task, against which hopeless candidates are stopped early; the runner also keeps its own.
    """

    task_key: str
    task_func: Func
    func: Func
    symbol: str = "kernel"
    flops: int = 0
    best_ms: float = math.inf


@dataclass(slots=True)
class Trial:
    """A candidate on its way."""

    index: int
    input: MeasureInput
    built: Built | None = None
    losses: int = 0  # workers that the system or somebody else killed while they had it


@dataclass(slots=True)
class Duty:
    """What a worker is busy with, and until when."""

    trials: list[Trial]  # several are the participants of a contest
    limit_s: float
    what: str  # "build", "setup", "trial" or "contest"
    deadline: float = math.inf
    turn: int = 0  # whose, or `EVERYBODY`
    key: str = ""  # of a setup: what it prepares
    waits: bool = False  # for a turn at measuring

    @property
    def trial(self) -> Trial:
        """The one that it is busy with now."""
        return self.trials[self.turn]

    def begin(self) -> None:
        """Start the clock; a worker that is still starting gets its time later."""
        self.deadline = time.monotonic() + self.limit_s

    def wait(self, on: bool) -> None:
        """Stop the clock while the worker waits for its turn at measuring, or start it anew."""
        self.waits, self.deadline = on, math.inf
        if not on:
            self.begin()


Result: TypeAlias = tuple[int, Measurement] | BaseException | None


@dataclass(slots=True)
class Batch:
    """State of one `measure_many` or `contest` call; with `rules`, all candidates run against each other."""

    source: Iterator[tuple[int, MeasureInput]]
    options: MeasureOptions
    rules: ContestRules | None = None
    epoch: int = 0
    results: queue.SimpleQueue[Result] = field(default_factory=queue.SimpleQueue)
    to_build: deque[Trial] = field(default_factory=deque)
    to_run: deque[Trial] = field(default_factory=deque)
    exhausted: bool = False
    abandoned: bool = False
    measuring: bool = False  # only without a free core: it is the runner's turn


class Results(Iterator[Any]):
    """What a batch gives, as it comes in; closing the iterator or dropping it, begun or not, gives up the rest.

    Parameters
    ----------
    batch : Batch
        The batch. None in its `results` is the end, and an error is raised.
    wake : callable
        Called when nobody waits for results any more.
    """

    def __init__(self, batch: Batch, wake: Callable[[], None]) -> None:
        self._batch, self._wake = batch, wake
        self._closed = False

    def __next__(self) -> Any:
        if self._closed:
            raise StopIteration
        try:
            item: Any = self._batch.results.get()
        except BaseException:  # Ctrl-C
            self.close()
            raise
        if item is None or isinstance(item, BaseException):
            self.close()
            raise StopIteration if item is None else item
        return item

    def close(self) -> None:
        """Give up what has not come in."""
        if not self._closed:
            self._closed = self._batch.abandoned = True
            self._wake()

    def __del__(self) -> None:
        self.close()
