"""The task scheduler of TVM's auto-scheduler: weights, policies, early stopping."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.errors import WorkbenchError


def test_weights_are_those_that_are_given():
    from workbench.tvm import auto_scheduler

    tasks = [wb.Task.of_func(wb.workloads.matmul(8, 8, n), wb.Target.host(1)) for n in (4, 8)]
    assert [t.weight for t in auto_scheduler.TaskScheduler(tasks, [3, 1]).tasks] == [3, 1]
    assert [t.weight for t in auto_scheduler.TaskScheduler(tasks).tasks] == [1, 1]
    with pytest.raises(WorkbenchError, match="2 tasks and 1 weights"):
        auto_scheduler.TaskScheduler(tasks, [3])


@pytest.fixture
def tuned_with(monkeypatch):
    """What `workbench.tune` was given; nothing is tuned."""
    from workbench.tvm import auto_scheduler

    given: dict[str, object] = {}

    class Done:
        def wait(self) -> None: ...

    monkeypatch.setattr(auto_scheduler, "tune", lambda tasks, **said: given.update(said) or Done())
    return given


def pair_of_tasks():
    tasks = [wb.Task.of_func(wb.workloads.matmul(8, 8, n), wb.Target.host(1)) for n in (4, 8)]
    return tasks, wb.tvm.auto_scheduler.TaskScheduler(tasks)


def test_a_scheduler_takes_the_policy_that_is_given(tuned_with):
    from workbench.tvm.auto_scheduler import PreloadMeasuredStates, RandomModel, SketchPolicy, TuningOptions

    tasks, tuner = pair_of_tasks()
    tuner.tune(TuningOptions(8), search_policy="sketch.random", search_policy_params={"eps_greedy": 0.5})
    assert (tuned_with["search"], tuned_with["epsilon"], tuned_with["seeds"]) == ("random", 0.5, None)
    logs = [[PreloadMeasuredStates(f"{k}.json")] for k in range(2)]
    policies = [
        SketchPolicy(t, RandomModel(), seed=3, init_search_callbacks=log) for t, log in zip(tasks, logs, strict=True)
    ]
    tuner.tune(TuningOptions(8), search_policy=policies, per_task_early_stopping=100)
    assert (tuned_with["seed"], tuned_with["seeds"]) == (3, ["0.json", "1.json"])
    assert (tuned_with["batch"], tuned_with["early_stop"]) == (64, 2)


@pytest.mark.parametrize("never", [None, -1])
def test_without_early_stopping_no_task_rests(tuned_with, never):
    from workbench.tvm.auto_scheduler import TuningOptions

    pair_of_tasks()[1].tune(TuningOptions(8, early_stopping=never), per_task_early_stopping=never)
    options = tuned_with["options"]
    assert (tuned_with.get("early_stop"), options.early_stop, options.early_end) == (None, None, False)


def test_policies_that_one_run_cannot_follow_are_refused(tuned_with):
    from workbench.tvm.auto_scheduler import RandomModel, SketchPolicy, TuningOptions

    tasks, tuner = pair_of_tasks()
    one = SketchPolicy(tasks[0])
    for policy, text in (
        ("sketch.xbg", "no policy 'sketch.xbg'"), ([one], "2 tasks and 1 policies"),
        ([one, None], "NoneType is no policy"),
        ([one, SketchPolicy(tasks[1], RandomModel())], "policies differ"),
        ([one, SketchPolicy(tasks[1], params={"sample_init_min_population": 9})], "no parameter 'sample_init_min"),
    ):  # fmt: skip
        with pytest.raises(wb.errors.UsageError, match=text) as refused:
            tuner.tune(TuningOptions(8), search_policy=policy)
        assert refused.value.code == "usage.search_policy"
    assert not tuned_with
