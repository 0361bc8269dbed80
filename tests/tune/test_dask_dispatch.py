"""Who gets which candidate of a batch, and who is to blame when workers are lost; on workers that are threads."""

from __future__ import annotations

import asyncio
import threading
import warnings

import pytest
from tune.dask_fakes import INPUTS, Died, Worker, runner_of
from waiting import until

from workbench.errors import RunError, UsageError
from workbench.runtime.results.measurement import Measurement
from workbench.tune.constants import Cluster

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

OK = Measurement(status="ok", costs_ms=(1.0,))


def killed_by(number):
    def behave(item, worker):
        if item.flops == number:
            raise Died
        return OK

    return behave


def raising(number, error):
    def behave(item, worker):
        if item.flops == number:
            raise error
        return OK

    return behave


def waiting(event):
    def behave(item, worker):
        event.wait(20)
        return OK

    return behave


def statuses(results):
    found = list(results)
    assert sorted(i for i, _ in found) == list(range(len(INPUTS)))
    return [m.status for _, m in sorted(found, key=lambda pair: pair[0])]


def test_all_workers_get_something_and_each_candidate_is_reported_once(monkeypatch):
    workers = [Worker("a"), Worker("b")]
    runner, _ = runner_of(monkeypatch, *workers)
    assert statuses(runner.measure_many(iter(INPUTS))) == ["ok"] * 12
    assert sorted(workers[0].seen + workers[1].seen) == list(range(12))
    assert workers[0].seen
    assert workers[1].seen


def test_a_candidate_that_takes_its_worker_with_it_takes_two(monkeypatch):
    workers = [Worker(name, killed_by(5)) for name in "abcdef"]
    runner, _ = runner_of(monkeypatch, *workers)
    found = dict(runner.measure_many(INPUTS))
    assert sum(w.dead for w in workers) == Cluster.LOSSES == 2
    assert [i for i in range(12) if not found[i].ok] == [5]
    assert found[5].status == "run_error"
    assert "2 workers of the cluster were lost" in found[5].error


def test_only_what_was_at_work_is_suspected_and_suspects_are_alone(monkeypatch):
    ended = []

    def behave(item, worker):
        if item.flops == 5:
            raise Died
        return OK

    workers = [Worker("a", behave)]
    runner, client = runner_of(monkeypatch, *workers)
    monkeypatch.setattr(Cluster, "CHUNK", 4)
    results = runner.measure_many(INPUTS)
    ended += [next(results)[0] for _ in range(4)]
    until(lambda: workers[0].dead)
    client.workers.append(Worker("b", behave))
    client.workers.append(Worker("c"))
    rest = dict(results)
    assert sorted([*ended, *rest]) == list(range(12))
    assert all(rest[i].ok for i in (8, 9, 10, 11))  # they had waited behind it: no harm comes of them


def test_a_worker_that_leaves_in_good_order_raises_no_suspicion(monkeypatch):
    monkeypatch.setattr(Cluster, "LOSSES", 1)
    go = threading.Event()
    leaving = Worker("a", waiting(go))
    runner, client = runner_of(monkeypatch, leaving)
    results = runner.measure_many(INPUTS)
    until(lambda: leaving.seen)
    leaving.status = "closing_gracefully"
    before = client.looks
    until(lambda: client.looks > before + 1)
    leaving.dead = True
    client.workers.append(Worker("b"))
    assert statuses(results) == ["ok"] * 12
    go.set()


def test_another_process_at_the_same_address_is_another_worker(monkeypatch):
    go = threading.Event()
    first = Worker("a", waiting(go))
    runner, client = runner_of(monkeypatch, first)
    results = runner.measure_many(INPUTS)
    until(lambda: first.seen)
    second = Worker("a")
    second.directory = "/tmp/another"
    client.workers = [second]
    assert statuses(results) == ["ok"] * 12
    assert sorted(set(second.seen)) == list(range(12))
    assert client.dropped  # nobody waits for what the first one had
    go.set()


