"""Measuring on many machines, by way of a cluster of ``dask.distributed``.

The cluster brings what it takes to send work to other machines, to notice that one is lost and to give its work to
another; what is here decides who may measure and what is one piece of work. It needs the optional dependency
``schedule-workbench[dask]`` on all machines, and the same version of this package.

Candidates travel as the frozen dataclasses that they are, in distributed's own serialisation, which is pickle: whoever
can reach the scheduler can run code on the workers, as with every cluster of this kind. Use it in a network that you
trust, or with distributed's TLS. Results are plain values, and nothing that comes back is written to the log unchecked.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.arguments import real
from workbench.errors import RunError, UsageError, WorkbenchError
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import Batch, MeasureInput, Results
from workbench.tune.constants import Cluster
from workbench.tune.dask import worker_process as dask_worker
from workbench.tune.dask.batch_dispatch import BatchDispatch, WorkItem
from workbench.tune.dask.cluster_workers import ClusterWorkers

if TYPE_CHECKING:
    from workbench.target import Target
    from workbench.tune.dask.cluster_workers import ClusterWorker


class DaskRunner:
    """Measures candidates on the workers of a dask cluster; a `Runner` of `runtime.workers.runner`.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler such as ``"tcp://node0:8786"``.
    target : Target or str, optional
        What to compile for; this machine by default. It has to be that of the tuning session.
    resource : str
        Resource of which each trial takes one: workers are started with ``--resources "device=1"``. One that has two
        (and ``--nthreads 2``) measures two candidates at a time, each on half of its cores. Workers without it are not
        used.
    options : MeasureOptions, optional
        How to measure.
    builders : int, optional
        Builder processes per device; by default as many as it has free cores.
    patience_s : float
        How long to wait for the scheduler, and for a worker that can measure, in seconds.

    Raises
    ------
    RunError
        ``run.dask`` when ``dask.distributed`` is not installed, ``run.dask_address`` when there is no scheduler.
    UsageError
        ``usage.type`` for what is no cluster, ``usage.number`` for a patience that cannot be.

    Notes
    -----
    A worker that joins while candidates wait gets some of them. What a lost worker was working on is measured by
    another, and a candidate is reported once; one over which two workers were lost is a ``run_error``. Contests take
    place on one worker. A tuning session works with a `lease`, so several may use one runner at the same time.
    """

    def __init__(
        self,
        client: Any,
        target: Target | str | None = None,
        *,
        resource: str = "device",
        options: MeasureOptions | None = None,
        builders: int | None = None,
        patience_s: float = 30.0,
    ) -> None:
        real("patience_s", patience_s, above=0, code="usage.number")
        connection, own = _connected(client, patience_s)
        self._workers = ClusterWorkers(connection, _resolved(target), resource)
        self._own_client = own
        self.options, self._builders, self._patience_s = options or MeasureOptions(), builders, patience_s
        self._begin()

    def _begin(self) -> None:
        """What no two runners have in common."""
        self._name = uuid.uuid4().hex
        self._leases: weakref.WeakSet[DaskRunner] = weakref.WeakSet()
        self._state = threading.Lock()
        self._working = threading.Lock()  # held by the batch that is worked on
        self._live: list[Batch] = []  # batches of which somebody may be waiting for results
        self._epoch = 0  # another one for every `cancel`: batches of earlier ones end
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._held, self._closed = threading.Event(), False

    def __enter__(self) -> DaskRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def target(self) -> Target:
        """What is compiled for."""
        return self._workers.target

    @property
    def refused(self) -> dict[str, str]:
        """Addresses of workers that are there and not used, and why: the resource is missing, the target does not run
        there, the package is another version, its processes do not start, or it is not the same kind of machine as the
        others, so that latencies could not be compared.
        """
        return dict(self._workers.refused)

    # ---- what others call ----

    def start(self) -> None:
        """Look for workers and start their processes, without waiting for them."""
        self._check_open()
        threading.Thread(target=self._prepare, name="workbench-dask-start", daemon=True).start()

    def measure_many(
        self, inputs: Iterable[MeasureInput], options: MeasureOptions | None = None
    ) -> Iterator[tuple[int, Measurement]]:
        """Measure candidates; work begins at once.

        Yields
        ------
        (index, Measurement)
            Each candidate once, as it becomes known; `Measurement.host` says where. After `cancel` the iterator ends.

        Raises
        ------
        RunError
            ``run.dask_workers`` when no worker can measure, ``run.dask_lost`` when the scheduler is gone,
            ``run.closed``. What `inputs` raises, and what the last worker raised that could not measure at all.
        """
        return self._start_batch(Batch(iter(enumerate(inputs)), options or self.options))

    def contest(
        self, inputs: Sequence[MeasureInput], options: MeasureOptions | None = None, rules: ContestRules | None = None
    ) -> Contest:
        """Time candidates of one task against each other, on one worker; the first one is the incumbent.

        Raises
        ------
        UsageError
            ``usage.contest`` for participants that belong to different tasks.
        RunError
            As for `measure_many`.
        """
        begin = time.perf_counter()
        if len({item.task_key for item in inputs}) > 1:
            raise UsageError("usage.contest", "Only candidates that compute the same can be compared in a contest")
        batch = Batch(iter(enumerate(inputs)), options or self.options, rules or ContestRules())
        results: Iterator[Any] = self._start_batch(batch)
        lost = Contest(measurements=tuple(Measurement(status="cancelled") for _ in inputs))
        return replace(next((found for _, found in results), lost), elapsed_s=time.perf_counter() - begin)

    def hold(self, on: bool) -> None:
        """Give out no more work, or go on; what workers have been given they finish."""
        if on:
            self._held.set()
        else:
            self._held.clear()
        self._events.put(None)

    def cancel(self) -> None:
        """Throw away what is being measured, from any thread. The runner can be used again."""
        with self._state:
            self._epoch += 1
            for batch in self._live:  # whoever waits for results need not wait for the cluster
                batch.results.put(None)
        self._events.put(None)

    kill = cancel

    def lease(self) -> DaskRunner:
        """Return a runner for the same workers that is held, cancelled and closed by itself.

        Both may measure at the same time: each device takes their candidates in turns. The connection stays this one's:
        closing it ends its leases, too.
        """
        with self._state:
            self._check_open()
            other = DaskRunner.__new__(DaskRunner)
            other._workers, other._own_client = self._workers, False
            other.options, other._builders, other._patience_s = self.options, self._builders, self._patience_s
            other._begin()
            self._leases.add(other)
            return other

    def close(self) -> None:
        """Let the workers' processes go, and the connection when it was made here; harmless when repeated."""
        with self._state:
            if self._closed:
                return
            self._closed = True
            leases = list(self._leases)
        for lease in leases:
            lease.close()
        self.cancel()
        if self._working.acquire(timeout=2 * Cluster.LET_GO_S):  # what is running is being thrown away
            self._working.release()
        if self._workers.connected:
            self._workers.call(self._workers.members, dask_worker.let_go, self._name, wait_s=Cluster.LET_GO_S)
        if self._own_client:
            self._workers.client.close()

    def workers(self) -> dict[str, int]:
        """Return the addresses of the workers that measure, and how many candidates each takes at a time."""
        members = self._workers.look(min(self._patience_s, Cluster.INTRODUCE_S))
        return {member.address: member.devices for member in members}

    # ---- the thread behind a batch ----

    def _check_open(self) -> None:
        if self._closed:
            raise RunError("run.closed", "this runner was closed", hint="make a new one")

    def _start_batch(self, batch: Batch) -> Results:
        with self._state:
            self._check_open()
            batch.epoch = self._epoch
            self._live.append(batch)
        threading.Thread(target=self._work, args=(batch,), name="workbench-dask", daemon=True).start()
        return Results(batch, lambda: self._events.put(None))

    def _work(self, batch: Batch) -> None:
        def cancelled() -> bool:
            return batch.epoch != self._epoch

        try:
            with self._working:
                self._measure(batch, cancelled)
            end: BaseException | None = None
        except BaseException as error:
            end = error
        with self._state:
            self._live = [other for other in self._live if other is not batch]
        batch.results.put(end)

    def _measure(self, batch: Batch, cancelled: Callable[[], bool]) -> None:
        name = uuid.uuid4().hex

        dispatch = BatchDispatch(
            self._workers,
            batch,
            functools.partial(self._send, batch=batch, name=name),
            cancelled=cancelled,
            held=self._held.is_set,
            events=self._events,
            patience_s=self._patience_s,
        )
        try:
            dispatch.work()
        finally:
            members = {piece.member for piece in dispatch.in_flight if piece.member is not None}
            dispatch.drop(list(dispatch.in_flight))
            self._workers.call(members, dask_worker.abort, self._name, name, wait_s=0.0)

    def _send(self, piece: WorkItem, batch: Batch, name: str) -> Any:
        """Give a piece of work to its worker, and to no other."""
        assert piece.member is not None
        inputs = [item for _, item in piece.items]
        rules = () if batch.rules is None else (batch.rules,)
        return self._workers.client.submit(
            dask_worker.measure if batch.rules is None else dask_worker.contest,
            self._order(piece.member, name),
            inputs,
            batch.options,
            *rules,
            workers=[piece.member.address],
            allow_other_workers=False,
            resources={self._workers.resource: 1},
            pure=False,
        )

    def _order(self, member: ClusterWorker, name: str) -> dask_worker.DeviceRequest:
        resource = self._workers.resource
        return dask_worker.DeviceRequest(self._name, name, str(self.target), self._builders, resource, member.devices)

    def _prepare(self) -> None:
        """Start what is there; whoever is not reached starts with the first candidate, and says then what is wrong."""
        with contextlib.suppress(WorkbenchError):
            for member in self._workers.look(Cluster.INTRODUCE_S):
                self._workers.call([member], dask_worker.prepare, self._order(member, self._name), wait_s=0.0)


def _connected(client: Any, patience_s: float) -> tuple[Any, bool]:
    """Return a client, and whether it was made here."""
    try:
        from distributed import Client
    except ImportError as error:
        hint = "pip install 'schedule-workbench[dask]'"
        raise RunError("run.dask", "Measuring on a cluster needs dask.distributed", (), hint) from error
    if isinstance(client, Client):
        if client.asynchronous:
            message = "A client that belongs to an event loop cannot be used"
            hint = "make one without asynchronous=True, or give the scheduler's address"
            raise UsageError("usage.type", message, ("client",), hint)
        return client, False
    if not isinstance(client, str):
        message = f"A cluster is given by a distributed.Client or an address, not by {type(client).__name__}"
        raise UsageError("usage.type", message, ("client",))
    try:
        return Client(client, timeout=patience_s, set_as_default=False), True  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        hint = "start one with: dask scheduler; and workers with: dask worker ADDRESS --resources device=1"
        raise RunError(
            "run.dask_address", f"There is no dask scheduler at {client}: {error}", (client,), hint
        ) from error


def _resolved(target: Target | str | None) -> Target:
    from workbench.target import Target

    if target is None:
        return Target.host()
    return Target(target) if isinstance(target, str) else target
