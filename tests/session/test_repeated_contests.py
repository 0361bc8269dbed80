"""Contests of one pair of variants are one verdict, wherever it stands; what disturbed them is told."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from session.conftest import split
from waiting import until

from workbench.runtime.machine import system_load
from workbench.runtime.machine.system_load import Load
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.results.repeated_contests import contradict, together
from workbench.session.measurement import comparisons


def played(*blocks, why_not=""):
    """A contest of participants that took so long in each round."""
    return Contest(measurements=tuple(Measurement(status="ok", costs_ms=c, why_not=why_not) for c in blocks))


def steady(ratio, rounds=10, noise=0.01):
    """A contest in which the second one takes `ratio` of the time of the first one, more or less."""
    first = tuple(1.0 + noise * (k % 3) for k in range(rounds))
    return played(first, tuple(ratio * (1.0 + noise * (k % 2)) for k in range(rounds)))


@pytest.fixture
def pair(session, monkeypatch):
    """Run a contest of v0 and v1 that has this outcome; return what the session says of the pair."""
    s = session()
    s.run("apply", step=split("j", None, 16))

    def run(outcome, a=0, b=1):
        monkeypatch.setattr(comparisons.schedule_methods, "contest", lambda *args, **options: outcome)
        s.run("contest", a=a, b=b)
        until(lambda: s.flush(100) and s.snapshot().slices["history"]["contests"][0]["state"] != "running")
        (info,) = s.snapshot().slices["history"]["contests"]
        return info

    run.session = s
    return run


def test_what_one_contest_cannot_tell_two_of_them_tell_together(pair):
    unclear = played((1.0, 1.4, 0.9, 1.3, 1.0, 1.2, 1.1), (0.9, 0.8, 0.95, 0.8, 1.0, 0.75, 1.2))
    first = pair(unclear)
    assert first["text"].startswith("cannot tell v0 from v1"), first
    clear = pair(steady(0.75, rounds=40))
    assert clear["text"].startswith("v1 is "), clear
    assert clear["text"].endswith("sure (in 2 comparisons)")
    again = pair(unclear)
    assert again["text"].endswith("sure (in 3 comparisons)"), "one unclear contest more takes nothing back"
    assert again["confidence"] > 0.99


def test_the_turns_of_contests_count_together_whoever_was_named_first(pair):
    pair(steady(0.8))
    info = pair(steady(1 / 0.8), a=1, b=0)
    assert (info["a"], info["b"]) == (0, 1)
    assert info["ratio"] == pytest.approx(0.8, rel=0.02)
    assert info["text"].endswith("(in 2 comparisons)")
    match = next(iter(pair.session.state.history.contests.values()))
    assert match.seen_from(match.keys[0]).rounds == 20


def test_contests_that_contradict_each_other_say_so_until_a_third_one_decides(pair):
    pair(steady(0.75))
    told = pair(steady(0.43))
    assert told["text"].startswith(
        "cannot tell v0 from v1: two comparisons disagree: 1.33× as fast, and 2.33× as fast"
    ), told
    assert "measure again when the machine is quiet" in told["text"]
    row = pair.session.snapshot().slices["history"]["rows"][1]
    assert row["than"].startswith("cannot tell from v0: two comparisons disagree")
    assert "sure" not in row["than"]
    third = pair(steady(0.76))
    assert ", sure (in 3 comparisons" in third["text"]
    assert third["ratio"] == pytest.approx(0.755, rel=0.02)


def test_each_sure_of_another_one_is_a_contradiction_however_near_they_are():
    left, right = steady(0.97, 40, 0.001), steady(1.03, 40, 0.001)
    assert left.differ(1)
    assert right.differ(1)
    assert contradict(left, right)
    assert not contradict(left, replace(right.shared("cc1 had 90 % of a core")))
    assert not together((left, right)).differ(1)


def test_undisturbed_turns_count_before_disturbed_ones(pair):
    why = "the second of 2 threads had 55 % of a core"
    pair(played((1.0,) * 10, (1.2,) * 10, why_not=why))
    info = pair(steady(0.8))
    assert info["ratio"] == pytest.approx(0.8, rel=0.02)
    assert info["text"].endswith("sure (in 2 comparisons)")
    after = pair(played((1.0,) * 10, (3.9,) * 10, why_not=why))
    assert after["ratio"] == info["ratio"], "a disturbed contest changes nothing that an undisturbed one has said"


def test_nobody_is_sure_while_a_core_is_shared(pair):
    why = "cc1 had 90 % of a core"
    small = pair(steady(0.5).shared(why))
    assert small["text"].startswith(f"cannot tell v0 from v1: {why}")
    large = pair(steady(0.1).shared(why))
    assert large["text"].startswith("cannot tell v0 from v1"), "one of both contests saw a factor of two"


def test_a_factor_that_no_sharing_explains_is_told_without_being_sure(pair):
    why = "cc1 had 90 % of a core"
    info = pair(steady(0.1).shared(why))
    assert info["text"] == (
        f"v1 is about 10.0× as fast as v0, not sure: {why}; measure again when the machine is quiet"
    ), info
    row = pair.session.snapshot().slices["history"]["rows"][1]
    assert row["than"] == f"about 10.0× as fast as v0, not sure: {why}"


@pytest.mark.parametrize(
    ("load", "threads", "told"),
    [
        (Load(0.95, 0.9, 0.0, 0.05), 2, ""),
        (Load(0.95, 0.5, 0.0, 0.45, largest="cc1"), 2, "cc1 had 90 % of a core"),
        (Load(0.95, 0.5, 0.0, 0.45, largest="cc1"), 1, ""),
        (Load(1.0, 0.3, 0.6, 0.1), 1, "browser had 1.2 cores"),
        (Load(1.0, 0.4, 0.0, 0.1, 0.5), 2, "other virtual machines had 1.0 cores"),
        (Load(0.9), 2, ""),
    ],
)
def test_who_had_a_part_of_the_cores(monkeypatch, load, threads, told):
    monkeypatch.setattr(system_load.os, "cpu_count", lambda: 2)
    assert load.taken_from(threads) == told


def test_a_contest_beside_another_program_says_whose_the_cores_were(monkeypatch):
    from workbench import Schedule, Target, workloads
    from workbench.runtime import schedule_methods

    schedule = Schedule(workloads.matmul(16, 16, 16), Target.host(threads=1))
    busy = Load(1.0, 0.1, 0.0, 0.9, largest="cc1")
    monkeypatch.setattr(schedule_methods.LoadWatch, "look", lambda self: busy)
    monkeypatch.setattr(system_load.os, "cpu_count", lambda: 2)
    rules = {"budget_ms": 1.0, "most_ms": 1.0, "warm_ms": 0.0, "block_ms": 0.1}
    found = schedule_methods.contest([schedule.func] * 2, schedule.base, schedule.target, **rules)
    assert found.why_not
    assert not found.clean
    assert ", sure" not in str(found)


def test_contests_that_differ_beyond_their_intervals_say_so_and_are_no_narrow_interval(pair):
    first = pair(steady(1 / 17.6, rounds=25))
    assert first["text"].startswith("v1 is 17.")
    info = pair(steady(1 / 26.0, rounds=25))
    said = "v1 is 21.4× as fast (between 12.9 and 35.4) as v0, sure (in 2 comparisons that differ: 17.6× as fast to"
    assert info["text"].startswith(said), info["text"]
    seen = next(iter(pair.session.state.history.contests.values())).seen_from((0, ""))
    assert seen.winner() == 1, "whatever the number is, which of the two is faster is sure"


def test_of_two_that_are_near_each_other_contests_that_differ_leave_nothing_sure(pair):
    pair(steady(0.99, rounds=40, noise=0.001))
    info = pair(steady(0.93, rounds=40, noise=0.001))
    assert info["text"].startswith("v0 and v1 take the same time: only a difference of more than 1.08")
    assert info["text"].endswith("(in 2 comparisons that differ: 1.010× as fast to 1.075× as fast)"), info["text"]
    assert info["confidence"] is None


def test_one_that_most_others_contradict_is_named(pair):
    for ratio in (0.75, 0.43, 0.76):
        info = pair(steady(ratio))
    assert info["text"].endswith("sure (in 3 comparisons, 1 of which left out: 2.33× as fast)"), info["text"]


@pytest.mark.parametrize("several", [2, 3, 5])
def test_equal_kernels_whose_contests_differ_are_seldom_surely_unequal(several):
    """Between contests memory lies elsewhere: each contest alone is sure, of 3 % more or less."""
    rng, sure, alone = random.Random(several), 0, 0
    for _ in range(300):
        found = tuple(steady(math.exp(rng.gauss(0.0, 0.03)), 20, 0.001) for _ in range(several))
        sure += together(found).winner() != 0 or together(tuple(map(turned, found))).winner() != 0
        alone += found[0].winner() != 0 or turned(found[0]).winner() != 0
    assert alone > 150, "else there would be nothing to show"
    assert sure <= 12, "2 % of 300 are expected"


def turned(contest):
    return replace(contest, measurements=contest.measurements[::-1])