def test_a_worker_that_cannot_measure_is_sent_home_and_the_others_go_on(monkeypatch):
    broken = Worker("a", raising(0, RunError("run.worker", "cannot start processes")))
    runner, client = runner_of(monkeypatch, broken, Worker("b"))
    broken.behave = lambda item, worker: (_ for _ in ()).throw(RunError("run.worker", "cannot start processes"))
    assert statuses(runner.measure_many(INPUTS)) == ["ok"] * 12
    assert runner.refused == {"a": "cannot start processes"}
    client.workers[1].behave = broken.behave
    with pytest.raises(RunError) as caught:
        list(runner.measure_many(INPUTS))
    assert caught.value.code == "run.worker"


def test_what_cannot_be_measured_anywhere_is_told(monkeypatch):
    runner, client = runner_of(monkeypatch, Worker("a", raising(5, ValueError("no such thing"))))
    found = dict(runner.measure_many(INPUTS))
    assert [i for i in range(12) if not found[i].ok] == [5]
    assert "no such thing" in found[5].error
    gone = raising(5, asyncio.CancelledError("somebody restarted it"))
    client.workers = [Worker("b", lambda item, worker: OK)]
    client.workers[0]._answer = lambda function, args: (_ for _ in ()).throw(ValueError(str(gone)))
    assert statuses(runner.measure_many(INPUTS)) == ["run_error"] * 12


def test_what_cannot_be_sent_is_told(monkeypatch):
    runner, client = runner_of(monkeypatch, Worker("a"))
    submit = client.submit

    def picky(function, order, inputs, *args, **how):
        if any(item.flops == 5 for item in inputs):
            raise TypeError("cannot pickle it")
        return submit(function, order, inputs, *args, **how)

    client.submit = picky
    found = dict(runner.measure_many(INPUTS))
    assert [i for i in range(12) if not found[i].ok] == [5]
    assert "cannot pickle it" in found[5].error


def test_a_connection_that_comes_back_loses_nothing(monkeypatch):
    go = threading.Event()
    worker = Worker("a", waiting(go))
    runner, client = runner_of(monkeypatch, worker)
    results = runner.measure_many(INPUTS)
    until(lambda: worker.seen)
    client.status = "connecting"
    runner._events.put(None)
    go.set()
    worker.dead = True
    before = client.looks
    until(lambda: client.looks > before + 3)
    client.workers.append(Worker("b"))
    client.status = "running"
    assert statuses(results) == ["ok"] * 12


def test_a_connection_that_does_not_come_back(monkeypatch):
    runner, client = runner_of(monkeypatch, Worker("a"), patience_s=0.05)
    assert runner.workers() == {"a": 1}
    client.status = "connecting"
    with pytest.raises(RunError, match="scheduler is lost"):
        list(runner.measure_many(INPUTS))
    client.status = "closed"
    with pytest.raises(RunError, match="scheduler is lost"):
        list(runner.measure_many(INPUTS))


def test_nobody_there(monkeypatch):
    runner, client = runner_of(monkeypatch, patience_s=0.05)
    with pytest.raises(RunError) as caught:
        list(runner.measure_many(INPUTS))
    assert caught.value.code == "run.dask_workers"
    assert "--resources device=1" in caught.value.hint
    assert "there is none" in caught.value.message
    monkeypatch.setattr(Cluster, "TELL_S", 0.0)
    runner._patience_s = 30.0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        results = runner.measure_many(INPUTS)
        until(lambda: told)
    assert "waiting up to 30 s" in str(told[0].message)
    runner.hold(True)  # a pause has patience without end
    runner._patience_s = 0.0
    before = client.looks
    until(lambda: client.looks > before + 5)
    runner.cancel()
    assert list(results) == []
    runner.hold(False)


def test_everybody_there_is_told_of_when_nobody_measures(monkeypatch):
    workers = [Worker("a", problem="too old"), Worker("b"), Worker("c")]
    runner, client = runner_of(monkeypatch, *workers, patience_s=0.05)
    monkeypatch.setattr(Cluster, "FIRST_S", 0.01)
    answer, go = client.run, threading.Event()

    def run(function, *args, workers, on_error):
        if workers == ["b"]:
            go.wait(20)
        return answer(function, *args, workers=workers, on_error=on_error)

    client.run = run
    workers[2].status = "paused"
    with pytest.raises(RunError) as caught:
        list(runner.measure_many(INPUTS))
    for text in ("a: too old", "b: it has not said yet", "c: it takes no work now"):
        assert text in caught.value.message
    go.set()


