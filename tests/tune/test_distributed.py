"""Measuring on a dask cluster: each candidate once, whoever comes, goes or does not fit."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
import time
import warnings
from collections import Counter

import pytest

from workbench import Target, tune, workloads
from workbench.errors import RunError, UsageError, WorkbenchError
from workbench.graph.tasks import Task
from workbench.host import usable_threads
from workbench.log import load_log
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import MeasureInput
from workbench.schedule import Schedule
from workbench.tune.dask import worker_process as dask_worker
from workbench.tune.dask.runner import DaskRunner
from workbench.tune.dask.worker_process import introduce

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

TARGET = Target.host(threads=1)
TASK = Task.of_func(workloads.matmul(8, 8, 8), TARGET)
INPUTS = [MeasureInput(TASK.key, TASK.func, TASK.func, "kernel", i) for i in range(12)]


class Stage:
    """What the workers of these tests do; they run in this process."""

    calls: list[tuple[str, int]]
    wait: dict[str, threading.Event]
    error: dict[int, Exception]
    each_s: float

    def reset(self):
        self.calls, self.wait, self.error, self.each_s = [], {}, {}, 0.01


STAGE = Stage()


def fake_measure(order, inputs, options):
    here = distributed.get_worker().address
    assert Target(order.target) == TARGET
    out = []
    for item in inputs:
        STAGE.calls.append((here, item.flops))
        if here in STAGE.wait:
            STAGE.wait[here].wait(20)
        time.sleep(STAGE.each_s)
        if item.flops in STAGE.error:
            raise STAGE.error[item.flops]
        out.append(Measurement(status="ok", costs_ms=(1.0 + item.flops,), host=here))
    return out


def fake_contest(order, inputs, options, rules):
    host = distributed.get_worker().address
    return Contest(measurements=tuple(Measurement(status="ok", costs_ms=(i.flops,), host=host) for i in inputs))


@pytest.fixture
def stage(monkeypatch):
    STAGE.reset()
    monkeypatch.setattr(dask_worker, "measure", fake_measure)
    monkeypatch.setattr(dask_worker, "contest", fake_contest)
    monkeypatch.setattr(dask_worker, "usable_threads", lambda: 64)  # enough for all devices, wherever this runs
    yield STAGE
    for event in STAGE.wait.values():
        event.set()


def start(n=2, resources=None, threads=1):
    return distributed.LocalCluster(
        n_workers=n, threads_per_worker=threads, processes=False, dashboard_address=":0", silence_logs=50,
        resources={"device": 1} if resources is None else resources,
    )  # fmt: skip


@pytest.fixture
def cluster(stage):
    with start() as one:
        yield one


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as one:
        yield one


def code_of(call):
    with pytest.raises(WorkbenchError) as caught:
        call()
    assert caught.value.message
    return caught.value.code


def test_every_candidate_is_measured_once_and_all_workers_are_used(stage, client):
    with DaskRunner(client, TARGET) as runner:
        found = dict(runner.measure_many(item for item in INPUTS))
        assert sorted(found) == list(range(12))
        assert [found[i].ms for i in range(12)] == [1.0 + i for i in range(12)]
        assert {m.host for m in found.values()} == set(runner.workers())
        assert sorted(n for _, n in stage.calls) == list(range(12))
        assert runner.workers() == dict.fromkeys(runner.workers(), 1)
        assert len(runner.workers()) == 2
        contest = runner.contest(INPUTS[3:5])
        assert contest.costs_ms == ((3,), (4,))
        assert contest.measurements[0].host in runner.workers()
        other = dataclasses.replace(INPUTS[0], task_key="other")
        assert code_of(lambda: runner.contest([INPUTS[0], other])) == "usage.contest"
    assert code_of(lambda: runner.measure_many(INPUTS)) == "run.closed"
    assert client.status == "running"  # it was not made by the runner


def test_what_a_lost_worker_had_is_measured_by_another(stage, cluster, client):
    with DaskRunner(client, TARGET) as runner:
        victim, *_ = cluster.workers.values()
        stage.wait[victim.address] = threading.Event()  # it never answers
        results = runner.measure_many(INPUTS)
        seen = [next(results)[0]]
        while victim.address not in {where for where, _ in stage.calls}:
            time.sleep(0.01)
        cluster.sync(victim.close, nanny=False, executor_wait=False)
        seen += [i for i, _ in results]
        assert sorted(seen) == list(range(12))
        assert victim.address not in runner.workers()


def test_a_worker_that_joins_later_is_used(stage):
    with start(1) as cluster, distributed.Client(cluster) as client, DaskRunner(client, TARGET) as runner:
        found, end = [], time.monotonic() + 100

        def inputs():
            """Candidates until both have measured some."""
            while len({m.host for _, m in found}) < 2 and time.monotonic() < end:
                yield from INPUTS

        for result in runner.measure_many(inputs()):
            if not found:
                cluster.scale(2)
            found.append(result)
        assert sorted(i for i, _ in found) == list(range(len(found)))
        assert len({m.host for _, m in found}) == 2


def test_workers_that_do_not_fit_are_refused_and_told(stage, cluster, client, monkeypatch):
    first, second = sorted(w.address for w in cluster.workers.values())
    told = introduce(str(TARGET))

    def fake_introduce(target, dask_worker):  # dask hands the worker to an argument of this name
        address = dask_worker.address
        return {**told, "host": address, "problem": "it lacks avx9" if address == second else ""}

    monkeypatch.setattr(dask_worker, "introduce", fake_introduce)
    runner = DaskRunner(client, TARGET)
    with pytest.warns(RuntimeWarning, match="it lacks avx9"):
        assert runner.workers() == {first: 1}
    assert runner.refused == {second: "it lacks avx9"}
    assert {m.host for _, m in runner.measure_many(INPUTS)} == {first}


def test_workers_without_the_resource_are_refused(stage):
    with start(1, resources={"gpu": 2}, threads=2) as cluster, distributed.Client(cluster) as client:
        runner = DaskRunner(client, TARGET, patience_s=0.2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert code_of(lambda: list(runner.measure_many(INPUTS))) == "run.dask_workers"
        assert "--resources device=1" in next(iter(runner.refused.values()))
        assert list(DaskRunner(client, TARGET, resource="gpu").workers().values()) == [2]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors_of_workers(stage, client):
    runner = DaskRunner(client, TARGET)
    stage.error = {5: ValueError("no such thing")}
    found = dict(runner.measure_many(INPUTS))
    assert [i for i in range(12) if found[i].status != "ok"] == [5]
    assert found[5].status == "run_error"
    assert "no such thing" in found[5].error
    stage.error = {5: RunError("run.worker", "cannot start processes")}
    assert code_of(lambda: list(runner.measure_many(INPUTS))) == "run.worker"


def test_cancelling_and_giving_up(stage, client):
    with DaskRunner(client, TARGET) as runner:
        results = runner.measure_many(INPUTS * 100)
        assert next(results)[1].ok
        runner.cancel()
        assert len(list(results)) < 600
        assert runner.contest(INPUTS[:2]).status == "ok"  # it can be used again
        results = runner.measure_many(INPUTS * 100)
        next(results)
        results.close()
        assert runner.contest(INPUTS[:2]).status == "ok"
    assert len(stage.calls) < 1200


def test_a_lost_scheduler_is_told(stage):
    cluster = start(1)
    client = distributed.Client(cluster)
    runner = DaskRunner(client, TARGET, patience_s=2.0)
    stage.each_s = 0.05
    results = runner.measure_many(INPUTS * 20)
    next(results)
    cluster.close()
    assert code_of(lambda: list(results)) in ("run.dask_lost", "run.dask_workers")
    client.close()


def test_a_session_and_its_runner_have_one_target(client):
    runner = DaskRunner(client, TARGET)
    with pytest.raises(UsageError) as caught:
        tune(TASK, trials=4, target=Target.host(threads=2), runner=runner)
    assert caught.value.code == "usage.runner"
    assert "threads=1 instead of 2" in caught.value.message


def test_a_connection_made_here_is_for_measuring_only(cluster):
    with DaskRunner(cluster.scheduler_address, TARGET) as runner:
        with pytest.raises(ValueError, match="No clients"):
            distributed.default_client()
        assert len(runner.workers()) == 2
    assert runner._workers.client.status == "closed"


def test_what_cannot_be_connected_to(monkeypatch):
    assert code_of(lambda: DaskRunner("tcp://127.0.0.1:9", TARGET, patience_s=0.3)) == "run.dask_address"
    assert code_of(lambda: DaskRunner("nonsense://x", TARGET, patience_s=0.3)) == "run.dask_address"
    assert code_of(lambda: DaskRunner(3, TARGET)) == "usage.type"
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert code_of(lambda: DaskRunner("tcp://127.0.0.1:9", TARGET)) == "run.dask"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # two workers on one machine
def test_two_processes_one_killed_every_trial_exactly_once(tmp_path):
    """A real tuning run; one of the two worker processes is killed in the middle, and replaced by its nanny."""
    task = Task.of_func(workloads.matmul(64, 64, 64), TARGET)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, resources={"device": 1}, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
        DaskRunner(client, TARGET) as runner,
    ):
        before = set(runner.workers())
        session = tune(task, trials=48, log=tmp_path / "a.jsonl", target=TARGET, runner=runner, batch=12)
        while len(session.records) < 15:
            time.sleep(0.05)
        os.kill(next(iter(client.run(os.getpid, workers=[min(before)]).values())), signal.SIGKILL)
        assert session.wait(200)
        assert session.state == "done", session.error
        log = load_log(tmp_path / "a.jsonl")
        assert [r.trial for r in log.records] == list(range(48))
        assert max(Counter(r.key for r in log.records).values()) == 1
        assert {r.host for r in log.records} == {dask_worker.host_name()}
        assert sum(r.ok for r in log.records) >= 40
        assert log.comparisons
        deadline = time.monotonic() + 60
        while not set(runner.workers()) - before and time.monotonic() < deadline:
            time.sleep(0.2)
        assert set(runner.workers()) - before  # the replacement measures, too


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # two workers on one machine
def test_a_kernel_is_checked_and_timed_in_a_process_of_the_cluster():
    """The real functions, without a tuning session: right results are timed, wrong schedules are told."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, resources={"device": 1}, dashboard_address=":0", silence_logs=50
        ) as cluster,
        DaskRunner(cluster.scheduler_address, TARGET) as runner,
    ):
        schedule = Schedule(TASK.func, TARGET)
        inputs = [MeasureInput(TASK.key, TASK.func, schedule.func, "kernel", 1024) for _ in range(3)]
        other = workloads.matmul(8, 8, 16)
        inputs.append(dataclasses.replace(inputs[0], func=other))
        found = dict(runner.measure_many(inputs))
        assert [found[i].status for i in range(3)] == ["ok"] * 3
        assert found[3].status != "ok"
        assert found[0].host == dask_worker.host_name()
        assert runner.contest(inputs[:2]).status == "ok"
    assert runner._workers.client.status == "closed"  # it was made by the runner


