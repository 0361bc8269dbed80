"""How a batch of candidates gets through a dask cluster: who gets what, and what becomes of it if a worker is lost.

Each piece of work is for one worker. So it is known who was at work when a worker was lost, and it is decided here,
not by the cluster, where it goes next: a candidate that takes its worker with it must not go round and take them all.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.errors import RunError, WorkbenchError
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.tune.constants import Cluster

if TYPE_CHECKING:
    from workbench.runtime.workers.batch import Batch, MeasureInput
    from workbench.tune.dask.cluster_workers import ClusterWorker, ClusterWorkers


@dataclass(slots=True, eq=False)
class WorkItem:
    """What a worker gets at once: some candidates, or the participants of a contest."""

    items: list[tuple[int, MeasureInput]]
    losses: int = 0
    failures: int = 0
    member: ClusterWorker | None = None
    future: Any = None


class BatchDispatch:
    """Gives the candidates of one batch out and takes the results in.

    Parameters
    ----------
    workers : ClusterWorkers
        Who measures.
    batch : Batch
        What is to be measured. A contest's one result is (0, Contest).
    send : callable
        Sends a piece to its member; returns the future of a list of measurements, or of a `Contest`.
    cancelled, held : callable
        Whether the batch is to be thrown away; whether nothing more is to be given out.
    events : queue
        Something is put there when one of these may have changed.
    patience_s : float
        How long to wait for a worker.
    """

    def __init__(
        self,
        workers: ClusterWorkers,
        batch: Batch,
        send: Callable[[WorkItem], Any],
        *,
        cancelled: Callable[[], bool],
        held: Callable[[], bool],
        events: queue.SimpleQueue[Any],
        patience_s: float,
    ) -> None:
        self._workers, self._batch, self._send = workers, batch, send
        self._cancelled, self._held, self._events, self._patience_s = cancelled, held, events, patience_s
        self._again: deque[WorkItem] = deque()
        self._suspects: deque[WorkItem] = deque()
        self.in_flight: list[WorkItem] = []  # in the order in which they were given out
        self._idle_since: float | None = None
        self._told = False
        self._trouble: WorkbenchError | None = None  # why a worker was sent home

    def work(self) -> None:
        """Until every candidate has its result, or the batch is cancelled or given up."""
        while not self._over():
            members = self._workers.look()
            self._rescue()
            if not self._held():
                self._give_out(members)
            self._be_patient(members)
            self._wait()
            self._take_in()

    def _over(self) -> bool:
        if self._batch.abandoned or self._cancelled():
            return True
        return self._batch.exhausted and not (self.in_flight or self._again or self._suspects)

    def _wait(self) -> None:
        if self._over() or any(piece.future.done() for piece in self.in_flight):
            return
        try:
            self._events.get(timeout=Cluster.TICK_S)
        except queue.Empty:
            return

    # ---- giving out ----

    def _give_out(self, members: Sequence[ClusterWorker]) -> None:
        waiting = True
        while waiting:
            waiting = False
            for member in sorted(members, key=self._load):
                if self._load(member) < Cluster.AHEAD * member.devices:
                    piece = self._next(member, len(members))
                    if piece is not None:
                        self._give(piece, member)
                        waiting = True

    def _load(self, member: ClusterWorker) -> int:
        """Return how many pieces a worker has; it has no room beside one that may take it along."""
        mine = [piece for piece in self.in_flight if piece.member == member]
        return Cluster.AHEAD * member.devices if any(piece.losses for piece in mine) else len(mine)

    def _next(self, member: ClusterWorker, members: int) -> WorkItem | None:
        """Return what a worker gets next; fewer candidates at a time where there are many to measure them."""
        if self._again:
            return self._again.popleft()
        batch = self._batch
        size = max(1, Cluster.CHUNK // (members * member.devices))
        items: list[tuple[int, MeasureInput]] = []
        while not batch.exhausted and (batch.rules is not None or len(items) < size):
            item = next(batch.source, None)
            if item is None:
                batch.exhausted = True
            else:
                items.append(item)
        if items:
            return WorkItem(items)
        # Who is suspected comes last, and alone: then others are not lost with it, nor blamed for it.
        return self._suspects.popleft() if self._suspects and not self._load(member) else None

    def _give(self, piece: WorkItem, member: ClusterWorker) -> None:
        piece.member = member
        try:
            piece.future = self._send(piece)
        except Exception as error:  # distributed has an exception for every way of being closed
            if self._workers.connected:
                self._failed(piece, f"it cannot be sent to a worker ({type(error).__name__}: {error})")
            else:
                self._once_more(piece)
            return
        self.in_flight.append(piece)
        piece.future.add_done_callback(self._events.put)

    def _be_patient(self, members: Sequence[ClusterWorker]) -> None:
        """Raise when nobody has come for too long who could go on."""
        if members or self.in_flight or self._held():
            self._idle_since, self._told = None, False
            return
        if self._trouble is not None and self._workers.connected:
            raise self._trouble
        now = time.monotonic()
        self._idle_since = now if self._idle_since is None else self._idle_since
        if now - self._idle_since > self._patience_s:
            raise self._nobody() if self._workers.connected else self._workers.lost()
        if now - self._idle_since > Cluster.TELL_S and not self._told:
            self._told = True
            who = "no worker of the dask cluster can measure" if self._workers.connected else "the scheduler is away"
            warnings.warn(f"{who}; waiting up to {self._patience_s:g} s", RuntimeWarning, stacklevel=2)

    def _nobody(self) -> RunError:
        reasons = "; ".join(f"{address}: {why}" for address, why in self._workers.absences().items())
        hint = f"start workers with: dask worker ADDRESS --nthreads 1 --resources {self._workers.resource}=1"
        message = f"No worker of the dask cluster can measure ({reasons or 'there is none'})"
        return RunError("run.dask_workers", message, (), hint)

    # ---- losing ----

    def _rescue(self) -> None:
        """Give work anew that lost workers had."""
        for member in {p.member for p in self.in_flight if p.member is not None and not self._workers.here(p.member)}:
            lost = [piece for piece in self.in_flight if piece.member == member and not piece.future.done()]
            self.drop(lost)
            # Work is done in the order in which it was given out, so further ones were only waiting there.
            busy = 0 if self._workers.left(member) else member.devices
            for piece in lost[:busy]:
                self._lost(piece)
            self._again.extend(lost[busy:])

    def drop(self, pieces: Sequence[WorkItem]) -> None:
        """Throw away what is on its way."""
        self.in_flight = [piece for piece in self.in_flight if piece not in pieces]
        if pieces and self._workers.connected:
            try:
                self._workers.client.cancel([piece.future for piece in pieces], force=True)
            except (Exception, asyncio.CancelledError):  # the scheduler has gone, and with it what is to be dropped
                return

    def _lost(self, piece: WorkItem) -> None:
        """A worker was lost over it: its candidates are suspected, or guilty."""
        piece.losses += 1
        if piece.losses >= Cluster.LOSSES:
            which = "each time it was measured" if len(piece.items) == 1 else "each time they were compared"
            self._blame(piece, f"{piece.losses} workers of the cluster were lost, one {which}")
        else:
            self._suspects.extend(self._parts(piece))

    def _failed(self, piece: WorkItem, text: str) -> None:
        """It came back without a result, though the worker is there."""
        piece.failures += 1
        if piece.failures >= Cluster.FAILURES:
            self._blame(piece, text)
        else:
            self._once_more(*self._parts(piece))

    def _parts(self, piece: WorkItem) -> list[WorkItem]:
        if self._batch.rules is not None:
            return [piece]
        return [replace(piece, items=[item]) for item in piece.items]

    def _blame(self, piece: WorkItem, text: str) -> None:
        lost = Measurement(status="run_error", error=text)
        if self._batch.rules is not None:
            self._put(0, Contest(measurements=tuple(lost for _ in piece.items)))
        else:
            for index, item in piece.items:
                self._put(index, replace(lost, flops=item.flops))

    # ---- taking in ----

    def _take_in(self) -> None:
        for piece in [piece for piece in self.in_flight if piece.future.done()]:
            self.in_flight.remove(piece)
            if self._cancelled():
                return
            try:
                result = piece.future.result(timeout=Cluster.FETCH_S)
            except WorkbenchError as error:  # nothing can be measured there
                assert piece.member is not None
                self._trouble = error
                self._workers.refuse(piece.member, error.message)
                self._once_more(piece)
            except TimeoutError:  # the worker was lost when it had done its work
                self.drop([piece])
                self._once_more(piece)
            except (asyncio.CancelledError, concurrent.futures.CancelledError) as error:
                self._interrupted(piece, f"the cluster threw it away ({error})")
            except Exception as error:
                if type(error).__name__ == "KilledWorker":  # a worker that came back at once, several times
                    self._lost(piece)
                else:
                    self._failed(piece, f"the cluster could not measure it ({type(error).__name__}: {error})")
            else:
                self._report(piece, result)

    def _interrupted(self, piece: WorkItem, text: str) -> None:
        """Somebody has cancelled it; or the connection was lost, and everything with it."""
        if self._workers.connected:
            self._failed(piece, text)
        else:
            self._once_more(piece)

    def _once_more(self, *pieces: WorkItem) -> None:
        """Give them out again; who is suspected keeps its place at the end, alone."""
        for piece in pieces:
            (self._suspects if piece.losses else self._again).append(piece)

    def _report(self, piece: WorkItem, result: Any) -> None:
        self._idle_since = self._trouble = None  # somebody can measure
        if self._batch.rules is not None:
            if result.status == "cancelled":
                self._failed(piece, "its comparison was ended there")
            else:
                self._put(0, result)
            return
        lost = []
        for (index, item), found in zip(piece.items, result, strict=True):
            if found.status == "cancelled":  # somebody has ended the worker's processes
                lost.append((index, item))
            else:
                self._put(index, found)
        if lost:
            self._failed(replace(piece, items=lost), "its measurement was ended there")

    def _put(self, index: int, result: Any) -> None:
        self._batch.results.put((index, result))