def test_cancelling_before_work_begins_twice_and_in_between(monkeypatch):
    go = threading.Event()
    worker = Worker("a", waiting(go))
    runner, _ = runner_of(monkeypatch, worker)
    first = runner.measure_many(INPUTS)
    second = runner.measure_many(INPUTS)  # it waits for the first one
    until(lambda: worker.seen)
    threading.Thread(target=runner.cancel).start()
    assert list(second) == []
    assert list(first) == []
    runner.cancel()
    go.set()
    third = runner.measure_many(INPUTS)  # it was not there when the others were cancelled
    assert statuses(third) == ["ok"] * 12
    until(lambda: any(name == "abort" for name, *_ in worker.called))


def test_a_batch_cancelled_before_its_thread_runs_measures_nothing(monkeypatch):
    worker = Worker("a")
    runner, _ = runner_of(monkeypatch, worker)
    with runner._working:  # as if the machine were slow
        results = runner.measure_many(INPUTS)
        runner.cancel()
        assert list(results) == []
    assert statuses(runner.measure_many(INPUTS)) == ["ok"] * 12
    assert len(worker.seen) == 12


@pytest.mark.parametrize("begun", [False, True])
def test_an_iterator_that_is_closed_gives_up_the_rest_begun_or_not(monkeypatch, begun):
    worker = Worker("a")
    runner, _ = runner_of(monkeypatch, worker)
    runner.hold(not begun)
    results = runner.measure_many(INPUTS * 100)
    if begun:
        next(results)
    results.close()
    runner.hold(False)
    assert statuses(runner.measure_many(INPUTS)) == ["ok"] * 12
    assert len(worker.seen) < 600
    assert list(results) == []


def test_leases_are_cancelled_held_and_closed_each_by_itself(monkeypatch):
    go = threading.Event()
    worker = Worker("a", waiting(go))
    runner, client = runner_of(monkeypatch, worker)
    one, other = runner.lease(), runner.lease()
    first, second = one.measure_many(INPUTS), other.measure_many(INPUTS)
    until(lambda: worker.seen and worker.jobs.qsize() == 2 * Cluster.AHEAD - 1)  # the only worker has all of both
    one.cancel()
    assert list(first) == []
    one.hold(True)
    one.close()
    go.set()
    assert statuses(second) == ["ok"] * 12
    until(lambda: any(name == "abort" for name, *_ in worker.called))  # nobody waits for it
    assert {call[1] for call in worker.called if call[0] == "abort"} == {one._name}
    assert [c for c in worker.called if c[0] == "let_go"] == [("let_go", one._name)]
    runner.close()
    assert client.status == "running"  # it was given
    for closed in (other, runner):
        with pytest.raises(RunError) as caught:
            closed.measure_many(INPUTS)
        assert caught.value.code == "run.closed"
    with pytest.raises(RunError):
        runner.lease()


def test_a_connection_made_here_is_closed_with_the_runner_and_not_with_a_lease(monkeypatch):
    runner, client = runner_of(monkeypatch, Worker("a"), own=True)
    runner.lease().close()
    assert client.status == "running"
    runner.close()
    runner.close()
    assert client.status == "closed"


def test_a_contest_has_one_machine_for_all(monkeypatch):
    workers = [Worker("a"), Worker("b")]
    runner, _ = runner_of(monkeypatch, *workers)
    contest = runner.contest(INPUTS[2:6])
    assert contest.costs_ms == ((3.0,), (4.0,), (5.0,), (6.0,))
    assert sorted([len(w.seen) for w in workers]) == [0, 4]
    assert contest.elapsed_s > 0
    assert runner.contest([]).measurements == ()


def test_a_contest_whose_workers_are_lost(monkeypatch):
    workers = [Worker(name, killed_by(3)) for name in "abc"]
    runner, _ = runner_of(monkeypatch, *workers)
    contest = runner.contest(INPUTS[2:5])
    assert [m.status for m in contest.measurements] == ["run_error"] * 3
    assert "each time they were compared" in contest.error
    assert sum(w.dead for w in workers) == 2


def test_a_runner_needs_patience(monkeypatch):
    with pytest.raises(UsageError, match="patience_s"):
        runner_of(monkeypatch, patience_s=0)
