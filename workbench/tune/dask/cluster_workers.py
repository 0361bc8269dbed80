"""Who is in a dask cluster: which workers may measure, why others may not, and who has gone."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench import __version__
from workbench.errors import RunError
from workbench.log.similar_tasks import differences
from workbench.tune.constants import Cluster
from workbench.tune.dask import worker_process as dask_worker

if TYPE_CHECKING:
    from workbench.target import Target


@dataclass(frozen=True, slots=True)
class ClusterWorker:
    """A worker process that measures; another process at the same address is another member.

    Attributes
    ----------
    address : str
        Where the cluster finds it.
    process : str
        What tells it from a process that had this address before.
    devices : int
        Candidates that it measures at a time.
    """

    address: str
    process: str
    devices: int


class ClusterWorkers:
    """The workers of a cluster; shared by all runners of one connection, and for use in any thread.

    Parameters
    ----------
    client : distributed.Client
        The connection.
    target : Target
        What has to run there.
    resource : str
        What the cluster calls a device.

    Attributes
    ----------
    refused : dict of str to str
        Addresses of workers that are there and not used, and why.
    """

    def __init__(self, client: Any, target: Target, resource: str) -> None:
        self.client, self.target, self.resource = client, target, resource
        self.refused: dict[str, str] = {}
        self._lock = threading.Lock()
        self._members: dict[ClusterWorker, dict[str, Any]] = {}  # those that measure: what they said of themselves
        self._asked: dict[ClusterWorker, bool] = {}  # those that are there, and whether they wait to be judged
        self._present: set[ClusterWorker] = set()
        self._leaving: set[ClusterWorker] = set()
        self._answers: queue.SimpleQueue[tuple[ClusterWorker, Any]] = queue.SimpleQueue()
        self._news: deque[str] = deque()
        self._machine: str | None = None
        self._looked = -float("inf")

    # ---- looking ----

    def look(self, wait_s: float = 0.0) -> tuple[ClusterWorker, ...]:
        """Return who measures now. The cluster is asked now and then, so this may be called as often as one likes.

        Parameters
        ----------
        wait_s : float
            How long to wait for new workers to say what they are.

        Raises
        ------
        RunError
            ``run.dask_lost`` when the connection to the scheduler has been given up.
        """
        with self._lock:
            if wait_s or time.monotonic() - self._looked > Cluster.LOOK_S:
                self._update()
                self._looked = time.monotonic()
            if self._machine is None:  # the kind of machine is chosen among all that are there
                wait_s = max(wait_s, Cluster.FIRST_S)
            self._judge(self._heard(time.monotonic() + wait_s))
            found = tuple(m for m in self._members if m not in self._leaving) if self.connected else ()
        self._tell()
        return found

    def here(self, member: ClusterWorker) -> bool:
        """Whether a worker was there when the cluster was asked last."""
        return member in self._present

    def left(self, member: ClusterWorker) -> bool:
        """Whether a worker was about to leave in good order when it was last seen."""
        return member in self._leaving

    def absences(self) -> dict[str, str]:
        """Return why each worker that is there does not measure, by address."""
        why = {member.address: "it has not said yet what it is" for member, waits in self._asked.items() if waits}
        return why | {member.address: "it takes no work now" for member in self._leaving & self._present} | self.refused

    @property
    def members(self) -> tuple[ClusterWorker, ...]:
        """Those that measured when the cluster was asked last."""
        return tuple(self._members)

    @property
    def connected(self) -> bool:
        """Whether the scheduler can be reached; while it cannot, the client tries to."""
        return bool(self.client.status == "running")

    def lost(self) -> RunError:
        """Return what to raise when the scheduler is gone."""
        message = "The connection to the dask scheduler is lost"
        return RunError("run.dask_lost", message, (), "go on with resume=True when it is there again")

    def refuse(self, member: ClusterWorker, reason: str) -> None:
        """Use a worker no more, and say why."""
        with self._lock:
            self._members.pop(member, None)
            self._refuse(member, reason)
        self._tell()

    def _update(self) -> None:
        """Ask who is there; new workers are asked what they are."""
        there = self._there()
        if there is None:
            return
        now = {}
        for address, worker in there.items():
            devices = min(int((worker.get("resources") or {}).get(self.resource, 0)), int(worker.get("nthreads", 1)))
            now[ClusterWorker(address, str(worker.get("local_directory", "")), devices)] = str(
                worker.get("status", "running")
            )
        # Those that were leaving are remembered: they are not lost over what they were doing.
        self._leaving = {m for m in self._leaving if m not in now} if len(self._leaving) < 1000 else set()
        self._leaving |= {m for m, status in now.items() if status != "running"}
        self._present = set(now)
        self._asked = {m: waits for m, waits in self._asked.items() if m in now}
        self._members = {m: told for m, told in self._members.items() if m in now}
        self.refused = {address: why for address, why in self.refused.items() if address in there}
        for member in now:
            if member in self._asked or member in self._leaving:
                continue
            self.refused.pop(member.address, None)
            self._asked[member] = member.devices > 0
            if member.devices > 0:
                ask = (member, dask_worker.introduce, str(self.target))
                threading.Thread(target=self._ask, args=ask, name="workbench-dask-ask", daemon=True).start()
            else:
                self._refuse(member, f"it was started without --resources {self.resource}=1")

    def _there(self) -> dict[str, dict[str, Any]] | None:
        """Return what the scheduler knows of every worker, by address; None while it cannot be reached."""
        try:
            try:
                found = self.client.scheduler_info(n_workers=-1)
            except TypeError:  # older versions tell of all workers anyway
                found = self.client.scheduler_info()
        except (Exception, asyncio.CancelledError) as error:
            if self.client.status in ("running", "connecting"):
                return None
            raise self.lost() from error
        if self.client.status in ("closing", "closed"):
            raise self.lost()
        return dict(found["workers"]) if self.connected else None

    # ---- judging ----

    def _heard(self, deadline: float) -> dict[ClusterWorker, Any]:
        """Return the answers that have come in, and by the deadline those that are still to come."""
        found: dict[ClusterWorker, Any] = {}
        while True:
            missing = any(waits for m, waits in self._asked.items() if m not in found)
            left = deadline - time.monotonic()
            try:
                member, told = self._answers.get(timeout=left) if missing and left > 0 else self._answers.get_nowait()
            except queue.Empty:
                return found
            found[member] = told

    def _judge(self, answers: dict[ClusterWorker, Any]) -> None:
        """Take workers in, or say why not."""
        fit = {}
        for member, told in answers.items():
            if member not in self._asked:
                continue
            if isinstance(told, OSError | asyncio.CancelledError):  # nobody answered: the next look asks again
                del self._asked[member]
                continue
            self._asked[member] = False
            if problem := self._problem(member, told):
                self._refuse(member, problem)
            else:
                fit[member] = told
        if fit and self._machine is None:
            self._machine = self._kind([told["machine"] for member, told in fit.items() for _ in range(member.devices)])
        for member, told in fit.items():
            if told["machine"] == self._machine:
                self._members[member] = told
                self._warn_of_crowds(told)
            else:
                apart = differences(told["machine"], self._machine or "")
                self._refuse(member, f"{told['host']} is another kind of machine: {apart}")

    def _problem(self, member: ClusterWorker, told: Any) -> str:
        """Say why a worker cannot measure for the target; empty when it can."""
        if isinstance(told, ImportError):
            return f"this package cannot be imported there: {told}"
        if not isinstance(told, dict) or "version" not in told:
            return f"it failed: {told!r}; it needs this version of the package: {__version__}"
        if told["version"] != __version__:
            return f"it has version {told['version']} of this package, and here is {__version__}"
        needed = member.devices * self.target.threads
        if not told["problem"] and needed > told["cores"]:
            kernels = "a kernel" if member.devices == 1 else f"kernels on {member.devices} devices"
            return f"{kernels} would need {needed} threads of its {told['cores']}"
        return str(told["problem"])

    def _kind(self, machines: list[str]) -> str:
        """Return the kind of machine that measures: the target's own, or else the one with the most devices."""
        own = str(self.target).rpartition(" -threads=")[0]
        for machine in machines:
            if machine.rpartition(" -threads=")[0] == own:
                return machine
        return Counter(sorted(machines)).most_common(1)[0][0]

    def _refuse(self, member: ClusterWorker, reason: str) -> None:
        self.refused[member.address] = reason
        self._news.append(f"the worker {member.address} is not used: {reason}")

    def _warn_of_crowds(self, told: dict[str, Any]) -> None:
        """Workers of one machine do not know of each other."""
        devices = sum(m.devices for m, other in self._members.items() if other["host"] == told["host"])
        if devices * self.target.threads > told["cores"]:
            text = f"the workers on {told['host']} measure {devices} candidates at a time and disturb each other"
            self._news.append(f"{text}: it has {told['cores']} threads")

    def _tell(self) -> None:
        """Warn, when everything is settled: where warnings are errors, this raises."""
        with contextlib.suppress(IndexError):  # another thread has told the last one
            while self._news:
                warnings.warn(self._news.popleft(), RuntimeWarning, stacklevel=3)

    # ---- calling ----

    def _ask(self, member: ClusterWorker, function: Any, *args: Any) -> None:
        self._answers.put((member, self._call(member, function, args)))

    def _call(self, member: ClusterWorker, function: Any, args: tuple[Any, ...]) -> Any:
        """Call a function in the process of a worker, at once, whatever it is doing; errors come as values."""
        try:
            found = self.client.run(function, *args, workers=[member.address], on_error="return")
        except (Exception, asyncio.CancelledError) as error:
            return error
        return found.get(member.address, OSError("it is gone"))

    def call(self, members: Iterable[ClusterWorker], function: Any, *args: Any, wait_s: float) -> None:
        """Call a function in the processes of workers; those that do not answer in time are left alone with it."""
        if not self.connected:
            return
        deadline = time.monotonic() + wait_s
        calls = [
            threading.Thread(target=self._call, args=(m, function, args), name="workbench-dask-call", daemon=True)
            for m in members
        ]
        for one in calls:
            one.start()
        for one in calls:
            one.join(max(0.0, deadline - time.monotonic()))
