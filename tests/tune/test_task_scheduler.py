from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from tune.fakes import FakeTask

from workbench.errors import UsageError
from workbench.log import Comparison, Record, Round
from workbench.tune.constants import Comparisons
from workbench.tune.state.task_scheduler import SCHEDULERS, GradientScheduler, RoundRobin, kind_of
from workbench.tune.state.task_state import PLAY_OFF


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


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_warm_up_gives_every_task_one_round_the_heaviest_first(name):
    scheduler = SCHEDULERS[name](tasks((1, 5, 3, 5)))
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


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_the_state_follows_from_the_records_alone(name):
    rng = random.Random(3)
    first = SCHEDULERS[name](tasks((1, 2, 3, 4)))
    records, _ = drive(first, lambda i, n: rng.choice([None, 1.0, 2.0, 3.0]), 50)
    again = SCHEDULERS[name](tasks((1, 2, 3, 4)))
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


# ---- comparisons ----


def versus(task, round_, incumbent, challenger, ms, ratio, winner=None, reason="new best"):
    winner = challenger if winner is None else winner
    return Comparison(
        task_key=task.key, task=task.name, round=round_, trials=(incumbent, challenger), latency_ms=ms, ratio=ratio,
        confidence=0.999 if winner == challenger else 0.2, winner=winner, reason=reason,
    )  # fmt: skip


def confirming(n=1, **kwargs):
    return GradientScheduler(tasks((1,) * n), confirm=True, **kwargs)


def test_what_a_comparison_says_is_what_was_saved():
    scheduler = confirming()
    task, state = scheduler.tasks[0], scheduler.states[0]
    scheduler.observe(record(task, 0, 0, 10.0))
    scheduler.observe(record(task, 0, 1, 8.0))
    assert (state.champion, state.best_ms, state.challengers(3)) == (0, 10.0, [1])
    scheduler.compare(versus(task, 0, 0, 1, (11.0, 9.9), 0.9))
    assert (state.champion, state.best_ms, state.pending) == (1, 9.9, {})
    assert state.savings == [math.inf]
    scheduler.observe(record(task, 1, 2, 7.0))
    scheduler.compare(versus(task, 1, 1, 2, (8.0, 6.0), 0.75))
    assert state.savings[1] == pytest.approx(9.9 * 0.25)  # by the ratio, not by latencies of different minutes
    assert scheduler.terms(0).backward == pytest.approx(9.9 * 0.25)
    assert state.confidence == 0.999


def test_a_champion_that_is_slower_when_timed_again_has_lost_nothing():
    scheduler = confirming()
    task, state = scheduler.tasks[0], scheduler.states[0]
    scheduler.observe(record(task, 0, 0, 5.0))
    scheduler.observe(record(task, 1, 1, 4.9))
    scheduler.compare(versus(task, 1, 0, 1, (6.0, 6.6), 1.1, winner=0))
    assert (state.champion, state.best_ms, state.history, state.savings[1]) == (0, 6.0, [5.0, 6.0], 0.0)
    assert "lucky" in state.ledger.course[-1].reason
    assert state.lost == {1}
    assert state.confidence == pytest.approx(0.8)
    assert scheduler.terms(0).gain >= 0
    scheduler.observe(record(task, 2, 2, 5.5))  # below what it took in its latest comparison
    assert state.challengers(3) == [2]


def test_old_logs_rank_as_before():
    """Where a log does not say whether comparisons are made and has none, the least latency of earlier rounds is it."""
    scheduler = GradientScheduler(tasks((1,)), confirm=None)
    task, state = scheduler.tasks[0], scheduler.states[0]
    for n, ms in enumerate((10.0, 4.0, 6.0)):
        scheduler.observe(record(task, 0, n, ms))
    assert state.champion == 0
    scheduler.observe(record(task, 1, 3, 9.0))
    assert (state.champion, state.best_ms, state.pending) == (1, 4.0, {})


def test_nothing_is_claimed_because_a_comparison_failed_but_nothing_waits_for_ever():
    scheduler = confirming()
    task, state = scheduler.tasks[0], scheduler.states[0]
    scheduler.observe(record(task, 0, 0, 10.0))
    scheduler.observe(record(task, 0, 1, 4.0))
    for round_ in range(1, Comparisons.PATIENCE):
        scheduler.observe(record(task, round_, 1 + round_, 6.0))
        assert state.champion == 0
        assert (state.ledger.best.record.trial, state.ledger.best.sure) == (1, "once"), "and that is told meanwhile"
    scheduler.observe(record(task, Comparisons.PATIENCE, 9, 6.0))
    assert (state.champion, state.best_ms, state.ledger.best.sure, state.pending) == (1, 4.0, "once", {})
    scheduler.observe(record(task, Comparisons.PATIENCE, 10, 3.0))
    scheduler.compare(versus(task, Comparisons.PATIENCE, 1, 10, (4.0, 3.0), 0.75))
    assert (state.champion, state.ledger.best.sure) == (10, "compared")
    scheduler.observe(record(task, Comparisons.PATIENCE + 1, 11, 2.0))  # later failures do not wait for ever either
    for round_ in range(Comparisons.PATIENCE + 1):
        scheduler.observe(record(task, Comparisons.PATIENCE + 2 + round_, 12 + round_, 6.0))
    assert (state.champion, state.ledger.best.sure) == (11, "once")


