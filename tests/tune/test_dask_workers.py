"""Which workers of a cluster measure, and what is said of those that do not; on workers that are threads."""

from __future__ import annotations

import pytest
from tune.dask_fakes import TARGET, Worker, runner_of
from waiting import until

from workbench import Target

A = str(Target("llvm -mcpu=haswell -l2=1M -threads=1"))
B = str(Target("llvm -mcpu=haswell -l2=2M -threads=1"))


def refusal(monkeypatch, *workers):
    runner, _ = runner_of(monkeypatch, *workers)
    with pytest.warns(RuntimeWarning, match="is not used"):
        used = runner.workers()
    return used, runner.refused


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"version": "0.0.1"}, "version 0.0.1 of this package"),
        ({"problem": "it lacks avx9"}, "it lacks avx9"),
        ({"cores": 0}, "a kernel would need 1 threads of its 0"),
    ],
)
def test_a_worker_that_does_not_fit(monkeypatch, said, reason):
    used, refused = refusal(monkeypatch, Worker("a", **said), Worker("b"))
    assert used == {"b": 1}
    assert reason in refused["a"]


def test_warnings_that_are_errors_leave_nobody_out(monkeypatch):
    workers = [Worker("a", problem="too old"), Worker("b", problem="too slow"), Worker("c")]
    runner, _ = runner_of(monkeypatch, *workers)
    for why in ("too old", "too slow"):
        with pytest.raises(RuntimeWarning, match=why):
            runner.workers()
    assert runner.workers() == {"c": 1}


def test_errors_of_introductions(monkeypatch):
    workers = [Worker(name) for name in "abcd"]
    workers[0].said = ModuleNotFoundError("No module named 'workbench'")
    workers[1].said = TypeError("introduce() takes 3 arguments")  # another version
    workers[2].said = {"greeting": "hello"}
    used, refused = refusal(monkeypatch, *workers)
    assert used == {"d": 1}
    assert "cannot be imported there" in refused["a"]
    assert "this version of the package" in refused["b"]
    assert "this version of the package" in refused["c"]


def test_a_worker_that_was_not_reached_is_asked_again(monkeypatch):
    worker = Worker("a")
    said, worker.said = worker.said, OSError("gone")
    runner, _ = runner_of(monkeypatch, worker)
    assert runner.workers() == {}
    worker.said = said
    assert runner.workers() == {"a": 1}
    assert runner.refused == {}


def test_devices_need_threads_of_their_own_in_dask_and_on_the_machine(monkeypatch):
    runner, _ = runner_of(monkeypatch, Worker("a", devices=4, nthreads=3))
    assert runner.workers() == {"a": 3}
    used, refused = refusal(monkeypatch, Worker("a", devices=4, cores=3), Worker("b"))
    assert used == {"b": 1}
    assert "4 devices would need 4 threads of its 3" in refused["a"]


def test_two_workers_of_one_machine_are_told_to_disturb_each_other(monkeypatch):
    runner, _ = runner_of(monkeypatch, *(Worker(name, host="node", cores=2) for name in "abc"))
    with pytest.warns(RuntimeWarning, match="the workers on node measure 3 candidates at a time"):
        assert len(runner.workers()) == 3


def test_the_kind_of_machine_is_the_targets_own_or_the_most_frequent(monkeypatch):
    used, refused = refusal(monkeypatch, Worker("a", machine=A), Worker("b", machine=B), Worker("c", machine=B))
    assert set(used) == {"b", "c"}
    assert "a is another kind of machine: l2=1M instead of 2M" in refused["a"]
    workers = [Worker("a", machine=A), Worker("b", machine=A), Worker("c", machine=str(TARGET))]
    used, refused = refusal(monkeypatch, *workers)
    assert set(used) == {"c"}
    assert set(refused) == {"a", "b"}


def test_what_is_known_goes_with_the_worker(monkeypatch):
    runner, client = runner_of(monkeypatch, Worker("a", problem="too old"), Worker("b"))
    with pytest.warns(RuntimeWarning, match="too old"):
        assert runner.workers() == {"b": 1}
    successor = Worker("a")
    successor.directory = "/tmp/new"
    client.workers[0] = successor
    assert runner.workers() == {"a": 1, "b": 1}
    assert runner.refused == {}
    client.workers[0].status = "paused"  # short of memory
    assert runner.workers() == {"b": 1}
    client.workers[0].status = "running"
    assert runner.workers() == {"a": 1, "b": 1}
    client.workers = []
    assert runner.workers() == {}


def test_workers_start_their_processes_early(monkeypatch):
    workers = [Worker("a", devices=2), Worker("b")]
    runner, _ = runner_of(monkeypatch, *workers)
    runner.start()
    until(lambda: all(w.called for w in workers))
    (name, order), *more = workers[0].called
    assert not more
    assert (name, order.devices, order.target) == ("prepare", 2, str(TARGET))