def affinities():
    """In a worker: the hardware threads that each device's kernels may use."""
    runners = dask_worker._devices._runners.values()
    return [os.sched_getaffinity(c._workers.runner.pid) for c in runners if c._workers.runner.pid]


@pytest.mark.slow
@pytest.mark.skipif(usable_threads() < 2 or not hasattr(os, "sched_getaffinity"), reason="two devices need two cores")
def test_two_sessions_share_a_machine_of_two_devices_and_one_is_cancelled(tmp_path):
    """Each device has cores of its own; what happens to one session does not reach the other."""
    logs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, resources={"device": 2}, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
        DaskRunner(client, TARGET) as runner,
    ):
        task = Task.of_func(workloads.matmul(64, 64, 64), TARGET)
        how = {"target": TARGET, "runner": runner, "batch": 8, "trials": 24}
        one, other = (tune(task, log=log, seed=i, **how) for i, log in enumerate(logs))
        while len(one.records) < 5 or len(other.records) < 5:
            assert not one.join(0.05)
        for cpus in (found := next(iter(client.run(affinities).values()))):
            assert len(cpus) <= usable_threads() // 2 + 1
        assert len(set(map(frozenset, found))) == 2
        one.cancel()
        assert one.join(60)
        assert one.state == "cancelled"
        assert other.wait(200)
        found = load_log(logs[1]).records
        assert [r.trial for r in found] == list(range(24))
        assert len({r.key for r in found}) == 24
        assert not [r for r in found if "workers of the cluster" in r.error or "ended there" in r.error]
        assert tune(task, log=logs[0], resume=True, **how).wait(200)  # the runner is still open
        assert [r.trial for r in load_log(logs[0]).records] == list(range(24))