def test_who_goes_on_without_comparisons_waits_for_none():
    scheduler = confirming()
    task, state = scheduler.tasks[0], scheduler.states[0]
    for n, ms in enumerate((10.0, 4.0, 6.0)):
        scheduler.observe(record(task, 0, n, ms))
    scheduler.settle(True)
    assert (state.champion, sorted(state.pending)) == (0, [1, 2])
    scheduler.settle(False)
    assert (state.champion, state.best_ms, state.pending, state.history) == (1, 4.0, {}, [4.0])
    scheduler.observe(record(task, 1, 3, 3.0))
    assert state.champion == 3


def test_who_lost_to_another_one_in_a_log_that_was_merged_is_no_champion():
    scheduler = confirming()
    task, state = scheduler.tasks[0], scheduler.states[0]
    for n, ms in enumerate((1.0, 0.9, 0.6)):
        scheduler.observe(record(task, 0, n, ms))
    scheduler.compare(versus(task, 0, 2, 1, (0.95, 0.9), 0.95))
    assert (state.champion, state.pending, state.lost) == (1, {}, {2})


def doubtful():
    """A trial that seemed faster than the champion and lost."""
    scheduler = confirming()
    task = scheduler.tasks[0]
    for n, ms in enumerate((5.0, 4.0)):
        scheduler.observe(record(task, 0, n, ms))
    lost = replace(versus(task, 0, 0, 1, (5.0, 3.9), 0.8, winner=0), costs_ms=((5.0, 5.1, 5.0), (3.9, 4.0, 9.0)))
    scheduler.compare(lost)
    return scheduler, scheduler.states[0], lost


def test_without_comparisons_who_seemed_faster_and_lost_waits_for_none():
    scheduler, state, _ = doubtful()
    assert state.challengers(3) == [1]
    scheduler.settle(False)
    assert (state.champion, state.challengers(3)) == (0, [])


def test_who_seemed_faster_and_lost_has_a_second_comparison():
    scheduler, state, lost = doubtful()
    task = scheduler.tasks[0]
    assert (state.champion, state.lost, state.challengers(3)) == (0, set(), [1])
    scheduler.compare(lost)
    assert (state.champion, state.lost, state.challengers(3), state.rivals(3)) == (0, set(), [], [1])
    scheduler.compare(replace(lost, reason=PLAY_OFF))
    assert (state.champion, state.lost, state.challengers(3), state.rivals(3)) == (0, {1}, [], [])
    clear = replace(versus(task, 0, 0, 1, (5.0, 5.5), 1.1, winner=0), costs_ms=((5.0, 5.1, 5.0), (5.5, 5.6, 5.5)))
    again = confirming()
    for n, ms in enumerate((5.0, 4.0)):
        again.observe(record(task, 0, n, ms))
    again.compare(clear)
    assert again.states[0].challengers(3) == []


def test_comparisons_of_strangers_are_ignored():
    scheduler = confirming()
    task = scheduler.tasks[0]
    scheduler.observe(record(task, 0, 0, 5.0))
    before = [scheduler.terms(0), scheduler.states[0].compared]
    scheduler.compare(versus(task, 0, 7, 8, (1.0, 0.5), 0.5))
    scheduler.compare(versus(FakeTask("other", "other"), 0, 0, 1, (1.0, 0.5), 0.5))
    assert [scheduler.terms(0), scheduler.states[0].compared] == before


def test_rivals_are_near_and_have_not_lost():
    scheduler = confirming()
    task, state = scheduler.tasks[0], scheduler.states[0]
    for n, ms in enumerate((1.0, 1.02, 1.05, 1.5)):
        scheduler.observe(record(task, 0, n, ms))
    scheduler.compare(versus(task, 0, 0, 1, (1.0, 1.02), 1.02, winner=0))
    assert state.rivals(3) == [2]


# ---- a user's objective ----


def test_an_objective_decides_who_gets_the_trials():
    pair = tasks((1, 1))
    only_second = GradientScheduler(pair, objective=lambda ms: ms["k1"])
    _, order = drive(only_second, lambda i, n: 8.0 / (n + 1), 30)
    assert order.count(0) == 1
    slowest = GradientScheduler(pair, objective=lambda ms: max(ms["conv0"], ms["conv1"]))
    _, order = drive(slowest, lambda i, n: (9.0, 3.0)[i] / (n + 1), 30)
    assert order.count(0) > order.count(1) > 1


