"""How a batch of candidates gets through a dask cluster: who gets what, and what becomes of it if a worker is lost."""

from __future__ import annotations

import asyncio
import queue
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.runtime.contest import Contest
from workbench.runtime.results import Measurement

if TYPE_CHECKING:
    from workbench.runtime.results import MeasureOptions
    from workbench.tune.distributed import DaskRunner

#: Candidates of one piece of work at most: a worker builds the next one while it measures, but what a lost worker had
#: is measured again.
CHUNK = 4
#: Pieces of work that each device has been given, the one that it works on included.
AHEAD = 2
#: Times that a piece of work is given away before its candidates are called broken.
ATTEMPTS = 3


@dataclass(slots=True)
class Batch:
    """One `measure_many` or contest."""

    source: Iterator[tuple[int, Any]]
    options: MeasureOptions
    contest: bool = False
    rules: Any = None
    results: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    abandoned: bool = False


@dataclass(slots=True)
class Piece:
    """Candidates that a worker gets at once."""

    items: list[tuple[int, Any]]
    workers: frozenset[str] = frozenset()
    attempts: int = 0


class Shift:
    """Gives the candidates of one batch out and takes the results in."""

    def __init__(self, runner: DaskRunner, batch: Batch) -> None:
        self._runner, self._batch = runner, batch
        self._again: deque[Piece] = deque()
        self._flying: dict[Any, Piece] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._exhausted = False

    def work(self) -> None:
        """Until every candidate has its result, or the batch is cancelled or given up."""
        try:
            while not self._runner.cancelled and not self._batch.abandoned:
                devices = self._runner.crew(alone=not self._flying)
                self._rescue(devices)
                if not self._runner.held:
                    self._give_out(devices)
                if not self._flying and not self._again and self._exhausted:
                    return
                try:
                    self._take_in(self._done.get(timeout=0.1))
                except queue.Empty:
                    continue
        finally:
            if self._flying:
                self._runner.abandon(list(self._flying))

    def _give_out(self, devices: dict[str, int]) -> None:
        room = AHEAD * sum(devices.values())
        while len(self._flying) < room:
            piece = self._again.popleft() if self._again else self._next(sum(devices.values()))
            if piece is None:
                return
            piece.workers = frozenset(devices)
            piece.attempts += 1
            future = self._runner.submit(piece, self._batch, devices)
            self._flying[future] = piece
            future.add_done_callback(self._done.put)

    def _next(self, devices: int) -> Piece | None:
        """Return the next candidates; fewer at a time where there are many devices."""
        size = 1 if self._batch.contest else max(1, CHUNK // devices)
        items: list[tuple[int, Any]] = []
        while len(items) < size and not self._exhausted:
            try:
                items.append(next(self._batch.source))
            except StopIteration:
                self._exhausted = True
        return Piece(items) if items else None

    def _rescue(self, devices: dict[str, int]) -> None:
        """Give work anew that waits for workers of which none is left."""
        for future, piece in list(self._flying.items()):
            if not piece.workers & set(devices) and not future.done():
                del self._flying[future]
                self._runner.drop([future])
                piece.attempts -= 1
                self._again.append(piece)

    def _take_in(self, future: Any) -> None:
        piece = self._flying.pop(future, None)
        if piece is None:  # it was given to somebody else
            return
        try:
            result = future.result(timeout=30)
        except WorkbenchError:
            if piece.attempts >= ATTEMPTS:
                raise
            self._again.append(piece)
        except (Exception, asyncio.CancelledError) as error:
            self._runner.drop([future])
            self._failed(piece, error)
        else:
            self._report(piece, result)

    def _failed(self, piece: Piece, error: BaseException) -> None:
        """A worker was lost over it, several times, or the result with it."""
        if self._runner.cancelled:
            return
        alone = len(piece.items) == 1 and type(error).__name__ == "KilledWorker"  # dask has tried it on several
        if piece.attempts < ATTEMPTS and not alone:
            self._again.extend(Piece([item], attempts=piece.attempts) for item in piece.items)
            return
        text = f"the cluster could not measure it, or lost the workers that did ({type(error).__name__}: {error})"
        for index, item in piece.items:
            if self._batch.contest:
                lost = tuple(Measurement(status="run_error", error=text) for _ in item)
                self._batch.results.put((index, Contest(measurements=lost)))
            else:
                self._batch.results.put((index, Measurement(status="run_error", error=text)))

    def _report(self, piece: Piece, result: Any) -> None:
        if self._batch.contest:
            self._batch.results.put((piece.items[0][0], result))
            return
        lost = [item for item, found in zip(piece.items, result, strict=True) if found.status == "cancelled"]
        for (index, _), found in zip(piece.items, result, strict=True):
            if found.status != "cancelled":
                self._batch.results.put((index, found))
        if lost and not self._runner.cancelled:  # somebody else has ended the worker's processes
            self._failed(Piece(lost, attempts=piece.attempts), RuntimeError("cancelled there"))


def deliver(batch: Batch) -> Iterator[tuple[int, Any]]:
    """Yield the results of a batch as they come in; closing the iterator gives up the rest."""
    try:
        while (item := batch.results.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        batch.abandoned = True
