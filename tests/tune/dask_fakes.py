"""A cluster that is none: workers are threads, and do, or die, as they are told."""

from __future__ import annotations

import queue
import threading

from workbench import Target, __version__, workloads
from workbench.graph.tasks import Task
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import MeasureInput
from workbench.tune.constants import Cluster
from workbench.tune.dask import runner as distributed
from workbench.tune.dask import worker_process as dask_worker
from workbench.tune.dask.runner import DaskRunner

TARGET = Target.host(threads=1)
TASK = Task.of_func(workloads.matmul(8, 8, 8), TARGET)
#: Candidates that are told apart by their operations.
INPUTS = [MeasureInput(TASK.key, TASK.func, TASK.func, "kernel", i) for i in range(12)]


class Died(Exception):
    """Raised by a behaviour: the worker is lost."""


class Future:
    """What `Client.submit` returns."""

    def __init__(self):
        self.event, self.value, self.error, self.callbacks = threading.Event(), None, None, []

    def settle(self, value=None, error=None):
        self.value, self.error = value, error
        self.event.set()
        for call in self.callbacks:
            call(self)

    def done(self):
        return self.event.is_set()

    def add_done_callback(self, call):
        self.callbacks.append(call)
        if self.done():
            call(self)

    def result(self, timeout=None):
        if self.error is not None:
            raise self.error
        return self.value


class Worker:
    """A worker; `behave(item, worker)` returns a measurement of one candidate, or raises."""

    def __init__(self, address, behave=None, devices=1, nthreads=None, **said):
        self.address, self.devices, self.nthreads = address, devices, nthreads or devices
        self.behave = behave or (lambda item, worker: Measurement(status="ok", costs_ms=(1.0 + item.flops,)))
        self.said = {
            "version": __version__, "host": address, "machine": str(TARGET), "cores": 64, "problem": "", **said,
        }  # fmt: skip
        self.directory, self.status = f"/tmp/{address}", "running"
        self.jobs = queue.SimpleQueue()
        self.seen, self.called = [], []
        self.dead = False
        for _ in range(devices):
            threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            future, function, args = self.jobs.get()
            try:
                value = self._answer(function, args)
            except Died:
                self.dead = True
            except Exception as error:
                future.settle(error=error)
            else:
                if not self.dead:
                    future.settle(value)
            if self.dead:
                return

    def _answer(self, function, args):
        results = []
        for item in args[1]:
            self.seen.append(item.flops)
            results.append(self.behave(item, self))
        return results if function is dask_worker.measure else Contest(measurements=tuple(results))

    def identity(self):
        return {
            "resources": {"device": self.devices}, "nthreads": self.nthreads, "status": self.status,
            "local_directory": self.directory,
        }  # fmt: skip


class Client:
    """As much of `distributed.Client` as is used."""

    def __init__(self, *workers):
        self.workers, self.status, self.dropped = list(workers), "running", []
        self.looks = 0

    def scheduler_info(self, n_workers=-1):
        self.looks += 1
        return {"workers": {w.address: w.identity() for w in self.workers if not w.dead}}

    def run(self, function, *args, workers, on_error):
        (one,) = (w for w in self.workers if w.address in workers and not w.dead)
        if function is dask_worker.introduce:
            return {one.address: one.said}
        one.called.append((function.__name__, *args))
        return {one.address: None}

    def submit(self, function, *args, workers, allow_other_workers, resources, pure):
        assert resources == {"device": 1}
        assert not allow_other_workers
        assert not pure
        future = Future()
        for one in self.workers:
            if [one.address] == workers:
                one.jobs.put((future, function, args))
        return future

    def cancel(self, futures, force):
        self.dropped += futures

    def close(self):
        self.status = "closed"


def runner_of(monkeypatch, *workers, own=False, patience_s=5.0):
    """A runner on such workers, which looks after them all the time; and its client."""
    client = Client(*workers)
    monkeypatch.setattr(distributed, "_connected", lambda given, patience_s: (given, own))
    monkeypatch.setattr(Cluster, "LOOK_S", 0.0)
    monkeypatch.setattr(Cluster, "TICK_S", 0.005)
    return DaskRunner(client, TARGET, patience_s=patience_s), client