def test_an_objective_that_is_the_default_decides_the_same():
    def total(ms):
        return sum(w * ms[f"k{i}"] for i, w in enumerate((1, 2, 3, 4)))

    orders = []
    for objective in (None, total):
        scheduler = GradientScheduler(tasks((1, 2, 3, 4)), objective=objective)
        orders.append(drive(scheduler, lambda i, n: (i + 1.1) ** 0.7 / (n + 1.3) ** 0.9, 40)[1])
    assert orders[0] == orders[1]


@pytest.mark.parametrize("wrong", [lambda ms: 1 / 0, lambda ms: math.nan, lambda ms: "fast", lambda ms: ms["nobody"]])
def test_an_objective_that_makes_no_sense_is_refused_at_once(wrong):
    with pytest.raises(UsageError) as caught:
        GradientScheduler(tasks(), objective=wrong)
    assert caught.value.code == "usage.objective"


def test_an_objective_that_fails_later_kills_nothing():
    def moody(ms):
        if ms["k0"] < 0.2:
            raise RuntimeError("enough")
        return sum(ms[f"k{i}"] for i in range(4))

    scheduler = GradientScheduler(tasks(), objective=moody)
    _, order = drive(scheduler, lambda i, n: 1.0 / (n + 1), 60)
    assert len(order) == 60
    assert scheduler.goal.problem is not None
    assert scheduler.goal.problem.code == "tune.objective"
    assert "enough" in scheduler.goal.problem.message


def test_an_objective_that_nothing_improves_takes_turns():
    scheduler = GradientScheduler(tasks(), objective=lambda ms: 1.0)
    _, order = drive(scheduler, lambda i, n: 1.0 / (n + 1), 40)
    assert {order.count(i) for i in range(4)} == {10}


# ---- rests ----


def test_a_task_rests_after_rounds_without_a_gain_and_all_wake_together():
    scheduler = RoundRobin(tasks(), early_stop=3)
    _, order = drive(scheduler, lambda i, n: 1.0 if i != 2 else 1.0 / (n + 1), 40)
    assert order.count(2) > 20  # the others rest
    assert all(scheduler.resting(i) for i in (0, 1, 3))
    assert "rests" in scheduler.why(0)
    _, order = drive(scheduler, lambda i, n: 1.0, 40)
    assert min(order.count(i) for i in range(4)) >= 8


def test_when_all_rest_it_is_known():
    for rounds, rest in ((8, False), (12, True)):
        scheduler = RoundRobin(tasks(), early_stop=2)
        drive(scheduler, lambda i, n: 1.0, rounds)
        assert scheduler.all_rest == rest
    scheduler.promise("k0", 100)
    assert not scheduler.all_rest
    assert scheduler.next() == 0


def test_tasks_that_cannot_go_on_keep_no_other_from_waking():
    scheduler = RoundRobin(tasks(), early_stop=2)
    scheduler.faults[3] = "its rule fails"
    _, order = drive(scheduler, lambda i, n: 1.0, 40)
    assert set(order) == {0, 1, 2}
    assert scheduler.why(3) == "given up: its rule fails"
    assert scheduler.all_rest
    for index in range(3):
        scheduler.exhaust(index)
    assert scheduler.next() is None
    assert not scheduler.all_rest, "what is exhausted does not rest"


def test_a_task_that_fails_rests_and_wakes_too():
    scheduler = GradientScheduler(tasks(), early_stop=2)
    _, order = drive(scheduler, lambda i, n: None if i == 0 else 1.0, 80)
    assert order.count(0) >= 5


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_what_was_timed_by_hand_before_a_run_is_no_round_of_it(name):
    scheduler = SCHEDULERS[name](tasks((1, 5, 3, 1)))
    for trial, origin in enumerate(("default", "manual")):
        scheduler.observe(replace(record(scheduler.tasks[1], 0, trial, 2.0 - trial), origin=origin))
    assert (scheduler.states[1].rounds, scheduler.states[1].best_ms) == (0, 1.0)
    assert (scheduler.next(), scheduler.why(1)) == (1, "has not been tried yet")
    _, order = drive(scheduler, lambda i, n: 0.5, 4)
    assert order == [1, 2, 0, 3]
    state = scheduler.states[1]
    scheduler.observe(replace(record(scheduler.tasks[1], 9, 90, 0.1), origin="manual"))
    assert (state.rounds, state.history) == (1, [0.1])


def test_a_round_of_a_run_counts_even_if_only_the_default_schedule_was_timed():
    scheduler = RoundRobin(tasks())
    scheduler.observe(replace(record(scheduler.tasks[0], 0, 0, 1.0), origin="default"))
    scheduler.finish(Round(round=0, task_key="k0", task="conv0", trials=1, best_ms=1.0, total_ms=None))
    assert (scheduler.states[0].rounds, scheduler.states[0].history) == (1, [1.0])
    assert scheduler.next() == 1
