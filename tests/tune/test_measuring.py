"""Where the kernels of a network find their weights, and how a session's schedules get to a runner."""

import math

import pytest

from workbench import te
from workbench.graph.tasks import Task
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.space.default_schedule import default_schedule
from workbench.target import Target
from workbench.tune.options import TuneOptions
from workbench.tune.plan.measurer import LocalMeasurer, constants_of


def dense(k, n):
    x, w = te.placeholder((4, k), "float32", "X"), te.placeholder((k, n), "float32", "W", constant=True)
    r = te.reduce_axis(k, "k")
    return Task.of_func(te.func(te.compute((4, n), lambda i, j: te.sum(x[i, r] * w[r, j], r), "Y"), "dense"))


def lookup():
    w = te.placeholder((1 << 20, 64), "float32", "W", constant=True)
    x = te.placeholder((8, 64), "float32", "X")
    return Task.of_func(te.func(te.compute((8, 64), lambda i, j: w[i, j] + x[i, j], "Y"), "rows"))


@pytest.mark.parametrize(
    ("tasks", "where"),
    [
        ([dense(64, 64)], "near"),
        ([dense(8192, 8192)], "near"),
        ([dense(64, 64), dense(64, 32)], "shared"),
        ([dense(4096, 4096), dense(64, 32)], "memory"),
        ([lookup(), dense(64, 32)], "shared"),
    ],
)
def test_constants_come_from_where_a_run_of_the_network_finds_them(tasks, where):
    assert constants_of(tasks, Target("llvm", cpu="haswell", l3_bytes=32 << 20)) == where


def test_a_task_that_occurs_often_reads_its_weights_as_often():
    from dataclasses import replace

    target = Target("llvm", cpu="haswell", l3_bytes=32 << 20)
    tasks = [dense(1024, 1024), dense(64, 32)]
    assert constants_of(tasks, target) == "shared"
    assert constants_of([replace(tasks[0], weight=9), tasks[1]], target) == "memory"


class Told:
    """A runner that writes down what it is asked."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        def note(*args, **named):
            self.asked.append((name, *args, *named.values()))
            return name

        return note


def test_the_measurer_hands_everything_to_its_runner():
    task, runner = dense(64, 64), Told()
    options = TuneOptions(repeat=3, constants="shared", timeout_s=4.0)
    measurer = LocalMeasurer(Target.host(1), options, seed=5, runner=runner)
    schedules = [default_schedule(task, Target.host(1))] * 2
    measurer.start()
    assert measurer.measure(task, schedules, 2.5) == "measure_many"
    assert measurer.compare(task, schedules, ContestRules(least=9)) == "contest"
    measurer.hold(True)
    measurer.kill()
    measurer.close()
    assert [name for name, *_ in runner.asked] == ["start", "measure_many", "contest", "hold", "cancel"]
    how = MeasureOptions(repeat=3, constants="shared", timeout_s=4.0, seed=5)
    assert runner.asked[2][3:] == (ContestRules(least=9),)
    for (_, inputs, given, *_), best_ms in ((runner.asked[1], 2.5), (runner.asked[2], math.inf)):
        assert given == how
        assert [(i.task_key, i.func, i.best_ms, i.flops) for i in inputs] == [
            (task.key, s.func, best_ms, int(task.flops)) for s in schedules
        ]


def test_a_runner_need_not_start_early():
    class Plain(Told):
        start = None

    runner = Plain()
    LocalMeasurer(Target.host(1), TuneOptions(), runner=runner).start()
    assert runner.asked == []


def test_a_runner_that_was_given_belongs_to_whoever_has_made_it():
    runner = Told()
    LocalMeasurer(Target.host(1), TuneOptions(), runner=runner).close()
    assert runner.asked == []


def test_who_lends_itself_to_several_sessions_is_not_closed_by_one():
    class Lender(Told):
        def lease(self):
            self.lent = Told()
            return self.lent

    runner = Lender()
    measurer = LocalMeasurer(Target.host(1), TuneOptions(), runner=runner)
    measurer.kill()
    measurer.close()
    assert [name for name, *_ in runner.lent.asked] == ["cancel", "close"]
    assert runner.asked == []


def test_schedules_are_compared_in_worker_processes():
    task, target = dense(64, 64), Target.host(1)
    measurer = LocalMeasurer(target, TuneOptions())
    try:
        measurer.start()
        contest = measurer.compare(task, [default_schedule(task, target)] * 2, ContestRules())
    finally:
        measurer.close()
    assert contest.status == "ok", contest.error
    assert contest.rounds >= 10
