from __future__ import annotations

import random

import pytest
from tune.fakes import FakeTask

from workbench.tune.record import Record
from workbench.tune.task_scheduler import STRATEGIES, GradientScheduler, RoundRobin, kind_of


def record(task, round_, trial, ms):
    return Record(
        task_key=task.key,
        task=task.name,
        trial=trial,
        round=round_,
        status="ok" if ms else "build_error",
        latency_ms=ms,
        target="t",
    )


def drive(scheduler, latency, rounds, batch=4):
    """Run `rounds` rounds; `latency(index, n)` is the best of the task's n-th round, None when it fails."""
    records, trial, order = [], 0, []
    for round_ in range(rounds):
        index = scheduler.next()
        order.append(index)
        ms = latency(index, scheduler.states[index].rounds)
        for i in range(batch):
            records.append(record(scheduler.tasks[index], round_, trial, None if ms is None else ms * (1 + i / 10)))
            scheduler.observe(records[-1])
            trial += 1
    return records, order


def tasks(weights=(1, 1, 1, 1), flops=10**8):
    return [FakeTask(f"k{i}", f"conv{i}", weight=w, flops=flops) for i, w in enumerate(weights)]


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_warm_up_gives_every_task_one_round_the_heaviest_first(name):
    scheduler = STRATEGIES[name](tasks((1, 5, 3, 5)))
    _, order = drive(scheduler, lambda i, n: 1.0, 4)
    assert order == [1, 3, 2, 0]


def test_round_robin_takes_turns():
    scheduler = RoundRobin(tasks())
    _, order = drive(scheduler, lambda i, n: 1.0 + i, 12)
    assert sorted(order[4:8]) == sorted(order[8:12]) == [0, 1, 2, 3]


def test_the_task_that_improves_and_weighs_most_gets_the_trials():
    scheduler = GradientScheduler(tasks((1, 1, 8, 1)))
    _, order = drive(scheduler, lambda i, n: 8.0 / (n + 1) if i == 2 else 0.2, 40)
    assert order.count(2) > 20


def test_a_bad_round_never_kills_a_task():
    scheduler = GradientScheduler(tasks())
    _, order = drive(scheduler, lambda i, n: None if i == 1 and n < 6 else 1.0 / (n + 1), 120)
    assert order.count(1) > 6
    assert scheduler.states[1].best_ms < 1.0
    assert scheduler.total_ms is not None


def test_a_task_that_always_fails_neither_starves_the_others_nor_is_dropped():
    scheduler = GradientScheduler(tasks())
    _, order = drive(scheduler, lambda i, n: None if i == 0 else 1.0 / (n + 1), 200)
    counts = [order.count(i) for i in range(4)]
    assert counts[0] >= 3
    assert min(counts[1:]) > counts[0]
    assert 0 in order[60:]
    assert scheduler.total_ms is None
    assert "no valid trial" in scheduler.terms(0).reason


def test_all_tasks_failing_is_survived():
    scheduler = GradientScheduler(tasks())
    _, order = drive(scheduler, lambda i, n: None, 40)
    assert min(order.count(i) for i in range(4)) >= 8


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_the_state_follows_from_the_records_alone(name):
    rng = random.Random(3)
    first = STRATEGIES[name](tasks((1, 2, 3, 4)))
    records, _ = drive(first, lambda i, n: rng.choice([None, 1.0, 2.0, 3.0]), 50)
    again = STRATEGIES[name](tasks((1, 2, 3, 4)))
    for item in records:
        again.observe(item)
    assert again.states == first.states
    assert [again.terms(i) for i in range(4)] == [first.terms(i) for i in range(4)]
    assert again.next() == first.next()


def test_the_backward_term_survives_a_resume():
    scheduler = GradientScheduler(tasks((1,)))
    drive(scheduler, lambda i, n: 8.0 - n, 5)
    assert scheduler.terms(0).backward == pytest.approx(1.0)


def test_similarity_pushes_a_slow_task_and_fades():
    pair = [FakeTask("a", "conv one", flops=10**9), FakeTask("b", "conv two", flops=10**9)]
    scheduler = GradientScheduler(pair)
    drive(scheduler, lambda i, n: 10.0 if i == 0 else 1.0, 2)
    assert scheduler.terms(0).similarity == pytest.approx(10.0 - 2.0)
    assert scheduler.terms(1).similarity == 0.0
    drive(scheduler, lambda i, n: 10.0 if i == 0 else 1.0, 60)
    assert scheduler.terms(0).similarity == 0.0


def test_gains_are_never_negative():
    rng = random.Random(5)
    scheduler = GradientScheduler(tasks((1, 2, 3, 4)))
    for _ in range(60):
        drive(scheduler, lambda i, n: rng.choice([None, rng.random() * 5]), 1)
        assert all(scheduler.terms(i).gain >= 0.0 for i in range(4))


def test_inactive_and_exhausted_tasks_get_nothing():
    scheduler = GradientScheduler(tasks(), active=[1, 3])
    scheduler.exhaust(3)
    _, order = drive(scheduler, lambda i, n: 1.0, 5)
    assert set(order) == {1}
    scheduler.exhaust(1)
    assert scheduler.next() is None


def test_kinds_group_by_name_and_size():
    conv = FakeTask("a", "conv2d_3 3x3", flops=10**9)
    assert kind_of(conv) == kind_of(FakeTask("b", "conv2d_7 1x1", flops=10**9))
    assert kind_of(conv) != kind_of(FakeTask("c", "pool 3x3", flops=10**9))
    assert kind_of(conv) != kind_of(FakeTask("d", "conv2d_4", flops=10**7))
