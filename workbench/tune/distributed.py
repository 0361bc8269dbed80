"""Measuring on many machines, by way of a cluster of ``dask.distributed``.

The cluster brings what it takes to send work to other machines, to notice that one is lost and to give its work to
another; what is here decides who may measure and what is one piece of work. It needs the optional dependency
``schedule-workbench[dask]`` on all machines, and the same version of this package.

Candidates travel as the frozen dataclasses that they are, in distributed's own serialisation, which is pickle: whoever
can reach the scheduler can run code on the workers, as with every cluster of this kind. Use it in a network that you
trust, or with distributed's TLS. Results are plain values, and nothing that comes back is written to the log unchecked.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import RunError, UsageError
from workbench.runtime.contest import Contest
from workbench.runtime.measure import MeasureInput, Measurement, MeasureOptions
from workbench.tune import dask_worker
from workbench.tune.dask_shift import Batch, Piece, Shift, deliver
from workbench.tune.similar import differences

if TYPE_CHECKING:
    from workbench.runtime.contest import ContestRules
    from workbench.target import Target

#: Seconds between two looks at who is there.
LOOK_S = 0.5


class DaskRunner:
    """Measures candidates on the workers of a dask cluster; a `Runner` of `workbench.runtime.measure`.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler such as ``"tcp://node0:8786"``.
    target : Target or str, optional
        What to compile for; this machine by default. It has to be that of the tuning session.
    resource : str
        Resource of which each trial takes one: workers are started with ``--resources "device=1"``, and one that has
        two devices measures two candidates at a time. Workers without it are not used.
    options : MeasureOptions, optional
        How to measure.
    builders : int, optional
        Builder processes per worker; by default as many as there are free cores.
    patience_s : float
        How long to wait for the scheduler, and for a worker that can measure, in seconds.

    Attributes
    ----------
    refused : dict of str to str
        Addresses of workers that are not used, and why: the resource is missing, the target does not run there, or it
        is not the same kind of machine as the first one, so that latencies could not be compared.

    Raises
    ------
    RunError
        ``run.dask`` when ``dask.distributed`` is not installed, ``run.dask_address`` when there is no scheduler.

    Notes
    -----
    A worker that joins while candidates wait gets some of them. What a lost worker was working on is measured by
    another; a candidate is reported once. Contests take place on one worker.
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
        self._client, self._own = _connected(client, patience_s)
        self.target = _resolved(target)
        self.options = options or MeasureOptions()
        self.refused: dict[str, str] = {}
        self._resource, self._builders, self._patience_s = resource, builders, patience_s
        self._devices: dict[str, int] = {}
        self._known: set[str] = set()
        self._machine: str | None = None
        self._looked = -float("inf")
        self._working = threading.Lock()
        self._crew = threading.Lock()
        self._held, self._cancelled, self._closed = threading.Event(), threading.Event(), False

    def __enter__(self) -> DaskRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what others call ----

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
            ``run.closed``. What `inputs` raises, and what a worker raised that cannot measure at all.
        """
        self._check_open()
        batch = Batch(enumerate(inputs), options or self.options)
        threading.Thread(target=self._work, args=(batch,), name="workbench-dask", daemon=True).start()
        return deliver(batch)

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
        self._check_open()
        if len({item.task_key for item in inputs}) > 1:
            raise UsageError("usage.contest", "Only candidates that compute the same can be compared in a contest")
        batch = Batch(iter([(0, list(inputs))]), options or self.options, contest=True, rules=rules)
        threading.Thread(target=self._work, args=(batch,), name="workbench-dask", daemon=True).start()
        found = [result for _, result in deliver(batch)]
        return found[0] if found else Contest(measurements=tuple(Measurement(status="cancelled") for _ in inputs))

    def hold(self, on: bool) -> None:
        """Give out no more work, or go on; what workers have been given they finish."""
        if on:
            self._held.set()
        else:
            self._held.clear()

    def cancel(self) -> None:
        """Throw away what is being measured, from any thread. The runner can be used again."""
        self._cancelled.set()
        if not self._working.locked():
            self._cancelled.clear()

    kill = cancel

    def close(self) -> None:
        """Let the workers' processes go, and the connection when it was made here; harmless when repeated."""
        if self._closed:
            return
        self._closed = True
        self._cancelled.set()
        with self._working:
            if self._client.status == "running":
                self._everywhere(dask_worker.let_go, list(self._devices))
                if self._own:
                    self._client.close()

    # ---- who is there ----

    def workers(self) -> dict[str, int]:
        """Return the addresses of the workers that measure, and how many candidates each takes at a time."""
        with self._crew:
            self._looked = time.monotonic()
            there = self._there()
            self._devices = {a: n for a, n in self._devices.items() if a in there}
            self._known &= set(there)
            new = [address for address in there if address not in self._known]
            if new:
                told = self._everywhere(dask_worker.introduce, new, str(self.target))
                for address in new:
                    self._admit(address, int(there[address].get(self._resource, 0)), told.get(address))
            return dict(self._devices)

    def _there(self) -> dict[str, dict[str, float]]:
        """Return the resources of every worker, by address."""
        try:
            try:
                found = self._client.scheduler_info(n_workers=-1)
            except TypeError:  # older versions tell of all workers anyway
                found = self._client.scheduler_info()
        except (Exception, asyncio.CancelledError) as error:
            raise self._lost() from error
        if self._client.status != "running":
            raise self._lost()
        return {address: dict(worker.get("resources") or {}) for address, worker in found["workers"].items()}

    @staticmethod
    def _lost() -> RunError:
        message = "The connection to the dask scheduler is lost"
        return RunError("run.dask_lost", message, (), "go on with --resume (resume=True) when it is there again")

    def _admit(self, address: str, devices: int, told: Any) -> None:
        """Take a worker in, or say why not."""
        reason = self._objection(devices, told)
        if reason is None:
            return  # it was lost meanwhile; if it is still there, the next look asks again
        self._known.add(address)
        if reason:
            self.refused[address] = reason
            warnings.warn(f"the worker {address} is not used: {reason}", RuntimeWarning, stacklevel=2)
        else:
            self._machine = self._machine or told.machine
            self._devices[address] = devices

    def _objection(self, devices: int, told: Any) -> str | None:
        if devices < 1:
            return f"it was started without --resources {self._resource}=1"
        if isinstance(told, ImportError):
            return f"this package cannot be imported there: {told}"
        if not isinstance(told, dask_worker.Introduction):
            return None if told is None or isinstance(told, OSError) else f"it failed: {told}"
        if told.problem:
            return told.problem
        if self._machine is not None and told.machine != self._machine:
            return f"{told.host} is another kind of machine: {differences(told.machine, self._machine)}"
        return ""

    def _everywhere(self, function: Any, addresses: list[str], *args: Any) -> dict[str, Any]:
        """Call a function in the process of each worker; errors come as values."""
        if not addresses:
            return {}
        try:
            return dict(self._client.run(function, *args, workers=addresses, on_error="return"))
        except (Exception, asyncio.CancelledError):  # one of them is gone, or the scheduler
            return {}

    # ---- the thread behind a batch ----

    def _check_open(self) -> None:
        if self._closed:
            raise RunError("run.closed", "this runner was closed", hint="make a new one")

    def _work(self, batch: Batch) -> None:
        with self._working:
            self._cancelled.clear()
            try:
                if not self._closed:
                    Shift(self, batch).work()
                batch.results.put(None)
            except BaseException as error:
                batch.results.put(error)
            finally:
                self._cancelled.clear()

    def crew(self, alone: bool) -> dict[str, int]:
        """Return who measures; waits for somebody when `alone` (nothing is on its way) and nobody is there."""
        devices = self._devices
        if time.monotonic() - self._looked > LOOK_S:
            devices = self.workers()
        deadline = time.monotonic() + self._patience_s
        while alone and not devices and not self._cancelled.is_set():
            if time.monotonic() > deadline:
                reasons = [f"{address}: {why}" for address, why in self.refused.items()]
                hint = f"start workers with: dask worker ADDRESS --nthreads 1 --resources {self._resource}=1"
                message = "No worker of the dask cluster can measure" + (f" ({'; '.join(reasons)})" if reasons else "")
                raise RunError("run.dask_workers", message, (), hint)
            time.sleep(0.1)
            devices = self.workers()
        return devices

    @property
    def cancelled(self) -> bool:
        """Whether what is running is to be thrown away."""
        return self._cancelled.is_set()

    @property
    def held(self) -> bool:
        """Whether no more work is to be given out."""
        return self._held.is_set()

    def submit(self, piece: Piece, batch: Batch, addresses: Iterable[str]) -> Any:
        """Give a piece of work to whichever of these workers is free first."""
        common = (str(self.target), self._builders)
        where = {"workers": list(addresses), "resources": {self._resource: 1}, "pure": False}
        work: tuple[Any, ...] = (dask_worker.measure, *common, [item for _, item in piece.items], batch.options)
        if batch.contest:
            work = (dask_worker.contest, *common, piece.items[0][1], batch.options, batch.rules)
        try:
            return self._client.submit(*work, **where)
        except Exception as error:  # distributed has an exception for every way of being closed
            if self._client.status == "running":
                raise
            raise self._lost() from error

    def abandon(self, futures: list[Any]) -> None:
        """Throw away pieces of work that are on their way, and what workers are doing about them."""
        self.drop(futures)
        if self._client.status == "running":
            self._everywhere(dask_worker.abort, list(self._devices))

    def drop(self, futures: list[Any]) -> None:
        """Throw away pieces of work that nobody waits for."""
        if self._client.status == "running":
            with contextlib.suppress(Exception):  # the scheduler may be gone, and with it what is to be dropped
                self._client.cancel(futures, force=True)


def _connected(client: Any, patience_s: float) -> tuple[Any, bool]:
    """Return a client, and whether it was made here."""
    try:
        from distributed import Client
    except ImportError as error:
        hint = "pip install 'schedule-workbench[dask]'"
        raise RunError("run.dask", "Measuring on a cluster needs dask.distributed", (), hint) from error
    if isinstance(client, Client):
        return client, False
    if not isinstance(client, str):
        message = f"A cluster is given by a distributed.Client or an address, not by {type(client).__name__}"
        raise UsageError("usage.type", message, ("client",))
    try:
        return Client(client, timeout=patience_s), True  # type: ignore[no-untyped-call]
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
