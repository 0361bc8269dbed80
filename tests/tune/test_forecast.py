"""Where the trials that are left are expected to go."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.tune.state.events import Progress, Snapshot, TaskRow
from workbench.tune.state.task_scheduler import Terms
from workbench.tune.state.trial_forecast import forecast, left


def snapshot(trials, *, rest=100, states=None, state="running"):
    words = states or ["measured"] * len(trials)
    rows = tuple(
        TaskRow(i, f"k{i}", f"t{i}", 1, 1.0, None, n, 0, None, word)
        for i, (n, word) in enumerate(zip(trials, words, strict=True))
    )
    done = sum(trials)
    return Snapshot(state, rows, Progress(done, done + rest, 1.0, 1.0, 0.5, 1.0), None, None, 0)


def of_gain(*gains):
    return [Terms(0.0, 0.0, 0.0, gain, "") for gain in gains]


def worth(gain, had, more):
    return gain * had / (had + more)


@given(st.lists(st.tuples(st.floats(1e-6, 10.0), st.integers(1, 500)), min_size=1, max_size=12), st.integers(0, 5000))
def test_all_trials_are_handed_out_and_what_gets_some_is_worth_the_same(tasks, rest):
    more = forecast(snapshot([n for _, n in tasks], rest=rest), of_gain(*(g for g, _ in tasks)))
    assert sum(more) == rest
    next_best = max(worth(gain, had, x + 1) for (gain, had), x in zip(tasks, more, strict=True))
    for (gain, had), x in zip(tasks, more, strict=True):
        if x > 0:  # with a trial less it would be worth as much as any other with one more
            assert worth(gain, had, x - 1) >= next_best * (1 - 1e-9)


def test_tasks_that_get_no_more_and_tasks_that_had_none():
    states = ["skipped", "exhausted", "given up", "measured", "waiting"]
    more = forecast(snapshot([0, 10, 10, 10, 0], states=states), of_gain(1.0, 5.0, 5.0, 1.0, math.inf))
    assert more[:3] == (0, 0, 0)
    assert more[4] > more[3] >= 0
    assert sum(more) == 100


def test_a_scheduler_that_expects_nothing_gives_all_the_same():
    assert forecast(snapshot([4, 4, 4], rest=9), of_gain(0.0, 0.0, 0.0)) == (3, 3, 3)
    assert forecast(snapshot([4, 4], rest=10), of_gain(0.0, 1.0)) == (0, 10)


@pytest.mark.parametrize("state", ["done", "cancelled", "failed"])
def test_nothing_comes_after_the_end(state):
    assert forecast(snapshot([4, 4], state=state), of_gain(1.0, 1.0)) == (0, 0)


def test_a_budget_in_seconds_is_worth_its_trials():
    assert left(Progress(50, None, 10.0, 20.0, 0.3, 2.5)) == 50
    assert left(Progress(50, None, 10.0, None, 0.0, 2.5)) is None
    assert left(Progress(50, 40, 10.0, 0.0, 1.0, 2.5)) == 0
