"""What happens in a worker process that several sessions share; with runners that start no processes."""

from __future__ import annotations

import asyncio
import os
import platform
import threading

import pytest
from tune.dask_fakes import INPUTS, TARGET
from waiting import until

from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.tune.constants import Cluster
from workbench.tune.dask import worker_process as dask_worker
from workbench.tune.dask.worker_process import DevicePool, DeviceRequest, introduce, pinned, share

HOW = MeasureOptions()
OK = Measurement(status="ok", costs_ms=(1.0,))
linux = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins nothing")


class Runner:
    """A LocalRunner that measures when it is told to."""

    made: list[Runner]

    def __init__(self, target, builders):
        self.cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
        self.go, self.begun, self.cancelled, self.closed, self.started = threading.Event(), 0, False, False, False
        Runner.made.append(self)

    def measure_many(self, inputs, options):
        self.begun += 1
        for i, _ in enumerate(inputs):
            self.go.wait(20)
            if self.cancelled:
                self.cancelled = False
                return
            yield i, OK

    def contest(self, inputs, options, rules):
        return Contest(measurements=tuple(OK for _ in inputs))

    def start(self):
        self.started = True

    def cancel(self):
        self.cancelled = True
        self.go.set()

    def close(self):
        self.closed = True
        self.cancel()


@pytest.fixture
def devices(monkeypatch):
    Runner.made = []
    one = DevicePool(Runner)
    monkeypatch.setattr(dask_worker, "_devices", one)
    yield one
    for runner in Runner.made:
        runner.go.set()


class Call(threading.Thread):
    """A piece of work in a thread."""

    def __init__(self, order, inputs=INPUTS[:3]):
        super().__init__(daemon=True)
        self.order, self.inputs, self.found = order, inputs, None
        self.start()

    def run(self):
        self.found = dask_worker.measure(self.order, self.inputs, HOW)

    @property
    def statuses(self):
        self.join(100)
        return [m.status for m in self.found]


def order(owner="o", batch="b", devices=1):
    return DeviceRequest(owner, batch, str(TARGET), None, "device", devices)


def test_one_device_measures_one_at_a_time_and_owners_have_their_own_processes(devices):
    first = Call(order("o1", "b1"))
    until(lambda: Runner.made and Runner.made[0].begun)
    second = Call(order("o2", "b2"))
    assert len(Runner.made) == 1  # the second one waits for the device
    Runner.made[0].go.set()
    assert first.statuses == ["ok"] * 3
    assert first.found[0].host == dask_worker.host_name()
    until(lambda: len(Runner.made) == 2)
    Runner.made[1].go.set()
    assert second.statuses == ["ok"] * 3
    assert Call(order("o1", "b3")).statuses == ["ok"] * 3  # with the processes of before
    assert len(Runner.made) == 2


@linux
def test_two_devices_measure_at_once_each_with_its_part_of_the_cores(devices):
    whole = os.sched_getaffinity(0)
    calls = [Call(order(devices=2)) for _ in range(2)]
    until(lambda: len(Runner.made) == 2 and all(r.begun for r in Runner.made))
    assert os.sched_getaffinity(0) == whole
    one, other = (r.cpus for r in Runner.made)
    assert one | other == whole
    assert not (one & other) or len(whole) == 1
    for runner in Runner.made:
        runner.go.set()
    assert [c.statuses for c in calls] == [["ok"] * 3] * 2


@linux
def test_shares_keep_the_threads_of_a_core_together(monkeypatch):
    # Two sockets of two cores of two threads, numbered as systems do: siblings are far apart.
    places = {cpu: (cpu % 4 // 2, cpu % 2, cpu) for cpu in range(8)}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(dask_worker, "_place", places.__getitem__)
    assert share(0, 1) is None
    assert [share(i, 2) for i in range(2)] == [{0, 1, 4, 5}, {2, 3, 6, 7}]
    assert [share(i, 4) for i in range(4)] == [{0, 4}, {1, 5}, {2, 6}, {3, 7}]


@linux
def test_what_is_started_meanwhile_is_pinned_and_nothing_else():
    before = os.sched_getaffinity(0)
    seen = []
    with pinned(frozenset([min(before)])):
        thread = threading.Thread(target=lambda: seen.append(os.sched_getaffinity(0)))
        thread.start()
        thread.join()
    assert seen == [{min(before)}]
    assert os.sched_getaffinity(0) == before


def test_cancelling_one_batch_leaves_the_others_alone(devices):
    running = Call(order("o1", "b1"))
    until(lambda: Runner.made and Runner.made[0].begun)
    waiting, other = Call(order("o1", "b1")), Call(order("o2", "b2"))
    dask_worker.abort("o2", "b1")  # no batch of theirs
    dask_worker.abort("o1", "b1")
    assert running.statuses == ["cancelled"] * 3
    assert waiting.statuses == ["cancelled"] * 3
    until(lambda: len(Runner.made) == 2)
    assert not Runner.made[1].cancelled
    Runner.made[1].go.set()
    assert other.statuses == ["ok"] * 3
    assert Call(order("o1", "b1")).statuses == ["cancelled"] * 3  # it came late
    Runner.made[0].go.set()
    assert Call(order("o1", "b3")).statuses == ["ok"] * 3
    assert len(Runner.made) == 2


def test_a_batch_that_is_cancelled_just_before_it_begins_ends_after_one(devices, monkeypatch):
    def measure_many(self, inputs, options):  # the runner's `cancel` came before there was anything to cancel
        for i, _ in enumerate(inputs):
            dask_worker.abort("o", "b")
            yield i, OK

    monkeypatch.setattr(Runner, "measure_many", measure_many)
    assert Call(order()).statuses == ["ok", "cancelled", "cancelled"]
    assert dask_worker.contest(order(), INPUTS[:2], HOW, None).status == "cancelled"


def test_who_has_left_is_served_no_more(devices):
    call = Call(order("o1", "b1"))
    until(lambda: Runner.made and Runner.made[0].begun)
    asyncio.run(dask_worker.let_go("o1"))
    assert call.statuses == ["cancelled"] * 3
    assert Runner.made[0].closed
    assert Call(order("o1", "b2")).statuses == ["cancelled"] * 3
    assert len(Runner.made) == 1


def test_processes_of_tuners_that_died_do_not_pile_up(devices):
    for i in range(Cluster.IDLE_RUNNERS + 3):
        with devices.device(order(f"o{i}", f"b{i}")):
            pass
    assert [r.closed for r in Runner.made] == [True] * 3 + [False] * Cluster.IDLE_RUNNERS
    for i in range(Cluster.REMEMBERED + 5):
        dask_worker.abort("o", f"x{i}")
    assert len(devices._ended) == Cluster.REMEMBERED


def test_processes_can_be_started_early(devices):
    asyncio.run(dask_worker.prepare(order(devices=2)))
    assert [r.started for r in Runner.made] == [True, True]
    contest = dask_worker.contest(order(), INPUTS[:2], HOW, None)
    assert contest.status == "ok"
    assert contest.measurements[0].host == dask_worker.host_name()


def test_an_introduction_is_made_of_plain_values():
    told = introduce(str(TARGET))
    assert told["problem"] == ""
    assert told["host"] == dask_worker.host_name()
    assert {type(value) for value in told.values()} <= {str, int}
    foreign = "x86_64" if platform.machine() == "aarch64" else "aarch64"
    assert foreign in introduce(f"llvm -mtriple={foreign}-unknown-linux-gnu -mcpu=generic -threads=1")["problem"]
    assert introduce("nonsense")["problem"]
